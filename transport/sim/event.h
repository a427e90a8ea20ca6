// What can be due in the simulated world: a small record; large payloads lie in a slab beside the
// queue.
#pragma once

#include <cstdint>

namespace elastic::sim {

enum class EventKind : std::uint8_t {
  kTimer,         // node; detail: TimerId; b: generation of the timer
  kInput,         // node; payload: the input; b: number of the agent process that it is for
  kMessage,       // node: receiver; a: sender; payload: Received
  kPeerClosed,    // node: who is told; a: whose process is gone
  kAgentStart,    // node; b: number of the start order
  kMachineUp,     // node; b: incarnation of the machine that went down
  kFaultBegin,    // a: index into the plan
  kFaultEnd,      // a: number of the running fault
  kAskArrives,    // external journal executes; a: index of the request
  kAskAnswered,   // its answer reaches the asker; a: index of the request
  kLateAppend,    // a delayed append lands; a: index of the request
  kFileRead,      // hosted journal: node; b: agent process
  kFileSynced,    // hosted journal: node; b: agent process
  kMarkerStored,  // a: index of the marker write
  kTransfer,      // storage: the next transfer is through; b: generation
  kGroup,         // of worker group a (foreign) or process a (native); see there
  kRound,         // of the workers' side of a round, a
  kTree,          // supervisor timer of worker group a; b: generation of the timer
  kOrphan,        // orphan bound of native worker process a; b: generation of the timer
};

constexpr std::uint32_t kNoPayload = 0xFFFFFFFFU;

struct Event {
  EventKind kind = EventKind::kTimer;
  std::uint8_t detail = 0;
  std::uint32_t node = 0;
  std::uint32_t payload = kNoPayload;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

}  // namespace elastic::sim
