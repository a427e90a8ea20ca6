#include "core/membership/records.h"

#include <algorithm>

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

MemberIndex::MemberIndex(const World* world) : world_(world) {
  if (world == nullptr) return;
  by_node_.reserve(world->members.size());
  for (std::size_t i = 0; i < world->members.size(); ++i) {
    by_node_.emplace_back(world->members[i].agent.node, i);
  }
  std::sort(by_node_.begin(), by_node_.end());  // of a node twice, the first counts
}

std::optional<std::size_t> MemberIndex::of(NodeId node) const {
  const auto at =
      std::lower_bound(by_node_.begin(), by_node_.end(), std::pair(node, std::size_t{0}));
  if (at == by_node_.end() || at->first != node) return std::nullopt;
  return at->second;
}

bool MemberIndex::has(AgentId agent) const {
  const auto index = of(agent.node);
  return index && world_->members[*index].agent == agent;
}

}  // namespace elastic
