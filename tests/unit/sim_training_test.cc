#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tests/support/training_stage.h"

namespace elastic::sim {
namespace {

using namespace std::chrono_literals;

class TrainingTest : public testing::Test, public test::TrainingStage {};

TEST_F(TrainingTest, members_train_in_step_and_every_step_is_committed_once) {
  make(4);
  prepare(4);
  enter({1, 2, 3, 4}, round(1));
  run_for(30s);
  const std::uint64_t steps = step_of(1);
  EXPECT_GT(steps, 150U);
  std::set<std::uint64_t> committed;
  for (const WorkerEvent& event : events) {
    if (event.kind != WorkerEventKind::kCommitted) continue;
    EXPECT_TRUE(committed.insert(event.state.step.value).second);
  }
  EXPECT_GE(committed.size() + 1, steps);
}

TEST_F(TrainingTest, whenever_members_are_told_to_leave_they_differ_by_at_most_one_step) {
  config.training.total_steps = 10'000;
  make(4);
  prepare(4);
  int differed = 0;
  ResumePoint resume;
  std::uint64_t number = 0;
  for (int attempt = 0; attempt < 300; ++attempt) {
    enter({1, 2, 3, 4}, round(++number), resume);
    run_for(1500ms + 397us * attempt);
    ++number;
    for (std::uint64_t node = 1; node <= 4; ++node) {
      training->leave(agent(node), round(number), false);
      run_for(200us);
    }
    run_for(20ms);
    std::uint64_t low = UINT64_MAX, high = 0, holder = 0;
    for (std::uint64_t node = 1; node <= 4; ++node) {
      const auto left = told<WorkersLeft>(node);
      ASSERT_EQ(left.back().for_round, round(number));
      const std::uint64_t step = left.back().held->step.value;
      if (step > high) holder = node;
      low = std::min(low, step);
      high = std::max(high, step);
    }
    ASSERT_LE(high - low, 1U);
    if (high != low) ++differed;
    resume.source = ResumePoint::Source::kHolders;
    resume.state = *told<WorkersLeft>(holder).back().held;
    if (high + 20 > config.training.total_steps) break;
  }
  EXPECT_GT(differed, 0);
}

TEST_F(TrainingTest, a_planned_leave_stops_all_members_after_the_same_step) {
  make(4);
  prepare(4);
  enter({1, 2, 3, 4}, round(1));
  run_for(5s);
  training->leave(agent(2), round(2), true);
  run_for(1s);
  for (const std::uint64_t node : {1U, 3U, 4U}) training->leave(agent(node), round(2), true);
  run_for(1s);
  for (std::uint64_t node = 1; node <= 4; ++node) {
    const auto left = told<WorkersLeft>(node);
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].held->step, told<WorkersLeft>(2)[0].held->step);
  }
}

TEST_F(TrainingTest, a_group_that_has_left_never_enters_a_lower_round) {
  make(2);
  prepare(2);
  training->leave(agent(1), round(5), false);
  run_for(1s);
  enter({1, 2}, round(4));
  run_for(5s);
  EXPECT_TRUE(told<WorkersEntered>(1).empty());
}

TEST_F(TrainingTest, who_lacks_the_state_is_filled_from_a_member_that_holds_it) {
  make(3);
  prepare(3);
  enter({1, 2}, round(1));
  run_for(5s);
  for (const std::uint64_t node : {1U, 2U}) training->leave(agent(node), round(2), true);
  run_for(1s);
  ResumePoint resume;
  resume.source = ResumePoint::Source::kHolders;
  resume.state = *told<WorkersLeft>(1).at(0).held;
  enter({1, 2, 3}, round(2), resume);
  run_for(5s);
  EXPECT_EQ(count(WorkerEventKind::kFilled), 1);
  EXPECT_EQ(told<WorkersEntered>(3).at(0).held.lineage, resume.state.lineage);
  EXPECT_GT(step_of(3), resume.state.step.value);
}

