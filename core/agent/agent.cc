// The agent's dealings with the coordinator: beats, orders, leases, its end.
#include "core/agent/agent.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/random.h"
#include "core/membership/hash.h"
#include "core/mutants.h"

namespace elastic {
namespace {
constexpr std::size_t kMaxUnacked =
    64;  // beats; older ones than these cannot renew a lease any more
constexpr std::size_t kReportsPerBeat = 8;  // bounds the size of a beat
}  // namespace

void Agent::start(Time now, AgentId self, std::uint64_t seed, Effects& effects) {
  ELASTIC_ASSERT(!self_);
  ELASTIC_ASSERT(group_ == Group::kCleaning);
  self_ = self;
  // Beats are numbered from a drawn place on, so that an acknowledgement that an earlier life of
  // this node did not live to see names no beat of this one.
  const std::uint64_t drawn = math::draw(math::Seed{seed}, math::Stream{0x6265617473ULL}, 0);
  beats_ = BeatNo{drawn >> 25U << 24U};  // the lower bits count
  lease_from_ = now;
  effects.push_back(KillLeftovers{});
  effects.push_back(ArmTimer{TimerId::kBeat, timeouts_.beat});
  if (job_.join_timeout) effects.push_back(ArmTimer{TimerId::kJoin, *job_.join_timeout});
}

void Agent::follow(Time now, LeadId lead, AgentId leader, Effects& effects) {
  if (lead < lead_seen_ || (lead == lead_seen_ && leader == leader_)) return;
  ELASTIC_ASSERT(ended_ || !holding() || lead.journal == holding());
  lead_seen_ = lead;
  leader_ = leader;
  if (group_ != Group::kCleaning || !exit_) beat(now, effects);
}

AgentState Agent::state() const {
  if (ended_) return AgentState::kEnded;
  const bool has_left = placed_ && left_for_ > placed_;
  switch (group_) {
    case Group::kCleaning:
      return AgentState::kCleaning;
    case Group::kPreparing:
      return AgentState::kWaiting;
    case Group::kNone:
      return has_left && !native() ? AgentState::kLeft : AgentState::kWaiting;
    case Group::kReady:
      return has_left ? AgentState::kLeft : AgentState::kPrepared;
    case Group::kEntering:
      return AgentState::kEntering;
    case Group::kRunning:
      return AgentState::kRunning;
    case Group::kLeaving:
      return AgentState::kLeaving;
    case Group::kFinished:
      return AgentState::kFinished;
  }
  return AgentState::kWaiting;
}

JournalLife Agent::holding() const {
  const bool something = in_round() || group_ == Group::kLeaving || held_.has_value();
  return something ? placed_.journal : JournalLife{};
}

// Says everything that the coordinator may need, and remembers when: the lease counts from the
// sending.
void Agent::report(Time now, NodeId to, Effects& effects) {
  Beat beat;
  beat.from = self_;
  beat.number = BeatNo{++beats_.value};
  beat.lead_seen = lead_seen_;
  beat.state = state();
  beat.workers = job_.workers_per_node;
  beat.placed = placed_;
  const bool inside = group_ == Group::kRunning || group_ == Group::kFinished;
  beat.entered = inside ? entered_ : RoundId{};
  beat.entered_newest = entered_newest_;
  beat.left_for = left_for_;
  beat.reaped_below = reaped_below_;
  beat.held = held_;
  beat.saved = saved_;
  beat.last_step = last_step_;
  const std::size_t reports = std::min(failures_.size(), kReportsPerBeat);
  beat.failures.assign(failures_.begin(), failures_.begin() + static_cast<std::ptrdiff_t>(reports));
  if (in_round()) beat.failed_edges = failed_edges_;
  if (leave_at_) beat.leaving_in = std::max(*leave_at_ - now, Duration(0));
  beat.manifest = manifest_;
  beat.checked = checked_;
  beat.broken_saves = broken_saves_;
  beat.arrived = group_ == Group::kEntering ? arrived_ : 0;
  ELASTIC_ASSERT(!beat.entered || beat.entered == placed_);
  effects.push_back(Send{to, std::move(beat)});
}

void Agent::beat(Time now, Effects& effects) {
  effects.push_back(ArmTimer{TimerId::kBeat, timeouts_.beat});
  beat_due_ = now + timeouts_.beat;
  if (contested_ && now < contested_until_ && holding()) report(now, contested_, effects);
  if (!leader_) return;
  report(now, leader_.node, effects);
  ELASTIC_ASSERT(sent_.empty() || sent_.back().first < beats_);
  if (sent_.size() >= kMaxUnacked) sent_.erase(sent_.begin());
  sent_.emplace_back(beats_, now);
}

// It hears at once, and then with every beat for as long as it goes on asking: with the answer to
// each beat it does.
void Agent::contest(Time now, const Order& order, Effects& effects) {
  const NodeId leader = order.from.node;
  const bool known = contested_ == leader && now < contested_until_;
  contested_ = leader;
  contested_until_ = now + timeouts_.lost_after;
  if (known) return;
  effects.push_back(Note{NoteKind::kRefused, leader, {}, order.lead.record.value, 1, 0});
  if (holding()) report(now, contested_, effects);
}

void Agent::send_last_beat(Time now, Effects& effects) {
  ELASTIC_ASSERT(ended_);
  ELASTIC_ASSERT(alive_ == 0);
  beat(now, effects);
  effects.push_back(CancelTimer{TimerId::kBeat});
}

void Agent::on_order(Time now, const Order& order, Effects& effects) {
  const bool superseded = order.lead < lead_seen_ && !ELASTIC_MUTANT("stale_order_obeyed");
  if (superseded) {
    effects.push_back(Note{NoteKind::kRefused, order.from.node, {}, order.lead.record.value, 0, 0});
    return;
  }
  if (holding() && order.lead.journal != holding()) {
    contest(now, order, effects);
    return;
  }
  if (order.lead > lead_seen_) {
    lead_seen_ = order.lead;
    leader_ = order.from;
    beat(now, effects);
  }
  if (ended_) return;
  // To an earlier life of this node: its acknowledgements and its place are not this one's.
  const bool misdirected = order.to && order.to != self_;
  if (misdirected) {
    if (order.verdict) on_verdict(now, *order.verdict, effects);
    return;
  }
  if (order.beat) acknowledged(now, order, effects);
  take_report(now, order, effects);
  if (order.verdict) {
    on_verdict(now, *order.verdict, effects);
    return;
  }
  // Rounds of another journal than the coordinator's own are none that it may speak of.
  const JournalLife life = order.lead.journal;
  const bool newer =
      order.leave_for.journal == life && order.leave_for > left_for_ && order.leave_for > placed_;
  if (newer) leave(now, order.leave_for, order.planned, effects);
  if (order.placement && order.placement->round.journal == life) {
    accept(now, *order.placement, effects);
  }
  if (in_round() && placed_.journal == life) take_save_orders(order, effects);
  if (!in_round()) wait_ = group_ == Group::kPreparing ? WaitReason::kPreparing : order.wait;
  leave_when_unneeded(now, order, effects);
}

// What the coordinator has taken note of need not be said again.
void Agent::take_report(Time /*now*/, const Order& order, Effects& effects) {
  std::erase_if(failures_, [&](const FailureReport& failure) {
    return failure.number <= order.failures_seen;
  });
  if (saved_ && order.checkpoint_round == saved_->round && order.checkpoint_step >= saved_->step) {
    saved_.reset();
  }
  if (manifest_ && order.checkpoint_round == manifest_->round &&
      order.checkpoint_step >= manifest_->step) {
    manifest_.reset();
  }
  if (order.checkpoint > checkpoint_told_) {
    checkpoint_told_ = order.checkpoint;
    effects.push_back(
        TellCheckpoint{order.checkpoint, order.checkpoint_step, order.checkpoint_round});
  }
}

void Agent::acknowledged(Time now, const Order& order, Effects& effects) {
  const auto at = std::find_if(sent_.begin(), sent_.end(),
                               [&](const auto& entry) { return entry.first == order.beat; });
  if (at == sent_.end()) return;
  const Time from = at->second;
  sent_.erase(sent_.begin(), at + 1);
  ELASTIC_ASSERT(sent_.empty() || sent_.front().first > order.beat);  // none renews a lease twice
  if (ever_acked_ && from <= lease_from_) return;
  ever_acked_ = true;
  lease_from_ = from;
  // Asked to leave, or superseded: what runs below that must not continue on this acknowledgement.
  effects.push_back(RenewLease{from, std::max(order.running, order.leave_for)});
  const Duration age = now - from;
  // The read may have had to wait for one that was under way.
  const DeclaredBounds& b = job_.bounds;
  const Duration declared = 3 * b.round_trip + 2 * b.journal + b.pause;
  if (acknowledgements_.exceeds(age, declared)) {
    effects.push_back(acknowledgements_.note(self_.node, Bound::kAcknowledged, declared));
  }
  effects.push_back(ArmTimer{TimerId::kLease, std::max(timeouts_.lease - age, Duration(0))});
  effects.push_back(ArmTimer{TimerId::kOrphan, std::max(timeouts_.orphan - age, Duration(0))});
}

// A place is taken only by workers that are outside any round, and only under a lease.
void Agent::accept(Time now, const Placement& placement, Effects& effects) {
  if (placement.round <= placed_ || placement.round < left_for_ || exit_) return;
  if (leave_at_ && now >= *leave_at_) return;
  const bool idle = native() ? group_ == Group::kReady : group_ == Group::kNone;
  const Duration bound = native() ? timeouts_.orphan : timeouts_.lease;
  if (!idle || !ever_acked_ || now - lease_from_ >= bound) return;
  ELASTIC_ASSERT(placement.round > entered_newest_);
  ELASTIC_ASSERT(alive_ == (native() ? job_.workers_per_node : 0));
  const bool other_journal = placement.round.journal != placed_.journal;
  placed_ = placement.round;
  arrived_ = 0;
  first_rank_ = placement.first_rank;
  entered_ = {};
  failed_edges_.clear();
  saved_.reset();
  start_saves(other_journal);
  stopping_ = false;
  killed_.clear();
  group_ = Group::kEntering;
  alive_ = job_.workers_per_node;
  wait_ = WaitReason::kNone;
  effects.push_back(CancelTimer{TimerId::kJoin});
  effects.push_back(EnterRound{placement});
  effects.push_back(RenewLease{lease_from_, placement.round});
  beat(now, effects);
}

void Agent::on_verdict(Time now, const Verdict& verdict, Effects& effects) {
  switch (verdict.kind) {
    case Verdict::Kind::kSucceeded:
      return end(now, ExitReason::kSucceeded, effects);
    case Verdict::Kind::kProgramFailed:
      return end(now, ExitReason::kProgramFailed, effects);
    case Verdict::Kind::kGaveUp:
      return end(now, ExitReason::kGaveUp, effects);
    case Verdict::Kind::kStopped:
      return end(now, ExitReason::kStopped, effects);
    case Verdict::Kind::kNoProgress:
      return end(now, ExitReason::kNoProgress, effects);
    case Verdict::Kind::kTooFewNodes:
      return end(now, ExitReason::kTooFewNodes, effects);
    case Verdict::Kind::kSavesLost:
      return end(now, ExitReason::kSavesLost, effects);
  }
}

void Agent::give_up(Time now, ExitReason reason, Effects& effects) {
  ELASTIC_ASSERT(reason == ExitReason::kJournalLost || reason == ExitReason::kJoinTimeout);
  end(now, reason, effects);
}

void Agent::on_leave_notice(Time now, const LeaveNotice& notice, Effects& effects) {
  leave_at_ = now + notice.deadline;
  effects.push_back(ArmTimer{TimerId::kResize, notice.deadline});
  beat(now, effects);
}

// An announced leave is complete when the newest round was recorded without this node, or it never
// was in one. The host of the journal stays to serve it.
void Agent::leave_when_unneeded(Time now, const Order& order, Effects& effects) {
  if (!leave_at_ || exit_ || in_round() || group_ == Group::kLeaving) return;
  if (order.placement || (placed_ && order.running <= placed_)) return;
  if (hosts_journal()) return;
  end(now, ExitReason::kLeft, effects);
}

// After the deadline it goes as soon as its workers are outside any round.
void Agent::leave_when_over(Time now, Effects& effects) {
  if (leave_at_ && now >= *leave_at_ && !exit_ && !hosts_journal()) {
    end(now, ExitReason::kLeft, effects);
  }
}

void Agent::end(Time now, ExitReason reason, Effects& effects) {
  if (exit_) return;
  ELASTIC_ASSERT(!ended_);
  exit_ = reason;
  effects.push_back(CancelTimer{TimerId::kJoin});
  effects.push_back(CancelTimer{TimerId::kPrepare});
  if (alive_ == 0 || group_ == Group::kNone) {
    ELASTIC_ASSERT(alive_ == 0);
    ended_ = true;
    held_.reset();
    return;
  }
  stop_all(now, effects);
}

void Agent::on_timer(Time now, TimerId timer, Effects& effects) {
  switch (timer) {
    case TimerId::kBeat:
      if (beat_due_ < now && pauses_.exceeds(now - beat_due_, job_.bounds.pause)) {
        effects.push_back(pauses_.note(self_.node, Bound::kPause, job_.bounds.pause));
      }
      if (native() && alive_ > 0 && (in_round() || group_ == Group::kLeaving)) {
        effects.push_back(PollWorkers{});
      }
      beat(now, effects);
      return;
    case TimerId::kLease:
      effects.push_back(Note{NoteKind::kLeaseLapsed, self_.node, placed_, 0, 0, 0});
      return;
    case TimerId::kOrphan:
      effects.push_back(Note{NoteKind::kOrphaned, self_.node, placed_, 0, 0, 0});
      if (in_round() || group_ == Group::kLeaving) {
        leaving_for_ = std::max(leaving_for_, after_placed());
        group_ = Group::kLeaving;
        stopping_ = true;
        effects.push_back(StopWorkers{true});
      }
      return;
    case TimerId::kStop:
      if (alive_ > 0 && (group_ == Group::kLeaving || exit_)) {
        stopping_ = true;
        effects.push_back(StopWorkers{true});
        effects.push_back(ArmTimer{TimerId::kStop, std::max(job_.stop_grace, timeouts_.beat)});
      }
      return;
    case TimerId::kResize:
      // The deadline of the leave: whatever the coordinator could do by now, this node goes.
      if (in_round()) leave(now, after_placed(), false, effects);
      if (!in_round() && group_ != Group::kLeaving) leave_when_over(now, effects);
      return;
    case TimerId::kPrepare:
      prepare(now, effects);
      return;
    default:
      return;
  }
}

void Agent::check() const {
  ELASTIC_ASSERT(entered_newest_ <= placed_);
  ELASTIC_ASSERT(!in_round() || left_for_ <= placed_);
  ELASTIC_ASSERT(group_ != Group::kRunning || entered_ == placed_);
  ELASTIC_ASSERT(reaped_below_ <= left_for_);
  ELASTIC_ASSERT(alive_ <= job_.workers_per_node);
  ELASTIC_ASSERT(!held_ || held_->entered <= entered_newest_);
  ELASTIC_ASSERT(!ended_ || exit_);
  ELASTIC_ASSERT(!ended_ || alive_ == 0);
  ELASTIC_ASSERT(!manifest_ || manifest_->round == placed_);
  ELASTIC_ASSERT(broken_saves_.size() <= kMaxBroken);
}

std::uint64_t Agent::digest() const {
  Hash hash;
  hash(self_, lead_seen_, leader_, beats_, sent_, lease_from_, group_, alive_, arrived_, beat_due_,
       prepare_since_, acknowledgements_.worst, pauses_.worst, start_ups_.worst, placed_,
       first_rank_, entered_, entered_newest_, left_for_, leaving_for_, leaving_planned_,
       reaped_below_, held_, saved_, manifest_asked_, manifest_, checking_, checked_, broken_saves_,
       last_step_, failures_, failure_count_, failed_edges_, wait_, failed_starts_, stopping_,
       killed_, contested_, contested_until_, checkpoint_told_, leave_at_, exit_, ended_,
       ever_acked_);
  return hash.value();
}

}  // namespace elastic
