// From a scenario and a seed to the plan: markets or a trace, then the lines under `faults`.
#include <algorithm>
#include <map>

#include "chaos/availability/market.h"
#include "chaos/scenario/draws.h"
#include "chaos/scenario/layout.h"
#include "chaos/scenario/random_faults.h"
#include "chaos/scenario/scenario.h"
#include "core/math/integer.h"

namespace elastic::chaos {
namespace {

using sim::Fault;
using sim::FaultKind;

// Announced, then gone. What comes before the start of the run is announced at its start.
void add_reclaim(std::vector<NodeId> targets, Duration at, Duration notice, sim::Plan& plan) {
  const Duration announced = std::max(at - notice, Duration{});
  if (at > announced) {
    plan.push_back({.at = Time(announced),
                    .kind = FaultKind::kNotice,
                    .targets = targets,
                    .others = {},
                    .length = at - announced});
  }
  plan.push_back(
      {.at = Time(at), .kind = FaultKind::kReclaim, .targets = std::move(targets), .others = {}});
}

void add_return(std::vector<NodeId> targets, Duration at, sim::Plan& plan) {
  plan.push_back(
      {.at = Time(at), .kind = FaultKind::kAdd, .targets = std::move(targets), .others = {}});
}

void plan_market(const Scenario& scenario, std::uint32_t zone, std::uint64_t first_node,
                 std::uint64_t seed, sim::Plan& plan) {
  const Zone& spec = scenario.zones[zone];
  const std::optional<MarketData> market = find_market(spec.market);
  if (!market) return;
  const Draws draws(seed, "market " + spec.name, 0);
  const Pool pool{.machines = spec.nodes, .notice = scenario.notice, .horizon = scenario.horizon};
  for (PoolEvent& event : generate(*market, pool, draws.seed(), draws.stream())) {
    std::vector<NodeId> targets;
    for (const std::uint32_t machine : event.machines)
      targets.push_back(NodeId{first_node + machine});
    if (event.add) {
      add_return(std::move(targets), event.at, plan);
    } else {
      add_reclaim(std::move(targets), event.at, scenario.notice, plan);
    }
  }
}

// The machine of each slot of the trace.
std::vector<NodeId> nodes_of_slots(const Scenario& scenario) {
  const std::vector<std::uint32_t> zones =
      zones_of_slots(scenario, scenario.availability->machines);
  std::vector<std::uint64_t> first(scenario.zones.size() + 1, 1);
  for (const std::uint32_t zone : zones) {
    for (std::size_t later = zone + std::size_t{1}; later < first.size(); ++later) ++first[later];
  }
  std::vector<NodeId> nodes;
  for (const std::uint32_t zone : zones) nodes.push_back(NodeId{first[zone]++});
  return nodes;
}

void plan_trace(const Scenario& scenario, std::uint64_t seed, sim::Plan& plan) {
  const TraceSource& source = *scenario.availability;
  const std::vector<NodeId> nodes = nodes_of_slots(scenario);
  const SlotTimeline slots = to_slots(events_of(*source.trace, math::Seed{seed}), source.from,
                                      static_cast<std::uint32_t>(nodes.size()));
  std::vector<Duration> since(nodes.size(), -scenario.horizon);  // when each slot was last filled
  for (std::size_t i = 0; i < slots.events.size();) {
    const Duration at = slots.events[i].at;
    const bool add = slots.events[i].add;
    if (at > scenario.horizon) return;
    // What happens at one instant is one fault, but for machines too young for the whole notice.
    std::map<Duration, std::vector<NodeId>> by_notice;
    for (; i < slots.events.size() && slots.events[i].at == at && slots.events[i].add == add; ++i) {
      const std::uint32_t slot = slots.events[i].slot;
      const Duration notice = add ? Duration{} : std::min(scenario.notice, at - since[slot]);
      by_notice[notice].push_back(nodes[slot]);
      if (add) since[slot] = at;
    }
    for (auto& [notice, targets] : by_notice) {
      std::sort(targets.begin(), targets.end());
      if (add) {
        add_return(std::move(targets), at, plan);
      } else {
        add_reclaim(std::move(targets), at, notice, plan);
      }
    }
  }
}

void plan_timed(const FaultEntry& entry, const Selectors& selectors, sim::Plan& plan) {
  Fault fault;
  fault.at = Time(entry.at);
  fault.kind = entry.kind;
  fault.targets = selectors.all(entry.targets);
  fault.others = selectors.all(entry.others);
  if (fault.targets.empty() && !entry.targets.empty()) return;  // a zone without machines
  if (fault.others.empty() && !entry.others.empty()) return;
  const Duration length = entry.length ? entry.length->low : Duration{};
  if (entry.kind == FaultKind::kReclaim) {
    std::vector<NodeId> targets = fault.targets;
    add_reclaim(std::move(fault.targets), entry.at, entry.notice, plan);
    if (entry.length) add_return(std::move(targets), entry.at + length, plan);
    return;
  }
  fault.length = length;
  const bool exits = info(entry.kind).unit == ValueUnit::kExitCode;
  fault.value = entry.value.value_or(exits ? 1 : 0);
  plan.push_back(std::move(fault));
}

void sort_and_clip(sim::Plan& plan, Duration horizon) {
  std::stable_sort(plan.begin(), plan.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
  const auto after = std::find_if(plan.begin(), plan.end(),
                                  [&](const Fault& fault) { return fault.at > Time(horizon); });
  plan.erase(after, plan.end());
}

}  // namespace

sim::Plan make_plan(const Scenario& scenario, std::uint64_t seed) {
  sim::Plan plan;
  const std::vector<sim::NodeSpec> nodes = machines(scenario);
  if (scenario.availability) {
    plan_trace(scenario, seed, plan);
  } else {
    std::uint64_t first_node = 1;
    for (std::uint32_t zone = 0; zone < scenario.zones.size(); ++zone) {
      plan_market(scenario, zone, first_node, seed, plan);
      first_node += scenario.zones[zone].nodes;
    }
  }
  sort_and_clip(plan, scenario.horizon);
  const Selectors selectors(nodes, scenario.zones);
  const Presence presence(nodes, plan);
  std::map<std::string, std::uint64_t> seen;  // lines of the same kind so far
  for (const FaultEntry& entry : scenario.faults) {
    if (entry.form == FaultForm::kTimed) {
      plan_timed(entry, selectors, plan);
      continue;
    }
    const bool swarm = entry.form == FaultForm::kSwarm;
    const std::string what = swarm ? "swarm" : std::string(sim::name(entry.kind));
    const Draws draws(seed, what, seen[what]++);
    for (sim::Fault& fault : random_faults(scenario, entry, draws, selectors, presence)) {
      plan.push_back(std::move(fault));
    }
  }
  sort_and_clip(plan, scenario.horizon);
  return plan;
}

}  // namespace elastic::chaos
