#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/math/quantiles.h"
#include "core/math/random.h"
#include "core/math/sampling.h"
#include "tests/support/within.h"

namespace elastic::math {
namespace {

using test::within;

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The draw whose u is `ppm` millionths.
uint64_t draw_at(uint64_t ppm) { return ppm * (UINT64_MAX / 1'000'000); }

TEST(Exponential, quantiles_agree_with_the_formula) {
  // -ln(1 - u) for u = 0.1, 0.5 and 0.999, times a second.
  EXPECT_TRUE(within(exponential(draw_at(100'000), seconds{1}).count(), 105'360'515, 3));
  EXPECT_TRUE(within(exponential(draw_at(500'000), seconds{1}).count(), 693'147'180, 3));
  EXPECT_TRUE(within(exponential(draw_at(999'000), seconds{1}).count(), 6'907'755'279, 3));
  EXPECT_EQ(exponential(0, hours{1}), nanoseconds{0});
}

TEST(Exponential, the_largest_draw_is_bounded_and_a_huge_mean_saturates) {
  EXPECT_LT(exponential(UINT64_MAX, seconds{1}), seconds{45});
  EXPECT_EQ(exponential(UINT64_MAX, kForever), kForever);
  EXPECT_EQ(exponential(UINT64_MAX, seconds{-1}), nanoseconds{0});
}

TEST(Exponential, the_mean_of_many_samples_is_the_mean) {
  int64_t sum = 0;
  for (uint64_t index = 0; index < 100'000; ++index) {
    sum += exponential(draw(Seed{1}, Stream{1}, index), seconds{1}).count();
  }
  EXPECT_TRUE(within(sum / 100'000, 1'000'000'000, 15'000'000));
}

TEST(Weibull, quantiles_agree_with_the_formula) {
  // scale * (-ln(1 - u))^(1 / shape)
  const Weibull wearing_out{.scale = hours{1}, .shape_q16 = 2U << 16};
  EXPECT_TRUE(within(weibull(draw_at(500'000), wearing_out).count(), 2'997'196'600'167, 3'000));
  const Weibull infant{.scale = hours{1}, .shape_q16 = 1U << 15};
  EXPECT_TRUE(within(weibull(draw_at(500'000), infant).count(), 1'729'630'850'105, 3'000));
  EXPECT_TRUE(within(weibull(draw_at(1), infant).count(), 3, 1));
}

TEST(Weibull, extreme_shapes_and_draws_have_defined_results) {
  EXPECT_EQ(weibull(0, {.scale = hours{1}}), nanoseconds{0});
  EXPECT_EQ(weibull(UINT64_MAX, {.scale = hours{1}, .shape_q16 = 0}), kForever);
  EXPECT_EQ(weibull(1, {.scale = hours{1}, .shape_q16 = 0}), nanoseconds{0});
  EXPECT_EQ(weibull(UINT64_MAX, {.scale = hours{-1}}), nanoseconds{0});
}

TEST(PiecewiseHazard, one_piece_is_the_exponential_distribution) {
  const std::array<HazardPiece, 1> pieces{{{.until = {}, .mean = hours{2}}}};
  for (uint64_t ppm = 0; ppm < 1'000'000; ppm += 50'000) {
    EXPECT_EQ(piecewise_hazard(draw_at(ppm), pieces), exponential(draw_at(ppm), hours{2}));
  }
}

TEST(PiecewiseHazard, nothing_fails_in_a_piece_without_hazard) {
  const std::array<HazardPiece, 2> pieces{
      {{.until = hours{1}, .mean = kForever}, {.until = {}, .mean = hours{1}}}};
  EXPECT_EQ(piecewise_hazard(0, pieces), hours{1});
  EXPECT_EQ(piecewise_hazard(draw_at(500'000), pieces),
            hours{1} + exponential(draw_at(500'000), hours{1}));
}

TEST(PiecewiseHazard, an_age_already_reached_is_not_lived_again) {
  const std::array<HazardPiece, 2> pieces{
      {{.until = hours{1}, .mean = seconds{1}}, {.until = {}, .mean = hours{1}}}};
  EXPECT_EQ(piecewise_hazard(draw_at(500'000), pieces, hours{3}),
            hours{3} + exponential(draw_at(500'000), hours{1}));
}

TEST(PiecewiseHazard, no_hazard_at_all_means_never) {
  EXPECT_EQ(piecewise_hazard(UINT64_MAX, {}), kForever);
  const std::array<HazardPiece, 1> pieces{{{.until = hours{1}, .mean = nanoseconds{0}}}};
  EXPECT_EQ(piecewise_hazard(0, pieces), kForever);
}

TEST(QuantileTable, points_out_of_order_or_out_of_range_are_refused) {
  EXPECT_FALSE(QuantileTable::from({}));
  EXPECT_FALSE(QuantileTable::from({{500'000, 1}, {500'000, 2}}));
  EXPECT_FALSE(QuantileTable::from({{0, 2}, {1'000'000, 1}}));
  EXPECT_FALSE(QuantileTable::from({{0, 2}, {1'000'001, 3}}));
}

TEST(QuantileTable, interpolates_between_points_and_is_flat_outside) {
  const auto table = QuantileTable::from({{100'000, -50}, {500'000, 50}, {900'000, 1000}});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->at(0), -50);
  EXPECT_TRUE(within(table->at(draw_at(300'000)), 0, 1));
  EXPECT_TRUE(within(table->at(draw_at(700'000)), 525, 1));
  EXPECT_EQ(table->at(UINT64_MAX), 1000);
}

TEST(Quantiles, nearest_rank_on_a_known_sample) {
  const std::vector<int64_t> sample{50, 15, 40, 20, 35};
  EXPECT_EQ(quantile(sample, 50'000), 15);
  EXPECT_EQ(quantile(sample, 300'000), 20);
  EXPECT_EQ(quantile(sample, 400'000), 20);
  EXPECT_EQ(quantile(sample, 500'000), 35);
  EXPECT_EQ(quantile(sample, 1'000'000), 50);
  EXPECT_EQ(quantile({}, 500'000), 0);
}

TEST(Histogram, counts_negative_values_as_zero_and_keeps_the_extremes) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(500'000), 0);
  histogram.add(-5);
  histogram.add(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(histogram.quantile(1'000'000), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(histogram.quantile(0), 0);
}

}  // namespace
}  // namespace elastic::math
