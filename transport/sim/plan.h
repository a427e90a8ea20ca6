// A fault plan is data: what happens to the simulated cluster, when, to whom, for how long. A seed
// generates one, the world executes one, the shrinker edits one, and a scenario file can hold one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace elastic::sim {

enum class FaultKind : std::uint8_t {
  // Machines. `targets` names the nodes that are hit together.
  kAdd,          // a machine appears (or comes back, with an empty local disk) and starts an agent
  kNotice,       // the provider announces that it takes the machines back `length` from now
  kReclaim,      // the provider takes the machines: gone at once, local disk lost
  kCrash,        // power loss: gone at once, local disk kept; boots after `length` (0: never)
  kKillAgent,    // SIGKILL to the agent; its supervisor or init starts it again after `length`
  kKillWorker,   // SIGKILL to the worker of local rank `value`
  kExitWorker,   // the worker of local rank 0 exits by itself with code `value` (the program's bug)
  kFreezeAgent,  // SIGSTOP to the agent for `length`
  kFreezeWorker,   // SIGSTOP to the worker of local rank `value` for `length`
  kFreezeMachine,  // the whole machine pauses for `length` (live migration, hypervisor stall)
  kSlow,           // compute takes `value` ppm of its normal time (2,000,000: twice) for `length`
  kClockDrift,     // the monotonic clock runs `value` ppm fast (negative: slow) for `length`
  kClockJump,      // the wall clock jumps by `value` ns (nothing may depend on it)
  kLeave,          // the operator asks the nodes to leave, `length` ahead
  // Network between `targets` and `others` (empty `others`: everybody else), for `length`.
  kPartition,  // nothing passes, both ways
  kOneWay,     // nothing passes from `targets` to `others`
  kLoss,       // `value` ppm of messages are lost
  kDelay,      // each message takes up to `value` ns longer
  kDuplicate,  // `value` ppm of messages arrive twice
  kReorder,    // `value` ppm of messages are held back past later ones
  // Journal, for `length`. `targets` limits it to requests of these nodes (empty: everybody).
  kJournalSlow,         // each request takes `value` ns longer
  kJournalUnreachable,  // requests are not answered and not executed
  kJournalUnknown,      // `value` ppm of appends are answered "unknown"; half of them did happen
  kJournalLate,  // `value` ppm of appends are answered "unknown" and land up to `length` later
  kJournalLost,  // the file of a hosted journal is gone (its host must start anew)
  kStorageUnreachable,  // the checkpoint directory neither reads nor writes, for `length`
  kStorageFull,         // it reads, and does not write, for `length`
  kStorageSlow,         // it has `value` ppm of its bandwidth, for `length`
  kStorageRot,          // a bit flips in a whole save: in the newest, or `value` saves before it
};
constexpr std::size_t kFaultKinds = static_cast<std::size_t>(FaultKind::kStorageRot) + 1;

// Reads as "at `at`, `kind` happens to `targets` [and `others`] for `length`, with `value`".
struct Fault {
  Time at{};
  FaultKind kind = FaultKind::kCrash;
  std::vector<NodeId> targets;
  std::vector<NodeId> others;
  Duration length{};
  std::int64_t value = 0;
  bool operator==(const Fault&) const = default;
};

// Sorted by `at`; faults of the same instant happen in list order. NodeIds are 1..nodes of the
// world.
using Plan = std::vector<Fault>;

// The spelling in scenario files: "freeze_agent". Empty when out of range.
std::string_view name(FaultKind kind);

}  // namespace elastic::sim
