// How a scenario lays itself out: what several files here need of world.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/scenario/scenario.h"

namespace elastic::chaos {

// The zone of each slot of a trace: zones share them in proportion to their nodes, in turn. Within
// a zone, slots are numbered in this order: the n-th slot of zone "a" is the machine a<n>.
std::vector<std::uint32_t> zones_of_slots(const Scenario& scenario, std::uint32_t slots);

// The machines that selectors mean. kCoordinator stands for itself.
class Selectors {
 public:
  Selectors(const std::vector<sim::NodeSpec>& nodes, const std::vector<Zone>& zones);
  // Ascending; nullptr if there is no such machine or zone.
  [[nodiscard]] const std::vector<NodeId>* find(std::string_view selector) const;
  // All of them, ascending, each once; unknown ones are left out.
  [[nodiscard]] std::vector<NodeId> all(const std::vector<std::string>& selectors) const;
  [[nodiscard]] std::vector<std::string_view> names() const;

 private:
  std::map<std::string, std::vector<NodeId>, std::less<>> machines_;
};

// Between two saves; zero: never.
Duration save_interval(const Scenario& scenario);

// Steps until the job is done.
std::uint64_t total_steps(const Scenario& scenario);

}  // namespace elastic::chaos
