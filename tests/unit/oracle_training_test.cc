#include <gtest/gtest.h>

#include "tests/support/oracle_stage.h"

namespace elastic::test {
namespace {

using sim::WorkerEvent;
using sim::WorkerEventKind;

TEST(SamplesOracle, is_silent_while_batches_adjoin) {
  OracleStage stage;
  stage.run_round_one(5);
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_EQ(stage.checks("samples"), 15U);
}

TEST(SamplesOracle, speaks_when_a_sample_is_left_out) {
  OracleStage stage;
  stage.run_round_one(2);
  stage.spoil([](WorkerEvent& event) { ++event.batch.first.value; });
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 3, 103));
  EXPECT_EQ(stage.spoke(), "samples");
}

TEST(SamplesOracle, speaks_when_a_batch_is_taken_twice) {
  OracleStage stage;
  stage.run_round_one(2);
  stage.spoil([](WorkerEvent& event) { event.batch.first.value -= event.batch.size; });
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 3, 103));
  EXPECT_EQ(stage.spoke(), "samples");
}

TEST(SamplesOracle, speaks_when_a_batch_is_padded_beyond_what_the_cursor_says) {
  OracleStage stage;
  stage.run_round_one(2);
  stage.spoil([](WorkerEvent& event) { --event.cursor.consumed; });
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 3, 103));
  EXPECT_EQ(stage.spoke(), "samples");
}

TEST(WeightsOracle, compares_each_step_with_the_step_before_and_with_an_undisturbed_run) {
  OracleStage stage;
  stage.run_round_one(5);
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_EQ(stage.checks("weights"), 30U);
}

TEST(WeightsOracle, speaks_when_one_bit_of_the_weights_is_wrong) {
  OracleStage stage;
  stage.run_round_one(2);
  stage.spoil([](WorkerEvent& event) { event.digest ^= 1; });
  stage.worker(WorkerEventKind::kApplied, 1, 1, OracleStage::state(1, 3, 103));
  EXPECT_EQ(stage.spoke(), "weights");
}

TEST(WeightsOracle, speaks_when_a_fill_gives_another_state_than_it_says) {
  OracleStage stage;
  stage.run_round_one(2);
  stage.spoil([](WorkerEvent& event) { event.digest = 7; });
  stage.worker(WorkerEventKind::kFilled, 3, 1, OracleStage::state(1, 2, 102));
  EXPECT_EQ(stage.spoke(), "weights");
}

}  // namespace
}  // namespace elastic::test
