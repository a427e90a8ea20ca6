#include "chaos/sweep/sweep.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

#include "chaos/run/pool.h"
#include "core/assert.h"

namespace elastic::chaos {
namespace {

struct MeasureInfo {
  Measure measure;
  std::string_view name;
};
constexpr std::array<MeasureInfo, 9> kMeasures{{{Measure::kGoodput, "goodput"},
                                                {Measure::kCost, "cost"},
                                                {Measure::kFinish, "finish"},
                                                {Measure::kRedone, "redone"},
                                                {Measure::kInTime, "in_time"},
                                                {Measure::kLost, "lost"},
                                                {Measure::kRecoveryP99, "recovery_p99"},
                                                {Measure::kRecoveryMax, "recovery_max"},
                                                {Measure::kRounds, "rounds"}}};

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

Row row_from(const PoolResult& result, std::uint64_t seed) {
  if (!result.payload.empty()) {
    try {
      return row_from_text(result.payload);
    } catch (const std::exception&) {
      // half a row: the process died while it wrote
    }
  }
  Row row;
  row.seed = seed;
  row.verdict = VerdictClass::kCrash;
  row.oracle = "process";
  row.title = result.status > 128 ? "died of signal " + std::to_string(result.status - 128)
                                  : "ended with status " + std::to_string(result.status);
  return row;
}

}  // namespace

std::string_view name(Measure measure) {
  for (const MeasureInfo& one : kMeasures) {
    if (one.measure == measure) return one.name;
  }
  return "";
}

std::vector<std::string_view> measure_names() {
  std::vector<std::string_view> names;
  for (const MeasureInfo& one : kMeasures) names.push_back(one.name);
  return names;
}

std::optional<Measure> find_measure(std::string_view text) {
  for (const MeasureInfo& one : kMeasures) {
    if (one.name == text) return one.measure;
  }
  return std::nullopt;
}

bool more_is_better(Measure measure) {
  return measure == Measure::kGoodput || measure == Measure::kInTime;
}

SweepResult run_sweep(const std::vector<Setting>& settings, std::vector<SweepPoint> points,
                      const SweepOptions& options) {
  ELASTIC_ASSERT(!points.empty());
  ELASTIC_ASSERT(points.size() * options.seeds.count() <= kMaxSweepRuns);
  SweepResult sweep;
  sweep.scenario = points.front().scenario.name;
  sweep.settings = settings;
  sweep.points = std::move(points);
  sweep.rows.resize(sweep.points.size());
  sweep.seeds = options.seeds;
  const std::size_t items = sweep.points.size() * options.seeds.count();
  sweep.jobs = static_cast<unsigned>(std::min<std::size_t>(std::max(1U, options.jobs), items));
  const auto started = std::chrono::steady_clock::now();
  BatchProgress progress{.total = items};
  const auto clock = [&] {
    sweep.wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::chrono::steady_clock::now() - started)
                        .count();
    progress.wall_ms = sweep.wall_ms;
  };
  const auto point_of = [&](std::size_t item) { return item % sweep.points.size(); };
  const auto seed_of = [&](std::size_t item) {
    return options.seeds.first + item / sweep.points.size();
  };
  const PoolWork work = [&](std::size_t item, const PoolEmit& emit) {
    RunOptions run = options.run;
    run.on_crash = [&](const RunResult& result) {
      emit(to_text(row_of(result)), true);
      _Exit(kCrashStatus);
    };
    emit(to_text(row_of(run_seed(sweep.points[point_of(item)].scenario, seed_of(item), run))),
         false);
  };
  const auto done = [&](const PoolResult& result) {
    Row row = row_from(result, seed_of(result.item));
    ++progress.done;
    if (!counts(row)) ++progress.failed;
    sweep.rows[point_of(result.item)].push_back(std::move(row));
    return true;
  };
  const auto tick = [&] {
    clock();
    if (options.progress) options.progress(progress);
  };
  sweep.interrupted = !run_pool({.items = items, .jobs = sweep.jobs}, work, done, tick);
  clock();
  for (std::vector<Row>& rows : sweep.rows) {
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.seed < b.seed; });
  }
  return sweep;
}

