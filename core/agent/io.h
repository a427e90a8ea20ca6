// The one entry of a node's machines: inputs that the world brings, effects that it must carry out.
// The simulator and the real runtime both speak exactly this.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/membership/messages.h"
#include "core/types.h"

namespace elastic {

// ---- Inputs
// --------------------------------------------------------------------------------------

// First input of a life. `seed` was drawn by the runtime; every choice that needs chance follows
// from it.
struct Start {
  AgentId self;
  std::uint64_t seed = 0;
  std::vector<NodeId> contacts;  // other nodes of the job, where the operator listed them
};
struct Received {
  NodeId from;
  Message message;
};
// The transport noticed that a peer's agent process is gone (connection closed). A hint: it makes
// the peer suspect, which is lost if it stays silent, and not proof of anything.
struct PeerClosed {
  NodeId peer;
};
// Timers are named; arming one again replaces it.
enum class TimerId : std::uint8_t {
  kBeat,     // agent: send a beat
  kLease,    // agent: the lease of the last acknowledged beat is over
  kOrphan,   // agent: the orphan bound is over
  kStop,     // agent: SIGTERM, or an order to leave, has had its grace
  kResize,   // agent: an announced leave has had its time
  kJoin,     // agent: join_timeout
  kSilence,  // election: no leader heard
  kCanvass,  // election: enough waited for answers
  kTick,     // coordinator: look at everybody
  kJournal,  // journal client: no answer yet
  kPrepare,  // agent: start failed workers again, after a back-off
  kLinger,   // node: stays after its end, for those who have not heard the verdict
  kCount,
};
struct TimerFired {
  TimerId timer;
};
// Answer of an external journal, or of the own hosted one.
struct JournalReplied {
  JournalAnswer answer;
};
// Hosted journal, on its host: the file as read at start (`exists` false: there is none), with the
// newest commit marker of the checkpoint directory.
struct JournalFileRead {
  bool exists = false;
  JournalLife life;
  std::vector<NumberedRecord> records;
  std::optional<CommitMarker> newest_marker;
};
// The record handed over by WriteJournalFile is synced.
struct JournalFileSynced {
  RecordNo number;
};
// The marker is durable.
struct MarkerStored {
  RecordNo record;
};
// The answer to ReadMarker: the newest commit marker of the checkpoint directory, if there is one.
// Not given while the storage cannot be read.
struct MarkerRead {
  std::optional<CommitMarker> newest;
};
// No process of an earlier life is left on this node.
struct LeftoversKilled {};
// Native: all local workers are up, connected and outside any round.
struct WorkersPrepared {};
// All local workers hold the resume state of `round` and have taken up training there.
struct WorkersEntered {
  RoundId round;
  StatePoint held;
};
// Native, the answer to LeaveRound: nothing below `for_round` is contributed to any more.
struct WorkersLeft {
  RoundId for_round;
  std::optional<StatePoint> held;
};
// A worker process has ended and is reaped: told at once. `last_of_group`: none of this agent's
// workers is left.
struct WorkerExited {
  RoundId round;  // it was in (zero: none)
  std::uint32_t local_rank = 0;
  ExitStatus status;
  bool last_of_group = false;
  std::optional<StatePoint> held;  // newest state that the remaining ones hold (native)
};
// The answer to PollWorkers: what the workers said last.
struct WorkerPulse {
  std::optional<StatePoint> held;
  std::optional<std::uint32_t> silent_rank;  // local rank that is frozen (see Crew), if any
  std::uint64_t arrived = 0;  // bytes of the resume state that have come to all of them so far
};
struct WorkersSaved {
  SaveReport report;
};
// The answer to WriteManifest: it is in place and durable. `digest` is that of the manifest.
struct ManifestWritten {
  RoundId round;
  Step step;
  std::uint64_t digest = 0;
};
// The answer to VerifySave. Not given while the storage cannot be read.
struct SaveVerified {
  RecordNo record;
  bool intact = false;
};
// While loading it: the save is torn, rotten, stale or missing, by its digests.
struct SaveBroken {
  RecordNo record;
};
// All local workers hold the last step (native).
struct WorkersFinished {
  StatePoint held;
};
// Workers cannot reach this member of the round.
struct EdgeFailed {
  RoundId round;
  NodeId peer;
};
// The provider takes the machine back, or the operator asked this node to leave.
struct LeaveNotice {
  Duration deadline{};
};
// The operator ends the job.
struct StopJob {};

using Input =
    std::variant<Start, Received, PeerClosed, TimerFired, JournalReplied, JournalFileRead,
                 JournalFileSynced, MarkerStored, LeftoversKilled, WorkersPrepared, WorkersEntered,
                 WorkersLeft, WorkerExited, WorkerPulse, WorkersSaved, WorkersFinished, EdgeFailed,
                 LeaveNotice, StopJob, ManifestWritten, SaveVerified, SaveBroken, MarkerRead>;

// ---- Effects
// -------------------------------------------------------------------------------------

struct Send {
  NodeId to;
  Message message;
};
struct ArmTimer {
  TimerId timer;
  Duration after{};
};
struct CancelTimer {
  TimerId timer;
};
// External journal only: ask it. Answered by JournalReplied, or not at all.
struct AskJournal {
  JournalAsk ask;
};
// Hosted journal, on its host.
struct ReadJournalFile {};
struct WriteJournalFile {
  JournalLife life;
  NumberedRecord record;  // number 0: found the file with this life
};
// On its host: of these records only writer, nonce and number are needed any more. When the file is
// made smaller, if ever, is the runtime's choice; it is never made so that a record is missing.
struct EmptyRecords {
  JournalLife life;
  std::vector<RecordNo> records;  // ascending
};
// Beside the save's manifest, synced. Answered by MarkerStored; may be repeated.
struct PutMarker {
  CommitMarker marker;
};
// No journal answers: see what the checkpoint directory says of the job's end. Answered by
// MarkerRead.
struct ReadMarker {};
// Kill every process that an earlier life of this agent left on the node.
struct KillLeftovers {};
// Native: start the local workers, outside any round.
struct PrepareWorkers {};
// Foreign: start the local workers for this round. Native: give the prepared ones their place.
struct EnterRound {
  Placement placement;
};
// Native: leave. `planned`: finish the step that all members agree on, then leave; else cancel now.
// Repeated orders for the same or a lower round are harmless.
struct LeaveRound {
  RoundId for_round;
  bool planned = false;
};
// SIGTERM (`kill` false) or SIGKILL to all local workers. Each end is told by WorkerExited.
struct StopWorkers {
  bool kill = false;
};
// SIGKILL to one worker that does not speak any more, or computes for too long.
struct KillWorker {
  std::uint32_t local_rank = 0;
};
// To supervisor and workers: the coordinator acknowledged a beat that was sent at `from`; leases
// and orphan bounds count from there, on the own clock. It leads a job in whose newest round
// `running` these workers are, if that is theirs; what runs below `running` is superseded.
struct RenewLease {
  Time from{};
  RoundId running;
};
struct PollWorkers {};
// The newest Checkpoint that the workers' saves may rely on.
struct TellCheckpoint {
  RecordNo record;
  Step step;
  RoundId round;
};
// Group rank 0: write the manifest of this save, all of whose shares are durable.
struct WriteManifest {
  ManifestOrder order;
};
// Read this save back, all of it, and compare digests.
struct VerifySave {
  CommittedSave save;
};
// The coordinator's: these are retired, delete their directories. May be repeated.
struct DeleteSaves {
  std::vector<CommittedSave> saves;
};
// The coordinator's: a save of a round below `below`, of the same journal, that is none of `keep`
// was abandoned with its round, and no Checkpoint will ever name it: delete its directory. May be
// repeated.
struct SweepSaves {
  RoundId below;
  std::vector<CommittedSave> keep;
};
// The agent is done: exit with this code, after the workers.
enum class ExitReason : std::uint8_t {
  kSucceeded,
  kProgramFailed,
  kGaveUp,
  kStopped,
  kLeft,         // this node left; the job goes on
  kJournalLost,  // hosted: no word of the journal of its round for longer than journal_lost_after
  kJoinTimeout,
  kNoProgress,   // the program fails at the same step again and again
  kTooFewNodes,  // fewer than min_healthy for longer than its grace
  kSavesLost,    // every committed save is broken, and nobody holds a state
};
struct Exit {
  ExitReason reason;
};

// Something for the trace: what a reader of an incident wants to see, and what oracles judge.
enum class NoteKind : std::uint8_t {
  kLeading,         // a: record number of the own Lead
  kDeposed,         // a: record number of the own Lead
  kSuspended,       // fewer than min nodes heard for a lease: no longer acknowledges
  kCandidate,       // a: nodes heard
  kAdopted,         // round: adopted as it runs
  kAskLeave,        // round: to leave for; a: RoundCause; b: 1 if planned
  kNodeLost,        // node: no beat
  kNodeDead,        // not given yet. node: its workers' death; a: how (0 reaped, 1 lapsed)
  kWorldRecorded,   // round; a: nodes; b: resume step
  kRunning,         // round: every member has entered
  kFailure,         // node; round; a: local rank; b: status; c: 1 first of its round, 0 consequence
  kBeatAcked,       // node; a: beat number          (only where the observer asks for it)
  kCheckpoint,      // round; a: step; b: record number
  kVerdict,         // a: Verdict::Kind
  kLeaseLapsed,     // the own lease is over
  kOrphaned,        // the own orphan bound is over
  kRefused,         // an order of a superseded coordinator or journal; a: its record number
  kJournalFounded,  // a: JournalLife
  kEntered,         // round: all local workers
  kLeft,            // round: left for
  kWaiting,         // a: WaitReason
  kSaveBroken,      // a: record of the save; b: 1 if read back, 0 if found while loading
  kRetired,         // a: newest record that was retired; b: how many
  kBoundExceeded,   // a: Bound; b: what was measured, in ns; c: what was declared, in ns
};
// A declared bound (DeclaredBounds) that a measurement has exceeded: outside faults it is declared
// too short, and what was derived from it does not hold. Told again only for half as much more.
enum class Bound : std::uint8_t {
  kAcknowledged,  // a beat: there and back, with the read of the journal
  kJournal,       // from asking the journal to its answer
  kPause,         // a timer of the agent came so late
  kStartUp,       // from starting the programs to "prepared"
};
struct Note {
  NoteKind kind;
  NodeId node;
  RoundId round;
  std::uint64_t a = 0, b = 0, c = 0;
};

using Effect =
    std::variant<Send, ArmTimer, CancelTimer, AskJournal, ReadJournalFile, WriteJournalFile,
                 PutMarker, KillLeftovers, PrepareWorkers, EnterRound, LeaveRound, StopWorkers,
                 KillWorker, RenewLease, PollWorkers, TellCheckpoint, Exit, Note, WriteManifest,
                 VerifySave, DeleteSaves, SweepSaves, EmptyRecords, ReadMarker>;

using Effects = std::vector<Effect>;

}  // namespace elastic
