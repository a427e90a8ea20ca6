// The two models of a step differ in nothing that the protocol sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/property.h"
#include "tests/support/training_stage.h"

namespace elastic {
namespace {

using sim::Collectives;
using sim::WorkerEvent;
using sim::WorkerEventKind;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What ends a round, in the middle of some step of it.
enum class End { kDeath, kForced, kPlanned, kPlannedHeardByOne, kJoiner };

struct Chapter {
  int steps = 1;  // that the round makes first
  End end = End::kForced;
  std::size_t who = 0;  // index into the members
};

// A test in the place of coordinator and agents, that writes down what it sees.
struct Story : test::TrainingStage {
  Story(Collectives collectives, std::uint32_t ranks, std::uint32_t joiners) {
    config.training.collectives = collectives;
    config.training.total_steps = 60;
    config.training.dataset = 500;
    config.training.global_batch = 24;
    config.training.compute_per_sample = std::chrono::microseconds(500);
    timeouts.orphan = std::chrono::hours(10);
    make(ranks + joiners);
    prepare(ranks + joiners);
    for (std::uint64_t node = 1; node <= ranks; ++node) members.push_back(node);
    for (std::uint64_t node = ranks + 1; node <= ranks + joiners; ++node) spares.push_back(node);
    enter(members, round(number), resume);
  }

  // Until every member trains step `step` + 1 or higher.
  bool reach(std::uint64_t step) {
    for (int i = 0; i < 4000; ++i) {
      const bool there = std::all_of(members.begin(), members.end(), [&](std::uint64_t node) {
        return step_of(node) >= step && training->held_on(NodeId{node})->entered == round(number);
      });
      if (there) return true;
      run_for(milliseconds(5));
    }
    return false;
  }

  void form(const std::vector<std::uint64_t>& next) {
    ++number;
    StatePoint best;
    for (const std::uint64_t node : next) {
      const auto held = training->held_on(NodeId{node});
      if (held && std::pair(held->entered, held->step) > std::pair(best.entered, best.step))
        best = *held;
    }
    resume.source = ResumePoint::Source::kHolders;
    resume.state = best;
    members = next;
    log.push_back("round " + std::to_string(number) + " of " + std::to_string(members.size()) +
                  " at step " + std::to_string(best.step.value) + ", lineage " +
                  std::to_string(best.lineage.value));
    enter(members, round(number), resume);
  }

  void tell(const Chapter& chapter) {
    const std::uint64_t start = resume.state.step.value;
    if (!reach(start + static_cast<std::uint64_t>(chapter.steps))) {
      log.push_back("stuck");
      return;
    }
    run_for(milliseconds(20));  // all compute
    std::vector<std::uint64_t> next = members;
    const std::size_t who = chapter.who % members.size();
    const RoundId to = round(number + 1);
    const bool planned = chapter.end != End::kDeath && chapter.end != End::kForced;
    if (chapter.end == End::kDeath && members.size() > 1) {
      training->kill_by_fault(NodeId{members[who]}, 0);
      next.erase(next.begin() + static_cast<std::ptrdiff_t>(who));
    }
    if (chapter.end == End::kPlannedHeardByOne) {
      training->leave(agent(members[who]), to, true);
      run_for(seconds(2));
    }
    for (const std::uint64_t node : next) training->leave(agent(node), to, planned);
    run_for(seconds(2));
    if (chapter.end == End::kJoiner && !spares.empty()) {
      next.push_back(spares.back());
      spares.pop_back();
    }
    form(next);
  }

  void finish() {
    run_for(seconds(60));
    for (const std::uint64_t node : members)
      log.push_back("node " + std::to_string(node) + " ends at " + std::to_string(step_of(node)));
    std::vector<std::string> ledger;
    for (const WorkerEvent& event : events) {
      if (event.kind != WorkerEventKind::kApplied) continue;
      ledger.push_back(
          std::to_string(event.round.number) + " " + std::to_string(event.state.step.value) +
          " from " + std::to_string(event.batch.epoch.value) + ":" +
          std::to_string(event.batch.first.value) + "+" + std::to_string(event.batch.size) +
          " node " + std::to_string(event.node.value) + " weights " + std::to_string(event.digest));
    }
    std::sort(ledger.begin(), ledger.end());
    log.insert(log.end(), ledger.begin(), ledger.end());
  }

  std::vector<std::uint64_t> members, spares;
  std::uint64_t number = 1;
  ResumePoint resume;
  std::vector<std::string> log;
};

TEST(CollectivesProperty, messages_and_the_modelled_completion_give_the_same_rounds_and_ledger) {
  test::check(
      "with every chunk a message, and with one completion for all, 2 to 8 ranks go through the "
      "same rounds, resume points, samples and weights",
      {"two ranks", "more ranks", "a death", "a planned stop", "a joiner", "a short batch"}, [] {
        const auto ranks = *rc::gen::inRange<std::uint32_t>(2, 9);
        const int count = *rc::gen::inRange(1, 6);
        std::vector<Chapter> chapters;
        bool death = false, planned = false, joiner = false;
        int steps = 0;
        for (int i = 0; i < count; ++i) {
          Chapter chapter;
          chapter.steps = *rc::gen::inRange(1, 6);
          chapter.end = static_cast<End>(*rc::gen::inRange(0, 5));
          chapter.who = *rc::gen::inRange<std::size_t>(0, 8);
          death = death || chapter.end == End::kDeath;
          planned = planned || chapter.end == End::kPlannedHeardByOne;
          joiner = joiner || chapter.end == End::kJoiner;
          steps += chapter.steps;
          chapters.push_back(chapter);
        }
        std::vector<std::vector<std::string>> logs;
        for (const Collectives model : {Collectives::kMessages, Collectives::kModelled}) {
          Story story(model, ranks, 3);
          for (const Chapter& chapter : chapters) story.tell(chapter);
          story.finish();
          logs.push_back(story.log);
        }
        RC_ASSERT(logs[0] == logs[1]);
        RC_ASSERT(std::find(logs[0].begin(), logs[0].end(), "stuck") == logs[0].end());
        RC_CLASSIFY(ranks == 2, "two ranks");
        RC_CLASSIFY(ranks > 2, "more ranks");
        RC_CLASSIFY(death, "a death");
        RC_CLASSIFY(planned, "a planned stop");
        RC_CLASSIFY(joiner, "a joiner");
        RC_CLASSIFY(steps >= 20, "a short batch");
      });
}

}  // namespace
}  // namespace elastic
