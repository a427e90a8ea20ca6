#include "chaos/oracles/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/oracles/narrator.h"
#include "chaos/oracles/truth.h"

namespace elastic::chaos {

using sim::WorkerEventKind;

// ---- committed_steps
// -----------------------------------------------------------------------------

CommittedStepsOracle::CommittedStepsOracle(Bench bench)
    : Oracle({.name = "committed_steps",
              .title = "a committed step was lost",
              .promise = "A committed step never falls while a member that holds it survives, and "
                         "otherwise only to the newest recorded checkpoint.",
              .interests = kOnRecord | kOnWorker},
             std::move(bench)) {}

const Group* CommittedStepsOracle::survivor() const {
  for (std::uint64_t node = 1; node < truth().machines(); ++node) {
    const Machine& machine = truth().machine(NodeId{node});
    if (!machine.up) continue;
    for (const Group& group : machine.groups) {
      if (!group.alive || !group.holds || group.held.step < committed_.step) continue;
      const std::optional<Lineage> lineage =
          truth().history().ancestor(group.held.lineage, committed_.step);
      if (lineage != committed_.lineage) continue;
      if (!truth().past_orphan(group.agent)) return &group;
    }
  }
  return nullptr;
}

void CommittedStepsOracle::judge_world(Time now, const NumberedRecord& numbered,
                                       const World& world) {
  const StatePoint& resume = world.resume.state;
  const bool other_journal = world.round.journal != committed_.entered.journal;
  if (!any_ || (other_journal && truth().journal_lost())) {
    // Nothing to lose, or the voided assumption "the journal does not lose acknowledged records".
    any_ = any_ && resume.step.value > 0;
    committed_ = resume;
    return;
  }
  counted();
  if (resume.step >= committed_.step) return;
  if (world.abandoned_below == world.round && job().no_progress.failures > 0) {
    // The operator has asked for it; whether it was due is for the budgets oracle to say.
    const Checkpoint* save = truth().newest_checkpoint();
    const bool newest = save != nullptr && save->step == resume.step;
    if (newest) {
      committed_ = resume;
      return;
    }
  }
  const auto wrong = [&](AgentId agent, std::string expected) {
    violated(now, {.agent = agent,
                   .round = world.round,
                   .expected = std::move(expected),
                   .found = fmt::format("{} resumes at step {} (record {})", in_words(world.round),
                                        grouped(resume.step.value), numbered.number.value)});
  };
  if (const Group* holder = survivor()) {
    wrong(holder->agent,
          fmt::format("step {} is kept: it was committed in {}, and node {} holds it",
                      grouped(committed_.step.value), in_words(committed_.entered),
                      holder->agent.node.value));
    return;
  }
  const Checkpoint* save = truth().newest_usable(world);
  if (save != nullptr && resume.step < save->step) {
    wrong(numbered.record.writer,
          fmt::format("nothing falls below the checkpoint of step {}", grouped(save->step.value)));
  }
  committed_ = resume;
}

void CommittedStepsOracle::on_record(Time now, const NumberedRecord& numbered,
                                     JournalLife /*life*/) {
  const auto* world = std::get_if<World>(&numbered.record.body);
  if (world != nullptr && native()) judge_world(now, numbered, *world);
}

void CommittedStepsOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  if (native()) {
    if (event.kind == WorkerEventKind::kCommitted &&
        (!any_ || event.state.step > committed_.step)) {
      committed_ = event.state;
      committed_.entered = event.round;
      any_ = true;
    }
    return;
  }
  if (event.kind == WorkerEventKind::kSaved) {
    std::set<NodeId>& shares = shares_[{event.round, event.state.step}];
    shares.insert(event.node);
    const RoundTruth* round = truth().round(event.round);
    if (round == nullptr || shares.size() < round->world.members.size()) return;
    newest_save_ = std::max(newest_save_, event.state.step);
    shares_.erase(shares_.begin(), shares_.upper_bound({event.round, event.state.step}));
    any_ = true;
  } else if (event.kind == WorkerEventKind::kEntered && any_) {
    counted();
    if (event.state.step >= newest_save_) return;
    violated(now,
             {.agent = {event.node, event.life},
              .round = event.round,
              .expected = fmt::format("the program goes on from its save of step {}",
                                      grouped(newest_save_.value)),
              .found = fmt::format("it goes on from step {}", grouped(event.state.step.value))});
  }
}

