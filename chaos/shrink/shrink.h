// From a failing seed to the smallest scenario that fails in the same way.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "chaos/run/row.h"
#include "chaos/scenario/scenario.h"
#include "chaos/shrink/minimise.h"

namespace elastic::chaos {

struct ShrinkOptions {
  MinimiseLimits limits;
  bool liveness = true;  // look for failures of the liveness phase too
  std::function<void(const MinimiseProgress&)> progress;
};

struct ShrinkResult {
  Row failure;  // of the seed as it was; kHolds: there is nothing to shrink
  std::size_t faults_before = 0;
  Duration horizon_before{};
  Minimised minimised;
  Scenario smallest;     // fails under the same seed; its sentence tells what happened
  std::string yaml;      // of it, with the plan written out
  bool repeats = false;  // the YAML, read back, fails in the same way
  bool interrupted = false;
};

// Runs in worker processes, one after the other: a crash is a failure like any other. Two runs fail
// in the same way when the same oracle speaks, the same assertion fails or the same expectation is
// missed. A failure that needs the whole run (an expectation, the liveness phase) keeps the
// horizon.
ShrinkResult shrink_seed(const Scenario& scenario, std::uint64_t seed,
                         const ShrinkOptions& options);

// What two failures must have in common to be the same: "safety committed_steps".
std::string signature(const Row& row);

// "scenarios/regressions/committed_steps-spot_churn-8123.yaml"
std::string regression_path(const std::string& scenario, std::uint64_t seed, const Row& failure);

}  // namespace elastic::chaos
