// One native worker: one rank of a job whose processes survive changes of membership. It decides
// which state it holds, when it contributes, and when it must not (design sections 4 and 5).
//
// What this machine, with the coordinator, is for: kill, freeze, partition, add or remove anything
// at any time; no committed step is lost, every sample counts once, and the final weights are bit
// for bit those of an undisturbed run. That holds for native workers with a constant global batch,
// whose runtime sums exactly and in any order, as long as one live worker holds the newest
// committed state (docs/assumptions.md says what is left of it otherwise).
//
// Who finishes a reduction knows that all members had the step before, so that it is committed.
// Once a member has left, its round can finish no step beyond the one that this member was in:
// members differ by one step at most. The last step is followed by no reduction; its save, which
// needs the share of every member, is the barrier. An order to leave that is announced rides as a
// flag in the reductions, so that all stop after the same step; a round that breaks is told by
// message, all around the ring, so that nobody learns it by a time-out.
//
// Alternatives rejected: a worker that asks the coordinator before each step (a round trip a step);
// a lease that pauses it (every frame, share and record carries its round, and is refused when
// superseded); a member list in every worker (it knows its two neighbours, so that a change costs
// O(N) bytes, and a fill comes to everybody along the ring).
#pragma once

#include <cstdint>
#include <optional>

#include "core/data/cursor.h"
#include "core/membership/config.h"
#include "core/policy/batch.h"
#include "core/types.h"
#include "core/worker/io.h"

namespace elastic {

// What a job's program decides about training; the same on all workers.
struct TrainingRules {
  data::DataConfig data;
  policy::BatchRule batch;       // samples per step, by the number of ranks
  std::uint32_t ramp_steps = 0;  // over which the learning rate follows a change of the batch
  Duration save_every{};         // training time between two saves; zero: only the last step
};

// Bits of the flags that ride in every reduction: who finishes the step knows what all decided.
enum StepFlag : std::uint32_t {
  kStopAfter = 1,  // a member is to leave at this step boundary: everybody stops after the step
  kSaveAfter = 2,  // rank 0 asks for a save of this step
  kSaveBusy = 4,   // a member still writes an older save: then no save
};

// Invariants:
//  1. Applied means: all buckets of the step were reduced. A cancelled step leaves no torn state.
//  2. It contributes to nothing below the round that it has left for, and enters no such round.
//  3. `held` changes only by applying, by swapping in a state whose digest matches, by entering,
//     and by taking a place in a round that starts from scratch. What is fetched or loaded lies
//     beside it until then.
//  4. It has entered a round only when it holds that round's resume state.
//  5. It is never in the middle of applying or swapping when it leaves: an order to leave waits.
//  6. Past its orphan bound, looked at before each step is applied, it finishes none, and ends.
//     Outside any round it keeps its state for as long as it takes.
//  7. Saving keeps it only for the copy. While a member still writes its share of an older save,
//     no newer one is begun, but for the last.
class Worker {
 public:
  enum class Phase : std::uint8_t {
    kOutside,     // prepared, in no round; keeps its state for as long as it takes
    kSeeking,     // waits for a neighbour that holds the resume state
    kFetching,    // parts of it are on their way
    kLoading,     // reads a save
    kSwapping,    // what has arrived replaces the own state, if it is intact
    kCatchingUp,  // applies the kept reduction: it was behind by one step
    kConnecting,  // holds the resume state; communicators are being set up
    kComputing,
    kReducing,
    kApplying,
    kCopying,    // for a save
    kStopped,    // at the step boundary that all members agreed on
    kFinishing,  // holds the last step; its share of the last save is being written
    kFinished,
    kEnded,
  };

  Worker(const TrainingRules& rules, const Timeouts& timeouts);

  // The process is up, outside any round. A lease counts from now until the first renewal.
  void start(Time now, std::uint32_t local_rank, WorkerEffects& effects);
  // Total: every input is legal in every state.
  void step(Time now, const WorkerInput& input, WorkerEffects& effects);

  // To be told with every beat of the I/O thread.
  SaysPulse pulse(Time now) const;

  Phase phase() const { return phase_; }
  const std::optional<StatePoint>& held() const { return held_; }
  RoundId placed() const { return placed_; }
  const Placement& placement() const { return place_; }
  RoundId left_for() const { return left_for_; }
  const Progress& progress() const { return progress_; }
  const data::Batch& batch() const { return plan_.batch; }  // of the step under way, or the last
  // Holds the resume state of the round that it is placed in: may serve fills.
  bool holds_resume() const;
  std::uint32_t rank() const { return rank_; }
  // Newest step known to be committed; on entering a round, the step that it resumes from, although
  // other members may still be filled with it.
  Step committed() const { return committed_; }

