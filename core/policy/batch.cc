#include "core/policy/batch.h"

#include <algorithm>

#include "core/assert.h"

namespace elastic::policy {
namespace {
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 48;
}  // namespace

std::optional<std::string> refuse_batch(const BatchRule& rule) {
  if (rule.reference_batch == 0) return "the reference batch is 0 samples; at least 1 is needed";
  if (rule.reference_world == 0) return "the reference world is 0 ranks; at least 1 is needed";
  if (rule.reference_batch > kMostSamples) {
    return "the reference batch is above " + std::to_string(kMostSamples) + " samples";
  }
  const std::uint64_t rest = rule.reference_batch % rule.reference_world;
  if (rule.mode == BatchMode::kConstant || rest == 0) return std::nullopt;
  return "a reference batch of " + std::to_string(rule.reference_batch) + " samples on " +
         std::to_string(rule.reference_world) + " ranks leaves " + std::to_string(rest) +
         " over; use " + std::to_string(rule.reference_batch - rest + rule.reference_world) +
         ", or batch mode constant";
}

std::uint64_t global_batch(const BatchRule& rule, std::uint32_t world) {
  ELASTIC_ASSERT(!refuse_batch(rule));
  ELASTIC_ASSERT(world > 0);
  if (rule.mode == BatchMode::kConstant) return rule.reference_batch;
  return rule.reference_batch / rule.reference_world * world;
}

Share share_of(std::uint64_t batch, std::uint32_t world, std::uint32_t rank) {
  ELASTIC_ASSERT(world > 0);
  ELASTIC_ASSERT(rank < world);
  const std::uint64_t each = batch / world;
  const std::uint64_t larger = batch % world;
  const std::uint64_t before = std::min<std::uint64_t>(rank, larger);
  return {each * rank + before, each + (rank < larger ? 1U : 0U)};
}

}  // namespace elastic::policy
