// What a change of round costs, and when a job has nothing left to spend: the coordinator's side of
// core/policy. Everything that must outlive a coordinator is written into the World; delays are
// counted from the own clock by whoever leads.
#include <algorithm>

#include "core/assert.h"
#include "core/membership/coordinator.h"
#include "core/mutants.h"

namespace elastic {
namespace {

const Peer* find(const Peers& peers, NodeId node) {
  const auto at = peers.find(node);
  return at == peers.end() ? nullptr : &at->second;
}

// A step length from fewer steps than this says little: beats see steps a beat late.
constexpr std::uint64_t kLeastSteps = 4;

}  // namespace

// The program, and not the loss of another node, ended the newest World.
bool Coordinator::program_failed(const JournalView& view) const {
  if (!view.world || !first_failure_ || !counts(*first_failure_)) return false;
  if (!member_lost(*view.world)) return true;
  // Programs that fail because another node vanished did not fail by themselves.
  const Peer* culprit = find(peers_, first_failure_->agent.node);
  return culprit == nullptr || culprit->lost;
}

// Every member of the round has been heard after the failure, or is known to be gone: what is known
// now of who failed first will not change.
bool Coordinator::failure_is_certain(Time now, const JournalView& view) const {
  ELASTIC_ASSERT(now >= failed_at_);
  if (!view.world || !first_failure_) return true;
  return std::all_of(view.world->members.begin(), view.world->members.end(),
                     [&](const Member& member) {
                       const Peer* peer = find(peers_, member.agent.node);
                       if (peer == nullptr || peer->lost) return true;
                       if (peer->beat.from != member.agent) return true;
                       return peer->heard > failed_at_ + job_.bounds.round_trip;
                     });
}

policy::Charge Coordinator::charged(const JournalView& view) const {
  policy::SpendingRules rules{job_.max_restarts, job_.max_churn, job_.restart_back_off,
                              job_.churn_back_off, job_.budget_reset};
  if (ELASTIC_MUTANT("budget_per_node") && view.world) {
    rules.max_restarts *= static_cast<std::uint32_t>(view.world->members.size());
  }
  const bool program = program_failed(view);
  policy::RoundEnd end;
  end.ran = ran_;
  end.failures = start_failures_ + (program ? 1U : 0U);
  end.churn = view.world && cause_ != RoundCause::kResize && !program;
  policy::Spent before;
  if (view.world) before = {view.world->budgets.restarts_used, view.world->budgets.churn};
  return charge(before, end, rules);
}

// The newest step that a member is known to have reached in the newest World.
Step Coordinator::reached(const JournalView& view) const {
  Step newest = best_step_;
  if (!view.world) return newest;
  newest = std::max(newest, view.world->resume.state.step);
  for (const auto& [node, peer] : peers_) {
    const std::optional<StatePoint>& held = peer.beat.held;
    if (held && held->entered == view.world->round) newest = std::max(newest, held->step);
  }
  return newest;
}

policy::Judgement Coordinator::judged(const JournalView& view) const {
  if (!view.world) return {};
  const Budgets& budgets = view.world->budgets;
  policy::Attempt attempt;
  attempt.reached = reached(view);
  // What foreign programs have done is not known.
  attempt.failed = job_.workers == WorkerKind::kNative && program_failed(view);
  attempt.can_go_back = view.checkpoint && view.checkpoint->step < attempt.reached;
  return judge({budgets.stuck_at, budgets.no_progress, budgets.went_back}, attempt,
               job_.no_progress);
}

// The job is over, for one of the reasons that need no further round to show. `forming`: the next
// round could be recorded now, so that nothing more will be learnt.
std::optional<Verdict> Coordinator::verdict_due(Time now, const JournalView& view,
                                                bool forming) const {
  Verdict verdict;
  verdict.step = reached(view);
  if (too_few_) {
    verdict.kind = Verdict::Kind::kTooFewNodes;
    return verdict;
  }
  if (phase_ != Phase::kForming) return std::nullopt;
  const policy::Allowance allowance = charged(view).allowance;
  const bool certain = forming || failure_is_certain(now, view);
  const bool stuck = judged(view).next == policy::NextTry::kStop;
  if (certain && (allowance == policy::Allowance::kRestartsUsedUp || stuck)) {
    verdict.kind = allowance == policy::Allowance::kRestartsUsedUp ? Verdict::Kind::kProgramFailed
                                                                   : Verdict::Kind::kNoProgress;
    // Without any, if the operator has lowered the limit below what was spent already.
    const auto& first = first_failure_ ? first_failure_ : first_start_;
    if (first) verdict.first_failure = *first;
    return verdict;
  }
  // Another cause than a loss may yet turn out to have been the program's.
  const bool lost = forming || cause_ == RoundCause::kNodeLost;
  if (!lost || allowance != policy::Allowance::kChurnUsedUp) return std::nullopt;
  verdict.kind = Verdict::Kind::kGaveUp;
  return verdict;
}

// Members of the newest World that have left without notice, once each: what flap damping counts.
void Coordinator::note_departures(Time now, const JournalView& view) {
  if (job_.flaps.tolerated == 0 || phase_ == Phase::kEnding) return;
  if (view.world) {
    for (const Member& member : view.world->members) {
      const NodeId node = member.agent.node;
      if (!node || announced_.contains(node) || departed_.contains(node)) continue;
      const Peer* peer = find(peers_, node);
      const bool same = peer != nullptr && peer->beat.from == member.agent;
      if (same && peer->beat.state == AgentState::kFinished) continue;  // its part is done
      const Time heard_by = std::max(lead_return_, recorded_at_) + timeouts_.lost_after;
      const bool gone = peer == nullptr
                            ? now > heard_by
                            : !same || peer->lost || peer->beat.state == AgentState::kEnded;
      if (!gone) continue;
      departed_.insert(node);
      flaps_.departed(now, node);
    }
  }
  flaps_.settle(now);
  for (auto& [node, peer] : peers_) {
    const Duration left = flaps_.left(now, node);
    peer.suppressed_until = left > Duration::zero() ? now + left : Time{};
  }
  ELASTIC_ASSERT(departed_.empty() || view.world);
  ELASTIC_ASSERT(!view.world || departed_.size() <= view.world->members.size());
}

// The length of a step in the newest World, from the steps that beats have told of.
void Coordinator::measure(Time now, const World& world) {
  if (job_.growth != Growth::kPays || running_since_ == kEndOfTime) return;
  ELASTIC_ASSERT(best_step_ >= world.resume.state.step);
  const std::uint64_t steps = best_step_.value - running_from_.value;
  if (steps >= kLeastSteps)
    step_length_ = (now - running_since_) / static_cast<Duration::rep>(steps);
  ELASTIC_ASSERT(step_length_ >= Duration::zero());
}

Pace Coordinator::measured(const JournalView& view) const {
  if (!view.world) return {};
  Pace pace = view.world->pace;
  const auto nodes = static_cast<std::uint32_t>(view.world->members.size());
  if (step_length_ > Duration::zero()) {
    if (pace.here.nodes != nodes && pace.here.nodes != 0) pace.elsewhere = pace.here;
    pace.here = {nodes, step_length_};
  }
  if (job_.growth == Growth::kPays && pause_ > Duration::zero()) pace.pause = pause_;
  return pace;
}

policy::GrowthFacts Coordinator::growth_facts(Time now, const World& world,
                                              std::uint32_t after) const {
  policy::GrowthFacts facts;
  facts.nodes = static_cast<std::uint32_t>(world.members.size());
  facts.after = after;
  facts.here = {facts.nodes, step_length_};
  facts.elsewhere = world.pace.here.nodes != facts.nodes ? world.pace.here : world.pace.elsewhere;
  facts.pause = pause_ > Duration::zero() ? pause_ : world.pace.pause;
  if (job_.growth_pays.total_steps) {
    const std::uint64_t total = *job_.growth_pays.total_steps;
    facts.steps_left = total - std::min(total, best_step_.value);
  }
  facts.running_for = running_since_ == kEndOfTime ? Duration::zero() : now - running_since_;
  return facts;
}

// A predecessor's record has counted it already.
bool Coordinator::counted_before(const FailureReport& failure, const JournalView& view) const {
  if (!view.world) return false;
  const auto& counted = view.world->starts_counted;
  return std::any_of(counted.begin(), counted.end(), [&](const CountedStarts& starts) {
    return starts.agent == failure.agent && starts.number >= failure.number;
  });
}

// Those counted now, and those counted before of agents that may still repeat them.
std::vector<CountedStarts> Coordinator::counted_starts(const JournalView& view) const {
  std::map<NodeId, CountedStarts> all;
  if (view.world) {
    for (const CountedStarts& before : view.world->starts_counted) {
      const Peer* peer = find(peers_, before.agent.node);
      const bool newer_life = peer != nullptr && peer->beat.from.life > before.agent.life;
      if (!newer_life) all[before.agent.node] = before;
    }
  }
  for (const auto& [node, peer] : peers_) {
    if (peer.starts_counted) all[node] = {peer.beat.from, peer.starts_counted};
  }
  std::vector<CountedStarts> counted;
  for (const auto& [node, starts] : all) counted.push_back(starts);
  return counted;
}

// Writes into the World to be recorded what a new coordinator must inherit.
void Coordinator::spend(Time now, const JournalView& view, World& world) const {
  const policy::Charge charge = charged(view);
  const policy::Judgement judgement = judged(view);
  ELASTIC_ASSERT(charge.allowance == policy::Allowance::kGoOn);
  ELASTIC_ASSERT(judgement.next != policy::NextTry::kStop);
  Budgets& budgets = world.budgets;
  if (view.world) budgets = view.world->budgets;
  budgets.restarts_used = charge.spent.restarts;
  budgets.churn = charge.spent.churn;
  if (view.world && cause_ == RoundCause::kResize) ++budgets.resizes;
  budgets.no_progress = judgement.progress.failures;
  budgets.stuck_at = judgement.progress.stuck_at;
  budgets.went_back = judgement.progress.went_back;
  world.flaps = flaps_.scores(now);
  world.starts_counted = counted_starts(view);
  if (view.world) world.abandoned_below = view.world->abandoned_below;
  if (judgement.next == policy::NextTry::kGoBack) {
    ELASTIC_ASSERT(world.resume.source == ResumePoint::Source::kCheckpoint);
    world.abandoned_below = world.round;
  }
  world.pace = measured(view);
}

}  // namespace elastic
