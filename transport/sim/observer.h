// What the world tells those who watch it (oracles, time account, report, trace). Ground truth:
// things that no node can know. An observer never changes the run.
#pragma once

#include <cstdint>
#include <string>

#include "core/agent/io.h"
#include "core/data/cursor.h"
#include "core/membership/records.h"
#include "core/types.h"
#include "transport/sim/plan.h"

namespace elastic::sim {

// What really happened to the workers of one node (all local ranks together).
enum class WorkerEventKind : std::uint8_t {
  kStarted,    // processes run (foreign: in `round`; native: preparing)
  kPrepared,   // native: up, outside any round
  kLoaded,     // state taken from a checkpoint: state.step is its step
  kFilled,     // state taken from a holder
  kEntered,    // holds `round`'s resume state and trains (state)
  kStepBegun,  // all members of `round` began the step state.step + 1 (told once a round, node =
               // rank 0's)
  kApplied,    // applied state.step in `round`
  kCommitted,  // every member of `round` has applied state.step (told once)
  kStall,      // training of `round` stands still to copy a checkpoint for `length` (told once)
  kLeft,       // left for `round`; keeps `state`
  kStopped,    // SIGSTOP
  kContinued,  // SIGCONT
  kFrozen,
  kThawed,    // a fault: worker `local_rank`, or all if local_rank == kAllRanks
  kExited,    // one worker ended: local_rank, status; native: state is what the others hold
  kGone,      // none is left, or the machine is
  kSaved,     // its share of the save of state is durable
  kFinished,  // holds the last step
};
constexpr std::uint32_t kAllRanks = 0xFFFFFFFFU;

struct WorkerEvent {
  WorkerEventKind kind;
  NodeId node;
  AgentLife life;  // of the agent that started the workers
  RoundId round;
  StatePoint state;
  Duration length{};
  std::uint32_t local_rank = kAllRanks;
  ExitStatus status;
  bool by_agent = false;  // kExited: its own agent ended it
  // Native. kApplied, kFilled, kLoaded: digest of the weights, which are now those of `state`.
  std::uint64_t digest = 0;
  // kApplied: to which state, which samples, and the next sample.
  Lineage before;
  data::Batch batch;
  data::Cursor cursor;
};

enum class NodeEventKind : std::uint8_t {
  kMachineUp,
  kMachineDown,  // down: lost, reclaimed or crashed
  kAgentUp,
  kAgentDown,  // process
  kFrozen,
  kThawed,     // agent or whole machine stands still
  kAgentExit,  // the Exit effect; `exit` is valid
};
struct NodeEvent {
  NodeEventKind kind;
  NodeId node;
  AgentLife life;
  bool whole_machine = false;
  ExitReason exit = ExitReason::kSucceeded;
};

class World;

class Observer {
 public:
  virtual ~Observer() = default;
  // `now` is true time, which no node knows.
  virtual void on_note(Time /*now*/, AgentId /*by*/, const Note& /*note*/) {}
  virtual void on_record(Time /*now*/, const NumberedRecord& /*record*/, JournalLife /*life*/) {}
  virtual void on_worker(Time /*now*/, const WorkerEvent& /*event*/) {}
  virtual void on_node(Time /*now*/, const NodeEvent& /*event*/) {}
  virtual void on_fault(Time /*now*/, const Fault& /*fault*/) {}
  virtual void on_sent(Time /*now*/, NodeId /*from*/, NodeId /*to*/, const Message& /*message*/) {}
  virtual void on_delivered(Time /*now*/, NodeId /*from*/, NodeId /*to*/, const Message& /*m*/) {}
  // After each event; `index` counts from 1.
  virtual void after_event(Time /*now*/, std::uint64_t /*index*/, const World& /*world*/) {}
};

}  // namespace elastic::sim
