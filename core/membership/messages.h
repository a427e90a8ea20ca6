// What agents say to each other. Every message may be lost, repeated or overtaken: each carries the
// sender's whole present state rather than a change of it, so that the newest one heard is enough.
// A membership change costs O(N) messages of O(1) size.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/membership/records.h"
#include "core/types.h"

namespace elastic {

// What an agent is doing, as it says in its beats.
enum class AgentState : std::uint8_t {
  kCleaning,  // kills what an earlier life left on the node
  kWaiting,   // no workers (foreign), or still being prepared (native)
  kPrepared,  // native workers are up and outside any round
  kEntering,  // has a place in a round; is being filled, started or loaded
  kRunning,   // entered
  kLeaving,   // asked to leave; some worker has not left yet
  kLeft,      // all workers have left and keep their state (native), or are reaped (foreign)
  // All workers hold the last step (native), or exited 0 (foreign). Not a leave: they stay members,
  // and native ones keep the state and serve it, until the Verdict.
  kFinished,
  kEnded,  // the last beat of an agent: it has the verdict, or has left, and exits
};

// A share of a save that is durable: `digest` and `bytes` of its file. When every member of `round`
// has reported its own, the manifest is written.
struct SaveReport {
  RoundId round;
  Step step;
  Lineage lineage;
  std::uint64_t digest = 0;
  std::uint64_t bytes = 0;
  bool operator==(const SaveReport&) const = default;
};

// One member's share, as the manifest names it.
struct ShareFact {
  std::uint64_t bytes = 0;
  std::uint64_t digest = 0;
  bool operator==(const ShareFact&) const = default;
};

// To the agent of group rank 0: every share of this save is durable; write its manifest.
struct ManifestOrder {
  RoundId round;
  Step step;
  Lineage lineage;
  std::vector<ShareFact> shares;  // by group rank
  bool operator==(const ManifestOrder&) const = default;
};

// The manifest is durable, and so the save is whole: the coordinator commits it.
struct ManifestReport {
  RoundId round;
  Step step;
  Lineage lineage;
  std::uint64_t digest = 0;  // of the manifest
  bool operator==(const ManifestReport&) const = default;
};

// A committed save was read back.
struct SaveCheck {
  RecordNo record;
  bool intact = false;
  bool operator==(const SaveCheck&) const = default;
};

// Agent -> coordinator. Repeated every Timeouts::beat, and sent at once when something changes. It
// names the round entered and the round left for, so that whoever has just come to lead knows
// whether the running round can go on: a member that has left obliges it to form the next.
struct Beat {
  AgentId from;
  BeatNo number;
  LeadId lead_seen;  // newest Lead that the agent knows of
  AgentState state = AgentState::kCleaning;
  std::uint32_t workers = 1;  // that it can run
  RoundId placed;             // newest round that it accepted a place in
  RoundId entered;            // the round that all its workers have entered and run in; else zero
  RoundId entered_newest;     // newest round that its workers ever entered in this life
  RoundId left_for;           // its workers contribute to nothing below this round
  // Foreign: no worker process of a round below this is left on the node, not even a stopped one.
  // (That a new life has killed what its predecessors left is said by any state but kCleaning.)
  RoundId reaped_below;
  std::optional<StatePoint> held;       // newest state that its workers hold (native)
  std::optional<SaveReport> saved;      // until the Checkpoint is seen, or the round is dead
  Step last_step;                       // kFinished: the step that it finished with
  std::vector<FailureReport> failures;  // not acknowledged yet, oldest first, at most 8
  std::vector<NodeId> failed_edges;     // peers of `placed` that its workers cannot reach
  std::optional<Duration> leaving_in;  // the machine is taken back, or the operator asked: deadline
  std::optional<ManifestReport> manifest;  // group rank 0: until the Checkpoint is seen
  std::optional<SaveCheck> checked;        // the newest save that it has read back
  std::vector<RecordNo> broken_saves;      // found broken while loading, at most 8, newest last
  // kEntering, native: bytes of the resume state that have come to its workers so far. Who goes on
  // is waited for.
  std::uint64_t arrived = 0;
  bool operator==(const Beat&) const = default;
};

// A place in a round, as one member is told of it: O(1), not the member list. Whatever is made of
// it (addresses, communicators, store keys, log directories) is keyed by `round`.
struct Placement {
  RoundId round;
  std::uint32_t group_rank = 0, group_size = 0;  // nodes
  std::uint32_t first_rank = 0, world_size = 0;  // workers
  AgentId previous, next;                        // neighbours in the ring, by group rank
  AgentId first;                                 // of group rank 0
  ResumePoint resume;
  std::uint32_t restarts_used = 0;
  bool operator==(const Placement&) const = default;
};

// Why a node is not in a round now: what `status` shows.
enum class WaitReason : std::uint8_t {
  kNone,          // it is in one
  kAdopting,      // a new coordinator is learning who is in the running round
  kBelowMin,      // fewer than min_nodes are in
  kLastCall,      // further nodes may come
  kMembersLeave,  // members of the last round have not left yet
  kRoundNotDead,  // some worker of an earlier round may still run
  kHolder,        // no holder of the newest possibly committed step is in, and some may live
  kRecording,     // the journal has not confirmed the World
  kSpare,         // the round is full (max_nodes, node_unit): first in line for the next
  kSittingOut,    // failed edges: cool-down
  kPreparing,     // its workers are not prepared yet
  kNotGrowing,    // growth is off (not given yet: such a node is told kSpare)
  kSuppressed,    // it was lost too often lately: flap damping
  kBackOff,       // failures came in a row: a delay before the next round
};

// Coordinator -> agent: the answer to a beat (`beat` set: the lease is renewed from its sending),
// or an order or announcement at any time (`beat` zero: no lease).
struct Order {
  AgentId from;
  AgentId to;  // the life that it answers; the node's next one heeds Lead and verdict. Empty: any
  LeadId lead;
  BeatNo beat;
  RoundId leave_for;                   // contribute to nothing below this round
  bool planned = false;                // leave at a step boundary that all members agree on
  std::optional<Placement> placement;  // newest World, for its members
  RoundId running;                     // newest recorded round (also for nodes outside it)
  RecordNo checkpoint;                 // newest Checkpoint record, with its step and round
  Step checkpoint_step;
  RoundId checkpoint_round;
  FailureNo failures_seen;  // of this agent, up to here
  WaitReason wait = WaitReason::kNone;
  std::optional<Verdict> verdict;
  std::optional<ManifestOrder> manifest;  // group rank 0 only, like the next; repeated until done
  std::optional<CommittedSave> verify;    // read this save back and tell
  bool operator==(const Order&) const = default;
};

// Candidate -> everybody it knows: may I stand?
struct Canvass {
  AgentId from;
  std::uint64_t attempt = 0;
  LeadId lead_seen;
  bool operator==(const Canvass&) const = default;
};

// The answer. A newer `lead_seen` than the candidate's sends it back to following.
struct Hearing {
  AgentId from;
  std::uint64_t attempt = 0;
  LeadId lead_seen;
  AgentId leader;  // of lead_seen
  bool has_live_leader = false;
  bool operator==(const Hearing&) const = default;
};

// To the host of a hosted journal, and its answer. Also the form of JournalAsk / JournalAnswer for
// any other backend.
struct JournalAsk {
  AgentId from;
  RequestId request;
  // The life of the running rounds, if any, or the one in which the number of an append was read:
  // another one refuses.
  JournalLife holding;
  RecordNo from_record;  // read: records from here on
  std::optional<NumberedRecord> append;
  bool want_contacts = false;  // a candidate: also tell who asked lately
  bool operator==(const JournalAsk&) const = default;
};

struct JournalAnswer {
  enum class Outcome : std::uint8_t {
    kRead,     // `records` are all records from `from_record` on, as of a moment after the asking;
               // or, with `more`, the first of them: ask for the rest
    kCreated,  // the append is durable
    kTaken,    // another record has that number (or the same one: read it)
    kUnknown,  // it may have happened, or may still happen
    kRefused,  // the journal's life is not the one that the asker holds
  };
  RequestId request;
  Outcome outcome = Outcome::kRead;
  JournalLife journal;
  std::vector<NumberedRecord> records;
  std::vector<AgentId> contacts;  // hints without any part in safety
  bool more = false;              // kRead: there are further records, for which this had no room
  bool operator==(const JournalAnswer&) const = default;
};

using Message = std::variant<Beat, Order, Canvass, Hearing, JournalAsk, JournalAnswer>;

}  // namespace elastic
