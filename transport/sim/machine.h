// One simulated machine: its clock, its disk, and the agent process that runs core/'s Node on it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/agent/node.h"
#include "transport/sim/clock.h"
#include "transport/sim/event.h"

namespace elastic::sim {

// The file of a hosted journal on the local disk. Survives kills and power loss, not the machine's
// return to the provider.
struct JournalFile {
  bool exists = false;
  JournalLife life;
  std::vector<NumberedRecord> records;
};

// A write that is not synced yet.
struct PendingWrite {
  JournalLife life;
  NumberedRecord record;
};

struct Machine {
  bool up = false;
  std::uint64_t incarnation = 0;  // counts its goings down
  LocalClock clock;
  std::uint32_t freezes = 0;                                  // faults that hold the whole machine
  std::uint32_t agent_freezes = 0;                            // faults that hold the agent process
  std::vector<std::pair<std::uint64_t, std::int64_t>> slow;   // (fault, ppm)
  std::vector<std::pair<std::uint64_t, std::int64_t>> drift;  // (fault, ppm)
  bool cut_off = false;  // for good, by heal_core_and_fail_rest

  std::unique_ptr<Node> node;     // nullptr: no agent process
  std::uint32_t process = 0;      // counts agent processes
  AgentLife life;                 // of the present or last process
  bool exited = false;            // the last process ended by itself
  std::uint64_t start_order = 0;  // the newest order to start one
  bool starting = false;
  bool told_to_leave = false;  // the present process has had a LeaveNotice
  std::array<LazyTimer, static_cast<std::size_t>(TimerId::kCount)> timers;
  std::vector<Event> inbox;  // what came while it stood still

  std::optional<Time> notice_until;  // true time at which the machine is taken back
  JournalFile file;
  std::vector<PendingWrite> writes;  // oldest first
  bool reading = false;              // a read waits for the storage
  std::uint64_t boots = 0, lives = 0, thaws = 0, file_operations = 0, markers = 0;  // draws taken

  bool frozen() const { return freezes > 0 || agent_freezes > 0; }
};

}  // namespace elastic::sim
