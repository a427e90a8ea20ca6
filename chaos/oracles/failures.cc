#include "chaos/oracles/failures.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/oracles/narrator.h"
#include "chaos/oracles/truth.h"
#include "core/math/integer.h"

namespace elastic::chaos {
namespace {

constexpr Duration kLookEvery{std::chrono::seconds(1)};

// The most that a coordinator's clock may have shown in so much true time: faults let clocks run up
// to a tenth too fast.
Duration at_most(Duration elapsed) { return elapsed + elapsed / 8 + Duration(1); }

}  // namespace

using sim::WorkerEventKind;

// ---- budgets
// -------------------------------------------------------------------------------------

BudgetsOracle::BudgetsOracle(Bench bench)
    : Oracle(
          {.name = "budgets",
           .title = "a budget was spent wrongly",
           .promise = "The restart budget is spent by the program's own failures alone, once each, "
                      "and never beyond its limit; no coordinator forgets what was spent, or who "
                      "was lost too often.",
           .interests = kOnRecord | kOnWorker | kOnNote},
          std::move(bench)) {}

bool BudgetsOracle::counts(const ExitStatus& status) const {
  if (status.ok()) return false;
  if (job().restart_policy == RestartPolicy::kAnyFailure) return true;
  return status.signal == 0 && status.code < 128;
}

void BudgetsOracle::on_worker(Time /*now*/, const sim::WorkerEvent& event) {
  if (event.kind != WorkerEventKind::kExited || event.by_agent || !counts(event.status)) return;
  const Group* group = truth().group({event.node, event.life});
  // In which round a dying native worker was is for its agent to say: in the one that it had
  // entered, or in none that counts. Both pay.
  if (event.round) ++unpaid_[event.round];
  if (!event.round || group == nullptr || group->left_for > event.round) ++unpaid_starts_;
}

void BudgetsOracle::on_note(Time now, AgentId by, const Note& note) {
  const bool recording = note.kind == NoteKind::kWaiting &&
                         note.a == static_cast<std::uint64_t>(WaitReason::kRecording);
  if (recording) recording_[by] = now;
}

Time BudgetsOracle::written(AgentId writer, Time landed) const {
  const auto at = recording_.find(writer);
  return at == recording_.end() ? landed : std::min(at->second, landed);
}

// Counts only grow, unless a round was long enough to clear them.
void BudgetsOracle::judge_spent(Time now, const NumberedRecord& numbered, const RoundTruth& before,
                                const World& world) {
  const Budgets& old = before.world.budgets;
  const Budgets& spent = world.budgets;
  const auto wrong = [&](std::string expected, std::string found) {
    violated(now, {.agent = numbered.record.writer,
                   .round = world.round,
                   .expected = std::move(expected),
                   .found = std::move(found)});
  };
  const bool cleared = at_most(now - before.landed) >= job().budget_reset;
  counted();
  if (!cleared && spent.restarts_used < old.restarts_used) {
    wrong(fmt::format("{} restarts used, as before, or more", old.restarts_used),
          fmt::format("{} used", spent.restarts_used));
  }
  if (!cleared && spent.churn < old.churn) {
    wrong(fmt::format("{} losses counted, as before, or more", old.churn),
          fmt::format("{} counted", spent.churn));
  }
  if (spent.churn > old.churn + 1) {
    wrong(fmt::format("at most one loss more than {}", old.churn),
          fmt::format("{} counted", spent.churn));
  }
  const std::uint32_t limit = job().no_progress.failures;
  if (world.abandoned_below == world.round && (limit == 0 || !spent.went_back)) {
    wrong("a job goes back only after failures at the same step, and says so",
          fmt::format("{} goes back", in_words(world.round)));
  }
}

// A score is the one before, decayed, or more. The least half-life bounds the decay, and rounding
// costs a unit at each of a few changes of hands. At the end of a suppression a score falls to the
// level at which the node is taken again, and decays on from there.
void BudgetsOracle::judge_flaps(Time now, const NumberedRecord& numbered, const RoundTruth& before,
                                const World& world) {
  if (job().flaps.tolerated == 0) return;
  const auto at = written_.find(before.world.round);
  const Time since = at == written_.end() ? before.landed : at->second;
  const Duration elapsed = at_most(written(numbered.record.writer, now) - since);
  const Duration half = policy::half_life(job().flaps, 0);
  const auto decayed = [&](std::uint32_t score, Duration length) {
    const std::int64_t halvings_q32 = math::mul_div(length.count(), math::kOneQ32, half.count());
    return static_cast<std::uint32_t>(math::mul_exp2(score, -halvings_q32));
  };
  for (const policy::FlapScore& old : before.world.flaps) {
    std::uint32_t least = decayed(old.score, elapsed);
    if (old.left > Duration::zero() && elapsed >= old.left) {
      least = std::min(least, decayed(policy::taken_again_at(job().flaps), elapsed - old.left));
    }
    constexpr std::uint32_t kRounding = 16;
    if (least < policy::kDeparture / 16 + kRounding) continue;  // it may be forgotten by now
    const auto found = std::find_if(world.flaps.begin(), world.flaps.end(),
                                    [&](const auto& one) { return one.node == old.node; });
    const std::uint32_t score = found == world.flaps.end() ? 0 : found->score;
    counted();
    if (score + kRounding >= least) continue;
    violated(now, {.agent = numbered.record.writer,
                   .round = world.round,
                   .expected = fmt::format(
                       "node {} has a flap score of at least {}, from {} in {} and {} of decay",
                       old.node.value, least, old.score, in_words(before.world.round),
                       in_words(elapsed)),
                   .found = fmt::format("{}", score)});
  }
}

void BudgetsOracle::judge_world(Time now, const NumberedRecord& numbered, const World& world,
                                JournalLife life) {
  const RoundTruth* before = truth().newest_round();
  const bool same_life = before != nullptr && before->world.round.journal == life;
  const std::uint32_t old = same_life ? before->world.budgets.restarts_used : 0;
  const std::uint32_t used = world.budgets.restarts_used;
  const auto wrong = [&](std::string expected, std::string found) {
    violated(now, {.agent = numbered.record.writer,
                   .round = world.round,
                   .expected = std::move(expected),
                   .found = std::move(found)});
  };
  counted();
  if (used > job().max_restarts) {
    wrong(fmt::format("at most {} restarts", job().max_restarts), fmt::format("{} used", used));
  }
  // A failure in the last round pays for one restart, however many workers died in it; each program
  // that ended before it was in a round pays for one.
  const auto failed = same_life ? unpaid_.find(before->world.round) : unpaid_.end();
  const std::uint32_t in_round = failed == unpaid_.end() ? 0U : 1U;
  if (used > old) {
    const std::uint32_t grown = used - old;
    if (grown > in_round + unpaid_starts_) {
      wrong(fmt::format("{} restarts used, as before, and {} for failures since", old,
                        in_round + unpaid_starts_),
            fmt::format("{} used", used));
    }
    if (grown > in_round) unpaid_starts_ -= std::min(unpaid_starts_, grown - in_round);
  }
  if (same_life) unpaid_.erase(unpaid_.begin(), unpaid_.upper_bound(before->world.round));
  if (job().max_churn && world.budgets.churn > *job().max_churn) {
    wrong(fmt::format("at most {} losses of nodes", *job().max_churn),
          fmt::format("{} counted", world.budgets.churn));
  }
  if (same_life) {
    judge_spent(now, numbered, *before, world);
    judge_flaps(now, numbered, *before, world);
  }
  written_.clear();  // only the newest World is looked back at
  written_[world.round] = written(numbered.record.writer, now);
}

// A job ends for want of progress, of machines or of luck only where its settings say so.
void BudgetsOracle::judge_end(Time now, const NumberedRecord& numbered, const Verdict& verdict) {
  const RoundTruth* newest = truth().newest_round();
  const Budgets spent = newest == nullptr ? Budgets{} : newest->world.budgets;
  const auto require = [&](bool holds, const char* expected, std::string found) {
    counted();
    if (holds) return;
    violated(now, {.agent = numbered.record.writer,
                   .round = newest == nullptr ? RoundId{} : newest->world.round,
                   .expected = expected,
                   .found = std::move(found)});
  };
  if (verdict.kind == Verdict::Kind::kGaveUp) {
    const bool over = job().max_churn && spent.churn >= *job().max_churn;
    require(over, "the job gives up when losses of nodes have used up the churn budget",
            fmt::format("{} losses counted", spent.churn));
  } else if (verdict.kind == Verdict::Kind::kTooFewNodes) {
    require(job().health.min_healthy > 0,
            "the job ends for too few machines where min_healthy is set", "it is not");
  } else if (verdict.kind == Verdict::Kind::kNoProgress) {
    const std::uint32_t limit = job().no_progress.failures;
    const bool failed = newest != nullptr && unpaid_.count(newest->world.round) != 0;
    require(limit > 0 && failed && spent.no_progress + 1 >= limit,
            "the job ends without progress after as many failures in a row as are set",
            fmt::format("{} failures at step {} before this round, {}", spent.no_progress,
                        spent.stuck_at.value, failed ? "a further one" : "no further one"));
  }
}

void BudgetsOracle::judge_verdict(Time now, const NumberedRecord& numbered,
                                  const Verdict& verdict) {
  if (verdict.kind != Verdict::Kind::kProgramFailed) return;
  const RoundTruth* newest = truth().newest_round();
  const std::uint32_t used = newest == nullptr ? 0 : newest->world.budgets.restarts_used;
  const bool failed =
      unpaid_starts_ > 0 || (newest != nullptr && unpaid_.count(newest->world.round) != 0);
  counted();
  if (failed && (used >= job().max_restarts || used + unpaid_starts_ >= job().max_restarts)) return;
  violated(now, {.agent = numbered.record.writer,
                 .round = newest == nullptr ? RoundId{} : newest->world.round,
                 .expected = fmt::format("the job fails after {} restarts and one more failure",
                                         job().max_restarts),
                 .found = fmt::format("{} used, {}", used,
                                      failed ? "a further failure" : "no further failure")});
}

void BudgetsOracle::on_record(Time now, const NumberedRecord& numbered, JournalLife life) {
  if (const auto* world = std::get_if<World>(&numbered.record.body)) {
    judge_world(now, numbered, *world, life);
  } else if (const auto* verdict = std::get_if<Verdict>(&numbered.record.body)) {
    judge_verdict(now, numbered, *verdict);
    judge_end(now, numbered, *verdict);
  }
}

// ---- deaths
// --------------------------------------------------------------------------------------

DeathsOracle::DeathsOracle(Bench bench)
    : Oracle({.name = "deaths",
              .title = "a death has no record, or two",
              .promise = "Every worker that ended without its agent's doing is noted once by the "
                         "coordinator.",
              .kind = ViolationKind::kLiveness,
              .interests = kOnNote | kOnWorker | kOnEvent},
             std::move(bench)) {}

// The agent reports at once and repeats with each beat until acknowledged; a lost message costs a
// beat. Ten beats and a whole detection leave room for several losses in a row.
Duration DeathsOracle::bound() const {
  return timeouts().beat * 10 + timeouts().lost_after + job().bounds.journal +
         job().bounds.round_trip + job().bounds.pause;
}

void DeathsOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  if (event.kind != WorkerEventKind::kExited) return;
  ++deaths_[{event.node, event.local_rank}];
  if (event.by_agent || event.status.ok()) return;
  open_.push_back({now, {event.node, event.life}, event.round, event.local_rank});
}

