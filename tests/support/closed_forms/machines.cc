#include "tests/support/closed_forms/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chaos/scenario/draws.h"
#include "core/math/sampling.h"

namespace elastic::closed_forms {
namespace {

// What is trained does not matter; it does not finish before the horizon.
std::string availability_yaml(const AvailabilityCase& one, Duration horizon) {
  std::string yaml = fmt::format(
      "# A job that needs {0} of {1} machines, which fail and are repaired.\n"
      "job:\n  nodes: {{min: {0}, max: {1}}}\n"
      "  model: {{compute_per_sample: 0ms, step_overhead: 30s, gradient: 1B, state: 1MB}}\n"
      "  steps: {2}\n  global_batch: 1024\n  collectives: modelled\n"
      "  checkpoint: {{every: 5min, copy_stall: 0s}}\n  journal: external\n  start_up: 5s\n"
      "  detection_target: 15s\n  flaps: {{tolerated: 0}}\n"
      "cluster:\n  zones:\n    a: {{nodes: {1}}}\n  horizon: {3}\n",
      one.least, one.machines, horizon / std::chrono::seconds(30) + 1, text_of(horizon));
  if (one.repairers < one.machines) return yaml;
  yaml += "faults:\n";
  for (std::uint32_t machine = 0; machine < one.machines; ++machine) {
    yaml += fmt::format("  - {{kind: crash, node: a{}, every: {}, chance: random, for: {}..{}}}\n",
                        machine, text_of(one.mtbf), text_of(one.mttr / 2),
                        text_of(one.mttr + one.mttr / 2));
  }
  return yaml;
}

// Failures in the order of time; each waits for the repairer that is free first.
sim::Plan repair_plan(const AvailabilityCase& one, Duration horizon, std::uint64_t seed) {
  const chaos::Draws draws(seed, "repair", 0);
  std::uint64_t drawn = 0;
  const auto next = [&](Duration mean) {
    return std::max(math::exponential(draws.draw("time", drawn++), mean), Duration(1));
  };
  std::vector<Duration> fails, free(one.repairers);
  for (std::uint32_t machine = 0; machine < one.machines; ++machine) {
    fails.push_back(next(one.mtbf));
  }
  sim::Plan plan;
  for (;;) {
    const auto failing = std::min_element(fails.begin(), fails.end());
    const Duration at = *failing;
    if (at > horizon) return plan;
    const auto repairer = std::min_element(free.begin(), free.end());
    *repairer = std::max(at, *repairer) + next(one.mttr);
    plan.push_back({.at = Time(at),
                    .kind = sim::FaultKind::kCrash,
                    .targets = {NodeId{1 + static_cast<std::uint64_t>(failing - fails.begin())}},
                    .others = {},
                    .length = *repairer - at});
    *failing = *repairer + next(one.mtbf);
  }
}

Duration horizon_for(const AvailabilityCase& one, std::uint32_t failures) {
  double up = 0;
  const std::vector<double> share = machines_up(one.as_formula());
  for (std::size_t k = 0; k < share.size(); ++k) up += static_cast<double>(k) * share[k];
  return from_seconds(failures * in_seconds(one.mtbf) / up);
}

}  // namespace

std::vector<Agreement> unavailability(const std::vector<AvailabilityCase>& cases,
                                      const AvailabilityEffort& effort) {
  const auto item = [&](std::size_t index) {
    const AvailabilityCase& one = cases[index % cases.size()];
    const std::uint64_t seed = 1 + index / cases.size();
    const Duration horizon = horizon_for(one, effort.failures);
    Item made{scenario_from(availability_yaml(one, horizon)), seed, std::nullopt};
    if (one.repairers < one.machines) made.plan = repair_plan(one, horizon, seed);
    return made;
  };
  const auto runs = run_items(cases.size() * effort.seeds, item, effort.processes, effort.tell);
  std::vector<Agreement> all(cases.size());
  std::vector<std::vector<double>> shares(cases.size());
  for (std::size_t index = 0; index < runs.size(); ++index) {
    if (!runs[index]) continue;
    const Figures& run = *runs[index];
    Agreement& one = all[index % cases.size()];
    if (!run.trouble.empty()) one.trouble = run.trouble;
    shares[index % cases.size()].push_back(run.below_minimum / run.whole);
    one.samples += run.lost;
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    all[i].predicted = 1 - availability(cases[i].as_formula(), cases[i].least);
    all[i].found = chaos::interval_of(shares[i]);
  }
  return all;
}

namespace {

std::string wait_yaml(const WaitCase& one) {
  // The last of all has come by then, but for one run in 10^17.
  const Duration horizon = one.mean * (40 + one.machines);
  std::string yaml = fmt::format(
      "# One step on {0} nodes, as soon as so many of {1} have come.\n"
      "job:\n  nodes: {{min: {0}, max: {0}}}\n  workers: foreign\n"
      "  model: {{compute_per_sample: 0ms, step_overhead: 1s, gradient: 1B, state: 1MB}}\n"
      "  steps: 1\n  global_batch: 1024\n  collectives: modelled\n"
      "  checkpoint: {{every: 5min, copy_stall: 0s}}\n  journal: external\n  start_up: 5s\n"
      "  start_up_jitter: 0s\n"
      "cluster:\n  zones:\n    a: {{nodes: {1}, at_start: 0}}\n  horizon: {2}\nfaults:\n",
      one.least, one.machines, text_of(horizon));
  for (std::uint32_t machine = 0; machine < one.machines; ++machine) {
    yaml += fmt::format("  - {{kind: add, node: a{}, every: {}, chance: random}}\n", machine,
                        text_of(one.mean));
  }
  return yaml;
}

Wait judged(const WaitCase& one, const std::vector<double>& found) {
  const Arrivals arrivals = one.as_formula();
  Wait wait;
  wait.mean.samples = found.size();
  wait.mean.predicted = mean_wait(arrivals);
  wait.mean.found = chaos::interval_of(found);
  wait.deviation_predicted = wait_deviation(arrivals);
  double squares = 0;
  for (const double seconds : found) squares += std::pow(seconds - wait.mean.found.mean, 2);
  const auto count = static_cast<double>(found.size());
  if (found.size() > 1) wait.deviation_found = std::sqrt(squares / (count - 1));
  wait.distance = std::sqrt(count) * largest_distance(found, arrivals);
  return wait;
}

}  // namespace

std::vector<Wait> waits(const std::vector<WaitCase>& cases, std::uint64_t seeds, unsigned processes,
                        const Tell& tell) {
  const auto item = [&](std::size_t index) {
    return Item{rigid_scenario_from(wait_yaml(cases[index % cases.size()])),
                1 + index / cases.size(), std::nullopt};
  };
  const auto runs = run_items(cases.size() * seeds, item, processes, tell);
  std::vector<std::vector<double>> found(cases.size()), starts(cases.size());
  std::vector<std::string> troubles(cases.size());
  for (std::size_t index = 0; index < runs.size(); ++index) {
    if (!runs[index]) continue;
    const Figures& run = *runs[index];
    const std::size_t at = index % cases.size();
    if (!run.trouble.empty()) troubles[at] = run.trouble;
    if (!run.finished || !run.first_step) troubles[at] = "a run did not finish";
    found[at].push_back(run.below_minimum);
    starts[at].push_back(run.first_step.value_or(0) - run.below_minimum);
  }
  std::vector<Wait> all;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    all.push_back(judged(cases[i], found[i]));
    all.back().mean.trouble = troubles[i];
    if (starts[i].empty()) continue;
    all.back().start_least = *std::min_element(starts[i].begin(), starts[i].end());
    all.back().start_most = *std::max_element(starts[i].begin(), starts[i].end());
  }
  return all;
}

}  // namespace elastic::closed_forms
