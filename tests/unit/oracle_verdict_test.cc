#include <gtest/gtest.h>

#include "tests/support/oracle_stage.h"

namespace elastic::test {
namespace {

using sim::WorkerEventKind;

TEST(VerdictOracle, is_silent_when_the_last_step_is_saved) {
  OracleStage stage(WorkerKind::kNative, 3);
  stage.run_round_one(3);
  for (std::uint64_t node = 1; node <= 3; ++node)
    stage.worker(WorkerEventKind::kSaved, node, 1, OracleStage::state(1, 3, 103));
  stage.record(3, 1, Checkpoint{Step{3}, OracleStage::round(1), Lineage{103}, 0});
  stage.record(4, 1, Verdict{Verdict::Kind::kSucceeded, Step{3}, {}});
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_EQ(stage.checks("verdict"), 1U);
}

TEST(VerdictOracle, speaks_when_success_is_recorded_and_the_last_step_is_not_saved) {
  OracleStage stage(WorkerKind::kNative, 4);
  stage.run_round_one(3);
  for (std::uint64_t node = 1; node <= 3; ++node)
    stage.worker(WorkerEventKind::kSaved, node, 1, OracleStage::state(1, 3, 103));
  stage.record(3, 1, Checkpoint{Step{3}, OracleStage::round(1), Lineage{103}, 0});
  stage.record(4, 1, Verdict{Verdict::Kind::kSucceeded, Step{3}, {}});
  EXPECT_EQ(stage.spoke(), "verdict");
}

TEST(VerdictOracle, speaks_when_a_foreign_job_is_called_done_before_all_have_finished) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(3);
  stage.worker(WorkerEventKind::kFinished, 1, 1, OracleStage::state(1, 3, 103));
  stage.record(3, 1, Verdict{Verdict::Kind::kSucceeded, Step{3}, {}});
  EXPECT_EQ(stage.spoke(), "verdict");
}

}  // namespace
}  // namespace elastic::test
