// Delta debugging of a fault plan: the smallest plan that still fails in the same way.
//
// Source: ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (IEEE
// TSE 2002), over the list of faults; then the same idea over each fault's targets, and halving
// over its numbers. Rejected: shrinking the seed (a seed is no smaller than another) and shrinking
// during generation (it would tie the plan to the generator; plans are data).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/types.h"
#include "transport/sim/plan.h"

namespace elastic::chaos {

// What is made smaller.
struct Suspect {
  sim::Plan plan;
  Duration horizon{};
  bool operator==(const Suspect&) const = default;
};

// Runs a suspect: the instant at which it fails in the way looked for, or nothing. Time::max(): it
// fails at no instant in particular.
using Trial = std::function<std::optional<Time>(const Suspect&)>;

struct MinimiseLimits {
  std::uint32_t max_trials = 400;
};

// Where the work stands, after each trial that was run.
struct MinimiseProgress {
  std::uint32_t trials = 0;
  std::size_t faults = 0;  // of the smallest plan so far
  Duration horizon{};
  const char* phase = "";  // "faults", "targets", "values", ...
};

struct Minimised {
  bool failed = false;       // the suspect itself: if not, nothing was done
  Suspect smallest;          // fails in the way looked for
  Time at{};                 // when
  std::uint32_t trials = 0;  // runs made
  bool complete = false;     // no single step makes it smaller; else the limit ended the work
};

// Promises:
//  1. The result fails, and is the suspect with things taken away: no fault, target or length that
//  was
//     not there; numbers only nearer to zero, times only earlier.
//  2. The same suspect and trial give the same result and the same sequence of trials.
//  3. At most limits.max_trials trials; no suspect is tried twice.
//  4. If `complete`: without any one fault or target it no longer fails.
Minimised minimise(const Suspect& suspect, const Trial& trial, const MinimiseLimits& limits = {},
                   const std::function<void(const MinimiseProgress&)>& progress = {});

}  // namespace elastic::chaos
