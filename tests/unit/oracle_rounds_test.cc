#include <gtest/gtest.h>

#include "tests/support/oracle_stage.h"

namespace elastic::test {
namespace {

using sim::NodeEventKind;
using sim::WorkerEventKind;

TEST(RecordedWhenDeadOracle, is_silent_when_one_native_member_has_left) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kLeft, 2, 2, OracleStage::state(1, 1, 101));
  stage.record(3, 1,
               stage.world(2, {1, 2, 3}, OracleStage::from_holders(OracleStage::state(1, 1, 101))));
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_EQ(stage.checks("recorded_when_dead"), 1U);
}

TEST(RecordedWhenDeadOracle, is_silent_when_one_native_member_is_past_its_orphan_bound) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.skew(3, stage.timeouts().orphan + Duration(2));
  stage.record(3, 1,
               stage.world(2, {1, 2}, OracleStage::from_holders(OracleStage::state(1, 1, 101))));
  EXPECT_EQ(stage.spoke(), "");
}

TEST(RecordedWhenDeadOracle, speaks_when_all_native_members_still_train) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.record(3, 1,
               stage.world(2, {1, 2, 3}, OracleStage::from_holders(OracleStage::state(1, 1, 101))));
  EXPECT_EQ(stage.spoke(), "recorded_when_dead");
}

TEST(RecordedWhenDeadOracle, speaks_when_one_foreign_tree_still_executes) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kGone, 1, 1);
  stage.worker(WorkerEventKind::kStopped, 2, 1);
  stage.record(3, 1, stage.world(2, {1, 2}));
  EXPECT_EQ(stage.spoke(), "recorded_when_dead");
}

TEST(RecordedWhenDeadOracle, is_silent_when_foreign_trees_are_gone_stopped_or_stand_still) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kGone, 1, 1);
  stage.worker(WorkerEventKind::kStopped, 2, 1);
  stage.node_event(NodeEventKind::kFrozen, 3, 1, true);
  stage.record(3, 1, stage.world(2, {1, 2}));
  EXPECT_EQ(stage.spoke(), "");
}

TEST(ExclusiveRoundsOracle, lets_a_step_end_that_was_begun_before_but_none_begin) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kStepBegun, 1, 1, OracleStage::state(1, 1, 101));
  stage.worker(WorkerEventKind::kLeft, 1, 2, OracleStage::state(1, 1, 101));
  stage.record(3, 1,
               stage.world(2, {1, 2}, OracleStage::from_holders(OracleStage::state(1, 1, 101))));
  stage.worker(WorkerEventKind::kEntered, 1, 2, OracleStage::state(2, 1, 101));
  stage.worker(WorkerEventKind::kApplied, 3, 1, OracleStage::state(1, 2, 102));
  EXPECT_EQ(stage.spoke(), "");
  stage.worker(WorkerEventKind::kStepBegun, 3, 1, OracleStage::state(1, 2, 102));
  EXPECT_EQ(stage.spoke(), "exclusive_rounds");
}

TEST(ExclusiveRoundsOracle, speaks_when_a_foreign_tree_of_an_earlier_round_is_continued) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kGone, 1, 1);
  stage.worker(WorkerEventKind::kGone, 2, 1);
  stage.worker(WorkerEventKind::kStopped, 3, 1);
  stage.record(3, 1, stage.world(2, {1, 2}));
  stage.worker(WorkerEventKind::kStarted, 1, 2);
  EXPECT_EQ(stage.spoke(), "");
  stage.worker(WorkerEventKind::kContinued, 3, 1);
  EXPECT_EQ(stage.spoke(), "exclusive_rounds");
}

TEST(ExclusiveRoundsOracle, gives_the_supervisor_of_a_thawed_machine_the_declared_pause) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kGone, 1, 1);
  stage.worker(WorkerEventKind::kGone, 2, 1);
  stage.node_event(NodeEventKind::kFrozen, 3, 1, true);
  stage.record(3, 1, stage.world(2, {1, 2}));
  stage.worker(WorkerEventKind::kStarted, 1, 2);
  stage.at_ms(1000).node_event(NodeEventKind::kThawed, 3, 1, true);
  stage.at_ms(1050);
  EXPECT_EQ(stage.spoke(), "");
  stage.at_ms(1101).tick();
  EXPECT_EQ(stage.spoke(), "exclusive_rounds");
}

