// From a Scenario to the machines and the world of the simulator.
#include <algorithm>

#include "chaos/availability/market.h"
#include "chaos/scenario/layout.h"
#include "chaos/scenario/scenario.h"
#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::chaos {
namespace {

// Young's formula: the time between saves that costs least is sqrt(2 * cost of a save * time
// between losses) (Young, CACM 1974). Nothing when no market takes machines. Native workers go back
// to a save only when all that hold the state are lost; taken as so many losses in a row as nodes
// are the least.
std::optional<Duration> best_interval(const Scenario& scenario) {
  std::int64_t losses_per_day = 0;
  if (!scenario.availability) {
    for (const Zone& zone : scenario.zones) {
      const auto market = find_market(zone.market);
      if (!market) continue;
      losses_per_day += std::chrono::hours(24) / mean_time_between_losses(*market, zone.nodes) + 1;
    }
  }
  if (losses_per_day == 0) return std::nullopt;
  const auto us = [](Duration d) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(1, d / std::chrono::microseconds(1)));
  };
  const bool native = scenario.job.workers == WorkerKind::kNative;
  const std::uint64_t between =
      us(Duration(std::chrono::hours(24)) / losses_per_day) * (native ? scenario.job.min_nodes : 1);
  const std::uint64_t product = math::mul_sat_u64(2 * us(scenario.training.copy_stall), between);
  const Duration interval = std::chrono::microseconds(math::isqrt(product));
  return std::max(interval, Duration(std::chrono::seconds(1)));
}

}  // namespace

Duration save_interval(const Scenario& scenario) {
  switch (scenario.checkpoint.interval) {
    case SaveInterval::kNever:
      return Duration{};
    case SaveInterval::kAuto:
      return best_interval(scenario).value_or(CheckpointOptions().every);
    case SaveInterval::kFixed:
      break;
  }
  return scenario.checkpoint.every;
}

std::uint64_t total_steps(const Scenario& scenario) {
  if (scenario.steps) return *scenario.steps;
  // The last batch of an epoch is short where the global batch does not divide it.
  const std::uint64_t an_epoch =
      math::ceil_div(scenario.dataset.value_or(1), scenario.training.global_batch);
  return math::mul_sat_u64(scenario.epochs.value_or(1), an_epoch);
}

std::vector<std::uint32_t> zones_of_slots(const Scenario& scenario, std::uint32_t slots) {
  std::uint64_t total = 0;
  for (const Zone& zone : scenario.zones) total += zone.nodes;
  std::vector<std::uint32_t> zones;
  std::vector<std::uint64_t> given(scenario.zones.size());
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    // The zone that is furthest below its share.
    std::size_t best = 0;
    std::int64_t best_lack = std::numeric_limits<std::int64_t>::min();
    for (std::size_t zone = 0; zone < scenario.zones.size(); ++zone) {
      const auto share = static_cast<std::int64_t>((slot + 1) * scenario.zones[zone].nodes);
      const std::int64_t lack = share - static_cast<std::int64_t>(given[zone] * total);
      if (lack > best_lack) {
        best = zone;
        best_lack = lack;
      }
    }
    ++given[best];
    zones.push_back(static_cast<std::uint32_t>(best));
  }
  return zones;
}

std::vector<sim::NodeSpec> machines(const Scenario& scenario) {
  std::vector<std::uint32_t> count;
  std::vector<std::uint32_t> at_start;
  for (const Zone& zone : scenario.zones) {
    count.push_back(scenario.availability ? 0 : zone.nodes);
    at_start.push_back(scenario.availability ? 0 : zone.at_start.value_or(zone.nodes));
  }
  if (scenario.availability) {
    const std::vector<std::uint32_t> zones =
        zones_of_slots(scenario, scenario.availability->machines);
    for (std::uint32_t slot = 0; slot < zones.size(); ++slot) {
      ++count[zones[slot]];
      if (slot < scenario.availability->at_start) ++at_start[zones[slot]];
    }
  }
  std::vector<sim::NodeSpec> nodes;
  for (std::uint32_t zone = 0; zone < scenario.zones.size(); ++zone) {
    const Zone& spec = scenario.zones[zone];
    for (std::uint32_t i = 0; i < count[zone]; ++i) {
      nodes.push_back({.name = spec.name + std::to_string(i),
                       .zone = zone,
                       .price_microdollars_per_hour = spec.price_microdollars_per_hour,
                       .present_at_start = i < at_start[zone]});
    }
  }
  return nodes;
}

