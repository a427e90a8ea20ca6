// However a batch is cut, nothing is padded, dropped or computed twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/data/shares.h"
#include "core/math/digest.h"
#include "tests/support/property.h"

namespace elastic::data {
namespace {

using test::check;
constexpr test::PropertyOptions kOften{.max_success = 1000};

Batch any_batch() {
  const auto bits = *rc::gen::element(0, 2, 4, 6, 8, 10, 20, 47, 48);
  const auto drawn = *rc::gen::arbitrary<std::uint64_t>();
  const std::uint64_t size = math::mix(drawn) % (std::uint64_t{1} << bits) + 1;
  const std::uint64_t first = math::mix(~drawn) % (kMaxSamples - size + 1);
  return {.epoch = Epoch{1}, .first = Position{first}, .size = size};
}

// The shares adjoin in their order, from the batch's first sample to its last.
void expect_partition(const Batch& batch, const std::vector<Share>& shares) {
  std::uint64_t next = batch.first.value;
  for (const Share& share : shares) {
    RC_ASSERT(share.first.value == next);
    next += share.size;
  }
  RC_ASSERT(next == batch.first.value + batch.size);
}

void expect_even(const std::vector<Share>& shares) {
  const auto [least, most] = std::minmax_element(
      shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.size < b.size; });
  RC_ASSERT(most->size - least->size <= 1);
}

TEST(SharesProperty, the_shares_of_the_ranks_partition_the_batch_evenly) {
  check(
      "shares partition the batch and differ by at most one",
      {"fewer samples than ranks", "divides", "does not divide", "one rank"},
      [] {
        const Batch batch = any_batch();
        const auto world = *rc::gen::inRange<std::uint32_t>(1, 300);
        RC_CLASSIFY(batch.size < world, "fewer samples than ranks");
        RC_CLASSIFY(batch.size % world == 0, "divides");
        RC_CLASSIFY(batch.size % world != 0, "does not divide");
        RC_CLASSIFY(world == 1, "one rank");
        std::vector<Share> shares;
        for (std::uint32_t rank = 0; rank < world; ++rank) {
          shares.push_back(share_of(batch, {rank, world}));
        }
        expect_partition(batch, shares);
        expect_even(shares);
      },
      kOften);
}

TEST(SharesProperty, virtual_shards_partition_the_batch_and_ranks_partition_the_shards) {
  check(
      "shards partition the batch, ranks partition the shards, and no shard is cut",
      {"more ranks than shards", "more shards than samples", "several shards a rank"},
      [] {
        const Batch batch = any_batch();
        const auto shards = *rc::gen::inRange<std::uint32_t>(1, 100);
        const auto world = *rc::gen::inRange<std::uint32_t>(1, 130);
        RC_CLASSIFY(world > shards, "more ranks than shards");
        RC_CLASSIFY(shards > batch.size, "more shards than samples");
        RC_CLASSIFY(shards >= 2 * world, "several shards a rank");
        std::vector<Share> all;
        for (std::uint32_t shard = 0; shard < shards; ++shard) {
          all.push_back(shard_of(batch, {shard, shards}));
        }
        expect_partition(batch, all);
        expect_even(all);

        std::vector<Share> by_rank;
        std::uint64_t next = 0, least = UINT64_MAX, most = 0;
        for (std::uint32_t rank = 0; rank < world; ++rank) {
          const math::Range own = shards_of_rank(shards, {rank, world});
          RC_ASSERT(own.first == next);
          next = own.end();
          least = std::min(least, own.size);
          most = std::max(most, own.size);
          Share whole{all[std::min<std::size_t>(own.first, shards - 1)].first, 0};
          for (std::uint64_t shard = own.first; shard < own.end(); ++shard) {
            whole.size += all[shard].size;
          }
          by_rank.push_back(share_by_shards(batch, shards, {rank, world}));
          RC_ASSERT(by_rank.back().size == whole.size);
          if (whole.size > 0) RC_ASSERT(by_rank.back().first == whole.first);
        }
        RC_ASSERT(next == shards);
        RC_ASSERT(most - least <= 1);
        expect_partition(batch, by_rank);
      },
      kOften);
}

TEST(SharesProperty, weighted_shares_partition_the_batch_within_one_sample_of_their_quota) {
  check(
      "weighted shares partition the batch within one sample of the quota",
      {"a weight of 0", "all weights 0", "equal weights", "largest weights",
       "fewer samples than ranks"},
      [] {
        const Batch batch = any_batch();
        const auto top = *rc::gen::element<std::uint32_t>(1, 2, 10, 1000, UINT32_MAX);
        auto weights = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint32_t>>(
            rc::gen::inRange<std::uint32_t>(0, top)));
        if (*rc::gen::element(0, 1, 2, 3) == 0) weights.assign(weights.size(), weights[0]);
        math::uint128 sum = 0;
        for (const std::uint32_t weight : weights) sum += weight;
        const bool equal = std::equal(weights.begin() + 1, weights.end(), weights.begin());
        RC_CLASSIFY(sum > 0 && std::count(weights.begin(), weights.end(), 0U) > 0, "a weight of 0");
        RC_CLASSIFY(sum == 0, "all weights 0");
        RC_CLASSIFY(equal && sum > 0 && weights.size() > 1, "equal weights");
        RC_CLASSIFY(sum > UINT32_MAX, "largest weights");
        RC_CLASSIFY(batch.size < weights.size(), "fewer samples than ranks");
        const std::vector<Share> shares = weighted_shares(batch, weights);
        RC_ASSERT(shares.size() == weights.size());
        expect_partition(batch, shares);
        if (equal) expect_even(shares);
        for (std::size_t i = 0; i < weights.size() && sum > 0; ++i) {
          const math::uint128 quota = math::uint128{batch.size} * weights[i];  // times sum
          RC_ASSERT(math::uint128{shares[i].size} * sum + sum > quota);
          RC_ASSERT(math::uint128{shares[i].size} * sum < quota + sum);
          if (weights[i] == 0) RC_ASSERT(shares[i].size == 0U);
        }
      },
      kOften);
}

}  // namespace
}  // namespace elastic::data
