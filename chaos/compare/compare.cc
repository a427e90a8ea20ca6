#include "chaos/compare/compare.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>

#include "chaos/run/interrupt.h"
#include "chaos/run/pool.h"

namespace elastic::chaos {
namespace {

using Json = nlohmann::ordered_json;

std::optional<Duration> deadline_of(const Scenario& scenario) {
  for (const Expectation& one : scenario.expect) {
    if (one.metric == Metric::kFinishesWithin) return Duration(one.value);
  }
  return std::nullopt;
}

PolicyRun crashed(std::uint64_t seed, int status) {
  PolicyRun run;
  run.row = crashed_row(seed, status);
  return run;
}

}  // namespace

bool counts(const PolicyRun& run) {
  return run.row.verdict == VerdictClass::kHolds || run.row.verdict == VerdictClass::kMissed;
}

std::string to_text(const PolicyRun& run) {
  return Json{{"row", to_text(run.row)},
              {"bound_steps", run.bound_steps},
              {"finished", run.bound.finished},
              {"finish_ns", run.bound.finish.count()},
              {"steps", run.bound.steps},
              {"goodput_ppm", run.bound.goodput_ppm},
              {"cost_microdollars", run.bound.cost_microdollars}}
      .dump();
}

PolicyRun policy_run_from_text(const std::string& text) {
  const Json json = Json::parse(text);
  PolicyRun run;
  run.row = row_from_text(json.at("row").get<std::string>());
  json.at("bound_steps").get_to(run.bound_steps);
  json.at("finished").get_to(run.bound.finished);
  run.bound.finish = Duration(json.at("finish_ns").get<std::int64_t>());
  json.at("steps").get_to(run.bound.steps);
  json.at("goodput_ppm").get_to(run.bound.goodput_ppm);
  json.at("cost_microdollars").get_to(run.bound.cost_microdollars);
  return run;
}

std::vector<std::size_t> PolicyComparison::complete() const {
  std::vector<std::size_t> seeds_done;
  for (std::size_t i = 0; i < this->seeds.count(); ++i) {
    const bool whole = std::all_of(runs.begin(), runs.end(), [i](const auto& of_policy) {
      return of_policy[i].has_value() && counts(*of_policy[i]);
    });
    if (whole) seeds_done.push_back(i);
  }
  return seeds_done;
}

std::uint64_t PolicyComparison::done() const {
  std::uint64_t count = 0;
  for (const auto& of_policy : runs) {
    for (const auto& run : of_policy) count += run.has_value() ? 1 : 0;
  }
  return count;
}

PolicyComparison compare(const Scenario& base,
                         const std::vector<std::pair<Policy, Scenario>>& policies,
                         const CompareOptions& options) {
  PolicyComparison result;
  result.scenario = base.name;
  result.seeds = options.seeds;
  result.horizon = base.horizon;
  result.deadline = deadline_of(base);
  const std::size_t items = options.seeds.count() * policies.size();
  result.jobs = static_cast<unsigned>(std::min<std::size_t>(std::max(1U, options.jobs), items));
  for (const auto& [policy, scenario] : policies) {
    result.policies.push_back(policy);
    result.changes.emplace_back();
    for (const PolicySetting& setting : settings(policy, base)) {
      result.changes.back().push_back(setting.assignment);
    }
    result.runs.emplace_back(options.seeds.count());
  }
  const auto started = std::chrono::steady_clock::now();
  BatchProgress progress{.total = items};
  const auto clock = [&] {
    result.wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::steady_clock::now() - started)
                         .count();
    progress.wall_ms = result.wall_ms;
  };
  // Seed by seed, so that an interruption leaves whole seeds.
  const PoolWork work = [&](std::size_t item, const PoolEmit& emit) {
    const std::uint64_t seed = options.seeds.first + item / policies.size();
    const Scenario& scenario = policies[item % policies.size()].second;
    const sim::Plan plan = make_plan(base, seed);
    const OracleBound bound(to_world(base, seed), plan);
    const auto run_of = [&](const RunResult& found) {
      PolicyRun run{.row = row_of(found), .bound_steps = 0, .bound = bound.figures()};
      run.bound_steps = bound.steps_by(Duration(run.row.finish_ns));
      return to_text(run);
    };
    RunOptions run = options.run;
    run.plan = &plan;
    run.on_crash = [&](const RunResult& found) {
      emit(run_of(found), true);
      _Exit(kCrashStatus);
    };
    emit(run_of(run_seed(scenario, seed, run)), false);
  };
  const auto done = [&](const PoolResult& found) {
    const std::uint64_t seed = options.seeds.first + found.item / policies.size();
    PolicyRun run;
    try {
      run =
          found.payload.empty() ? crashed(seed, found.status) : policy_run_from_text(found.payload);
    } catch (const std::exception&) {
      run = crashed(seed, found.status);
    }
    ++progress.done;
    if (severity(run.row.verdict) > severity(VerdictClass::kMissed)) ++progress.failed;
    result.runs[found.item % policies.size()][found.item / policies.size()] = std::move(run);
    return true;
  };
  const auto tick = [&] {
    clock();
    if (options.progress) options.progress(progress);
  };
  result.interrupted = !run_pool({.items = items, .jobs = result.jobs}, work, done, tick);
  clock();
  return result;
}

VerdictClass verdict_of(const PolicyComparison& comparison) {
  BatchResult all;
  all.interrupted = comparison.interrupted;
  for (const auto& of_policy : comparison.runs) {
    for (const auto& run : of_policy) {
      if (run) all.rows.push_back(run->row);
    }
  }
  return verdict_of(all);
}

}  // namespace elastic::chaos
