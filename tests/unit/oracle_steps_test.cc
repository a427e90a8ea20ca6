#include <gtest/gtest.h>

#include "tests/support/oracle_stage.h"

namespace elastic::test {
namespace {

using sim::NodeEventKind;
using sim::WorkerEventKind;

Checkpoint save_of(std::uint64_t step) {
  return {Step{step}, OracleStage::round(1), Lineage{100 + step}, 0};
}

// Every member of the first round has its share of that step durable.
void all_save(OracleStage& stage, std::uint64_t step) {
  for (std::uint64_t node = 1; node <= 3; ++node) {
    stage.worker(WorkerEventKind::kSaved, node, 1, OracleStage::state(1, step, 100 + step));
  }
}

ResumePoint from_save(std::uint64_t step) {
  ResumePoint resume;
  resume.source = ResumePoint::Source::kCheckpoint;
  resume.state = OracleStage::state(1, step, 100 + step);
  return resume;
}

TEST(CommittedStepsOracle, is_silent_when_the_next_round_keeps_the_committed_step) {
  OracleStage stage;
  stage.run_round_one(3);
  stage.worker(WorkerEventKind::kLeft, 1, 2);
  stage.record(3, 1,
               stage.world(2, {1, 2}, OracleStage::from_holders(OracleStage::state(1, 3, 103))));
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_EQ(stage.checks("committed_steps"), 1U);
}

TEST(CommittedStepsOracle, speaks_when_a_step_falls_that_a_survivor_holds) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 2);
  stage.record(3, 1, save_of(2));
  stage.worker(WorkerEventKind::kGone, 1, 1);
  stage.record(4, 1, stage.world(2, {2, 3}, from_save(2)));
  EXPECT_EQ(stage.spoke(), "committed_steps");
}

TEST(CommittedStepsOracle, is_silent_when_all_holders_died_and_the_newest_save_is_taken) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 2);
  stage.record(3, 1, save_of(2));
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  stage.record(4, 1, stage.world(2, {2, 3}, from_save(2)));
  EXPECT_EQ(stage.spoke(), "");
}

TEST(CommittedStepsOracle, speaks_when_a_step_falls_below_the_newest_save) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 2);
  stage.record(3, 1, save_of(2));
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  stage.record(4, 1,
               stage.world(2, {2, 3}, OracleStage::from_holders(OracleStage::state(1, 1, 101))));
  EXPECT_EQ(stage.spoke(), "committed_steps");
}

TEST(CommittedStepsOracle, speaks_when_a_foreign_program_goes_on_below_its_whole_save) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(3);
  for (std::uint64_t node = 1; node <= 3; ++node) {
    stage.worker(WorkerEventKind::kSaved, node, 1, OracleStage::state(1, 3, 103));
  }
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  stage.record(3, 1, stage.world(2, {1, 2}));
  stage.worker(WorkerEventKind::kStarted, 1, 2);
  stage.worker(WorkerEventKind::kEntered, 1, 2, OracleStage::state(2, 2, 102));
  EXPECT_EQ(stage.spoke(), "committed_steps");
}

TEST(LineageOracle, counts_each_step_of_the_final_state_once) {
  OracleStage stage;
  stage.run_round_one(5);
  const std::uint64_t before = stage.checks("lineage");
  stage.finish();
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_EQ(stage.checks("lineage"), before + 5);
}

TEST(LineageOracle, speaks_when_a_step_is_applied_to_another_state_than_the_one_before) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 3, 103));
  EXPECT_EQ(stage.spoke(), "lineage");
}

TEST(LineageOracle, speaks_when_two_lineages_hold_the_same_step_of_a_round) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 2, 102));
  stage.worker(WorkerEventKind::kApplied, 2, 1, OracleStage::state(1, 2, 999));
  EXPECT_EQ(stage.spoke(), "lineage");
}

TEST(LineageOracle, speaks_when_a_round_is_entered_with_another_state_than_its_resume_point) {
  OracleStage stage;
  stage.run_round_one(2);
  stage.worker(WorkerEventKind::kLeft, 1, 2);
  stage.record(3, 1,
               stage.world(2, {1, 2}, OracleStage::from_holders(OracleStage::state(1, 2, 102))));
  stage.worker(WorkerEventKind::kEntered, 1, 2, OracleStage::state(2, 1, 101));
  EXPECT_EQ(stage.spoke(), "lineage");
}

TEST(OneStepApartOracle, speaks_when_a_member_runs_ahead) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 2, 102));
  EXPECT_EQ(stage.spoke(), "");
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 3, 103));
  EXPECT_EQ(stage.spoke(), "one_step_apart");
}