void DeathsOracle::on_note(Time now, AgentId by, const Note& note) {
  if (note.kind == NoteKind::kLeading) {  // again: what it knew of deaths before is forgotten
    noted_by_.erase(noted_by_.lower_bound({by, Rank{}}),
                    noted_by_.upper_bound({by, Rank{NodeId{UINT64_MAX}, UINT32_MAX}}));
  }
  if (note.kind != NoteKind::kFailure) return;
  const Rank rank{note.node, static_cast<std::uint32_t>(note.a)};
  counted();
  const auto open = std::find_if(open_.begin(), open_.end(), [&](const Death& d) {
    return d.agent.node == rank.first && d.local_rank == rank.second;
  });
  if (open != open_.end()) open_.erase(open);
  const std::uint32_t noted = ++noted_by_[{by, rank}];
  if (noted <= deaths_[rank]) return;
  violated(now,
           {.agent = by,
            .round = note.round,
            .expected = fmt::format("the {} deaths of node {}, local rank {} are noted once each",
                                    deaths_[rank], rank.first.value, rank.second),
            .found = fmt::format("{} notes of one coordinator", noted)});
}

void DeathsOracle::judge_missing(Time now) {
  for (auto it = open_.begin(); it != open_.end();) {
    const Machine& machine = truth().machine(it->agent.node);
    if (!machine.up || !machine.agent_up || machine.life != it->agent.life ||
        truth().verdict() != nullptr) {
      it = open_.erase(it);  // the agent was lost with what it knew, or the job is over
      continue;
    }
    const Time calm = truth().calm_since(now, it->agent);
    if (calm != kEndOfTime && now - std::max(calm, it->at) > bound()) {
      counted();
      violated(now,
               {.agent = it->agent,
                .round = it->round,
                .expected = "the coordinator notes a worker's death within " + in_words(bound()),
                .found = fmt::format("no note of local rank {}, which ended {} ago", it->local_rank,
                                     in_words(now - it->at))});
      it = open_.erase(it);
      continue;
    }
    ++it;
  }
}

void DeathsOracle::on_event(Time now) {
  if (open_.empty() || now < look_at_) return;
  look_at_ = now + kLookEvery;
  judge_missing(now);
}

}  // namespace elastic::chaos
