// The one entry of a native worker: what its runtime brings, and what it must carry out. The
// runtime is the trainer's I/O thread, or the simulator; the state itself (weights, optimizer,
// gradients) stays with the runtime, this machine knows only which state it is.
//
// What the agent tells a worker are its own effects (core/agent/io.h): EnterRound as TakePlace,
// LeaveRound, RenewLease.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/agent/io.h"
#include "core/data/cursor.h"
#include "core/data/shares.h"
#include "core/policy/adascale.h"
#include "core/policy/learning_rate.h"
#include "core/types.h"

namespace elastic {

// What belongs to the state beside weights and optimizer, and travels with every fill and save.
struct Progress {
  data::Cursor cursor;     // the next sample
  Duration since_save{};   // training time since the last save began
  policy::Ramp rate;       // factor on the learning rate, on its way after a change of the batch
  policy::AdaScale noise;  // of the gradients (BatchMode::kAdaScale)
  bool operator==(const Progress&) const = default;
};

// The neighbours of a worker in the ring of its round, by rank. With two workers both are the same.
enum class Side : std::uint8_t { kPrevious, kNext };

// ---- What workers of a round say to their neighbours

// On connecting, and again when the resume state has become the sender's own.
struct Hello {
  RoundId round;
  bool holds = false;  // the round's resume state: may be asked for it
  bool operator==(const Hello&) const = default;
};
// The round is over: passed on around the ring, so that nobody learns it by a time-out.
struct Broken {
  RoundId round;
  bool operator==(const Broken&) const = default;
};
using PeerMessage = std::variant<Hello, Broken>;

// ---- Inputs

// A place in a round: first_rank of the placement plus the local rank.
struct TakePlace {
  Placement placement;
  std::uint32_t rank = 0;
};
struct PeerSays {
  Side side;
  PeerMessage message;
};
// The connection to a neighbour is closed, or has been dead for lost_after.
struct EdgeClosed {
  RoundId round;
  Side side;
};
// Communicators of the round are set up.
struct Connected {
  RoundId round;
};
// A part of the resume state has arrived whole, beside the old state.
struct PartFetched {
  RoundId round;
  std::uint32_t part = 0;
};
// The neighbour cannot give it (any more). Its parts may be asked for again elsewhere.
struct FetchFailed {
  RoundId round;
  Side side;
};
// The save lies in memory, beside the old state. `intact` false: a digest, a length or a file is
// wrong, or it is not the save that was asked for. Storage that cannot be read is no broken save.
struct SaveLoaded {
  RoundId round;
  bool intact = false;
};
// Answer to SwapIn. `intact`: the digest matched, and the state is now the resume state; `progress`
// came with it, and its cursor passes data::check_cursor (else it is not intact).
struct SwappedIn {
  RoundId round;
  bool intact = false;
  Progress progress;
};
// The gradient of the own share is ready.
struct StepComputed {
  RoundId round;
  Step step;
};
// All buckets of the step are reduced, and the reduced gradient is whole in memory. `flags` is the
// bitwise or of what all members gave to ReduceStep.
struct StepReduced {
  RoundId round;
  Step step;
  std::uint32_t flags = 0;
  std::optional<policy::GradientStats> stats;  // of the step, in BatchMode::kAdaScale
};
// The update is written: the state is that of `step`.
struct StepApplied {
  RoundId round;
  Step step;
};
// A copy of the state for a save has been made; training may go on.
struct CopyMade {
  RoundId round;
  Step step;
};
// The own share of the save is durable.
struct ShareStored {
  SaveReport report;
};
enum class WorkerTimer : std::uint8_t { kOrphan };
struct WorkerTimerFired {
  WorkerTimer timer;
};

using WorkerInput = std::variant<TakePlace, LeaveRound, RenewLease, PeerSays, EdgeClosed, Connected,
                                 PartFetched, FetchFailed, SaveLoaded, SwappedIn, StepComputed,
                                 StepReduced, StepApplied, CopyMade, ShareStored, WorkerTimerFired>;

// ---- Effects

struct TellPeer {
  Side side;
  PeerMessage message;
};
// Set up communicators with the neighbours; answered by Connected. The round's other traffic is
// closed.
struct Connect {
  Placement placement;
  std::uint32_t rank = 0;
};
// Copy part `part` of `parts` of that state from the neighbour, beside the own. Answered by
// PartFetched or FetchFailed; slow is no failure.
struct FetchPart {
  RoundId round;
  Side side;
  StatePoint state;
  std::uint32_t part = 0, parts = 1;
};
// Read the save of that record, beside the own state. Answered by SaveLoaded.
struct LoadSave {
  RoundId round;
  RecordNo record;
  StatePoint state;
};
// Everything is beside the own state: if its digest is the one that came with it, and its lineage
// that of `state`, it replaces the own state in one move. Answered by SwappedIn.
struct SwapIn {
  RoundId round;
  StatePoint state;
};
// From here on the state is the initial one (step 0).
struct Initialise {
  RoundId round;
};
// Compute the gradient of the own share of a batch. Answered by StepComputed. `share` is cut by
// rank; a runtime that sums by virtual shard takes data::share_by_shards of the same batch instead.
// A step that is not kept is computed again: whatever looks at samples sees each at least once.
struct StartStep {
  RoundId round;
  Step step;
  data::Batch batch;
  data::Share share;  // positions of the epoch's order
  std::uint32_t rank = 0, world_size = 0;
};
// Reduce it, and the flags, with all members, each share weighted by its part of the batch.
// Answered by StepReduced, or not at all: there is no time-out, a round that breaks is told by
// Broken.
struct ReduceStep {
  RoundId round;
  Step step;
  std::uint32_t flags = 0;
};
// Apply the reduced gradient of this step, which is whole, to the state before it.
struct ApplyStep {
  RoundId round;
  Step step;
  policy::Factor rate;  // times the learning rate that was chosen for the reference batch
};
// This worker contributes to nothing of the round any more: cancel what it computes, reduces and
// fetches. A reduction that is whole already is still told by StepReduced, and kept.
struct CancelRound {
  RoundId round;
};
// The kept reduction is of no use any more.
struct DropKept {};
// Copy the state; answered by CopyMade.
struct CopyState {
  RoundId round;
  Step step;
};
// Write share `rank` of `world_size` of the copied state (with `copied`), or of the state itself,
// which does not change any more. Answered by ShareStored.
struct StoreShare {
  SaveReport save;
  Progress progress;
  std::uint32_t rank = 0, world_size = 0;
  bool copied = true;
};
// A save under way is of no use any more: its round is over, or the last step's takes its place.
// What was written of it is removed as far as it is the writer's own (PlaceFile).
struct AbandonSave {};
struct ArmWorkerTimer {
  WorkerTimer timer;
  Duration after{};
};
// Past the orphan bound: end this process at once.
struct EndWorker {};

// ---- What a worker says to its agent (through Crew, core/agent/crew.h)

struct SaysEntered {
  RoundId round;
  StatePoint held;
};
struct SaysLeft {
  RoundId for_round;
  std::optional<StatePoint> held;
};
struct SaysSaved {
  SaveReport report;
};
struct SaysFinished {
  StatePoint held;
};
struct SaysEdge {
  RoundId round;
  NodeId peer;
};
struct SaysSaveBroken {
  RecordNo record;
};
// What it is doing, with every beat of its I/O thread: computing, or anything else, such as waiting
// for the others. For whom it waits is not told; who does not compute is no suspect.
struct SaysPulse {
  std::optional<StatePoint> held;
  bool computing = false;
  Duration for_how_long{};  // computing: since the step was started
  // Bytes that a fill or load of the resume state has brought so far. The runtime counts them, the
  // machine does not.
  std::uint64_t arrived = 0;
};
using WorkerSays = std::variant<SaysEntered, SaysLeft, SaysSaved, SaysFinished, SaysEdge,
                                SaysSaveBroken, SaysPulse>;
struct TellAgent {
  WorkerSays says;
};

using WorkerEffect =
    std::variant<TellPeer, Connect, FetchPart, LoadSave, SwapIn, Initialise, StartStep, ReduceStep,
                 ApplyStep, CancelRound, DropKept, CopyState, StoreShare, AbandonSave,
                 ArmWorkerTimer, EndWorker, TellAgent>;
using WorkerEffects = std::vector<WorkerEffect>;

}  // namespace elastic
