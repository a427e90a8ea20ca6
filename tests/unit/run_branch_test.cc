#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>

#include "chaos/run/branch.h"
#include "chaos/run/branched_liveness.h"
#include "core/assert.h"

namespace elastic::chaos {
namespace {

TEST(Branch, gives_the_text_of_the_copy_which_changes_nothing_here) {
  int here = 1;
  Branch branch([&] {
    here = 2;
    return std::string(300'000, 'x') + std::to_string(here);
  });
  const auto text = branch.result();
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, std::string(300'000, 'x') + "2");
  EXPECT_EQ(here, 1);
}

TEST(Branch, an_empty_text_is_a_text) {
  Branch branch([] { return std::string(); });
  EXPECT_EQ(branch.result(), std::string());
}

TEST(Branch, gives_nothing_when_the_copy_crashes_and_says_nothing_either) {
  testing::internal::CaptureStderr();
  Branch thrown([]() -> std::string { throw std::runtime_error("no"); });
  EXPECT_FALSE(thrown.result().has_value());
  Branch asserted([] {
    ELASTIC_ASSERT(std::string("no").empty());
    return std::string("yes");
  });
  EXPECT_FALSE(asserted.result().has_value());
  Branch killed([] {
    raise(SIGKILL);
    return std::string("yes");
  });
  EXPECT_FALSE(killed.result().has_value());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Branch, one_that_nobody_asks_ends_with_its_owner) {
  const Branch branch([] {
    for (;;) pause();
    return std::string();
  });
}

TEST(BranchedLiveness, goes_through_a_text_and_back) {
  BranchedLiveness one;
  one.result.kind = LivenessResult::Kind::kVoided;
  one.result.moment = Time(Duration(12'345));
  one.result.core = {NodeId{3}, NodeId{7}};
  one.result.bound = Duration(99);
  one.result.took = Duration(7);
  one.result.assumption = "a \"quoted\" one";
  one.result.proof = "seen";
  one.checks = {1, 0, UINT64_MAX};
  const auto two = branched_liveness_from_text(to_text(one));
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(to_text(*two), to_text(one));
  EXPECT_EQ(two->result.core, one.result.core);
  EXPECT_EQ(two->checks, one.checks);
  EXPECT_FALSE(branched_liveness_from_text("").has_value());
  EXPECT_FALSE(branched_liveness_from_text("{}").has_value());
}

}  // namespace
}  // namespace elastic::chaos
