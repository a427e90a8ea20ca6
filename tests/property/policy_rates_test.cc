// Laws of batch and learning-rate rules.
#include <gtest/gtest.h>

#include "core/policy/adascale.h"
#include "core/policy/batch.h"
#include "core/policy/learning_rate.h"
#include "tests/support/property.h"

namespace elastic::policy {
namespace {

constexpr std::uint64_t kOne = std::uint64_t{1} << 32;

TEST(BatchProperty, shares_of_all_ranks_are_the_batch) {
  test::check("the shares of all ranks follow on each other and add up to the batch",
              {"world divides the batch", "it does not", "some rank has nothing"}, [] {
                const auto batch = *rc::gen::inRange<std::uint64_t>(0, 3000);
                const auto world = *rc::gen::inRange<std::uint32_t>(1, 70);
                RC_CLASSIFY(batch % world == 0, "world divides the batch");
                RC_CLASSIFY(batch % world != 0, "it does not");
                RC_CLASSIFY(batch < world, "some rank has nothing");
                std::uint64_t next = 0;
                for (std::uint32_t rank = 0; rank < world; ++rank) {
                  const Share share = share_of(batch, world, rank);
                  RC_ASSERT(share.first == next);
                  RC_ASSERT(share.count - batch / world <= 1U);
                  next += share.count;
                }
                RC_ASSERT(next == batch);
              });
}

TEST(LearningRateProperty, the_square_of_the_root_factor_is_the_linear_factor) {
  test::check("sqrt_ratio is the largest Q32.32 whose square is no more than the ratio",
              {"larger batch", "smaller batch"}, [] {
                const auto batch = *rc::gen::inRange<std::uint64_t>(1, 1U << 16U);
                const auto reference = *rc::gen::inRange<std::uint64_t>(1, 1U << 16U);
                RC_CLASSIFY(batch > reference, "larger batch");
                RC_CLASSIFY(batch < reference, "smaller batch");
                const math::uint128 root = sqrt_ratio(batch, reference).q32;
                const math::uint128 whole = (math::uint128{batch} << 64) / reference;
                RC_ASSERT(root * root <= whole);
                RC_ASSERT((root + 1) * (root + 1) > whole);
              });
}

TEST(LearningRateProperty, a_ramp_never_jumps_and_ends_in_time) {
  test::check(
      "whatever targets follow each other, the factor moves by at most the distance over the "
      "length per sample, stays between the ends, and is at the target after the length",
      {"redirected on its way", "up", "down"}, [] {
        const auto changes = *rc::gen::inRange(1, 6);
        Ramp ramp;
        std::uint64_t samples = 0;
        for (int i = 0; i < changes; ++i) {
          samples += *rc::gen::inRange<std::uint64_t>(0, 3000);
          const Factor before = ramp_at(ramp, samples);
          const Factor to{*rc::gen::inRange<std::uint64_t>(1, 64 * kOne)};
          RC_CLASSIFY(before != ramp.to && ramp.to != to, "redirected on its way");
          RC_CLASSIFY(to > before, "up");
          RC_CLASSIFY(to < before, "down");
          const RampLength length{*rc::gen::inRange(1U, 40U),
                                  *rc::gen::inRange<std::uint64_t>(1, 100)};
          ramp = retarget(ramp, samples, to, length);
          RC_ASSERT(ramp_at(ramp, samples) == before);
          RC_ASSERT(ramp_at(ramp, ramp.start + ramp.length) == to);
          RC_ASSERT(ramp_at(ramp, samples + length.steps * length.batch) == to);
          const std::uint64_t distance =
              std::max(ramp.to, ramp.from).q32 - std::min(ramp.to, ramp.from).q32;
          const std::uint64_t at = ramp.start + *rc::gen::inRange<std::uint64_t>(0, ramp.length);
          const Factor here = ramp_at(ramp, at);
          const Factor next = ramp_at(ramp, at + 1);
          const std::uint64_t moved = std::max(here, next).q32 - std::min(here, next).q32;
          RC_ASSERT(moved <= distance / ramp.length + 1);
          RC_ASSERT(here >= std::min(ramp.from, ramp.to));
          RC_ASSERT(here <= std::max(ramp.from, ramp.to));
        }
      });
}

TEST(LearningRateProperty, a_ramp_depends_on_committed_samples_alone) {
  test::check("a ramp that is stored and taken up again gives the same factors",
              {"within the ramp", "after it"}, [] {
                const Ramp ramp = retarget({}, *rc::gen::inRange<std::uint64_t>(0, 1000),
                                           {*rc::gen::inRange<std::uint64_t>(1, 9 * kOne)},
                                           {*rc::gen::inRange(0U, 50U), 7});
                const Ramp stored = ramp;
                const auto at = *rc::gen::inRange<std::uint64_t>(0, 1500);
                RC_CLASSIFY(at >= ramp.start && at < ramp.start + ramp.length, "within the ramp");
                RC_CLASSIFY(at >= ramp.start + ramp.length, "after it");
                RC_ASSERT(ramp_at(stored, at) == ramp_at(ramp, at));
                RC_ASSERT(retarget(stored, at, ramp.to, {3, 3}) == ramp);
              });
}

GradientStats any_stats() {
  GradientStats stats;
  const auto bits = *rc::gen::inRange(0, 64);
  stats.mean_square_q32 = *rc::gen::arbitrary<std::uint64_t>() >> bits;
  stats.square_mean_q32 = stats.mean_square_q32 >> *rc::gen::inRange(0, 64);
  if (*rc::gen::inRange(0, 8) == 0) stats.square_mean_q32 += 1;  // rounding
  stats.count = *rc::gen::element(2U, 3U, 8U, 64U, 4096U, UINT32_MAX);
  stats.biased = *rc::gen::inRange(0, 6) == 0;
  return stats;
}

TEST(AdaScaleProperty, the_gain_lies_between_one_and_the_scale) {
  test::check("whatever the statistics, the gain lies between 1 and S, and no arithmetic overflows",
              {"S above 1", "S below 1", "S of 1", "huge", "biased"},
              [] {
                AdaScale scale;
                const auto steps = *rc::gen::inRange(1, 30);
                for (int i = 0; i < steps; ++i) {
                  const GradientStats stats = any_stats();
                  const auto batch = *rc::gen::inRange<std::uint64_t>(1, 1 << 16);
                  const std::uint64_t reference =
                      *rc::gen::inRange(0, 4) == 0 ? batch
                                                   : *rc::gen::inRange<std::uint64_t>(1, 1 << 12);
                  RC_CLASSIFY(batch > reference, "S above 1");
                  RC_CLASSIFY(batch < reference, "S below 1");
                  RC_CLASSIFY(batch == reference, "S of 1");
                  RC_CLASSIFY(stats.mean_square_q32 >> 62 != 0, "huge");
                  RC_CLASSIFY(stats.biased, "biased");
                  scale.add(stats, batch, reference);
                  scale.check();
                  const Factor gain = scale.gain(batch, reference);
                  const Factor full = ratio(batch, reference);
                  RC_ASSERT(gain >= std::min(kUnchanged, full));
                  RC_ASSERT(gain <= std::max(kUnchanged, full));
                  RC_ASSERT(batch != reference || gain == kUnchanged);
                }
              },
              {.max_success = 500});
}

}  // namespace
}  // namespace elastic::policy