bool counts(const Row& row) {
  return row.verdict == VerdictClass::kHolds || row.verdict == VerdictClass::kMissed;
}

Duration deadline_of(const Scenario& scenario) {
  Duration deadline = scenario.horizon;
  for (const Expectation& one : scenario.expect) {
    if (one.metric == Metric::kFinishesWithin) deadline = std::min(deadline, Duration(one.value));
  }
  return deadline;
}

double value_of(Measure measure, const Row& row, const Scenario& scenario) {
  // How much longer it goes on until the horizon, when the job failed before.
  const std::int64_t horizon = std::max(row.finish_ns, scenario.horizon.count());
  const double longer = row.finished || row.finish_ns <= 0
                            ? 1
                            : static_cast<double>(horizon) / static_cast<double>(row.finish_ns);
  switch (measure) {
    case Measure::kGoodput:
      return static_cast<double>(row.goodput_ppm) / 1e4 / longer;
    case Measure::kCost:
      return static_cast<double>(row.cost_microdollars) / 1e6 * longer;
    case Measure::kFinish:
      return seconds(row.finished ? row.finish_ns : horizon);
    case Measure::kRedone:
      return static_cast<double>(row.steps_redone);
    case Measure::kInTime:
      return row.finished && row.finish_ns <= deadline_of(scenario).count() ? 100 : 0;
    case Measure::kLost:
      return static_cast<double>(row.steps_lost);
    case Measure::kRecoveryP99:
      return seconds(row.recovery_p99_ns);
    case Measure::kRecoveryMax:
      return seconds(row.recovery_max_ns);
    case Measure::kRounds:
      return static_cast<double>(row.rounds);
  }
  return 0;
}

Interval figure_of(Measure measure, const SweepResult& sweep, std::size_t point) {
  std::vector<double> values;
  for (const Row& row : sweep.rows[point]) {
    if (counts(row)) values.push_back(value_of(measure, row, sweep.points[point].scenario));
  }
  return interval_of(values);
}

std::uint64_t censored(const SweepResult& sweep, std::size_t point) {
  const std::vector<Row>& rows = sweep.rows[point];
  return static_cast<std::uint64_t>(std::count_if(
      rows.begin(), rows.end(), [](const Row& row) { return counts(row) && !row.finished; }));
}

Interval difference(Measure measure, const SweepResult& sweep, std::size_t a, std::size_t b) {
  std::vector<double> left, right;
  auto other = sweep.rows[b].begin();
  for (const Row& row : sweep.rows[a]) {
    while (other != sweep.rows[b].end() && other->seed < row.seed) ++other;
    if (other == sweep.rows[b].end()) break;
    if (other->seed != row.seed || !counts(row) || !counts(*other)) continue;
    left.push_back(value_of(measure, row, sweep.points[a].scenario));
    right.push_back(value_of(measure, *other, sweep.points[b].scenario));
  }
  return paired_difference(left, right);
}

std::optional<std::size_t> best_point(Measure measure, const SweepResult& sweep) {
  std::optional<std::size_t> best;
  double best_mean = 0;
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    const Interval figure = figure_of(measure, sweep, point);
    if (figure.count == 0) continue;
    const bool better = more_is_better(measure) ? figure.mean > best_mean : figure.mean < best_mean;
    if (best && !better) continue;
    best = point;
    best_mean = figure.mean;
  }
  return best;
}

bool as_good(Measure measure, const SweepResult& sweep, std::size_t best, std::size_t point) {
  if (point == best) return true;
  const Interval apart = difference(measure, sweep, point, best);
  return apart.count > 0 && !apart.differs_from_zero();
}

VerdictClass verdict_of(const SweepResult& sweep) {
  VerdictClass worst = VerdictClass::kHolds;
  for (const std::vector<Row>& rows : sweep.rows) {
    for (const Row& row : rows) {
      if (!counts(row) && severity(row.verdict) > severity(worst)) worst = row.verdict;
    }
  }
  const bool failed = worst != VerdictClass::kHolds;
  return sweep.interrupted && !failed ? VerdictClass::kInterrupted : worst;
}

}  // namespace elastic::chaos