// ---- lineage
// -------------------------------------------------------------------------------------

LineageOracle::LineageOracle(Bench bench)
    : Oracle({.name = "lineage",
              .title = "a state is not what its history says",
              .promise = "Each step is applied to the state one step before, nobody enters a round "
                         "with another state, and along the final lineage each sample counts once.",
              .interests = kOnWorker},
             std::move(bench)) {}

void LineageOracle::judge_entry(Time now, const sim::WorkerEvent& event) {
  const RoundTruth* round = truth().round(event.round);
  if (round == nullptr) return;
  counted();
  const StatePoint& resume = round->world.resume.state;
  if (native() && (event.state.step != resume.step || event.state.lineage != resume.lineage)) {
    violated(now, {.agent = {event.node, event.life},
                   .round = event.round,
                   .expected = fmt::format("it enters with step {}, lineage {:016x}",
                                           grouped(resume.step.value), resume.lineage.value),
                   .found = fmt::format("step {}, lineage {:016x}", grouped(event.state.step.value),
                                        event.state.lineage.value)});
  }
  if (event.state.step.value == 0) return;
  const History::Entry* known = truth().history().find(event.state.lineage);
  if (known == nullptr || known->step != event.state.step) {
    violated(now,
             {.agent = {event.node, event.life},
              .round = event.round,
              .expected = "a state that somebody trained",
              .found = fmt::format("step {}, lineage {:016x}, which nobody applied",
                                   grouped(event.state.step.value), event.state.lineage.value)});
  }
}

void LineageOracle::judge_step(Time now, const sim::WorkerEvent& event) {
  const AgentId agent{event.node, event.life};
  const Group* group = truth().group(agent);
  if (group == nullptr || !group->holds) return;
  counted();
  if (group->held.step.value + 1 != event.state.step.value) {
    violated(now, {.agent = agent,
                   .round = event.round,
                   .expected =
                       fmt::format("step {} is applied next", grouped(group->held.step.value + 1)),
                   .found = fmt::format("step {}", grouped(event.state.step.value))});
    return;
  }
  const std::optional<Lineage> finished = truth().history().finished(event.round, event.state.step);
  if (finished && *finished != event.state.lineage) {
    violated(now, {.agent = agent,
                   .round = event.round,
                   .expected = fmt::format("step {} of {} has lineage {:016x}",
                                           grouped(event.state.step.value), in_words(event.round),
                                           finished->value),
                   .found = fmt::format("lineage {:016x}", event.state.lineage.value)});
    return;
  }
  const History::Entry* known = truth().history().find(event.state.lineage);
  const bool same =
      known == nullptr || (known->step == event.state.step && known->round == event.round &&
                           known->parent == group->held.lineage);
  if (!same) {
    violated(now, {.agent = agent,
                   .round = event.round,
                   .expected = "one lineage names one history",
                   .found = fmt::format("lineage {:016x} of step {} ({}) and of step {} ({})",
                                        event.state.lineage.value, grouped(known->step.value),
                                        in_words(known->round), grouped(event.state.step.value),
                                        in_words(event.round))});
  }
}

void LineageOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  if (event.kind == WorkerEventKind::kEntered) judge_entry(now, event);
  if (event.kind == WorkerEventKind::kApplied) judge_step(now, event);
  if (event.kind == WorkerEventKind::kCommitted) committed_ = event.state;
}

void LineageOracle::finish(Time now) {
  if (committed_.step.value == 0) return;
  // The ledger: one entry a step, from the newest committed one down to the first.
  std::uint64_t steps = 0;
  Lineage lineage = committed_.lineage;
  std::uint64_t expected = committed_.step.value;
  for (const History::Entry* e = truth().history().find(lineage); e != nullptr && expected > 0;
       e = truth().history().find(lineage)) {
    counted();
    if (e->step.value != expected) break;
    ++steps;
    --expected;
    lineage = e->parent;
  }
  if (expected == 0) return;
  violated(now, {.agent = {},
                 .round = committed_.entered,
                 .expected = fmt::format("the samples of steps 1 to {} count once each",
                                         grouped(committed_.step.value)),
                 .found = fmt::format("{} steps of history, none for step {}", grouped(steps),
                                      grouped(expected))});
}

