// Faults of random and swarm lines: when, what, whom, how long, all drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "chaos/scenario/draws.h"
#include "chaos/scenario/layout.h"
#include "chaos/scenario/scenario.h"

namespace elastic::chaos {

// Which machines a plan leaves in place, asked at times that never decrease.
class Presence {
 public:
  // `plan` is sorted; only what adds and reclaims machines counts.
  Presence(const std::vector<sim::NodeSpec>& nodes, const sim::Plan& plan);

  // Walks along the plan; a copy starts anew from where it was taken.
  class Cursor {
   public:
    explicit Cursor(const Presence& presence) : presence_(&presence), up_(presence.at_start_) {}
    // The machines present just after `at`, ascending.
    std::vector<NodeId> at(Duration at);

   private:
    const Presence* presence_;
    std::vector<bool> up_;
    std::size_t next_ = 0;
  };

 private:
  struct Change {
    Duration at;
    bool add;
    std::vector<NodeId> nodes;
  };
  std::vector<bool> at_start_;
  std::vector<Change> changes_;
};

// The faults of one line, in the order of their occurrence.
sim::Plan random_faults(const Scenario& scenario, const FaultEntry& entry, const Draws& draws,
                        const Selectors& selectors, const Presence& presence);

}  // namespace elastic::chaos
