// The WorldView of a simulated world.
#pragma once

#include <optional>

#include "chaos/oracles/oracle.h"
#include "transport/sim/world.h"

namespace elastic::chaos {

class SimView final : public WorldView {
 public:
  explicit SimView(const sim::World& world) : world_(world) {}
  Time local_clock(NodeId node) const override { return world_.local_clock(node); }
  std::optional<Told> told_by(NodeId id) const override {
    const Node* node = world_.node(id);
    if (node == nullptr || node->exited()) return std::nullopt;
    const Agent& agent = node->agent();
    const AgentState state = agent.state();
    const bool inside = state == AgentState::kEntering || state == AgentState::kRunning ||
                        state == AgentState::kLeaving || state == AgentState::kFinished;
    return Told{.self = node->self(),
                .in_round = inside ? agent.placed() : RoundId{},
                .wait = agent.waiting(),
                .state = state};
  }
  bool intact(const Checkpoint& save) const override { return world_.intact(save); }

 private:
  const sim::World& world_;
};

}  // namespace elastic::chaos
