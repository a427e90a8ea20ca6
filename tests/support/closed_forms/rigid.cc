#include "tests/support/closed_forms/rigid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "chaos/account/account.h"
#include "chaos/scenario/draws.h"
#include "core/assert.h"

namespace elastic::closed_forms {
namespace {

using std::chrono::microseconds;
using std::chrono::minutes;

constexpr std::int64_t kStepsPerInterval = 10;
constexpr Duration kLatency = microseconds(120);
constexpr Duration kNoTime = std::chrono::milliseconds(1);  // as good as none beside a restart
constexpr std::uint64_t kBatch = 1024;

// Training advances in steps, so the interval is a whole number of them.
Duration step_of(const RigidJob& job) { return job.interval / kStepsPerInterval; }

}  // namespace

chaos::Scenario scenario_of(const RigidJob& job, Duration horizon) {
  const Duration hops = 2 * (std::int64_t{job.nodes} - 1) * kLatency;
  // 1 GB/s is a byte each nanosecond. Writing takes as long as training stands still: a save is
  // lost with every failure before its end, and with none after it.
  std::string yaml = fmt::format(
      "# A program that all machines run or none, and that machines leave at exponential times.\n"
      "job:\n  nodes: {{min: {0}, max: {0}}}\n  workers: foreign\n"
      "  model: {{compute_per_sample: 0ms, step_overhead: {1}, gradient: 1B, state: {2}B}}\n"
      "  steps: {3}\n  global_batch: {4}\n  collectives: modelled\n"
      "  checkpoint: {{every: {5}, size: {2}B, bandwidth: 1GB/s, copy_stall: {6}}}\n"
      "  journal: external\n  start_up: {7}\n  start_up_jitter: 0s\n"
      "  restart_policy: exit_code\n"
      "cluster:\n  zones:\n    a: {{nodes: {0}}}\n  horizon: {8}\n"
      "network: {{latency: {9}, bandwidth: 25Gbit/s}}\nfaults:\n",
      job.nodes, text_of(step_of(job) - hops), job.save.count(), horizon / step_of(job) + 1, kBatch,
      text_of(step_of(job) * kStepsPerInterval), text_of(job.save), text_of(job.start_up),
      text_of(horizon), text_of(kLatency));
  for (std::uint32_t node = 0; node < job.nodes; ++node) {
    yaml += fmt::format("  - {{kind: crash, node: a{}, every: {}, chance: random, for: {}}}\n",
                        node, text_of(job.mtbf * job.nodes), text_of(job.away));
  }
  chaos::Scenario scenario = rigid_scenario_from(yaml);
  const sim::WorldConfig world = chaos::to_world(scenario, 1);
  ELASTIC_ASSERT(chaos::undisturbed_step(world, job.nodes, kBatch) == step_of(job));
  return scenario;
}

namespace {

Item far_apart(const RigidJob& job, std::uint32_t failures) {
  // Longer than any restart, and then some training with a save in it.
  const Duration load = job.save * job.nodes;
  const Duration apart = job.away + 2 * (job.start_up + load) + minutes(3) + 2 * job.interval;
  const chaos::Draws draws(1, "failures far apart", 0);
  sim::Plan plan;
  Time at{};
  for (std::uint32_t i = 0; i < failures; ++i) {
    const std::int64_t shift = draws.between(0, (job.interval + job.save).count(), "shift", i);
    at += apart + Duration(shift);
    plan.push_back({.at = at,
                    .kind = sim::FaultKind::kCrash,
                    .targets = {NodeId{1 + draws.below(job.nodes, "node", i)}},
                    .others = {},
                    .length = job.away});
  }
  return {scenario_of(job, at - Time{} + apart), 1, std::move(plan)};
}

RestartCost cost_of(const RigidJob& job, const Figures& run, std::uint32_t failures) {
  RestartCost cost;
  cost.known = in_seconds(job.start_up + job.save * job.nodes);
  cost.trouble = run.trouble;
  if (cost.trouble.empty() && run.recoveries.size() != failures) {
    cost.trouble = fmt::format("not each of {} failures far apart was recovered from", failures);
  }
  if (!cost.trouble.empty()) return cost;
  std::vector<double> member, coordinator, all, weights;
  for (const Recovery& one : run.recoveries) {
    (one.coordinator ? coordinator : member).push_back(one.seconds);
    all.push_back(one.seconds);
  }
  cost.member = chaos::interval_of(member).mean;
  cost.coordinator = chaos::interval_of(coordinator).mean;
  if (coordinator.empty() || (member.empty() && job.nodes > 1)) {
    cost.trouble = "of the failures far apart none hit the coordinator, or each one did";
    return cost;
  }
  // All nodes fail at one rate, so that one failure of `nodes` hits the coordinator.
  const double share = 1.0 / job.nodes;
  for (const Recovery& one : run.recoveries) {
    weights.push_back(one.coordinator ? share / static_cast<double>(coordinator.size())
                                      : (1 - share) / static_cast<double>(member.size()));
  }
  cost.effective = effective_restart(all, weights, in_seconds(job.mtbf));
  return cost;
}

}  // namespace

std::vector<RestartCost> restart_costs(const std::vector<RigidJob>& jobs, std::uint32_t failures,
                                       unsigned processes) {
  const auto same = [](const RigidJob& a, const RigidJob& b) {
    return a.nodes == b.nodes && a.save == b.save && a.start_up == b.start_up && a.away == b.away;
  };
  std::vector<RigidJob> different;
  std::vector<std::size_t> which;
  for (const RigidJob& job : jobs) {
    const auto known = std::find_if(different.begin(), different.end(),
                                    [&](const RigidJob& other) { return same(job, other); });
    which.push_back(static_cast<std::size_t>(known - different.begin()));
    if (known == different.end()) different.push_back(job);
  }
  const auto item = [&](std::size_t index) { return far_apart(different[index], failures); };
  const auto runs = run_items(different.size(), item, processes, {});
  std::vector<RestartCost> costs;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto& run = runs[which[i]];
    costs.push_back(run ? cost_of(jobs[i], *run, failures) : RestartCost{});
  }
  return costs;
}

