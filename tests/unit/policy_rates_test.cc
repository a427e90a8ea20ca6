// Batch and learning rate against the numbers of the papers that the rules come from.
#include <gtest/gtest.h>

#include "core/policy/adascale.h"
#include "core/policy/batch.h"
#include "core/policy/learning_rate.h"

namespace elastic::policy {
namespace {

constexpr std::uint64_t kOne = std::uint64_t{1} << 32;

std::uint64_t q32(std::uint64_t numerator, std::uint64_t denominator) {
  return ratio(numerator, denominator).q32;
}
double real(Factor factor) { return static_cast<double>(factor.q32) / static_cast<double>(kOne); }

TEST(Batch, is_fixed_in_constant_mode_and_follows_the_world_in_the_others) {
  const BatchRule constant{BatchMode::kConstant, 256, 8};
  EXPECT_EQ(global_batch(constant, 3), 256U);
  const BatchRule linear{BatchMode::kLinear, 256, 8};
  EXPECT_EQ(global_batch(linear, 3), 96U);
  EXPECT_EQ(global_batch(linear, 256), 8192U);
}

TEST(Batch, shares_differ_by_one_at_most_the_larger_ones_first) {
  EXPECT_EQ(share_of(10, 4, 0), (Share{0, 3}));
  EXPECT_EQ(share_of(10, 4, 1), (Share{3, 3}));
  EXPECT_EQ(share_of(10, 4, 2), (Share{6, 2}));
  EXPECT_EQ(share_of(10, 4, 3), (Share{8, 2}));
  EXPECT_EQ(share_of(2, 4, 3), (Share{2, 0}));
}

TEST(Batch, that_does_not_divide_is_refused_with_one_that_does) {
  const auto refusal = refuse_batch({BatchMode::kLinear, 250, 8});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(*refusal,
            "a reference batch of 250 samples on 8 ranks leaves 2 over; use 256, or batch mode "
            "constant");
  EXPECT_FALSE(refuse_batch({BatchMode::kConstant, 250, 8}).has_value());
  EXPECT_TRUE(refuse_batch({BatchMode::kConstant, 0, 8}).has_value());
  EXPECT_TRUE(refuse_batch({BatchMode::kConstant, 8, 0}).has_value());
}

// Goyal et al. 2017: rate 0.1 (kn/256); 8k images are 32 times 256, hence 3.2.
TEST(LearningRate, is_0_1_times_kn_over_256) {
  const BatchRule rule{BatchMode::kLinear, 256, 8};
  EXPECT_EQ(scale_factor(rule, 8192).q32, 32 * kOne);
  EXPECT_EQ(scale_factor(rule, 256), kUnchanged);
  EXPECT_EQ(scale_factor(rule, 384).q32, kOne + kOne / 2);
  EXPECT_EQ(scale_factor(rule, 64).q32, kOne / 4);
}

// The same paper: from eta to k eta in equal increments per iteration, over 5 epochs of 1,281,167
// images in steps of 8,192.
TEST(LearningRate, warms_up_in_equal_increments_over_five_epochs) {
  constexpr std::uint64_t kBatch = 8192;
  constexpr std::uint32_t kSteps = 5 * 1'281'167 / kBatch;
  const Ramp ramp = retarget(Ramp{}, 0, {32 * kOne}, {kSteps, kBatch});
  EXPECT_EQ(ramp_at(ramp, 0), kUnchanged);
  for (std::uint32_t step = 0; step <= kSteps; ++step) {
    EXPECT_EQ(ramp_at(ramp, step * kBatch).q32, kOne + 31 * kOne * step / kSteps) << step;
  }
  EXPECT_EQ(ramp_at(ramp, 6 * 1'281'167).q32, 32 * kOne);
}

TEST(LearningRate, a_ramp_that_is_redirected_goes_on_from_where_it_is) {
  const Ramp up = retarget(Ramp{}, 1000, {3 * kOne}, {10, 100});
  EXPECT_EQ(ramp_at(up, 1500).q32, 2 * kOne);
  EXPECT_EQ(retarget(up, 1500, {3 * kOne}, {10, 100}), up) << "on its way there already";
  const Ramp down = retarget(up, 1500, kUnchanged, {10, 50});
  EXPECT_EQ(ramp_at(down, 1500).q32, 2 * kOne);
  EXPECT_EQ(ramp_at(down, 1750).q32, kOne + kOne / 2);
  EXPECT_EQ(ramp_at(down, 2000), kUnchanged);
}

TEST(LearningRate, follows_the_square_root_to_the_last_place) {
  const BatchRule rule{BatchMode::kSqrt, 256, 8};
  EXPECT_EQ(scale_factor(rule, 1024).q32, 2 * kOne);
  EXPECT_EQ(scale_factor(rule, 512).q32, 6'074'000'999U) << "sqrt(2) * 2^32, rounded down";
  EXPECT_EQ(scale_factor(rule, 64).q32, kOne / 2);
}

// LEGW: sqrt(k) min(1, progress / (k warm-up)): k = 4, warm-up of 100 reference samples.
TEST(LearningRate, legw_warms_up_k_times_as_long_to_the_square_root_of_k) {
  const Legw rule{256, 100};
  EXPECT_EQ(legw_factor(rule, 1024, 0).q32, 0U);
  EXPECT_EQ(legw_factor(rule, 1024, 100).q32, kOne / 2);
  EXPECT_EQ(legw_factor(rule, 1024, 200).q32, kOne);
  EXPECT_EQ(legw_factor(rule, 1024, 400).q32, 2 * kOne);
  EXPECT_EQ(legw_factor(rule, 1024, 4000).q32, 2 * kOne);
}

TEST(LearningRate, momentum_is_corrected_where_it_carries_the_rate) {
  const Factor twice{2 * kOne};
  EXPECT_EQ(optimizer_change(Optimizer::kMomentumOutside, kUnchanged, twice), OptimizerChange{});
  EXPECT_EQ(optimizer_change(Optimizer::kMomentumInside, kUnchanged, twice).momentum, twice);
  EXPECT_EQ(optimizer_change(Optimizer::kMomentumInside, twice, kUnchanged).momentum.q32, kOne / 2);
  EXPECT_TRUE(optimizer_change(Optimizer::kAdam, kUnchanged, twice).rescale_moments);
  EXPECT_FALSE(optimizer_change(Optimizer::kAdam, twice, twice).rescale_moments);
  EXPECT_EQ(optimizer_change(Optimizer::kAdam, kUnchanged, twice).momentum, kUnchanged);
}

// mu^2 = (c G - L) / (c - 1), sigma^2 = (L - G) S / (c - 1), r = (s + m) / (s / S + m).
TEST(AdaScale, has_the_gain_of_the_formula) {
  AdaScale scale;
  EXPECT_EQ(scale.gain(1024, 256), kUnchanged) << "nothing is known yet";
  // c = 4, L = 10, G = 4: mu^2 = 2, sigma^2 = 2 S = 8 at S = 4; r = 10 / (2 + 2) = 2.5.
  scale.add({10 * kOne, 4 * kOne, 4, false}, 1024, 256);
  EXPECT_NEAR(real(scale.gain(1024, 256)), 2.5, 1e-6);
  // The same noise at S = 2: 10 / (4 + 2); at S = 1 nothing is gained.
  EXPECT_NEAR(real(scale.gain(512, 256)), 10.0 / 6.0, 1e-6);
  EXPECT_EQ(scale.gain(256, 256), kUnchanged);
  EXPECT_NEAR(real(scale.gain(128, 256)), 10.0 / 18.0, 1e-6) << "a smaller batch is worth less";
}

TEST(AdaScale, averages_with_0_999_to_the_S_and_corrects_for_the_start) {
  AdaScale scale;
  scale.add({10 * kOne, 4 * kOne, 4, false}, 1024, 256);
  scale.add({10 * kOne, 4 * kOne, 4, false}, 1024, 256);
  EXPECT_NEAR(real(scale.gain(1024, 256)), 2.5, 1e-6) << "an average of equals";
  // sigma^2 = 8, 8, 32; mu^2 = 2, 2, 8 with theta = 0.996006.
  scale.add({40 * kOne, 16 * kOne, 4, false}, 1024, 256);
  const double theta = 0.999 * 0.999 * 0.999 * 0.999;
  const double weight = 1 - theta * theta * theta;
  const double variance = ((theta * theta + theta) * 8 + 32) * (1 - theta) / weight;
  const double square = ((theta * theta + theta) * 2 + 8) * (1 - theta) / weight;
  EXPECT_NEAR(real(scale.gain(1024, 256)), (variance + square) / (variance / 4 + square), 1e-6);
}

TEST(AdaScale, clamps_what_noise_made_negative) {
  AdaScale no_signal;  // c G < L: mu^2 is 0, so that the whole batch is gained
  no_signal.add({10 * kOne, 1 * kOne, 4, false}, 1024, 256);
  EXPECT_EQ(no_signal.gain(1024, 256).q32, 4 * kOne);
  AdaScale no_noise;  // L = G: sigma^2 is the least, so that nothing is
  no_noise.add({4 * kOne, 4 * kOne, 4, false}, 1024, 256);
  EXPECT_NEAR(real(no_noise.gain(1024, 256)), 1.0, 1e-6);
  AdaScale nothing;  // all gradients are zero: 1e-6 of noise and no signal
  nothing.add({0, 0, 4, false}, 1024, 256);
  EXPECT_EQ(nothing.gain(1024, 256).q32, 4 * kOne);
}

TEST(AdaScale, throws_biased_statistics_away_for_the_first_unbiased_ones) {
  AdaScale scale;
  scale.add({10 * kOne, 9 * kOne, 2, true}, 256, 256);
  scale.add({10 * kOne, 4 * kOne, 4, false}, 1024, 256);
  AdaScale only;
  only.add({10 * kOne, 4 * kOne, 4, false}, 1024, 256);
  EXPECT_EQ(scale, only);
  scale.add({10 * kOne, 9 * kOne, 2, true}, 256, 256);
  EXPECT_EQ(scale, only) << "and ignores biased ones from then on";
}

TEST(AdaScale, counts_a_step_as_gain_steps_of_the_schedule) {
  ScheduleProgress progress;
  progress = advance(progress, {q32(5, 2)}, 256);
  EXPECT_EQ(progress.samples, 640U);
  progress = advance({}, {kOne + 1}, 1);
  EXPECT_EQ(progress, (ScheduleProgress{1, 1}));
  progress = advance(progress, {2 * kOne - 1}, 1);
  EXPECT_EQ(progress, (ScheduleProgress{3, 0}));
}

}  // namespace
}  // namespace elastic::policy
