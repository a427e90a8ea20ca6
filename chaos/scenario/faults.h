// The lines under `faults`: timed, random and swarm, and the table of what each kind takes.
//
// Whom a fault hits is written as
//   node: a3            one machine              nodes: [a3, b1]      several together
//   zone: a             all machines of a zone   node: coordinator    whoever coordinates then
// and for the network as the sides of a cut: `cut: [zone a, zone b]`, `cut: [[a1, a2], b1]`, or one
// side against everybody else: `cut: [zone a]`. Who coordinates is known only when the fault
// happens: in a plan it is the target kCoordinator, which the world resolves at that instant to the
// agent of the newest Lead, and to nobody while there is none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/scenario/units.h"
#include "core/types.h"
#include "transport/sim/plan.h"

namespace elastic::chaos {

constexpr NodeId kCoordinator{0xFFFFFFFFU};
constexpr std::string_view kCoordinatorName = "coordinator";

enum class Reach : std::uint8_t {
  kNodes,   // machines, which must be named in a timed fault
  kAnyone,  // machines, or everybody when none is named
  kCut,     // two sides, or one and everybody else
  kNobody,  // no machine in particular
};

enum class Need : std::uint8_t { kNo, kOptional, kRequired };

// What the number of a fault means, and how it is written.
enum class ValueUnit : std::uint8_t {
  kNone,
  kWorker,          // worker: 3, a local rank; default 0
  kExitCode,        // code: 1
  kCompute,         // compute: 250%, of the normal time
  kShare,           // share: 5%
  kDelay,           // by: 20ms, longer
  kSignedShare,     // by: -50ppm
  kSignedDuration,  // by: -30s
  kSave,            // save: 1, whole saves back from the newest; default 0
};

// A swarm and a random entry without figures of its own draw evenly between these.
struct DrawRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct KindInfo {
  sim::FaultKind kind;
  Reach reach;
  std::string_view length_key;  // "for", "ahead"; empty: the kind has no length
  Need length;
  ValueUnit unit;
  std::uint32_t swarm_weight;  // how often a swarm takes it; 0: never
  DrawRange length_ms;
  DrawRange value;
  std::string_view words;  // what happens
};

const KindInfo& info(sim::FaultKind kind);
// `freeze` is another name of freeze_machine.
std::optional<sim::FaultKind> find_kind(std::string_view name);
std::vector<std::string_view> kind_names();  // including `swarm` and `freeze`

// The key, text and bounds of a kind's number.
std::string_view value_key(ValueUnit unit);
// Inclusive, in nanoseconds, millionths, or plain.
struct ValueBounds {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::string_view words;
};
ValueBounds value_bounds(ValueUnit unit);
Parsed<std::int64_t> parse_value(ValueUnit unit, std::string_view text);
std::string value_text(ValueUnit unit, std::int64_t value);

enum class FaultForm : std::uint8_t { kTimed, kRandom, kSwarm };

// A length that is drawn for each occurrence: `for: 10s..2min`. Equal ends: always the same.
struct LengthRange {
  Duration low{};
  Duration high{};
  bool operator==(const LengthRange&) const = default;
};

// One line under `faults`. Selectors are "a3", "zone a" or "coordinator".
struct FaultEntry {
  FaultForm form = FaultForm::kTimed;
  sim::FaultKind kind = sim::FaultKind::kCrash;
  Duration at{};                     // kTimed
  Duration every{};                  // kRandom, kSwarm: the mean time between two
  bool regular = false;              // kRandom: exactly `every` apart
  Duration from{};                   // kRandom, kSwarm
  std::optional<Duration> until;     // kRandom, kSwarm; default: the horizon
  std::vector<std::string> targets;  // empty: drawn, everybody, or nobody, as the kind has it
  std::vector<std::string> others;   // the other side of a cut; empty: everybody else
  std::optional<LengthRange> length;
  std::optional<std::int64_t> value;
  Duration notice{};                  // kReclaim: announced so long before
  std::vector<sim::FaultKind> kinds;  // kSwarm: what it draws from; empty: all kinds
  bool operator==(const FaultEntry&) const = default;
};

}  // namespace elastic::chaos