namespace {

// Time away is no time in which a machine can fail: of M + away, M passes as in the closed form.
double predicted(const RigidJob& job, const RestartCost& restart) {
  const double mtbf = in_seconds(job.mtbf);
  const Daly daly{mtbf, restart.effective, in_seconds(job.save)};
  const double there = mtbf / (mtbf + in_seconds(job.away));
  return there * daly_goodput(daly, in_seconds(job.interval));
}

// Training that counts over all time.
double share_of(const RigidJob& job, const Figures& run) {
  return static_cast<double>(run.steps) * in_seconds(step_of(job)) / run.whole;
}

}  // namespace

std::vector<RigidPoint> run_points(const std::vector<RigidJob>& jobs, const Effort& effort) {
  constexpr std::uint32_t kFarApart = 256;
  const std::vector<RestartCost> costs = restart_costs(jobs, kFarApart, effort.processes);
  const auto item = [&](std::size_t index) {
    const RigidJob& job = jobs[index % jobs.size()];
    const Duration horizon = (job.mtbf + job.away) * std::int64_t{effort.failures};
    return Item{scenario_of(job, horizon), 1 + index / jobs.size(), std::nullopt};
  };
  const auto runs = run_items(jobs.size() * effort.seeds, item, effort.processes, effort.tell);
  std::vector<RigidPoint> points(jobs.size());
  std::vector<std::vector<double>> reported(jobs.size());
  for (std::size_t index = 0; index < runs.size(); ++index) {
    if (!runs[index]) continue;
    const std::size_t at = index % jobs.size();
    RigidPoint& point = points[at];
    if (!runs[index]->trouble.empty()) point.trouble = runs[index]->trouble;
    point.by_seed.push_back(share_of(jobs[at], *runs[index]));
    reported[at].push_back(runs[index]->goodput);
    point.failures += runs[index]->lost;
    point.events += runs[index]->events;
  }
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    RigidPoint& point = points[at];
    ELASTIC_ASSERT(jobs[at].nodes == 1 || jobs[at].away <= kNoTime);
    point.job = jobs[at];
    point.restart = costs[at];
    if (point.trouble.empty()) point.trouble = costs[at].trouble;
    point.predicted = predicted(jobs[at], costs[at]);
    point.found = chaos::interval_of(point.by_seed);
    point.reported = chaos::interval_of(reported[at]);
  }
  return points;
}

namespace {

double vertex_of(const std::vector<RigidPoint>& sweep, bool formula) {
  std::vector<double> xs, ys;
  for (const RigidPoint& point : sweep) {
    xs.push_back(std::log(in_seconds(point.job.interval)));
    ys.push_back(formula ? point.predicted : point.found.mean);
  }
  return std::exp(parabola_vertex(xs, ys));
}

}  // namespace

double vertex(const std::vector<RigidPoint>& sweep) { return vertex_of(sweep, false); }
double vertex_of_formula(const std::vector<RigidPoint>& sweep) { return vertex_of(sweep, true); }

}  // namespace elastic::closed_forms
