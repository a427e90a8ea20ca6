#include "core/data/shares.h"

#include "core/assert.h"

namespace elastic::data {
namespace {

Share within(const Batch& batch, const math::Range& range) {
  ELASTIC_ASSERT(range.end() <= batch.size);
  return {.first = Position{batch.first.value + range.first}, .size = range.size};
}

}  // namespace

Share share_of(const Batch& batch, math::Part rank) {
  ELASTIC_ASSERT(rank.index < rank.of);
  return within(batch, math::cut(batch.size, rank));
}

Share shard_of(const Batch& batch, math::Part shard) {
  ELASTIC_ASSERT(shard.index < shard.of);
  return within(batch, math::cut(batch.size, shard));
}

math::Range shards_of_rank(std::uint32_t virtual_shards, math::Part rank) {
  ELASTIC_ASSERT(rank.index < rank.of);
  return math::cut(virtual_shards, rank);
}

Share share_by_shards(const Batch& batch, std::uint32_t virtual_shards, math::Part rank) {
  ELASTIC_ASSERT(virtual_shards > 0);
  const math::Range shards = shards_of_rank(virtual_shards, rank);
  // A shard ends where the next begins, so the bounds of the first and last are those of all.
  const auto begin_of = [&](std::uint64_t shard) {
    return math::cut(batch.size, {static_cast<std::uint32_t>(shard), virtual_shards}).first;
  };
  const std::uint64_t first = begin_of(shards.first);
  return within(batch, {first, begin_of(shards.end()) - first});
}

std::vector<Share> weighted_shares(const Batch& batch, std::span<const std::uint32_t> weights) {
  std::vector<Share> shares;
  shares.reserve(weights.size());
  for (const math::Range& range : math::cut_by_weight(batch.size, weights)) {
    shares.push_back(within(batch, range));
  }
  return shares;
}

}  // namespace elastic::data