Selectors::Selectors(const std::vector<sim::NodeSpec>& nodes, const std::vector<Zone>& zones) {
  machines_[std::string(kCoordinatorName)] = {kCoordinator};
  for (const Zone& zone : zones) machines_["zone " + zone.name] = {};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    machines_[nodes[i].name] = {NodeId{i + 1}};
    machines_["zone " + zones[nodes[i].zone].name].push_back(NodeId{i + 1});
  }
}

const std::vector<NodeId>* Selectors::find(std::string_view selector) const {
  const auto found = machines_.find(selector);
  return found == machines_.end() ? nullptr : &found->second;
}

std::vector<NodeId> Selectors::all(const std::vector<std::string>& selectors) const {
  std::vector<NodeId> out;
  for (const std::string& selector : selectors) {
    const std::vector<NodeId>* found = find(selector);
    if (found != nullptr) out.insert(out.end(), found->begin(), found->end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string_view> Selectors::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, machines] : machines_) names.emplace_back(name);
  return names;
}

tl::expected<std::vector<StepPoint>, std::string> step_points(const Scenario& scenario) {
  ELASTIC_ASSERT(scenario.model.times != nullptr);
  const JobConfig& job = scenario.job;
  const policy::BatchRule rule = sim::batch_rule(job, scenario.training);
  const std::uint32_t unit = std::max(1U, job.node_unit);
  std::vector<StepPoint> points;
  for (std::uint64_t nodes = math::ceil_div(job.min_nodes, unit) * unit; nodes <= job.max_nodes;
       nodes += unit) {
    const std::uint64_t workers = nodes * job.workers_per_node;
    const auto ranks = static_cast<std::uint32_t>(workers);
    const std::uint64_t share = math::ceil_div(policy::global_batch(rule, ranks), workers);
    const auto size = static_cast<std::uint32_t>(nodes);
    const auto time = scenario.model.times->at(size, job.workers_per_node, share);
    if (!time) return tl::unexpected(time.error());
    points.push_back({size, share, *time});
  }
  return points;
}

sim::WorldConfig to_world(const Scenario& scenario, std::uint64_t seed) {
  sim::WorldConfig world;
  world.seed = seed;
  world.job = scenario.job;
  world.nodes = machines(scenario);
  for (const Zone& zone : scenario.zones) world.zones.push_back(zone.name);
  world.job.journal_host = NodeId{};
  if (scenario.job.journal == JournalKind::kHosted) {
    const Selectors selectors(world.nodes, scenario.zones);
    const std::vector<NodeId>* host = selectors.find(scenario.journal_host);
    world.job.journal_host = host != nullptr && !host->empty() ? host->front() : NodeId{1};
  }
  world.network = scenario.network;
  world.journal = scenario.journal;
  world.training = scenario.training;
  world.training.total_steps = total_steps(scenario);
  world.training.dataset = scenario.dataset.value_or(0);
  world.job.growth_pays.total_steps = world.training.total_steps;
  world.training.compute_per_sample = scenario.model.compute_per_sample;
  world.training.step_overhead = scenario.model.step_overhead;
  world.training.gradient_bytes = scenario.model.gradient_bytes;
  world.training.state_bytes = scenario.checkpoint.size_bytes.value_or(scenario.model.state_bytes);
  if (scenario.model.times != nullptr) {
    const auto points = step_points(scenario);
    ELASTIC_ASSERT(points.has_value());  // checked on reading
    set_equivalent(*points, world.network, world.training);
  }
  world.training.checkpoint_every = save_interval(scenario);
  world.horizon = scenario.horizon;
  world.agent_boot = scenario.agent_boot;
  return world;
}

Model simulated_model(const Scenario& scenario) {
  const sim::TrainingModel training = to_world(scenario, 1).training;
  Model model;
  model.compute_per_sample = training.compute_per_sample;
  model.step_overhead = training.step_overhead;
  model.gradient_bytes = training.gradient_bytes;
  model.state_bytes = scenario.model.state_bytes;
  return model;
}

}  // namespace elastic::chaos
