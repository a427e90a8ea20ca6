#include <gtest/gtest.h>

#include "tests/support/oracle_stage.h"

namespace elastic::test {
namespace {

using sim::NodeEventKind;
using sim::WorkerEventKind;

TEST(JournalOracle, is_silent_about_a_lead_a_round_and_a_verdict_in_order) {
  OracleStage stage;
  stage.run_round_one(2);
  Verdict verdict;
  verdict.kind = Verdict::Kind::kStopped;
  verdict.step = Step{2};
  stage.record(3, 1, verdict);
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_GT(stage.checks("journal"), 3U);
}

TEST(JournalOracle, speaks_when_a_record_is_created_twice) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.lead(1, 2);
  EXPECT_EQ(stage.spoke(), "journal");
}

TEST(JournalOracle, speaks_when_a_number_is_left_out) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.lead(3, 2);
  EXPECT_EQ(stage.spoke(), "journal");
}

TEST(JournalOracle, speaks_when_a_deposed_coordinator_writes) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.lead(2, 2);
  stage.record(3, 1, stage.world(1, {1, 2}));
  EXPECT_EQ(stage.spoke(), "journal");
}

TEST(JournalOracle, speaks_when_something_follows_a_verdict) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.record(2, 1, Verdict{Verdict::Kind::kStopped, {}, {}});
  stage.lead(3, 2);
  EXPECT_EQ(stage.spoke(), "journal");
}

TEST(JournalOracle, speaks_when_a_round_number_comes_again) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.record(2, 1, stage.world(1, {1, 2}));
  for (std::uint64_t node = 1; node <= 2; ++node) {
    stage.worker(WorkerEventKind::kStarted, node, 0);
    stage.worker(WorkerEventKind::kLeft, node, 2);
  }
  stage.record(3, 1, stage.world(1, {1, 2}));
  EXPECT_EQ(stage.spoke(), "journal");
}

TEST(JournalOracle, speaks_when_a_place_is_given_in_a_round_that_was_not_recorded) {
  OracleStage stage;
  stage.lead(1, 1);
  Order order = OracleStage::order_of(1, 1);
  order.placement.emplace();
  order.placement->round = OracleStage::round(1);
  order.placement->group_size = 2;
  stage.sent(1, 2, order);
  EXPECT_EQ(stage.spoke(), "journal");
}

TEST(AcknowledgementOracle, is_silent_when_the_beat_came_before_the_newer_lead) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.beat(2, 1, OracleStage::beat_of(2, 1));
  stage.lead(2, 3);
  stage.acknowledge(1, 1, 2, 1);
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_EQ(stage.checks("acknowledgement"), 1U);
}

TEST(AcknowledgementOracle, speaks_when_the_beat_came_after_the_newer_lead) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.lead(2, 3);
  stage.beat(2, 1, OracleStage::beat_of(2, 1));
  stage.acknowledge(1, 1, 2, 1);
  EXPECT_EQ(stage.spoke(), "acknowledgement");
}

TEST(AcknowledgementOracle, speaks_when_an_earlier_life_is_answered_after_a_later_one_was_heard) {
  OracleStage stage;
  stage.lead(1, 1);
  Beat beat = OracleStage::beat_of(2, 1);
  beat.from.life = AgentLife{2};
  stage.beat(2, 1, beat);
  Order order = OracleStage::order_of(1, 1);
  order.beat = BeatNo{1};
  order.to = OracleStage::agent(2, 2);
  stage.sent(1, 2, order);
  EXPECT_EQ(stage.spoke(), "");
  order.to = OracleStage::agent(2, 1);
  stage.sent(1, 2, order);
  EXPECT_EQ(stage.spoke(), "acknowledgement");
}

TEST(AcknowledgementOracle,
     is_silent_about_an_earlier_life_when_the_later_one_was_heard_before_it_led) {
  OracleStage stage;
  stage.lead(1, 1);
  Beat beat = OracleStage::beat_of(2, 1);
  beat.from.life = AgentLife{2};
  stage.beat(2, 1, beat);
  Note leading{};
  leading.kind = NoteKind::kLeading;
  stage.note(1, leading);
  Order order = OracleStage::order_of(1, 1);
  order.beat = BeatNo{1};
  order.to = OracleStage::agent(2, 1);
  stage.sent(1, 2, order);
  EXPECT_EQ(stage.spoke(), "");
}

}  // namespace
}  // namespace elastic::test
