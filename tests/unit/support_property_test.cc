#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/support/property.h"

namespace elastic::test {
namespace {

TEST(Property, that_does_not_hold_fails_with_its_smallest_counterexample) {
  EXPECT_NONFATAL_FAILURE(
      check("every number is below ten", {}, [](std::uint32_t number) { RC_ASSERT(number < 10U); }),
      "(10)");
}

TEST(Property, whose_named_class_of_inputs_is_empty_fails) {
  EXPECT_NONFATAL_FAILURE(check("nothing is asked of a number", {"above the range"},
                                [] {
                                  const int number = *rc::gen::inRange(0, 300);
                                  RC_CLASSIFY(number > 300, "above the range");
                                }),
                          "no case of the class 'above the range'");
}

TEST(Property, whose_named_classes_all_come_up_holds) {
  check("a number is even or odd", {"even", "odd"}, [](std::uint8_t number) {
    RC_CLASSIFY(number % 2 == 0, "even");
    RC_CLASSIFY(number % 2 == 1, "odd");
  });
}

TEST(Property, that_discards_too_many_cases_fails) {
  EXPECT_NONFATAL_FAILURE(
      check("only one number counts", {}, [](std::uint64_t number) { RC_PRE(number == 123456U); }),
      "only one number counts");
}

TEST(Property, runs_as_often_as_it_asks) {
  int runs = 0;
  check(
      "counts its runs", {}, [&runs] { ++runs; }, PropertyOptions{.max_success = 17});
  EXPECT_EQ(runs, 17);
}

}  // namespace
}  // namespace elastic::test
