#include "core/membership/records.h"

#include "core/assert.h"

namespace elastic {

std::uint32_t first_rank(const World& world, std::size_t index) {
  ELASTIC_ASSERT(index <= world.members.size());
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < index; ++i) rank += world.members[i].workers;
  return rank;
}

std::uint32_t world_size(const World& world) { return first_rank(world, world.members.size()); }

std::size_t index_of(const World& world, NodeId node) {
  for (std::size_t i = 0; i < world.members.size(); ++i) {
    if (world.members[i].agent.node == node) return i;
  }
  return world.members.size();
}

}  // namespace elastic
