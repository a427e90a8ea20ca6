#include "chaos/run/batch.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "chaos/account/account.h"
#include "chaos/oracles/oracle_set.h"
#include "chaos/run/interrupt.h"
#include "chaos/run/pool.h"

namespace elastic::chaos {
namespace {

// Names and promises of all oracles, as the rows' checks are ordered.
std::vector<OracleTally> oracle_list(const Scenario& scenario) {
  const sim::WorldConfig config = to_world(scenario, 1);
  const auto derived = derive_timeouts(config.job);
  const auto* timeouts = std::get_if<Timeouts>(&derived);
  std::vector<OracleTally> list;
  if (timeouts == nullptr) return list;
  for (const OracleCount& one : OracleSet(config, *timeouts).counts()) {
    list.push_back({.name = std::string(one.name), .promise = std::string(one.promise)});
  }
  return list;
}

void add_checks(std::vector<OracleTally>& oracles, const Row& row) {
  for (std::size_t i = 0; i < std::min(oracles.size(), row.checks.size()); ++i) {
    oracles[i].checks += row.checks[i];
  }
}

}  // namespace

Row crashed_row(std::uint64_t seed, int status) {
  Row row;
  row.seed = seed;
  row.verdict = VerdictClass::kCrash;
  row.oracle = "process";
  row.title = status > 128 ? "died of signal " + std::to_string(status - 128)
                           : "ended with status " + std::to_string(status);
  return row;
}

BatchResult run_batch(const Scenario& scenario, const BatchOptions& options) {
  BatchResult batch;
  batch.scenario = scenario.name;
  batch.seeds = options.seeds;
  batch.oracles = oracle_list(scenario);
  batch.jobs = static_cast<unsigned>(
      std::min<std::uint64_t>(std::max(1U, options.jobs), options.seeds.count()));
  const auto started = std::chrono::steady_clock::now();
  BatchProgress progress{.total = options.seeds.count()};
  const auto clock = [&] {
    batch.wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::chrono::steady_clock::now() - started)
                        .count();
    progress.wall_ms = batch.wall_ms;
  };

  const PoolWork work = [&](std::size_t item, const PoolEmit& emit) {
    RunOptions run = options.run;
    run.on_crash = [&](const RunResult& result) {
      emit(to_text(row_of(result, options.digests)), true);
      _Exit(kCrashStatus);
    };
    const RunResult result = run_seed(scenario, options.seeds.first + item, run);
    emit(to_text(row_of(result, options.digests)), false);
  };
  const auto done = [&](const PoolResult& result) {
    const std::uint64_t seed = options.seeds.first + result.item;
    Row row;
    try {
      row =
          result.payload.empty() ? crashed_row(seed, result.status) : row_from_text(result.payload);
    } catch (const std::exception&) {
      row = crashed_row(seed, result.status);
    }
    ++progress.done;
    if (severity(row.verdict) > severity(VerdictClass::kMissed)) ++progress.failed;
    if (row.verdict == VerdictClass::kMissed) ++progress.missed;
    add_checks(batch.oracles, row);
    if (options.on_row) options.on_row(row);
    batch.rows.push_back(std::move(row));
    return true;
  };
  const auto tick = [&] {
    clock();
    if (options.progress) options.progress(progress);
  };
  const PoolOptions pool{.items = options.seeds.count(), .jobs = batch.jobs};
  batch.interrupted = !run_pool(pool, work, done, tick);
  clock();
  std::sort(batch.rows.begin(), batch.rows.end(),
            [](const Row& a, const Row& b) { return a.seed < b.seed; });
  return batch;
}

VerdictClass verdict_of(const BatchResult& batch) {
  VerdictClass worst = VerdictClass::kHolds;
  for (const Row& row : batch.rows) {
    if (severity(row.verdict) > severity(worst)) worst = row.verdict;
  }
  const bool grave = severity(worst) > severity(VerdictClass::kMissed);
  return batch.interrupted && !grave ? VerdictClass::kInterrupted : worst;
}

}  // namespace elastic::chaos
