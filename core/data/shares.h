// Who computes which part of a batch. The only place where data meets the number of ranks.
//
// Two ways. By rank: a batch is cut into one share per rank, which is enough where each sample's
// part is summed exactly. By virtual shard (deterministic mode, design section 5): a batch is cut
// into a fixed number of shards, each with its own random stream, computed alone and summed exactly
// and in any order, and ranks take whole shards; so what enters the state (gradients, statistics,
// norms) depends neither on the world nor on the route of a reduction. Either way the parts adjoin,
// are as equal as can be, and add up to the batch. A part may be empty (more ranks or shards than
// samples); an empty one contributes a zero gradient, and nothing is padded to fill it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/cursor.h"
#include "core/math/parts.h"

namespace elastic::data {

// Positions [first, first + size) of the epoch of the batch that was cut.
struct Share {
  Position first;
  std::uint64_t size = 0;
  constexpr auto operator<=>(const Share&) const = default;
};

// The share of rank.index among rank.of ranks: [floor(r * B / W), floor((r + 1) * B / W)) of it.
Share share_of(const Batch& batch, math::Part rank);

// Virtual shard shard.index of shard.of: [floor(v * B / V), floor((v + 1) * B / V)) of the batch.
Share shard_of(const Batch& batch, math::Part shard);

// The numbers of the virtual shards that a rank computes: adjoining, and no rank has more than one
// above another. Empty for some ranks when there are more ranks than shards.
math::Range shards_of_rank(std::uint32_t virtual_shards, math::Part rank);

// All positions of the shards that a rank computes.
Share share_by_shards(const Batch& batch, std::uint32_t virtual_shards, math::Part rank);

// One share per rank, in the order of ranks, for workers of unequal speed: in proportion to the
// weights, by largest remainder (math::cut_by_weight). Weights that are all 0 count as equal.
std::vector<Share> weighted_shares(const Batch& batch, std::span<const std::uint32_t> weights);

}  // namespace elastic::data
