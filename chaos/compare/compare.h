// Every seed under every policy: the same plan of faults for all, made once from the scenario as it
// is written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chaos/compare/bound.h"
#include "chaos/compare/policy.h"
#include "chaos/run/batch.h"
#include "chaos/run/row.h"
#include "chaos/run/run.h"

namespace elastic::chaos {

// One seed under one policy.
struct PolicyRun {
  Row row;
  double bound_steps = 0;  // OracleBound::steps_by the end of this run
  BoundFigures bound;      // of the seed: the same in all its runs
  bool operator==(const PolicyRun&) const = default;
};

// It has gone to its end: no oracle spoke, and it did not crash.
bool counts(const PolicyRun& run);

std::string to_text(const PolicyRun& run);
PolicyRun policy_run_from_text(const std::string& text);  // throws std::exception

struct CompareOptions {
  SeedRange seeds;
  unsigned jobs = 1;
  RunOptions run;                                      // its plan and on_crash are replaced
  std::function<void(const BatchProgress&)> progress;  // in runs; several times a second
};

struct PolicyComparison {
  std::string scenario;
  SeedRange seeds;
  std::vector<Policy> policies;
  std::vector<std::vector<std::string>> changes;  // of each policy: its settings
  // runs[p][i]: policy p, the i-th seed; absent where it was not run.
  std::vector<std::vector<std::optional<PolicyRun>>> runs;
  Duration horizon{};
  std::optional<Duration> deadline;  // finishes_within of the scenario
  bool interrupted = false;
  unsigned jobs = 1;
  std::int64_t wall_ms = 0;

  // Indices of the seeds that count under every policy: the only ones that are compared.
  std::vector<std::size_t> complete() const;
  std::uint64_t done() const;
};

// `policies` beside the scenarios that they make of `base`.
PolicyComparison compare(const Scenario& base,
                         const std::vector<std::pair<Policy, Scenario>>& policies,
                         const CompareOptions& options);

VerdictClass verdict_of(const PolicyComparison& comparison);

}  // namespace elastic::chaos