  void check() const;
  std::uint64_t digest() const;

 private:
  // Of the step under way: what its update will make of the progress.
  struct Plan {
    data::Batch batch;
    std::uint64_t rated = 0;  // samples of a whole batch, which the rate follows
    policy::Ramp ramp;
    policy::Factor rate;
    std::optional<policy::GradientStats> stats;
  };

  // worker.cc: in and out of rounds
  void take_place(Time now, const TakePlace& place, WorkerEffects& effects);
  void seek_state(Time now, WorkerEffects& effects);
  void seek_fill(WorkerEffects& effects);
  void ask_of(Side side, WorkerEffects& effects);
  void on_peer(Time now, const PeerSays& says, WorkerEffects& effects);
  void on_edge(Time now, const EdgeClosed& edge, WorkerEffects& effects);
  void on_part(const PartFetched& part, WorkerEffects& effects);
  void on_fetch_failed(const FetchFailed& failed, WorkerEffects& effects);
  void on_loaded(Time now, const SaveLoaded& loaded, WorkerEffects& effects);
  void on_swapped(Time now, const SwappedIn& swapped, WorkerEffects& effects);
  void state_ready(Time now, WorkerEffects& effects);
  void enter_if_ready(Time now, WorkerEffects& effects);
  void on_leave(Time now, const LeaveRound& order, WorkerEffects& effects);
  void leave(Time now, RoundId for_round, WorkerEffects& effects);
  void round_broken(Time now, WorkerEffects& effects);
  void on_lease(Time now, const RenewLease& lease, WorkerEffects& effects);
  void end(WorkerEffects& effects);

  // steps.cc: steps and saves
  void begin_step(Time now, WorkerEffects& effects);
  void plan_step();
  void follow_plan(const Plan& plan);
  void on_computed(const StepComputed& computed, WorkerEffects& effects);
  void on_reduced(Time now, const StepReduced& reduced, WorkerEffects& effects);
  void on_applied(Time now, const StepApplied& applied, WorkerEffects& effects);
  void after_step(Time now, WorkerEffects& effects);
  void finish(WorkerEffects& effects);
  void store_share(bool copied, WorkerEffects& effects);
  void on_stored(Time now, const ShareStored& stored, WorkerEffects& effects);

  bool in_round() const { return phase_ != Phase::kOutside && phase_ != Phase::kEnded; }
  bool entering() const { return phase_ >= Phase::kSeeking && phase_ <= Phase::kConnecting; }
  bool stepping() const { return phase_ >= Phase::kComputing && phase_ <= Phase::kCopying; }
  // In the middle of changing the state: orders wait.
  bool busy() const {
    return phase_ == Phase::kSwapping || phase_ == Phase::kCatchingUp || phase_ == Phase::kApplying;
  }
  bool orphaned(Time now) const { return now - lease_from_ >= timeouts_.orphan; }
  bool concerns(RoundId round) const { return in_round() && round == placed_; }
  bool covers(const ResumePoint& resume) const;
  void say_hello(WorkerEffects& effects) const;

  TrainingRules rules_;
  Timeouts timeouts_;
  std::uint32_t local_rank_ = 0;
  Phase phase_ = Phase::kOutside;
  Time lease_from_{};

  RoundId placed_;  // newest round that it took a place in
  Placement place_;
  std::uint32_t rank_ = 0;
  RoundId left_for_;
  RoundId planned_for_;  // leaves at the next common step boundary, for this round
  RoundId pending_for_;  // leaves as soon as it is no longer busy, for this round
  bool broken_ = false;  // it has heard that the round is over

  std::optional<StatePoint> held_;
  Progress progress_;
  Step committed_;
  struct Kept {
    RoundId round;
    Step step;
    Plan plan;
  };
  std::optional<Kept> kept_;  // a reduction that is whole, of the step after the held one

  bool connected_ = false;
  bool neighbour_holds_[2] = {false, false};  // by Side
  // kFetching: the resume state in one part, or in two if there are two neighbours.
  enum class Part : std::uint8_t { kUnasked, kFromPrevious, kFromNext, kArrived };
  std::uint32_t parts_ = 0;
  Part part_[2] = {Part::kUnasked, Part::kUnasked};

  std::uint32_t flags_ = 0;  // of the step that is being applied
  Time step_started_{};
  Plan plan_;                       // of the step under way, or the last one
  std::optional<SaveReport> save_;  // the own share of it is being written
};

}  // namespace elastic
