// The same seeds at every point of one or two settings, and what the points come to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/report/interval.h"
#include "chaos/run/batch.h"
#include "chaos/run/row.h"
#include "chaos/scenario/scenario.h"
#include "chaos/sweep/setting.h"

namespace elastic::chaos {

// What a point is judged by. Of goodput and in_time more is better, of the others less.
enum class Measure : std::uint8_t {
  kGoodput,      // percent
  kCost,         // dollars
  kFinish,       // seconds; a run that did not finish counts at the horizon
  kRedone,       // steps
  kInTime,       // percent of runs that finished within the scenario's finishes_within
  kLost,         // steps
  kRecoveryP99,  // seconds
  kRecoveryMax,  // seconds
  kRounds,
};
std::string_view name(Measure measure);  // "goodput", "recovery_p99"
std::vector<std::string_view> measure_names();
std::optional<Measure> find_measure(std::string_view name);
bool more_is_better(Measure measure);

struct SweepPoint {
  std::vector<std::string> values;  // one for each setting
  Scenario scenario;                // with these values
};

struct SweepOptions {
  SeedRange seeds;
  unsigned jobs = 1;
  RunOptions run;                                      // its on_crash is replaced
  std::function<void(const BatchProgress&)> progress;  // several times a second
};
constexpr std::uint64_t kMaxSweepRuns = 1'000'000;  // rows are kept: about 1 KiB each

struct SweepResult {
  std::string scenario;
  std::vector<Setting> settings;
  std::vector<SweepPoint> points;
  std::vector<std::vector<Row>> rows;  // of each point, seeds ascending; fewer when interrupted
  SeedRange seeds;
  bool interrupted = false;
  unsigned jobs = 1;
  std::int64_t wall_ms = 0;
};

// Every (point, seed) once. Runs go seed by seed, so that an interruption leaves all points alike.
SweepResult run_sweep(const std::vector<Setting>& settings, std::vector<SweepPoint> points,
                      const SweepOptions& options);

// Whether the run counts: no oracle spoke and nothing crashed. One that did not finish counts.
bool counts(const Row& row);
// A run without success counts up to the horizon, as if its machines had been kept and nothing had
// been done any more: a job that fails early is neither quick nor cheap.
double value_of(Measure measure, const Row& row, const Scenario& scenario);
// The job's deadline: finishes_within of the scenario, or its horizon.
Duration deadline_of(const Scenario& scenario);
Interval figure_of(Measure measure, const SweepResult& sweep, std::size_t point);
// Runs that count and did not finish.
std::uint64_t censored(const SweepResult& sweep, std::size_t point);
// Of point `a` against `b`, over the seeds that count at both.
Interval difference(Measure measure, const SweepResult& sweep, std::size_t a, std::size_t b);

// The point with the best mean; of equals the first. Nothing when no run counts.
std::optional<std::size_t> best_point(Measure measure, const SweepResult& sweep);
// Whether `point` is the best, or its paired difference to it contains zero.
bool as_good(Measure measure, const SweepResult& sweep, std::size_t best, std::size_t point);

// The worst class of any run; a missed expectation counts as holding, since a sweep looks for
// settings that miss and settings that do not.
VerdictClass verdict_of(const SweepResult& sweep);

}  // namespace elastic::chaos
