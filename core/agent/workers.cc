// The agent's dealings with its workers: preparing, entering, leaving, deaths.
#include <algorithm>

#include "core/agent/agent.h"
#include "core/assert.h"

namespace elastic {
namespace {
constexpr Duration kMaxRestartDelay = std::chrono::seconds(60);
}  // namespace

void Agent::on_leftovers_killed(Time now, Effects& effects) {
  if (group_ != Group::kCleaning) return;
  group_ = Group::kNone;
  alive_ = 0;
  if (native()) {
    prepare(now, effects);
  } else {
    wait_ = WaitReason::kBelowMin;
  }
  beat(now, effects);
}

// Native: starts the local workers that are not running, outside any round. Programs that fail at
// once are started again ever more slowly.
void Agent::prepare(Time now, Effects& effects) {
  if (exit_ || !native()) return;
  if (group_ != Group::kNone && group_ != Group::kReady && group_ != Group::kPreparing) return;
  group_ = Group::kPreparing;
  alive_ = job_.workers_per_node;
  wait_ = WaitReason::kPreparing;
  prepare_since_ = now;
  effects.push_back(PrepareWorkers{});
}

void Agent::on_prepared(Time now, Effects& effects) {
  if (exit_) return;  // being stopped already: news from before the agent's orders
  if (group_ != Group::kPreparing || alive_ < job_.workers_per_node) return;
  group_ = Group::kReady;
  stopping_ = false;
  killed_.clear();
  if (start_ups_.exceeds(now - prepare_since_, job_.bounds.start_up)) {
    effects.push_back(start_ups_.note(self_.node, Bound::kStartUp, job_.bounds.start_up));
  }
  beat(now, effects);
}

void Agent::on_entered(Time now, const WorkersEntered& entered, Effects& effects) {
  if (group_ != Group::kEntering || entered.round != placed_ || exit_) return;
  group_ = Group::kRunning;
  entered_ = entered.round;
  entered_newest_ = entered.round;
  failed_starts_ = 0;
  if (native()) hold_state(entered.held);
  effects.push_back(Note{NoteKind::kEntered, self_.node, placed_, entered.held.step.value, 0, 0});
  beat(now, effects);
}

// Order to contribute to nothing below `for_round`, from the coordinator or because a worker died
// here.
void Agent::leave(Time now, RoundId for_round, bool planned, Effects& effects) {
  if (group_ == Group::kCleaning) return;  // asked again with the next acknowledgement
  if (in_round() && alive_ > 0) {
    group_ = Group::kLeaving;
    leaving_for_ = for_round;
    leaving_planned_ = planned;
    if (native()) {
      effects.push_back(LeaveRound{for_round, planned});
      const Duration patience = job_.stop_grace + (planned ? job_.resize_deadline : Duration(0));
      effects.push_back(ArmTimer{TimerId::kStop, std::max(patience, timeouts_.lost_after * 2)});
    } else {
      stop_all(now, effects);
    }
    beat(now, effects);
    return;
  }
  if (group_ == Group::kLeaving) {
    const bool forced = leaving_planned_ && !planned;
    if (for_round <= leaving_for_ && !forced) return;
    leaving_for_ = std::max(leaving_for_, for_round);
    leaving_planned_ = leaving_planned_ && planned;
    if (native() && !stopping_) effects.push_back(LeaveRound{leaving_for_, leaving_planned_});
    if (forced) {
      effects.push_back(
          ArmTimer{TimerId::kStop, std::max(job_.stop_grace, timeouts_.lost_after * 2)});
    }
    return;
  }
  // No worker is in a round.
  leaving_for_ = for_round;
  left(now, for_round, effects);
}

// All local workers are outside any round below `for_round`, for good.
void Agent::left(Time now, RoundId for_round, Effects& effects) {
  const bool was_inside = in_round() || group_ == Group::kLeaving;
  left_for_ = std::max({left_for_, for_round, leaving_for_});
  leaving_for_ = {};
  leaving_planned_ = false;
  entered_ = {};
  failed_edges_.clear();
  if (was_inside) {
    wait_ = WaitReason::kMembersLeave;
    effects.push_back(CancelTimer{TimerId::kStop});
    effects.push_back(
        Note{NoteKind::kLeft, self_.node, left_for_, held_ ? held_->step.value : 0, 0, 0});
    if (job_.join_timeout) effects.push_back(ArmTimer{TimerId::kJoin, *job_.join_timeout});
  }
  if (alive_ == 0) {
    if (group_ != Group::kPreparing) group_ = Group::kNone;
    if (!native()) reaped_below_ = left_for_;
  } else if (was_inside) {
    group_ = Group::kReady;
  }
  ELASTIC_ASSERT(!in_round());
  ELASTIC_ASSERT(reaped_below_ <= left_for_);
  if (exit_) {
    if (alive_ == 0) {
      ended_ = true;
      held_.reset();
    }
    return;
  }
  const bool short_of_workers = alive_ < job_.workers_per_node;
  if (was_inside && native() && short_of_workers) prepare(now, effects);
  beat(now, effects);
  leave_when_over(now, effects);
}

void Agent::on_left(Time now, const WorkersLeft& event, Effects& effects) {
  if (!native() || group_ != Group::kLeaving) return;
  hold_state(event.held);
  if (exit_) return;  // it waits for the exits
  left(now, event.for_round, effects);
}

void Agent::stop_all(Time /*now*/, Effects& effects) {
  stopping_ = true;
  effects.push_back(StopWorkers{false});
  effects.push_back(ArmTimer{TimerId::kStop, job_.stop_grace});
}

// What the workers hold, and so the newest round that they have entered: its news may arrive only
// now. A state of a round that they were never placed in cannot be theirs, and outside any round
// they gain none.
void Agent::hold_state(const std::optional<StatePoint>& held) {
  if (held && held->entered > placed_) return;
  if (held && !held_ && !in_round() && group_ != Group::kLeaving) return;
  held_ = held;
  if (held_) entered_newest_ = std::max(entered_newest_, held_->entered);
  ELASTIC_ASSERT(entered_newest_ <= placed_);
}

// Every death has one record, also of workers that the agent ended itself.
void Agent::record_death(const WorkerExited& exited) {
  FailureReport report;
  report.agent = self_;
  report.number = FailureNo{++failure_count_.value};
  report.round = exited.round;
  report.local_rank = exited.local_rank;
  report.rank = first_rank_ + exited.local_rank;
  report.status = exited.status;
  const auto at = std::find(killed_.begin(), killed_.end(), exited.local_rank);
  report.stopped_by_agent = stopping_ || at != killed_.end();
  if (at != killed_.end()) killed_.erase(at);
  ELASTIC_ASSERT(failures_.empty() || failures_.back().number < report.number);
  failures_.push_back(report);
}

void Agent::on_exited(Time now, const WorkerExited& exited, Effects& effects) {
  if (group_ == Group::kCleaning) return;
  if (alive_ > 0) --alive_;
  if (exited.last_of_group) alive_ = 0;
  ELASTIC_ASSERT(alive_ < job_.workers_per_node);
  const bool finished = !native() && exited.status.ok() && in_round();
  if (!finished) record_death(exited);
  if (native()) {
    hold_state(exited.held);
    native_exited(now, exited, effects);
  } else {
    foreign_exited(now, exited, effects);
  }
}

void Agent::native_exited(Time now, const WorkerExited& /*exited*/, Effects& effects) {
  if (exit_) {
    if (alive_ == 0) {
      ended_ = true;
      held_.reset();
    }
    return;
  }
  if (in_round()) {
    leave(now, after_placed(), false, effects);
    if (alive_ > 0) return;
  }
  if (group_ == Group::kLeaving) {
    if (alive_ == 0) {
      left(now, std::max(leaving_for_, after_placed()), effects);
    } else {
      beat(now, effects);
    }
    return;
  }
  if (in_round()) {  // the last one died in a round
    group_ = Group::kLeaving;
    left(now, after_placed(), effects);
    return;
  }
  // Outside any round: start again, the sooner the fewer starts have failed.
  group_ = Group::kPreparing;
  wait_ = WaitReason::kPreparing;
  const std::uint32_t exponent = std::min(failed_starts_, 6U);
  ++failed_starts_;
  const Duration delay = std::min(
      kMaxRestartDelay, Duration(std::chrono::seconds(1)) * (Duration::rep{1} << exponent));
  effects.push_back(ArmTimer{TimerId::kPrepare, delay});
  beat(now, effects);
}

void Agent::foreign_exited(Time now, const WorkerExited& exited, Effects& effects) {
  if (exit_) {
    if (alive_ == 0) ended_ = true;
    return;
  }
  const bool clean = exited.status.ok() && in_round() && !stopping_;
  if (clean) {
    if (alive_ == 0) {
      group_ = Group::kFinished;
      effects.push_back(CancelTimer{TimerId::kStop});
      beat(now, effects);
    }
    return;
  }
  if (in_round()) {
    // One failed: its siblings cannot go on without it.
    group_ = Group::kLeaving;
    leaving_for_ = std::max(leaving_for_, after_placed());
    if (alive_ > 0) stop_all(now, effects);
  }
  if (group_ == Group::kLeaving && alive_ == 0) {
    left(now, std::max(leaving_for_, after_placed()), effects);
    return;
  }
  beat(now, effects);
}

void Agent::on_pulse(Time /*now*/, const WorkerPulse& pulse, Effects& effects) {
  if (group_ == Group::kEntering) arrived_ = pulse.arrived;
  if (pulse.held && native() && held_ && group_ == Group::kRunning) hold_state(pulse.held);
  if (!pulse.silent_rank) return;
  const std::uint32_t rank = *pulse.silent_rank;
  if (std::find(killed_.begin(), killed_.end(), rank) != killed_.end()) return;
  killed_.push_back(rank);
  effects.push_back(KillWorker{rank});
}

void Agent::on_saved(Time now, const WorkersSaved& saved, Effects& effects) {
  if (saved.report.round != placed_) return;
  if (saved_ && saved_->step > saved.report.step) return;
  saved_ = saved.report;
  beat(now, effects);
}

void Agent::on_finished(Time now, const WorkersFinished& finished, Effects& effects) {
  if (!native() || group_ != Group::kRunning) return;
  group_ = Group::kFinished;
  hold_state(finished.held);
  last_step_ = finished.held.step;
  beat(now, effects);
}

void Agent::on_edge_failed(Time now, const EdgeFailed& edge, Effects& effects) {
  if (edge.round != placed_ || !in_round()) return;
  const bool known =
      std::find(failed_edges_.begin(), failed_edges_.end(), edge.peer) != failed_edges_.end();
  if (known) return;
  failed_edges_.push_back(edge.peer);
  beat(now, effects);
}

}  // namespace elastic
