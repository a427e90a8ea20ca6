// Steps and saves of one worker.
#include <utility>

#include "core/assert.h"
#include "core/mutants.h"
#include "core/worker/lineage.h"
#include "core/worker/worker.h"

namespace elastic {
namespace {

void tell(WorkerSays says, WorkerEffects& effects) {
  effects.push_back(TellAgent{std::move(says)});
}

}  // namespace

// The batch follows from the number of ranks, and the learning rate from the batch: its factor
// moves from where it is to where the rule wants it, over the steps of a ramp.
void Worker::plan_step() {
  const std::uint64_t size = policy::global_batch(rules_.batch, place_.world_size);
  const bool old = ELASTIC_MUTANT("rate_from_the_old_world") && plan_.rated > 0;
  const std::uint64_t rated = old ? plan_.rated : size;
  plan_ = Plan{};
  plan_.rated = rated;
  plan_.batch = data::batch_at(rules_.data, progress_.cursor, size);
  const auto seen = data::samples_seen(rules_.data, progress_.cursor);
  const auto samples = seen > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(seen);
  const policy::Factor wanted = rules_.batch.mode == policy::BatchMode::kAdaScale
                                    ? progress_.noise.gain(rated, rules_.batch.reference_batch)
                                    : policy::scale_factor(rules_.batch, rated);
  plan_.ramp = policy::retarget(progress_.rate, samples, wanted, {rules_.ramp_steps, size});
  plan_.rate = policy::ramp_at(plan_.ramp, samples);
  ELASTIC_ASSERT(plan_.batch.size > 0);
  ELASTIC_ASSERT(rules_.batch.mode != policy::BatchMode::kConstant ||
                 plan_.rate == policy::kUnchanged);
}

// The step is applied: so is what it had planned.
void Worker::follow_plan(const Plan& plan) {
  ELASTIC_ASSERT(plan.batch.size > 0);
  progress_.cursor = data::advance(rules_.data, progress_.cursor, plan.batch);
  progress_.rate = plan.ramp;
  if (plan.stats) progress_.noise.add(*plan.stats, plan.rated, rules_.batch.reference_batch);
}

void Worker::begin_step(Time now, WorkerEffects& effects) {
  ELASTIC_ASSERT(held_ && held_->entered == placed_);
  ELASTIC_ASSERT(!data::finished(rules_.data, progress_.cursor, held_->step));
  phase_ = Phase::kComputing;
  step_started_ = now;
  plan_step();
  StartStep start;
  start.round = placed_;
  start.step = Step{held_->step.value + 1};
  start.batch = plan_.batch;
  start.share = data::share_of(plan_.batch, math::Part{rank_, place_.world_size});
  if (ELASTIC_MUTANT("remainder_dropped")) start.share.size = plan_.batch.size / place_.world_size;
  start.rank = rank_;
  start.world_size = place_.world_size;
  effects.push_back(start);
}

void Worker::on_computed(const StepComputed& computed, WorkerEffects& effects) {
  if (!concerns(computed.round) || phase_ != Phase::kComputing) return;
  if (computed.step.value != held_->step.value + 1) return;
  phase_ = Phase::kReducing;
  std::uint32_t flags = 0;
  if (planned_for_) flags |= kStopAfter;
  if (save_) flags |= kSaveBusy;
  const bool due = rules_.save_every > Duration{} && progress_.since_save >= rules_.save_every;
  if (rank_ == 0 && due) flags |= kSaveAfter;
  effects.push_back(ReduceStep{placed_, computed.step, flags});
}

// Whoever has left contributes nothing more, and applies nothing: but what is whole in its memory
// may save it a fill, if the next round resumes after this very step.
void Worker::on_reduced(Time now, const StepReduced& reduced, WorkerEffects& effects) {
  if (!held_ || held_->entered != reduced.round) return;
  if (reduced.step.value != held_->step.value + 1) return;
  if (phase_ == Phase::kOutside) {
    kept_ = Kept{reduced.round, reduced.step, plan_};
    kept_->plan.stats = reduced.stats;
    return;
  }
  if (!concerns(reduced.round) || phase_ != Phase::kReducing) return;
  if (orphaned(now)) {
    end(effects);
    return;
  }
  ELASTIC_ASSERT(plan_.batch.epoch == progress_.cursor.epoch);
  ELASTIC_ASSERT(plan_.batch.first.value == progress_.cursor.consumed);
  committed_ = held_->step;  // everybody was in this reduction, so everybody has the step before
  flags_ = reduced.flags;
  plan_.stats = reduced.stats;
  phase_ = Phase::kApplying;
  effects.push_back(ApplyStep{placed_, reduced.step, plan_.rate});
}

void Worker::on_applied(Time now, const StepApplied& applied, WorkerEffects& effects) {
  if (!held_ || held_->entered != applied.round || !busy()) return;
  if (applied.step.value != held_->step.value + 1) return;
  held_->lineage = next_lineage(held_->lineage, applied.step, applied.round);
  held_->step = applied.step;
  if (phase_ == Phase::kCatchingUp) {
    ELASTIC_ASSERT(kept_.has_value());
    follow_plan(kept_->plan);
    if (pending_for_) {
      kept_.reset();
      leave(now, std::exchange(pending_for_, {}), effects);
    } else {
      state_ready(now, effects);
    }
    return;
  }
  ELASTIC_ASSERT(phase_ == Phase::kApplying);
  follow_plan(plan_);
  progress_.since_save += now - step_started_;
  const std::uint32_t flags = std::exchange(flags_, 0);
  if (pending_for_) {
    leave(now, std::exchange(pending_for_, {}), effects);
    return;
  }
  if (data::finished(rules_.data, progress_.cursor, held_->step)) {
    finish(effects);
  } else if ((flags & kStopAfter) != 0) {
    phase_ = Phase::kStopped;
    if (planned_for_) leave(now, planned_for_, effects);
  } else if ((flags & kSaveAfter) != 0 && (flags & kSaveBusy) == 0) {
    phase_ = Phase::kCopying;
    progress_.since_save = {};
    effects.push_back(CopyState{placed_, held_->step});
  } else {
    begin_step(now, effects);
  }
}

// What follows on entering a round.
void Worker::after_step(Time now, WorkerEffects& effects) {
  if (data::finished(rules_.data, progress_.cursor, held_->step)) {
    finish(effects);
  } else {
    begin_step(now, effects);
  }
}

// The last save is the barrier of the last step: its record needs the share of every member.
void Worker::finish(WorkerEffects& effects) {
  ELASTIC_ASSERT(held_ && held_->entered == placed_);
  if (save_) effects.push_back(AbandonSave{});
  phase_ = Phase::kFinishing;
  progress_.since_save = {};
  store_share(false, effects);
}

void Worker::store_share(bool copied, WorkerEffects& effects) {
  ELASTIC_ASSERT(held_ && held_->entered == placed_);
  SaveReport report;
  report.round = placed_;
  report.step = held_->step;
  report.lineage = held_->lineage;
  save_ = report;
  effects.push_back(StoreShare{report, progress_, rank_, place_.world_size, copied});
}

void Worker::on_stored(Time now, const ShareStored& stored, WorkerEffects& effects) {
  if (!save_ || stored.report.round != save_->round || stored.report.step != save_->step) return;
  save_.reset();
  tell(SaysSaved{stored.report}, effects);
  if (phase_ != Phase::kFinishing) return;
  phase_ = Phase::kFinished;
  tell(SaysFinished{*held_}, effects);
  if (planned_for_) leave(now, planned_for_, effects);
}

}  // namespace elastic
