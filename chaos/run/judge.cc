#include <fmt/format.h>

#include <algorithm>

#include "chaos/run/run.h"

namespace elastic::chaos {
namespace {

std::int64_t measured(Metric metric, const Summary& summary) {
  switch (metric) {
    case Metric::kFinishesWithin:
      return (summary.ended - summary.began).count();
    case Metric::kGoodput:
      return summary.goodput_ppm;
    case Metric::kStepsLost:
      return static_cast<std::int64_t>(summary.steps_lost);
    case Metric::kStepsRedone:
      return static_cast<std::int64_t>(summary.steps_redone_in_part +
                                       summary.steps_redone_in_whole);
    case Metric::kRecoveryP99:
      return summary.recovery_p99.count();
    case Metric::kRecoveryMax:
      return summary.recovery_max.count();
    case Metric::kCost:
      return summary.cost_microdollars;
    case Metric::kRounds:
      return static_cast<std::int64_t>(summary.rounds);
  }
  return 0;
}

std::string wanted_text(const Expectation& expectation) {
  std::string text(name(expectation.metric));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text + " " + expectation_text(expectation);
}

}  // namespace

std::vector<Judged> judge(const std::vector<Expectation>& expectations, const Summary& summary) {
  std::vector<Judged> judged;
  for (const Expectation& expectation : expectations) {
    const std::int64_t value = measured(expectation.metric, summary);
    const bool never = expectation.metric == Metric::kFinishesWithin && !summary.finished;
    judged.push_back({.wanted = wanted_text(expectation),
                      .found = never ? "never" : figure_text(expectation.metric, value),
                      .ok = !never && expectation.holds(value)});
  }
  return judged;
}

std::string fault_label(const sim::Fault& fault, const sim::WorldConfig& config) {
  std::string text(sim::name(fault.kind));
  std::replace(text.begin(), text.end(), '_', ' ');
  if (fault.targets.empty()) return text;
  if (fault.targets.size() == 1) {
    const NodeId node = fault.targets.front();
    if (node == sim::kCoordinator) return text + " coordinator";
    if (node.value == 0 || node.value > config.nodes.size()) return text;
    return text + " " + config.nodes[node.value - 1].name;
  }
  // All machines of one zone?
  std::vector<std::uint64_t> ids;
  for (const NodeId node : fault.targets) ids.push_back(node.value);
  for (std::uint32_t zone = 0; zone < config.zones.size(); ++zone) {
    std::vector<std::uint64_t> members;
    for (std::size_t i = 0; i < config.nodes.size(); ++i) {
      if (config.nodes[i].zone == zone) members.push_back(i + 1);
    }
    if (std::is_permutation(ids.begin(), ids.end(), members.begin(), members.end())) {
      return text + " zone " + config.zones[zone];
    }
  }
  return fmt::format("{} {} nodes", text, ids.size());
}

}  // namespace elastic::chaos
