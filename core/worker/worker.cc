// In and out of rounds: places, fills, loads, orders to leave. Steps are in steps.cc.
#include "core/worker/worker.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/membership/hash.h"
#include "core/mutants.h"
#include "core/worker/lineage.h"

namespace elastic {
namespace {

std::size_t index(Side side) { return static_cast<std::size_t>(side); }

void tell(WorkerSays says, WorkerEffects& effects) {
  effects.push_back(TellAgent{std::move(says)});
}

}  // namespace

Worker::Worker(const TrainingRules& rules, const Timeouts& timeouts)
    : rules_(rules), timeouts_(timeouts) {}

void Worker::start(Time now, std::uint32_t local_rank, WorkerEffects& effects) {
  ELASTIC_ASSERT(phase_ == Phase::kOutside);
  ELASTIC_ASSERT(!placed_);
  local_rank_ = local_rank;
  lease_from_ = now;
  effects.push_back(ArmWorkerTimer{WorkerTimer::kOrphan, timeouts_.orphan});
}

void Worker::step(Time now, const WorkerInput& input, WorkerEffects& effects) {
  if (phase_ == Phase::kEnded) return;
  if (const auto* reduced = std::get_if<StepReduced>(&input)) {
    on_reduced(now, *reduced, effects);
  } else if (const auto* applied = std::get_if<StepApplied>(&input)) {
    on_applied(now, *applied, effects);
  } else if (const auto* computed = std::get_if<StepComputed>(&input)) {
    on_computed(*computed, effects);
  } else if (const auto* lease = std::get_if<RenewLease>(&input)) {
    on_lease(now, *lease, effects);
  } else if (const auto* place = std::get_if<TakePlace>(&input)) {
    take_place(now, *place, effects);
  } else if (const auto* order = std::get_if<LeaveRound>(&input)) {
    on_leave(now, *order, effects);
  } else if (const auto* says = std::get_if<PeerSays>(&input)) {
    on_peer(now, *says, effects);
  } else if (const auto* edge = std::get_if<EdgeClosed>(&input)) {
    on_edge(now, *edge, effects);
  } else if (const auto* connected = std::get_if<Connected>(&input)) {
    if (!concerns(connected->round)) return;
    connected_ = true;
    enter_if_ready(now, effects);
  } else if (const auto* part = std::get_if<PartFetched>(&input)) {
    on_part(*part, effects);
  } else if (const auto* failed = std::get_if<FetchFailed>(&input)) {
    on_fetch_failed(*failed, effects);
  } else if (const auto* loaded = std::get_if<SaveLoaded>(&input)) {
    on_loaded(now, *loaded, effects);
  } else if (const auto* swapped = std::get_if<SwappedIn>(&input)) {
    on_swapped(now, *swapped, effects);
  } else if (const auto* copied = std::get_if<CopyMade>(&input)) {
    if (!concerns(copied->round) || phase_ != Phase::kCopying) return;
    store_share(true, effects);
    begin_step(now, effects);
  } else if (const auto* stored = std::get_if<ShareStored>(&input)) {
    on_stored(now, *stored, effects);
  } else if (const auto* fired = std::get_if<WorkerTimerFired>(&input)) {
    // Outside any round nothing is applied: what it holds is kept until enough nodes are there.
    if (fired->timer == WorkerTimer::kOrphan && in_round() && orphaned(now)) end(effects);
  }
}

SaysPulse Worker::pulse(Time now) const {
  SaysPulse pulse;
  pulse.held = held_;
  pulse.computing = phase_ == Phase::kComputing;
  if (pulse.computing) pulse.for_how_long = now - step_started_;
  return pulse;
}

bool Worker::holds_resume() const { return in_round() && phase_ > Phase::kCatchingUp; }

void Worker::end(WorkerEffects& effects) {
  ELASTIC_ASSERT(phase_ != Phase::kEnded);
  ELASTIC_ASSERT(in_round());  // outside any round it keeps its state
  phase_ = Phase::kEnded;
  planned_for_ = {};
  pending_for_ = {};
  effects.push_back(EndWorker{});
}

void Worker::on_lease(Time now, const RenewLease& lease, WorkerEffects& effects) {
  if (lease.from <= lease_from_) return;
  lease_from_ = lease.from;
  const Duration left = timeouts_.orphan - (now - lease_from_);
  effects.push_back(ArmWorkerTimer{WorkerTimer::kOrphan, std::max(left, Duration{})});
}

// ---- Entering
// ------------------------------------------------------------------------------------

void Worker::take_place(Time now, const TakePlace& place, WorkerEffects& effects) {
  const RoundId round = place.placement.round;
  if (round <= placed_ || round < left_for_) return;
  if (busy()) return;  // the agent places only those that have left
  if (in_round()) effects.push_back(CancelRound{placed_});
  if (save_) effects.push_back(AbandonSave{});
  save_.reset();
  place_ = place.placement;
  placed_ = round;
  rank_ = place.rank;
  planned_for_ = {};
  pending_for_ = {};
  broken_ = false;
  connected_ = false;
  neighbour_holds_[0] = neighbour_holds_[1] = false;
  ELASTIC_ASSERT(placed_ >= left_for_);
  ELASTIC_ASSERT(!held_ || held_->entered < placed_);
  effects.push_back(Connect{place_, rank_});
  seek_state(now, effects);
  say_hello(effects);
}

// The reduction of the one step that it lacks is whole in its memory.
bool Worker::covers(const ResumePoint& resume) const {
  if (!kept_ || !held_ || resume.source != ResumePoint::Source::kHolders) return false;
  const bool same_step = resume.state.entered == kept_->round && resume.state.step == kept_->step;
  if (!same_step || held_->entered != kept_->round) return false;
  return next_lineage(held_->lineage, kept_->step, kept_->round) == resume.state.lineage;
}

void Worker::seek_state(Time now, WorkerEffects& effects) {
  const ResumePoint& resume = place_.resume;
  if (held_ && *held_ == resume.state && resume.source != ResumePoint::Source::kScratch) {
    state_ready(now, effects);
  } else if (resume.source == ResumePoint::Source::kScratch) {
    held_.reset();
    progress_ = {};
    effects.push_back(Initialise{placed_});
    state_ready(now, effects);
  } else if (covers(resume)) {
    phase_ = Phase::kCatchingUp;
    effects.push_back(ApplyStep{kept_->round, kept_->step, kept_->plan.rate});
  } else if (resume.source == ResumePoint::Source::kCheckpoint) {
    phase_ = Phase::kLoading;
    effects.push_back(LoadSave{placed_, resume.checkpoint, resume.state});
  } else {
    phase_ = Phase::kSeeking;
    seek_fill(effects);
  }
}

// From whoever of the two neighbours holds it, from both at once if both do: each gives one part,
// and who has given his gives the other too if nobody has been asked for it.
void Worker::seek_fill(WorkerEffects& effects) {
  if (phase_ == Phase::kSeeking) {
    parts_ = place_.previous == place_.next ? 1 : 2;
    part_[0] = part_[1] = Part::kUnasked;
  } else if (phase_ != Phase::kFetching) {
    return;
  }
  if (neighbour_holds_[index(Side::kPrevious)]) ask_of(Side::kPrevious, effects);
  if (neighbour_holds_[index(Side::kNext)]) ask_of(Side::kNext, effects);
}

// For a part that nobody was asked for, unless this neighbour is still giving another.
void Worker::ask_of(Side side, WorkerEffects& effects) {
  const Part asked = side == Side::kPrevious ? Part::kFromPrevious : Part::kFromNext;
  if (std::find(part_, part_ + parts_, asked) != part_ + parts_) return;
  for (std::uint32_t part = 0; part < parts_; ++part) {
    if (part_[part] != Part::kUnasked) continue;
    part_[part] = asked;
    phase_ = Phase::kFetching;
    if (ELASTIC_MUTANT("fill_written_in_place")) held_ = place_.resume.state;
    effects.push_back(FetchPart{placed_, side, place_.resume.state, part, parts_});
    return;
  }
}

void Worker::on_part(const PartFetched& fetched, WorkerEffects& effects) {
  if (!concerns(fetched.round) || phase_ != Phase::kFetching || fetched.part >= parts_) return;
  if (part_[fetched.part] == Part::kUnasked) return;
  part_[fetched.part] = Part::kArrived;
  const bool whole =
      std::all_of(part_, part_ + parts_, [](Part part) { return part == Part::kArrived; });
  if (!whole) {
    seek_fill(effects);
    return;
  }
  phase_ = Phase::kSwapping;
  effects.push_back(SwapIn{placed_, place_.resume.state});
}

// What that neighbour was to give is asked of the other one, if it holds it; else everything waits
// until somebody does. What has arrived stays.
void Worker::on_fetch_failed(const FetchFailed& failed, WorkerEffects& effects) {
  if (!concerns(failed.round)) return;
  neighbour_holds_[index(failed.side)] = false;
  if (phase_ != Phase::kFetching) return;
  const Part asked = failed.side == Side::kPrevious ? Part::kFromPrevious : Part::kFromNext;
  std::replace(part_, part_ + parts_, asked, Part::kUnasked);
  seek_fill(effects);
}

void Worker::on_loaded(Time /*now*/, const SaveLoaded& loaded, WorkerEffects& effects) {
  if (!concerns(loaded.round) || phase_ != Phase::kLoading) return;
  if (!loaded.intact) {
    // The round ends when the coordinator hears of it; the next one names an older save.
    tell(SaysSaveBroken{place_.resume.checkpoint}, effects);
    return;
  }
  phase_ = Phase::kSwapping;
  effects.push_back(SwapIn{placed_, place_.resume.state});
}

void Worker::on_swapped(Time now, const SwappedIn& swapped, WorkerEffects& effects) {
  if (!concerns(swapped.round) || phase_ != Phase::kSwapping) return;
  if (swapped.intact) {
    held_ = place_.resume.state;
    progress_ = swapped.progress;
    if (ELASTIC_MUTANT("resume_off_by_one")) {
      const auto batch = data::batch_at(rules_.data, progress_.cursor, 1);
      progress_.cursor = data::advance(rules_.data, progress_.cursor, batch);
    }
    if (kept_) effects.push_back(DropKept{});
    kept_.reset();
  } else if (pending_for_) {
    phase_ = Phase::kSeeking;
  } else if (place_.resume.source == ResumePoint::Source::kCheckpoint) {
    phase_ = Phase::kLoading;
    tell(SaysSaveBroken{place_.resume.checkpoint}, effects);
  } else {
    phase_ = Phase::kSeeking;  // once more, from whoever holds it
    seek_fill(effects);
  }
  if (pending_for_) {
    leave(now, std::exchange(pending_for_, {}), effects);
  } else if (swapped.intact) {
    state_ready(now, effects);
  }
}

// It holds the resume state: so may its neighbours soon.
void Worker::state_ready(Time now, WorkerEffects& effects) {
  ELASTIC_ASSERT(in_round() || phase_ == Phase::kOutside);
  ELASTIC_ASSERT(place_.resume.source == ResumePoint::Source::kScratch ||
                 (held_ && *held_ == place_.resume.state));
  if (kept_) effects.push_back(DropKept{});
  kept_.reset();
  const bool late = phase_ == Phase::kSwapping || phase_ == Phase::kCatchingUp;
  phase_ = Phase::kConnecting;
  if (late) say_hello(effects);
  enter_if_ready(now, effects);
}

void Worker::enter_if_ready(Time now, WorkerEffects& effects) {
  const bool early = ELASTIC_MUTANT("entered_before_filled") && entering();
  if ((phase_ != Phase::kConnecting && !early) || !connected_) return;
  ELASTIC_ASSERT(placed_ >= left_for_);
  ELASTIC_ASSERT(early || place_.resume.source == ResumePoint::Source::kScratch ||
                 held_ == place_.resume.state);
  const StatePoint from = place_.resume.state;
  held_ = StatePoint{placed_, from.step, from.lineage};
  committed_ = from.step;
  tell(SaysEntered{placed_, *held_}, effects);
  after_step(now, effects);
}

// ---- Neighbours
// ----------------------------------------------------------------------------------

void Worker::say_hello(WorkerEffects& effects) const {
  if (place_.world_size < 2) return;
  const Hello hello{placed_, holds_resume()};
  effects.push_back(TellPeer{Side::kPrevious, hello});
  effects.push_back(TellPeer{Side::kNext, hello});
}

void Worker::on_peer(Time now, const PeerSays& says, WorkerEffects& effects) {
  if (const auto* hello = std::get_if<Hello>(&says.message)) {
    if (!concerns(hello->round)) return;
    neighbour_holds_[index(says.side)] = hello->holds;
    seek_fill(effects);
  } else if (const auto* broken = std::get_if<Broken>(&says.message)) {
    if (concerns(broken->round)) round_broken(now, effects);
  }
}

void Worker::on_edge(Time now, const EdgeClosed& edge, WorkerEffects& effects) {
  if (!concerns(edge.round) || phase_ >= Phase::kStopped) return;  // nobody is needed any more
  const AgentId peer = edge.side == Side::kPrevious ? place_.previous : place_.next;
  tell(SaysEdge{placed_, peer.node}, effects);
  round_broken(now, effects);
}

// Each member passes it on once; whoever was to leave at a step boundary waits for none that may
// never come.
void Worker::round_broken(Time now, WorkerEffects& effects) {
  if (broken_) return;
  broken_ = true;
  if (place_.world_size > 1) {
    effects.push_back(TellPeer{Side::kPrevious, Broken{placed_}});
    effects.push_back(TellPeer{Side::kNext, Broken{placed_}});
  }
  if (!planned_for_) return;
  if (busy()) {
    pending_for_ = std::max(pending_for_, planned_for_);
  } else {
    leave(now, planned_for_, effects);
  }
}

// ---- Leaving
// -------------------------------------------------------------------------------------

void Worker::on_leave(Time now, const LeaveRound& order, WorkerEffects& effects) {
  const bool inside = in_round() && placed_ < order.for_round;
  if (!inside) {
    left_for_ = std::max(left_for_, order.for_round);
    if (in_round()) return;  // in that round, or a later one: the order is old
    tell(SaysLeft{left_for_, held_}, effects);
    return;
  }
  if (order.planned && stepping() && !broken_) {
    planned_for_ = std::max(planned_for_, order.for_round);
    return;
  }
  if (busy()) {
    pending_for_ = std::max(pending_for_, order.for_round);
    return;
  }
  leave(now, order.for_round, effects);
}

void Worker::leave(Time /*now*/, RoundId for_round, WorkerEffects& effects) {
  ELASTIC_ASSERT(in_round());
  ELASTIC_ASSERT(!busy() || pending_for_ == RoundId{});
  ELASTIC_ASSERT(for_round > placed_);
  left_for_ = std::max(left_for_, for_round);
  planned_for_ = {};
  pending_for_ = {};
  // After a stop that all agreed on, whoever has not finished the step yet is to finish it.
  const bool agreed = phase_ == Phase::kStopped;
  if (!broken_ && !agreed && place_.world_size > 1) {
    effects.push_back(TellPeer{Side::kPrevious, Broken{placed_}});
    effects.push_back(TellPeer{Side::kNext, Broken{placed_}});
  }
  effects.push_back(CancelRound{placed_});
  broken_ = true;
  phase_ = Phase::kOutside;
  tell(SaysLeft{left_for_, held_}, effects);
}

// ---- Invariants
// ----------------------------------------------------------------------------------

void Worker::check() const {
  ELASTIC_ASSERT(!in_round() || placed_ >= left_for_);
  ELASTIC_ASSERT(!held_ || held_->entered <= placed_);
  ELASTIC_ASSERT(!stepping() || (held_ && held_->entered == placed_));
  ELASTIC_ASSERT(!kept_ || (held_ && held_->step.value + 1 == kept_->step.value));
  ELASTIC_ASSERT(!planned_for_ || in_round());
  ELASTIC_ASSERT(!pending_for_ || busy());
  ELASTIC_ASSERT(phase_ != Phase::kFetching || parts_ > 0);
  ELASTIC_ASSERT(phase_ != Phase::kApplying || held_->entered == placed_);
  ELASTIC_ASSERT(!stepping() || connected_);
  ELASTIC_ASSERT(!stepping() || committed_ <= held_->step);
  ELASTIC_ASSERT(!stepping() || held_->step.value <= committed_.value + 1);
  ELASTIC_ASSERT(phase_ != Phase::kFinishing || save_);
  ELASTIC_ASSERT(phase_ != Phase::kFinished || !save_);
  progress_.noise.check();
}

std::uint64_t Worker::digest() const {
  Hash hash;
  hash(local_rank_, phase_, lease_from_, placed_, rank_, left_for_, planned_for_, pending_for_,
       broken_, held_, committed_, connected_, neighbour_holds_[0], neighbour_holds_[1], parts_,
       part_[0], part_[1], flags_, step_started_, save_.has_value(), kept_.has_value());
  hash(progress_.cursor.epoch, progress_.cursor.consumed, progress_.since_save,
       progress_.rate.from.q32, progress_.rate.to.q32, progress_.rate.start, progress_.rate.length,
       progress_.noise.digest(), plan_.batch.first.value, plan_.batch.size, plan_.rate.q32,
       plan_.rated);
  if (kept_) hash(kept_->round, kept_->step);
  if (save_) hash(save_->round, save_->step, save_->lineage);
  return hash.value();
}

}  // namespace elastic
