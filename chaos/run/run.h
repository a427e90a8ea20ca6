// One seed of a scenario: the run under all oracles, then the question whether the job comes back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "chaos/run/result.h"
#include "chaos/scenario/scenario.h"
#include "transport/sim/plan.h"

namespace elastic::chaos {

struct RunOptions {
  // The liveness phase is a second run of the same plan: at a moment drawn from the seed a random
  // core is healed and the rest cut off for good. It is made for every seed, in batches too;
  // nothing is sampled.
  bool liveness = true;
  // Up to that moment both runs are one, so the phase branches off the main run in a process of its
  // own. One that finds something (or crashes) is run again from the beginning, for its story.
  // False: it is run from the beginning in any case, which comes to the same.
  bool branch = true;
  // False: only the liveness phase (for shrinking a failure that it showed).
  bool main = true;
  // Instead of the one that the seed generates.
  const sim::Plan* plan = nullptr;
  // Called before the main run: to add observers, which must outlive run_seed.
  std::function<void(sim::World&)> attach;
  // Called now and then during either run, with its true time.
  std::function<void(Time)> progress;
  // Called when an assertion fails or an exception escapes, with what is known; it need not return.
  // In the first case the process ends afterwards with kCrashStatus.
  std::function<void(const RunResult&)> on_crash;
  // Printed when the process dies of a signal: how to see it again.
  std::string last_words;
};

// Deterministic but for RunResult::wall_ms. Heeds interrupted().
RunResult run_seed(const Scenario& scenario, std::uint64_t seed, const RunOptions& options);

// The time in which the moment of the liveness phase is drawn: what the job takes undisturbed on as
// many nodes as it may have, at most the horizon. It depends on the job alone, so that taking
// faults away moves nothing.
Duration liveness_span(const sim::WorldConfig& config);

// Judges the scenario's expectations by a run that was neither stopped nor interrupted.
std::vector<Judged> judge(const std::vector<Expectation>& expectations, const Summary& summary);

// "freeze machine a3", "partition zone a", "reclaim 6 nodes".
std::string fault_label(const sim::Fault& fault, const sim::WorldConfig& config);

}  // namespace elastic::chaos
