// What one seed of a scenario came to: everything that a report shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chaos/account/summary.h"
#include "chaos/liveness/liveness.h"
#include "chaos/oracles/narrator.h"
#include "chaos/oracles/oracle.h"
#include "chaos/run/crash.h"
#include "core/types.h"
#include "transport/sim/plan.h"
#include "transport/sim/world.h"

namespace elastic::chaos {

// From best to worst: where several apply, the worst counts. A crash is worse than a broken promise
// because it hides what else is wrong; a late job is the least.
enum class VerdictClass : std::uint8_t {
  kHolds,
  kMissed,       // an expectation
  kLiveness,     // a healed core made no progress, or an oracle of liveness spoke
  kSafety,       // an oracle of safety spoke
  kCrash,        // an assertion of ours failed, or two runs of one seed differ
  kInterrupted,  // the user stopped the run: nothing is judged
};
// Exit status: 0, 1, 4, 5, 3, 130 in the order of the enumerators.
int exit_status(VerdictClass verdict);
std::string_view name(VerdictClass verdict);  // "holds", "missed", "liveness", ...
// Larger is worse; kInterrupted is the largest.
int severity(VerdictClass verdict);
// How the run ended, in a sentence without a full stop.
std::string end_words(const sim::Outcome& outcome);

// One expectation of the scenario, judged.
struct Judged {
  std::string wanted;  // "goodput >= 90%"
  std::string found;   // "93.1%"
  bool ok = false;
  bool operator==(const Judged&) const = default;
};

// An oracle's silence, or not, in figures.
struct OracleTally {
  std::string name;
  std::string promise;
  std::uint64_t checks = 0;
  bool operator==(const OracleTally&) const = default;
};

struct ZoneInfo {
  std::string name;
  std::uint32_t capacity = 0;  // machines that may exist there
};

// A fault of the plan, as far as it was executed, in words for one line.
struct PlannedMark {
  Time at{};
  sim::FaultKind kind = sim::FaultKind::kCrash;
  std::string label;  // "freeze a3"
};

struct RunResult {
  std::string scenario;  // its name
  std::uint64_t seed = 0;
  VerdictClass verdict = VerdictClass::kHolds;

  sim::Outcome outcome;  // of the main run
  Summary summary;
  std::vector<ZoneInfo> zones;
  std::vector<PlannedMark> marks;
  std::vector<Judged> expected;      // empty when the run was not completed
  std::vector<OracleTally> oracles;  // main run and liveness phase together

  std::optional<Violation> violation;
  std::string violation_node;      // name of the machine, if any
  bool in_liveness_phase = false;  // the violation or crash came in the second run
  std::vector<Happening> story;    // before the violation, crash or interruption; oldest first
  std::optional<Crash> crash;
  std::uint64_t crash_event = 0;
  Time crash_at{};

  std::optional<LivenessResult> liveness;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> digests;  // World::running_digests()
  std::int64_t wall_ms = 0;  // real time spent; the only field that differs between repetitions
};

}  // namespace elastic::chaos