TEST_F(TrainingTest, without_a_live_holder_a_fill_waits) {
  make(3);
  prepare(3);
  ResumePoint resume;
  resume.source = ResumePoint::Source::kHolders;
  resume.state = StatePoint{round(1), Step{7}, Lineage{9}};
  enter({1, 2, 3}, round(2), resume);
  run_for(60s);
  EXPECT_EQ(count(WorkerEventKind::kEntered), 0);
}

TEST_F(TrainingTest, a_frozen_worker_stops_the_round_and_a_thaw_lets_it_go_on) {
  make(2);
  prepare(2);
  enter({1, 2}, round(1));
  run_for(5s);
  const auto frozen = training->freeze_worker(NodeId{2}, 0);
  ASSERT_TRUE(frozen);
  const std::uint64_t before = step_of(1);
  for (int beat = 0; beat < 10; ++beat) {
    run_for(200ms);
    training->poll(agent(2));
  }
  EXPECT_LE(step_of(1), before + 1);
  EXPECT_EQ(told<WorkerPulse>(2).front().silent_rank, std::nullopt);
  EXPECT_EQ(told<WorkerPulse>(2).back().silent_rank, std::optional<std::uint32_t>(0));
  training->thaw_worker(*frozen);
  run_for(5s);
  EXPECT_GT(step_of(1), before + 20);
  EXPECT_LE(std::max(step_of(1), step_of(2)) - std::min(step_of(1), step_of(2)), 1U);
}

TEST_F(TrainingTest, a_frozen_worker_leaves_only_after_the_thaw_and_has_not_trained_on) {
  make(2);
  prepare(2);
  enter({1, 2}, round(1));
  run_for(5s);
  const auto frozen = training->freeze_worker(NodeId{2}, 0);
  training->leave(agent(1), round(2), false);
  training->leave(agent(2), round(2), false);
  run_for(5s);
  EXPECT_EQ(told<WorkersLeft>(1).size(), 1U);
  EXPECT_TRUE(told<WorkersLeft>(2).empty());
  training->thaw_worker(*frozen);
  run_for(1s);
  EXPECT_EQ(told<WorkersLeft>(2).size(), 1U);
}

TEST_F(TrainingTest, a_slow_member_slows_the_whole_round) {
  config.training.compute_per_sample = 10us;
  make(2);
  prepare(2);
  enter({1, 2}, round(1));
  run_for(10s);
  const std::uint64_t normal = step_of(1);
  slow[NodeId{2}] = 4'000'000;
  run_for(10s);
  EXPECT_LT(step_of(1) - normal, normal * 3 / 4);
}

TEST_F(TrainingTest,
       a_dead_worker_is_noticed_by_its_neighbours_at_once_a_lost_machine_only_in_time) {
  make(3);
  prepare(3);
  enter({1, 2, 3}, round(1));
  run_for(5s);
  training->kill_by_fault(NodeId{2}, 0);
  run_for(10ms);
  EXPECT_EQ(told<WorkerExited>(2).size(), 1U);
  EXPECT_EQ(told<EdgeFailed>(1).at(0).peer, NodeId{2});
  EXPECT_EQ(told<EdgeFailed>(3).at(0).peer, NodeId{2});
  cut.insert(NodeId{3});
  training->surroundings_changed();
  run_for(900ms);
  EXPECT_EQ(told<EdgeFailed>(1).size(), 1U);
  run_for(200ms);
  EXPECT_EQ(told<EdgeFailed>(1).size(), 2U);
}

TEST_F(TrainingTest, a_group_past_its_orphan_bound_ends_itself_and_applies_nothing_more) {
  timeouts.orphan = 20s;
  make(2);
  prepare(2);
  enter({1, 2}, round(1));
  training->renew(agent(1), RenewLease{timeline.now, round(1)});
  run_for(60s);
  EXPECT_EQ(told<WorkerExited>(2).size(), 1U);
  EXPECT_EQ(count(WorkerEventKind::kGone), 2);
  const auto gone = std::find_if(events.begin(), events.end(), [](const WorkerEvent& e) {
    return e.kind == WorkerEventKind::kGone && e.node == NodeId{2};
  });
  EXPECT_TRUE(std::none_of(gone, events.end(), [](const WorkerEvent& e) {
    return e.kind == WorkerEventKind::kApplied && e.node == NodeId{2};
  }));
}