// ---- one_step_apart
// ------------------------------------------------------------------------------

OneStepApartOracle::OneStepApartOracle(Bench bench)
    : Oracle(
          {.name = "one_step_apart",
           .title = "members of a round are more than a step apart",
           .promise = "Nobody applies a step before every member of its round has applied the one "
                      "before.",
           .interests = kOnWorker},
          std::move(bench)) {}

void OneStepApartOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  const bool commits = event.kind == WorkerEventKind::kCommitted;
  if (!commits && event.kind != WorkerEventKind::kApplied) return;
  const RoundTruth* round = truth().round(event.round);
  if (round == nullptr) return;
  counted();
  const std::optional<Step> by_all = round->held_by_all();
  const std::uint64_t step = event.state.step.value;
  const bool fine = by_all && (commits ? step <= by_all->value : step == by_all->value + 1);
  if (fine) return;
  violated(now,
           {.agent = {event.node, event.life},
            .round = event.round,
            .expected = fmt::format("all {} members hold step {} before step {} is {}",
                                    round->size(), grouped(commits ? step : step - 1),
                                    grouped(step), commits ? "committed" : "applied"),
            .found = by_all ? fmt::format("all hold step {}", grouped(by_all->value))
                            : fmt::format("{} of {} have entered", round->entered, round->size())});
}

// ---- checkpoint
// ----------------------------------------------------------------------------------

CheckpointOracle::CheckpointOracle(Bench bench)
    : Oracle(
          {.name = "checkpoint",
           .title = "a wrong save was recorded or loaded",
           .promise =
               "A recorded checkpoint is a state that all members of its round held and saved, on "
               "the surviving lineage, a World that loads one names the newest that is not "
               "known broken, and none is retired that is the newest or in use. What is called "
               "broken is, and stays so for every coordinator.",
           .interests = kOnRecord | kOnWorker},
          std::move(bench)) {}

void CheckpointOracle::on_worker(Time /*now*/, const sim::WorkerEvent& event) {
  if (event.kind != WorkerEventKind::kSaved || !native()) return;
  ++shares_[{event.round, event.state.step}];
}

void CheckpointOracle::judge_save(Time now, const NumberedRecord& numbered,
                                  const Checkpoint& save) {
  const auto wrong = [&](std::string expected, std::string found) {
    violated(now, {.agent = numbered.record.writer,
                   .round = save.round,
                   .expected = std::move(expected),
                   .found = std::move(found)});
  };
  counted();
  const RoundTruth* round = truth().round(save.round);
  if (round == nullptr) return wrong("a save of a recorded round", "no such World");
  if (round != truth().newest_round()) {
    return wrong(
        fmt::format("a save of {}, the newest", in_words(truth().newest_round()->world.round)),
        fmt::format("one of {}, which is over", in_words(save.round)));
  }
  const std::optional<Step> by_all = round->held_by_all();
  if (!by_all || save.step > *by_all || save.step < round->world.resume.state.step) {
    return wrong(fmt::format("all members of {} held step {}", in_words(save.round),
                             grouped(save.step.value)),
                 by_all ? fmt::format("they held step {}", grouped(by_all->value))
                        : std::string("not all of them have entered"));
  }
  if (!native()) return;
  const std::uint64_t shares = shares_[{save.round, save.step}];
  const std::uint32_t workers = world_size(round->world);
  if (shares != workers) {
    return wrong(fmt::format("the shares of all {} workers are durable", workers),
                 fmt::format("{} are", shares));
  }
  const StatePoint& resume = round->world.resume.state;
  const std::optional<Lineage> held = save.step == resume.step
                                          ? std::optional(resume.lineage)
                                          : truth().history().finished(save.round, save.step);
  if (held != save.lineage) {
    return wrong(fmt::format("the lineage that step {} has in {}", grouped(save.step.value),
                             in_words(save.round)),
                 fmt::format("lineage {:016x}", save.lineage.value));
  }
  const RoundTruth* newest = truth().newest_round();
  if (newest->world.round == save.round) return;
  const StatePoint& now_at = newest->world.resume.state;
  if (truth().history().ancestor(now_at.lineage, save.step) != save.lineage) {
    wrong(fmt::format("a save that {} descends from", in_words(newest->world.round)),
          fmt::format("step {} of {}, which was given up", grouped(save.step.value),
                      in_words(save.round)));
  }
}

