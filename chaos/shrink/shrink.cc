#include "chaos/shrink/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <filesystem>
#include <utility>

#include "chaos/run/interrupt.h"
#include "chaos/run/pool.h"
#include "chaos/run/run.h"

namespace elastic::chaos {
namespace {

bool needs_whole_run(const Row& row) {
  return row.verdict == VerdictClass::kMissed || row.in_liveness_phase;
}

// One run in a process of its own.
Row run_apart(const Scenario& scenario, std::uint64_t seed, const RunOptions& options) {
  Row row;
  row.seed = seed;
  const PoolWork work = [&](std::size_t /*item*/, const PoolEmit& emit) {
    RunOptions run = options;
    run.on_crash = [&](const RunResult& result) {
      emit(to_text(row_of(result)), true);
      _Exit(kCrashStatus);
    };
    emit(to_text(row_of(run_seed(scenario, seed, run))), false);
  };
  const auto done = [&](const PoolResult& result) {
    try {
      row = row_from_text(result.payload);
    } catch (const std::exception&) {  // it died without a word
      row.verdict = VerdictClass::kCrash;
      row.oracle = "process";
      row.title = fmt::format("ended with status {}", result.status);
    }
    return true;
  };
  const PoolOptions pool{.items = 1, .jobs = 1};
  if (!run_pool(pool, work, done)) row.verdict = VerdictClass::kInterrupted;
  return row;
}

// The sentence that a regression scenario begins with.
std::string sentence_of(const Scenario& scenario, const Row& failure, bool smaller) {
  const std::string what = failure.verdict == VerdictClass::kMissed
                               ? "an expectation is missed"
                               : fmt::format("{} ({})", failure.title, failure.oracle);
  return fmt::format("{}: found by seed {} of {}{}; run it with --seed {}.", what, failure.seed,
                     scenario.name, smaller ? ", shrunk" : "", failure.seed);
}

class Shrinker {
 public:
  Shrinker(const Scenario& scenario, std::uint64_t seed, const ShrinkOptions& options)
      : scenario_(scenario), seed_(seed), options_(options) {}

  ShrinkResult run() {
    ShrinkResult result;
    const sim::Plan plan = make_plan(scenario_, seed_);
    result.faults_before = plan.size();
    result.horizon_before = scenario_.horizon;
    RunOptions first;
    first.liveness = options_.liveness;
    first.plan = &plan;
    result.failure = run_apart(scenario_, seed_, first);
    result.interrupted = interrupted();
    if (result.interrupted || result.failure.verdict == VerdictClass::kHolds) return result;
    failure_ = result.failure;
    const Suspect suspect{.plan = plan, .horizon = scenario_.horizon};
    result.minimised = minimise(
        suspect, [this](const Suspect& one) { return trial(one); }, options_.limits,
        options_.progress);
    result.interrupted = interrupted();
    if (result.interrupted) result.minimised.complete = false;
    if (!result.minimised.failed) return result;
    finish(result);
    return result;
  }

 private:
  std::optional<Time> trial(const Suspect& suspect) const {
    if (interrupted()) return std::nullopt;
    const Row row = run_apart(with_horizon(suspect.horizon), seed_, phases(&suspect.plan));
    if (signature(row) != signature(failure_)) return std::nullopt;
    // What needs the whole run fails at no moment in particular.
    if (needs_whole_run(failure_)) return Time::max();
    return Time{} + Duration(row.at_ns);
  }

  [[nodiscard]] Scenario with_horizon(Duration horizon) const {
    Scenario scenario = scenario_;
    if (!needs_whole_run(failure_)) scenario.horizon = horizon;
    return scenario;
  }

  // Only the run that showed the failure.
  [[nodiscard]] RunOptions phases(const sim::Plan* plan) const {
    RunOptions run;
    run.liveness = failure_.in_liveness_phase;
    run.main = !failure_.in_liveness_phase;
    run.plan = plan;
    return run;
  }

  // Once the bug is mended the scenario must hold, although its job no longer has the time to
  // finish: only an expectation whose miss is the failure stays.
  void keep_expectation(Scenario& scenario) const {
    std::string missed;
    if (failure_.verdict == VerdictClass::kMissed) {
      for (const Judged& one : failure_.expected) {
        if (missed.empty() && !one.ok) missed = one.wanted;
      }
    }
    std::erase_if(scenario.expect, [&](const Expectation& one) {
      return judge({one}, Summary{}).front().wanted != missed;
    });
  }

  void finish(ShrinkResult& result) const {
    const Suspect& smallest = result.minimised.smallest;
    result.smallest = with_horizon(smallest.horizon);
    const std::filesystem::path path = regression_path(scenario_.name, seed_, failure_);
    result.smallest.name = path.stem().string();
    result.smallest.sentence =
        sentence_of(scenario_, failure_, smallest.plan.size() < result.faults_before);
    keep_expectation(result.smallest);
    result.yaml = scenario_to_yaml(result.smallest, &smallest.plan);
    const auto again = parse_scenario(result.yaml, "the shrunk scenario");
    if (!again || result.interrupted) return;
    result.repeats = signature(run_apart(*again, seed_, phases(nullptr))) == signature(failure_);
  }

  const Scenario& scenario_;
  std::uint64_t seed_;
  const ShrinkOptions& options_;
  Row failure_;
};

}  // namespace

std::string signature(const Row& row) {
  std::string text(name(row.verdict));
  if (row.verdict == VerdictClass::kMissed) {
    for (const Judged& judged : row.expected) {
      if (!judged.ok) return text + " " + judged.wanted;
    }
  }
  text += " " + row.oracle;
  if (row.verdict == VerdictClass::kCrash) text += " " + row.title;
  return text;
}

std::string regression_path(const std::string& scenario, std::uint64_t seed, const Row& failure) {
  std::string what = failure.verdict == VerdictClass::kMissed ? "expectation" : failure.oracle;
  for (char& c : what) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') c = '_';
  }
  return fmt::format("scenarios/regressions/{}-{}-{}.yaml", what, scenario, seed);
}

ShrinkResult shrink_seed(const Scenario& scenario, std::uint64_t seed,
                         const ShrinkOptions& options) {
  return Shrinker(scenario, seed, options).run();
}

}  // namespace elastic::chaos
