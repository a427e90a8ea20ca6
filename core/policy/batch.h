// How many samples a step takes when the world changes, and who takes which of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::policy {

enum class BatchMode : std::uint8_t {
  kConstant,  // the global batch is fixed, so the learning rate needs no change
  kLinear,    // the batch of each worker is fixed; learning rate times k (Goyal et al. 2017)
  kSqrt,      // likewise, times the square root of k (usual for optimisers like Adam)
  kAdaScale,  // likewise, times the gain that the gradients' noise allows (Johnson et al. 2020)
};

// Invariant (refuse_batch): in the modes that follow the world, the reference batch is a multiple
// of the reference world, so that each worker's batch is whole.
struct BatchRule {
  BatchMode mode = BatchMode::kConstant;
  std::uint64_t reference_batch = 1;  // samples per step that the learning rate was chosen for
  std::uint32_t reference_world = 1;  // ranks that it was chosen on
};
// What is wrong with the rule and what to do; nothing if it can be used.
std::optional<std::string> refuse_batch(const BatchRule& rule);

// Samples per step on `world` ranks.
std::uint64_t global_batch(const BatchRule& rule, std::uint32_t world);

// The samples [first, first + count) of a step's batch that `rank` takes. Shares differ by one at
// most, the larger ones first; together they are the batch, whether or not the world divides it.
// Each must be weighted by count / batch, not by 1 / world.
struct Share {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool operator==(const Share&) const = default;
};
Share share_of(std::uint64_t batch, std::uint32_t world, std::uint32_t rank);

}  // namespace elastic::policy
