// A program that fails at the same step again and again does not get better by being started again:
// after K failures in a row without getting past a step, the job goes back once to the checkpoint
// before it (the state in memory may be what is wrong), and after K more it ends with a verdict of
// its own. Losses of nodes say nothing about the program, and do not count.
//
// "Past a step" and not "at the same step": who has gone back makes steps again that were made
// before, and a failure in one of those is no progress either.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace elastic::policy {

// K. Zero switches the detector off: then nothing is ever given up that a survivor holds.
struct ProgressRules {
  std::uint32_t failures = 0;
};

// What a new coordinator must inherit.
// Invariants: 1. `went_back` only if the detector is on. 2. with the detector on, `failures` is
// below K in every round that is still run.
struct Progress {
  Step stuck_at;  // the furthest step that a failure has reached
  std::uint32_t failures =
      0;                   // in a row without getting past it, since the start or the going back
  bool went_back = false;  // since somebody last got past it
  bool operator==(const Progress&) const = default;
};

struct Attempt {
  Step reached;              // newest step that anybody held in the round
  bool failed = false;       // the program did: a loss or an announced change is none
  bool can_go_back = false;  // an intact checkpoint lies before `reached`
};

enum class NextTry : std::uint8_t {
  kGoOn,    // resume from the newest state that there is
  kGoBack,  // resume from the checkpoint
  kStop,    // no progress: the job ends
};

struct Judgement {
  Progress progress;
  NextTry next = NextTry::kGoOn;
};
Judgement judge(const Progress& before, const Attempt& attempt, const ProgressRules& rules);

}  // namespace elastic::policy
