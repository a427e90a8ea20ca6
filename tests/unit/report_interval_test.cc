#include <gtest/gtest.h>

#include <array>

#include "chaos/report/interval.h"

namespace elastic::chaos {
namespace {

TEST(Interval, students_t_has_the_tabulated_quantiles) {
  EXPECT_NEAR(student_t(1), 12.706, 0.001);
  EXPECT_NEAR(student_t(7), 2.365, 0.002);
  EXPECT_NEAR(student_t(10), 2.228, 0.001);
  EXPECT_NEAR(student_t(30), 2.042, 0.001);
  EXPECT_NEAR(student_t(1'000'000), 1.960, 0.001);
}

TEST(Interval, a_mean_has_a_half_width_from_the_spread) {
  // Sample deviation 1, standard error 1/sqrt(3), t(2) = 4.303.
  const Interval interval = interval_of(std::array{1.0, 2.0, 3.0});
  EXPECT_EQ(interval.count, 3u);
  EXPECT_DOUBLE_EQ(interval.mean, 2);
  EXPECT_NEAR(interval.half, 2.484, 0.001);
  EXPECT_FALSE(interval.differs_from_zero());
}

TEST(Interval, one_value_says_nothing_of_the_spread) {
  const Interval interval = interval_of(std::array{7.0});
  EXPECT_DOUBLE_EQ(interval.mean, 7);
  EXPECT_EQ(interval.half, 0);
  EXPECT_FALSE(interval.differs_from_zero());
  EXPECT_EQ(interval_of({}).count, 0u);
}

TEST(Interval, pairs_are_compared_one_by_one) {
  const std::array a{10.0, 20.0, 30.0};
  const std::array b{9.0, 18.9, 29.1};
  EXPECT_TRUE(paired_difference(a, b).differs_from_zero());
  EXPECT_NEAR(paired_difference(a, b).mean, 1.0, 1e-9);
  EXPECT_EQ(paired_difference(a, b).mean, -paired_difference(b, a).mean);
}

}  // namespace
}  // namespace elastic::chaos