TEST(OneStepApartOracle, speaks_when_a_step_is_called_committed_that_one_member_lacks) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 2, 102));
  stage.worker(WorkerEventKind::kApplied, 2, 1, OracleStage::state(1, 2, 102));
  stage.worker(WorkerEventKind::kCommitted, 1, 1, OracleStage::state(1, 2, 102));
  EXPECT_EQ(stage.spoke(), "one_step_apart");
}

TEST(CheckpointOracle, is_silent_about_a_save_of_a_step_that_all_held) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 3);
  stage.record(3, 1, save_of(3));
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_EQ(stage.checks("checkpoint"), 1U);
}

TEST(CheckpointOracle, speaks_when_a_share_is_missing) {
  OracleStage stage;
  stage.run_round_one(3);
  stage.worker(WorkerEventKind::kSaved, 1, 1, OracleStage::state(1, 3, 103));
  stage.worker(WorkerEventKind::kSaved, 2, 1, OracleStage::state(1, 3, 103));
  stage.record(3, 1, save_of(3));
  EXPECT_EQ(stage.spoke(), "checkpoint");
}

TEST(CheckpointOracle, is_silent_when_a_broken_save_is_passed_over) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 2);
  all_save(stage, 3);
  stage.record(3, 1, save_of(2));
  stage.record(4, 1, save_of(3));
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  World world = stage.world(2, {1, 2}, from_save(2));
  stage.rot(3);
  world.broken = {RecordNo{4}};
  stage.record(5, 1, world);
  EXPECT_EQ(stage.spoke(), "");
}

TEST(CheckpointOracle, speaks_when_an_intact_save_is_called_broken) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 2);
  all_save(stage, 3);
  stage.record(3, 1, save_of(2));
  stage.record(4, 1, save_of(3));
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  World world = stage.world(2, {1, 2}, from_save(2));
  world.broken = {RecordNo{4}};
  stage.record(5, 1, world);
  EXPECT_EQ(stage.spoke(), "checkpoint");
}

TEST(CheckpointOracle, speaks_when_a_broken_save_is_forgotten) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 2);
  all_save(stage, 3);
  stage.record(3, 1, save_of(2));
  stage.record(4, 1, save_of(3));
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  World world = stage.world(2, {1, 2}, from_save(2));
  stage.rot(3);
  world.broken = {RecordNo{4}};
  stage.record(5, 1, world);
  EXPECT_EQ(stage.spoke(), "");
  World next = stage.world(3, {1, 2}, from_save(3));
  stage.record(6, 1, next);
  EXPECT_EQ(stage.spoke(), "checkpoint");
}

TEST(CheckpointOracle, speaks_when_the_job_ends_for_want_of_a_save_that_is_there) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 2);
  stage.record(3, 1, save_of(2));
  Verdict verdict;
  verdict.kind = Verdict::Kind::kSavesLost;
  stage.record(4, 1, verdict);
  EXPECT_EQ(stage.spoke(), "checkpoint");
}

TEST(CheckpointOracle, speaks_when_the_only_save_is_retired) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 2);
  all_save(stage, 3);
  stage.record(3, 1, save_of(2));
  stage.record(4, 1, save_of(3));
  stage.record(5, 1, Retire{{RecordNo{3}}});
  EXPECT_EQ(stage.spoke(), "");
  stage.record(6, 1, Retire{{RecordNo{4}}});
  EXPECT_EQ(stage.spoke(), "checkpoint");
}

TEST(CheckpointOracle, speaks_when_not_all_held_the_step) {
  OracleStage stage;
  stage.run_round_one(3);
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 4, 104));
  stage.record(3, 1, save_of(4));
  EXPECT_EQ(stage.spoke(), "checkpoint");
}

TEST(CheckpointOracle, speaks_when_the_save_lies_on_a_lineage_that_was_given_up) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 1);
  all_save(stage, 3);
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  stage.record(3, 1, save_of(1));
  stage.record(4, 1, stage.world(2, {1, 2}, from_save(1)));
  EXPECT_EQ(stage.spoke(), "");
  stage.record(5, 1, save_of(3));
  EXPECT_EQ(stage.spoke(), "checkpoint");
}

TEST(CheckpointOracle, speaks_when_an_older_save_is_loaded) {
  OracleStage stage;
  stage.run_round_one(3);
  all_save(stage, 2);
  all_save(stage, 3);
  stage.record(3, 1, save_of(2));
  stage.record(4, 1, save_of(3));
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  stage.oracles().stop_at_violation(false);
  stage.record(5, 1, stage.world(2, {1, 2}, from_save(2)));
  EXPECT_NE(stage.spoke(), "");
}

}  // namespace
}  // namespace elastic::test