void CheckpointOracle::judge_load(Time now, const NumberedRecord& numbered, const World& world) {
  if (world.resume.source != ResumePoint::Source::kCheckpoint) return;
  if (truth().newest_checkpoint() == nullptr) return;  // founded after a marker of an earlier life
  counted();
  const Checkpoint* newest = truth().newest_usable(world);
  const StatePoint& resume = world.resume.state;
  if (newest != nullptr && newest->step == resume.step && newest->lineage == resume.lineage) return;
  violated(now, {.agent = numbered.record.writer,
                 .round = world.round,
                 .expected = newest == nullptr
                                 ? std::string("no save can be loaded")
                                 : fmt::format("it loads the newest checkpoint, of step {}",
                                               grouped(newest->step.value)),
                 .found = fmt::format("step {}", grouped(resume.step.value))});
}

// Only what is broken is called so, and what a World calls broken every later one does, as long as
// it is not retired.
void CheckpointOracle::judge_broken(Time now, const NumberedRecord& numbered, const World& world) {
  const auto wrong = [&](const char* expected, RecordNo record) {
    violated(now, {.agent = numbered.record.writer,
                   .round = world.round,
                   .expected = expected,
                   .found = fmt::format("record {}", record.value)});
  };
  const auto& saves = truth().saves();
  for (const RecordNo record : world.broken) {
    counted();
    const auto save = saves.find(record);
    if (save != saves.end() && view().intact(save->second)) {
      wrong("a save that is intact is not called broken", record);
    }
  }
  const RoundTruth* before = truth().newest_round();
  if (before == nullptr || before->world.round.journal != world.round.journal) return;
  for (const RecordNo record : before->world.broken) {
    counted();
    const bool named =
        std::find(world.broken.begin(), world.broken.end(), record) != world.broken.end();
    if (!named && saves.contains(record)) {
      wrong("a save that was known broken in the round before is still known broken", record);
    }
  }
}

void CheckpointOracle::judge_lost(Time now, const NumberedRecord& numbered, JournalLife life) {
  counted();
  for (const auto& [record, save] : truth().saves()) {
    if (save.round.journal != life || !view().intact(save)) continue;
    violated(now, {.agent = numbered.record.writer,
                   .round = {},
                   .expected = "the job ends for want of a save only when every save is broken",
                   .found = fmt::format("record {} is intact", record.value)});
    return;
  }
}

// What is retired is older than a save that stays, and nobody is loading it.
void CheckpointOracle::judge_retirement(Time now, const NumberedRecord& numbered,
                                        const Retire& retire) {
  counted();
  const RoundTruth* newest_round = truth().newest_round();
  for (const RecordNo record : retire.saves) {
    const auto& saves = truth().saves();
    const bool loading = newest_round != nullptr &&
                         newest_round->world.resume.source == ResumePoint::Source::kCheckpoint &&
                         newest_round->world.resume.checkpoint == record;
    if (saves.contains(record) && saves.rbegin()->first != record && !loading) continue;
    violated(now,
             {.agent = numbered.record.writer,
              .round = {},
              .expected = "only saves are retired that are older than another one and in no use",
              .found = fmt::format("record {}", record.value)});
    return;
  }
}

void CheckpointOracle::on_record(Time now, const NumberedRecord& numbered, JournalLife life) {
  if (const auto* save = std::get_if<Checkpoint>(&numbered.record.body)) {
    judge_save(now, numbered, *save);
  } else if (const auto* retire = std::get_if<Retire>(&numbered.record.body)) {
    judge_retirement(now, numbered, *retire);
  } else if (const auto* world = std::get_if<World>(&numbered.record.body)) {
    judge_load(now, numbered, *world);
    judge_broken(now, numbered, *world);
  } else if (const auto* verdict = std::get_if<Verdict>(&numbered.record.body)) {
    if (verdict->kind == Verdict::Kind::kSavesLost) judge_lost(now, numbered, life);
  }
}

}  // namespace elastic::chaos
