#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

#include "core/data/permutation.h"
#include "core/math/integer.h"

namespace elastic::data {
namespace {

using math::Seed;

std::vector<std::uint64_t> first_of(const Permutation& order, std::uint64_t count) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < count; ++i) samples.push_back(order.at(Position{i}).value);
  return samples;
}

// Whether counts that should all be equal are as equal as chance makes them: the chi-square
// statistic is at most its mean (the degrees of freedom) plus six standard deviations, and a bit
// for its skew at few degrees. In integers: sum over cells of (count * cells - total)^2 / cells /
// total.
testing::AssertionResult even(const std::vector<std::uint64_t>& counts, std::uint64_t freedom) {
  const std::uint64_t cells = counts.size();
  std::uint64_t total = 0;
  for (const std::uint64_t count : counts) total += count;
  math::uint128 squares = 0;
  for (const std::uint64_t count : counts) {
    const auto off = static_cast<math::int128>(count * cells) - static_cast<math::int128>(total);
    squares += static_cast<math::uint128>(off * off);
  }
  const auto statistic = static_cast<std::uint64_t>(squares / cells / total);
  const std::uint64_t most = freedom + 6 * math::isqrt(2 * freedom) + 20;
  if (statistic <= most) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "chi-square " << statistic << " with " << freedom
                                     << " degrees of freedom, at most " << most << " expected";
}

TEST(Permutation, orders_of_tiny_data_sets_are_whole) {
  EXPECT_EQ(first_of(Permutation(1, Seed{5}, Epoch{0}), 1), (std::vector<std::uint64_t>{0}));
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const Permutation two(2, Seed{seed}, Epoch{0});
    EXPECT_EQ(two.at(Position{0}).value + two.at(Position{1}).value, 1U);
    const Permutation three(3, Seed{seed}, Epoch{0});
    std::array<int, 3> seen{};
    for (std::uint64_t i = 0; i < 3; ++i) {
      const Sample sample = three.at(Position{i});
      ++seen.at(sample.value);
      EXPECT_EQ(three.position_of(sample), Position{i});
    }
    EXPECT_EQ(seen, (std::array<int, 3>{1, 1, 1}));
  }
}

// Checkpoints name places in these orders: they never change.
TEST(Permutation, the_order_is_frozen) {
  EXPECT_EQ(first_of(Permutation(10, Seed{1}, Epoch{0}), 10),
            (std::vector<std::uint64_t>{6, 1, 0, 3, 8, 4, 7, 2, 9, 5}));
  EXPECT_EQ(first_of(Permutation(10, Seed{1}, Epoch{1}), 10),
            (std::vector<std::uint64_t>{2, 4, 8, 9, 1, 6, 7, 3, 5, 0}));
  EXPECT_EQ(first_of(Permutation(1'281'167, Seed{42}, Epoch{7}), 6),
            (std::vector<std::uint64_t>{699897, 116902, 985566, 756727, 347375, 490133}));
  EXPECT_EQ(first_of(Permutation(kMaxSamples, Seed{~std::uint64_t{0}}, Epoch{3}), 4),
            (std::vector<std::uint64_t>{19167744306057, 43696423591184, 240210131253191,
                                        192438966350102}));
}

TEST(Permutation, a_data_set_of_2_to_the_48_needs_no_more_memory_than_a_tiny_one) {
  static_assert(sizeof(Permutation) <= 256);  // and no allocation: the members are plain values
  static_assert(std::is_trivially_copyable_v<Permutation>);
  const Permutation order(kMaxSamples, Seed{9}, Epoch{2});
  for (const std::uint64_t position : {std::uint64_t{0}, kMaxSamples / 2, kMaxSamples - 1}) {
    const Sample sample = order.at(Position{position});
    EXPECT_LT(sample.value, kMaxSamples);
    EXPECT_EQ(order.position_of(sample), Position{position});
  }
}

TEST(Permutation, over_many_seeds_every_sample_is_equally_likely_at_every_position) {
  for (const std::uint64_t samples : {2U, 3U, 4U, 5U, 7U, 8U, 9U, 13U, 16U, 17U, 31U, 33U}) {
    std::vector<std::uint64_t> counts(samples * samples);
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
      const Permutation order(samples, Seed{seed}, Epoch{seed % 3});
      for (std::uint64_t i = 0; i < samples; ++i) {
        ++counts[i * samples + order.at(Position{i}).value];
      }
    }
    EXPECT_TRUE(even(counts, (samples - 1) * (samples - 1))) << samples << " samples";
  }
}

TEST(Permutation, over_many_seeds_all_orders_of_three_to_six_samples_are_equally_likely) {
  std::uint64_t orders = 2;
  for (std::uint64_t samples = 3; samples <= 6; ++samples) {
    orders *= samples;
    std::map<std::vector<std::uint64_t>, std::uint64_t> seen;
    for (std::uint64_t seed = 0; seed < 100 * orders; ++seed) {
      ++seen[first_of(Permutation(samples, Seed{seed}, Epoch{1}), samples)];
    }
    EXPECT_EQ(seen.size(), orders);
    std::vector<std::uint64_t> counts;
    for (const auto& [order, count] : seen) counts.push_back(count);
    EXPECT_TRUE(even(counts, orders - 1)) << samples << " samples";
  }
}

TEST(Permutation, the_next_epoch_and_the_next_seed_say_nothing_of_each_other) {
  constexpr std::uint64_t kSamples = 11;
  std::vector<std::uint64_t> epochs(kSamples * kSamples);
  std::vector<std::uint64_t> seeds(kSamples * kSamples);
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    const std::uint64_t here = Permutation(kSamples, Seed{i}, Epoch{i}).at(Position{4}).value;
    const std::uint64_t later = Permutation(kSamples, Seed{i}, Epoch{i + 1}).at(Position{4}).value;
    const std::uint64_t other = Permutation(kSamples, Seed{i + 1}, Epoch{i}).at(Position{4}).value;
    ++epochs[here * kSamples + later];
    ++seeds[here * kSamples + other];
  }
  EXPECT_TRUE(even(epochs, kSamples * kSamples - 1));
  EXPECT_TRUE(even(seeds, kSamples * kSamples - 1));
}

TEST(Permutation, neighbours_in_a_large_order_lie_at_any_distance) {
  for (const std::uint64_t samples : {std::uint64_t{1'000'003}, kMaxSamples - 59}) {
    constexpr std::uint64_t kBuckets = 64;
    std::vector<std::uint64_t> distances(kBuckets);
    std::vector<std::uint64_t> places(kBuckets);
    const Permutation order(samples, Seed{3}, Epoch{0});
    std::uint64_t last = order.at(Position{0}).value;
    for (std::uint64_t i = 1; i <= 50'000; ++i) {
      const std::uint64_t sample = order.at(Position{i}).value;
      const std::uint64_t distance = sample > last ? sample - last : sample + samples - last;
      ++distances[distance * kBuckets / (samples + 1)];
      ++places[sample * kBuckets / samples];
      last = sample;
    }
    EXPECT_TRUE(even(distances, kBuckets - 1)) << samples << " samples";
    EXPECT_TRUE(even(places, kBuckets - 1)) << samples << " samples";
  }
}

}  // namespace
}  // namespace elastic::data