TEST(RanksOracle, is_silent_when_survivors_keep_their_order) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.worker(WorkerEventKind::kLeft, 1, 2);
  stage.record(3, 1, stage.world(2, {1, 3}));
  EXPECT_EQ(stage.spoke(), "");
}

TEST(RanksOracle, speaks_when_survivors_change_places) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.worker(WorkerEventKind::kLeft, 1, 2);
  stage.record(3, 1, stage.world(2, {3, 1}));
  EXPECT_EQ(stage.spoke(), "ranks");
}

TEST(RanksOracle, speaks_when_a_node_has_two_places_or_there_are_too_few) {
  OracleStage twice;
  twice.lead(1, 1);
  twice.record(2, 1, twice.world(1, {2, 2}));
  EXPECT_EQ(twice.spoke(), "ranks");
  OracleStage few;
  few.lead(1, 1);
  few.record(2, 1, few.world(1, {2}));
  EXPECT_EQ(few.spoke(), "ranks");
}

// Round 1 of nodes 1 and 2; both have left with state, node 3 is a spare.
void leave_with_spare(OracleStage& stage, std::vector<std::uint64_t> next) {
  const StatePoint held = OracleStage::state(1, 0, 0);
  stage.lead(1, 1);
  stage.record(2, 1, stage.world(1, {1, 2}));
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kStarted, node, 0);
  for (std::uint64_t node = 1; node <= 2; ++node) {
    stage.worker(WorkerEventKind::kEntered, node, 1, held);
    stage.worker(WorkerEventKind::kLeft, node, 2, held);
    Beat beat = OracleStage::beat_of(node, 1);
    beat.state = AgentState::kLeft;
    beat.left_for = OracleStage::round(2);
    beat.held = held;
    stage.beat(node, 1, beat);
  }
  stage.note(1, {NoteKind::kWaiting, NodeId{1}, OracleStage::round(2),
                 static_cast<std::uint64_t>(WaitReason::kRecording)});
  stage.record(3, 1, stage.world(2, std::move(next)));
}

TEST(RanksOracle, speaks_when_a_spare_takes_the_place_of_a_member_that_is_in) {
  OracleStage stage;
  leave_with_spare(stage, {1, 3});
  EXPECT_EQ(stage.spoke(), "ranks");
}

TEST(RanksOracle, is_silent_when_the_members_come_first) {
  OracleStage stage;
  leave_with_spare(stage, {1, 2});
  EXPECT_EQ(stage.spoke(), "");
}

TEST(RoundOrderOracle, speaks_when_a_node_enters_a_round_below_one_that_it_left_for) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.record(2, 1, stage.world(1, {1, 2}));
  stage.worker(WorkerEventKind::kStarted, 1, 0);
  stage.worker(WorkerEventKind::kLeft, 1, 2);
  stage.worker(WorkerEventKind::kEntered, 1, 1, OracleStage::state(1, 0, 0));
  EXPECT_EQ(stage.spoke(), "round_order");
}

TEST(RoundOrderOracle, speaks_when_a_step_is_applied_after_leaving) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kStepBegun, 1, 1, OracleStage::state(1, 1, 101));
  stage.worker(WorkerEventKind::kLeft, 2, 2);
  stage.worker(WorkerEventKind::kApplied, 2, 1, OracleStage::state(1, 2, 102));
  EXPECT_EQ(stage.spoke(), "round_order");
}

TEST(RoundOrderOracle, speaks_when_an_order_of_a_superseded_lead_is_obeyed) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.lead(3, 3);
  stage.delivered(3, 2, OracleStage::order_of(3, 3));
  Order stale = OracleStage::order_of(1, 1);
  stale.leave_for = OracleStage::round(2);
  stage.delivered(1, 2, stale);
  EXPECT_EQ(stage.spoke(), "");
  stage.worker(WorkerEventKind::kLeft, 2, 2);
  EXPECT_EQ(stage.spoke(), "round_order");
}

TEST(RoundOrderOracle, is_silent_when_the_newest_lead_asks) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.lead(3, 3);
  Order order = OracleStage::order_of(3, 3);
  order.leave_for = OracleStage::round(2);
  stage.delivered(3, 2, order);
  stage.worker(WorkerEventKind::kLeft, 2, 2);
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_GT(stage.checks("round_order"), 0U);
}

}  // namespace
}  // namespace elastic::test