TEST_F(TrainingTest, the_last_step_is_saved_by_every_member_before_it_has_finished) {
  config.training.total_steps = 20;
  make(2);
  prepare(2);
  enter({1, 2}, round(1));
  run_for(60s);
  for (const std::uint64_t node : {1U, 2U}) {
    EXPECT_EQ(told<WorkersSaved>(node).at(0).report.step, Step{20});
    EXPECT_EQ(told<WorkersFinished>(node).at(0).held.step, Step{20});
  }
  const StatePoint held = told<WorkersFinished>(1).at(0).held;
  EXPECT_TRUE(training->storage().intact({held.step, held.entered}, held.lineage));
}

TEST_F(TrainingTest, saves_are_taken_at_the_same_step_by_all_and_a_joiner_can_load_one) {
  config.training.checkpoint_every = 5s;
  make(3);
  prepare(3);
  enter({1, 2}, round(1));
  run_for(8s);
  const SaveReport report = told<WorkersSaved>(1).at(0).report;
  EXPECT_EQ(report, told<WorkersSaved>(2).at(0).report);
  training->machine_down(NodeId{1});
  training->machine_down(NodeId{2});
  ResumePoint resume;
  resume.source = ResumePoint::Source::kCheckpoint;
  resume.state = StatePoint{report.round, report.step, report.lineage};
  enter({3}, round(2), resume);
  run_for(5s);
  EXPECT_EQ(count(WorkerEventKind::kLoaded), 1);
  EXPECT_GT(step_of(3), report.step.value);
}

TEST_F(TrainingTest,
       foreign_workers_are_stopped_when_their_lease_lapses_and_go_on_when_it_is_renewed) {
  make(2, WorkerKind::kForeign);
  enter({1, 2}, round(1));
  const auto renew = [&] {
    for (const std::uint64_t node : {1U, 2U})
      training->renew(agent(node), RenewLease{timeline.now, round(1)});
  };
  for (int i = 0; i < 15; ++i) {
    renew();
    run_for(1s);
  }
  EXPECT_EQ(told<WorkersEntered>(1).size(), 1U);
  EXPECT_EQ(count(WorkerEventKind::kStopped), 0);
  run_for(11s);
  EXPECT_EQ(count(WorkerEventKind::kStopped), 2);
  const std::uint64_t stopped_at = step_of(1);
  run_for(5s);
  EXPECT_EQ(step_of(1), stopped_at);
  renew();
  run_for(5s);
  EXPECT_GT(step_of(1), stopped_at);
}

TEST_F(TrainingTest, native_workers_die_with_their_agent_foreign_ones_are_stopped) {
  make(1);
  prepare(1);
  training->agent_gone(agent(1));
  EXPECT_EQ(count(WorkerEventKind::kGone), 1);
  events.clear();
  make(1, WorkerKind::kForeign);
  enter({1}, round(1));
  run_for(5s);
  training->agent_gone(agent(1));
  run_for(1s);
  EXPECT_EQ(count(WorkerEventKind::kGone), 0);
  EXPECT_EQ(count(WorkerEventKind::kStopped), 1);
}

TEST_F(TrainingTest, a_foreign_program_takes_up_its_newest_save_and_exits_with_zero_at_the_end) {
  config.training.total_steps = 60;
  config.training.checkpoint_every = 3s;
  timeouts.lease = 900s;
  make(2, WorkerKind::kForeign);
  enter({1, 2}, round(1));
  run_for(15s);
  training->kill_by_fault(NodeId{1}, 0);
  run_for(2s);
  EXPECT_EQ(told<WorkerExited>(2).at(0).status.code, 1);  // it lost its peer
  enter({1, 2}, round(2));
  run_for(60s);
  EXPECT_EQ(count(WorkerEventKind::kLoaded), 2);
  EXPECT_TRUE(told<WorkerExited>(1).back().status.ok());
  EXPECT_EQ(count(WorkerEventKind::kFinished), 2);
}

}  // namespace
}  // namespace elastic::sim
