#include <gtest/gtest.h>

#include "chaos/oracles/failures.h"
#include "tests/support/oracle_stage.h"

namespace elastic::test {
namespace {

using sim::NodeEventKind;
using sim::WorkerEventKind;

constexpr ExitStatus kCrashed{.code = 1, .signal = 0};

World with_restarts(OracleStage& stage, std::uint64_t number, std::uint32_t used) {
  World world = stage.world(number, {1, 2, 3});
  world.budgets.restarts_used = used;
  return world;
}

TEST(LeasesOracle, speaks_when_a_foreign_tree_executes_past_its_lease) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(1);
  stage.beat(2, 1, OracleStage::beat_of(2, 1));
  stage.acknowledge(1, 1, 2, 1);
  const auto lease_ms = stage.timeouts().lease / std::chrono::milliseconds(1);
  stage.at_ms(lease_ms - 1).worker(WorkerEventKind::kStopped, 2, 1);
  EXPECT_EQ(stage.spoke(), "");
  stage.at_ms(lease_ms + 1).worker(WorkerEventKind::kStopped, 3, 1);
  EXPECT_EQ(stage.spoke(), "leases");
}

TEST(LeasesOracle, counts_on_the_own_clock_and_from_the_last_acknowledged_beat) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(1);
  for (std::uint64_t node = 1; node <= 2; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  stage.at_ms(500).beat(3, 1, OracleStage::beat_of(3, 1));
  stage.acknowledge(1, 1, 3, 1);
  const auto lease_ms = stage.timeouts().lease / std::chrono::milliseconds(1);
  stage.at_ms(lease_ms + 499).tick();
  EXPECT_EQ(stage.spoke(), "");
  stage.skew(3, std::chrono::milliseconds(10));
  stage.worker(WorkerEventKind::kStopped, 3, 1);
  EXPECT_EQ(stage.spoke(), "leases");
}

TEST(LeasesOracle, speaks_when_a_native_worker_applies_a_step_past_its_orphan_bound) {
  OracleStage stage;
  stage.run_round_one(1);
  stage.worker(WorkerEventKind::kStepBegun, 1, 1, OracleStage::state(1, 1, 101));
  stage.skew(2, stage.timeouts().orphan + Duration(2));
  stage.worker(WorkerEventKind::kApplied, 2, 1, OracleStage::state(1, 2, 102));
  EXPECT_EQ(stage.spoke(), "leases");
}

void order_to_leave(OracleStage& stage, std::uint64_t node) {
  Order order = OracleStage::order_of(1, 1);
  order.leave_for = OracleStage::round(2);
  stage.delivered(1, node, order);
}

TEST(StopsOracle, speaks_when_a_worker_outlives_the_grace) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(1);
  order_to_leave(stage, 2);
  // Its lease is renewed all the time, so that only the order ends it.
  for (std::uint64_t s = 1; s <= 20 && stage.spoke().empty(); ++s) {
    stage.at_ms(static_cast<std::int64_t>(s) * 1000);
    for (std::uint64_t node = 1; node <= 3; ++node) {
      stage.beat(node, 1, OracleStage::beat_of(node, s));
      stage.acknowledge(1, 1, node, s);
    }
  }
  EXPECT_EQ(stage.spoke(), "stops");
}

TEST(StopsOracle, is_silent_when_the_worker_is_gone_in_time) {
  OracleStage stage(WorkerKind::kForeign);
  stage.run_round_one(1);
  order_to_leave(stage, 2);
  for (std::uint64_t node = 1; node <= 3; ++node) stage.worker(WorkerEventKind::kGone, node, 1);
  stage.at_ms(20'000).tick();
  EXPECT_EQ(stage.spoke(), "");
  EXPECT_EQ(stage.checks("stops"), 1U);
}

TEST(BudgetsOracle, lets_one_failure_pay_for_one_restart) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.exited(2, 1, kCrashed);
  stage.exited(3, 1, kCrashed);
  stage.record(3, 1, with_restarts(stage, 2, 1));
  EXPECT_EQ(stage.spoke(), "");
  stage.worker(WorkerEventKind::kEntered, 1, 2, OracleStage::state(2, 0, 0));
  stage.worker(WorkerEventKind::kLeft, 1, 3);
  stage.record(4, 1, with_restarts(stage, 3, 2));
  EXPECT_EQ(stage.spoke(), "budgets");
}

TEST(BudgetsOracle, speaks_when_churn_spends_a_restart) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.node_event(NodeEventKind::kMachineDown, 3);
  stage.record(3, 1, with_restarts(stage, 2, 1));
  EXPECT_EQ(stage.spoke(), "budgets");
}

TEST(BudgetsOracle, speaks_when_the_job_fails_before_the_budget_is_used_up) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.exited(2, 1, kCrashed);
  Verdict verdict;
  verdict.kind = Verdict::Kind::kProgramFailed;
  stage.record(3, 1, verdict);
  EXPECT_EQ(stage.spoke(), "budgets");
}

TEST(BudgetsOracle, speaks_when_a_coordinator_forgets_what_was_spent) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.exited(2, 1, kCrashed);
  stage.record(3, 1, with_restarts(stage, 2, 1));
  stage.at_ms(5000).record(4, 1, with_restarts(stage, 3, 0));
  EXPECT_EQ(stage.spoke(), "budgets");
}

TEST(BudgetsOracle, lets_a_long_round_clear_what_was_spent) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.exited(2, 1, kCrashed);
  stage.record(3, 1, with_restarts(stage, 2, 1));
  stage.at_ms(3'600'000).record(4, 1, with_restarts(stage, 3, 0));
  EXPECT_NE(stage.spoke(), "budgets");
}

// The members leave the round, so that the next may be recorded.
void left(OracleStage& stage, std::uint64_t number) {
  stage.worker(WorkerEventKind::kEntered, 1, number, OracleStage::state(number, 0, 0));
  stage.worker(WorkerEventKind::kLeft, 1, number + 1);
}

World with_flap(OracleStage& stage, std::uint64_t number, std::uint32_t score,
                Duration left = Duration::zero()) {
  World world = stage.world(number, {1, 2, 3});
  if (score > 0) world.flaps = {{NodeId{3}, score, left > Duration::zero() ? 1U : 0U, left}};
  return world;
}

// One half-life of the default rules is 450 s.
TEST(BudgetsOracle, speaks_when_a_coordinator_forgets_who_was_lost) {
  OracleStage stage;
  stage.run_round_one(0);
  left(stage, 1);
  stage.record(3, 1, with_flap(stage, 2, 1'000'000));
  left(stage, 2);
  stage.at_ms(450'000).record(4, 1, with_flap(stage, 3, 500'000));
  EXPECT_EQ(stage.spoke(), "");
  left(stage, 3);
  stage.at_ms(460'000).lead(5, 2);
  stage.record(6, 2, with_flap(stage, 4, 0));
  EXPECT_EQ(stage.spoke(), "budgets");
}

TEST(BudgetsOracle, lets_a_score_drop_when_a_suppression_ends) {
  OracleStage stage;
  stage.run_round_one(0);
  const std::uint32_t high = policy::suppressed_at(stage.config().job.flaps);
  const std::uint32_t low = policy::taken_again_at(stage.config().job.flaps);
  left(stage, 1);
  stage.record(3, 1, with_flap(stage, 2, high, std::chrono::seconds(10)));
  left(stage, 2);
  stage.at_ms(11'000).record(4, 1, with_flap(stage, 3, low));
  EXPECT_EQ(stage.spoke(), "");
  left(stage, 3);
  stage.at_ms(12'000).record(5, 1, with_flap(stage, 4, low / 2));
  EXPECT_EQ(stage.spoke(), "budgets");
}

TEST(BudgetsOracle, speaks_when_a_job_ends_for_what_is_switched_off) {
  for (const Verdict::Kind kind :
       {Verdict::Kind::kGaveUp, Verdict::Kind::kNoProgress, Verdict::Kind::kTooFewNodes}) {
    OracleStage stage;
    stage.run_round_one(0);
    stage.exited(2, 1, kCrashed);
    Verdict verdict;
    verdict.kind = kind;
    stage.record(3, 1, verdict);
    EXPECT_EQ(stage.spoke(), "budgets") << static_cast<int>(kind);
  }
}

TEST(BudgetsOracle, speaks_when_a_job_goes_back_that_was_not_asked_to) {
  OracleStage stage;
  stage.run_round_one(0);
  left(stage, 1);
  World world = stage.world(2, {1, 2, 3});
  world.abandoned_below = world.round;
  stage.record(3, 1, world);
  EXPECT_EQ(stage.spoke(), "budgets");
}

TEST(DeathsOracle, speaks_when_a_death_is_not_noted_in_time) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.exited(2, 1, kCrashed);
  stage.at_ms(60'000).tick();
  EXPECT_EQ(stage.spoke(), "deaths");
}

TEST(DeathsOracle, speaks_when_a_death_is_noted_twice_and_not_when_once) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.exited(2, 1, kCrashed);
  const Note note{NoteKind::kFailure, NodeId{2}, OracleStage::round(1)};
  stage.note(1, note);
  stage.at_ms(60'000).tick();
  EXPECT_EQ(stage.spoke(), "");
  stage.note(1, note);
  EXPECT_EQ(stage.spoke(), "deaths");
}

TEST(AccountedOracle, speaks_when_an_agent_names_no_reason_for_too_long) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.tell(2, {.self = OracleStage::agent(2), .wait = WaitReason::kSpare});
  for (std::int64_t s = 0; s < 600; s += 5) stage.at_ms(s * 1000).tick();
  EXPECT_EQ(stage.spoke(), "");
  stage.tell(2, {.self = OracleStage::agent(2), .wait = WaitReason::kNone});
  for (std::int64_t s = 600; s < 1200; s += 5) stage.at_ms(s * 1000).tick();
  EXPECT_EQ(stage.spoke(), "accounted");
}

TEST(MessagesOracle, speaks_when_a_change_costs_the_square_of_the_nodes) {
  OracleStage stage;
  stage.run_round_one(0);
  stage.note(1, {NoteKind::kAskLeave, NodeId{}, OracleStage::round(2)});
  for (int i = 0; i < 100; ++i) stage.sent(1, 2, OracleStage::order_of(1, 1));
  stage.worker(WorkerEventKind::kLeft, 1, 2);
  stage.record(3, 1, stage.world(2, {1, 2, 3}));
  EXPECT_EQ(stage.spoke(), "messages");
}

TEST(MessagesOracle, counts_a_candidacy_whose_number_was_in_use_before_the_last_change) {
  OracleStage stage;
  stage.run_round_one(0);
  const auto canvass = [&](std::uint64_t number) {
    // Three candidates in their first attempt: each asks the two others ten times what is needed.
    for (std::uint64_t node = 1; node <= 3; ++node) {
      for (int i = 0; i < 24; ++i) {
        stage.sent(node, node % 3 + 1, Canvass{OracleStage::agent(node), 1, LeadId{}});
      }
    }
    stage.worker(WorkerEventKind::kLeft, 1, number);
    stage.record(number + 1, 1, stage.world(number, {1, 2, 3}));
  };
  canvass(2);
  EXPECT_EQ(stage.spoke(), "");
  canvass(3);
  EXPECT_EQ(stage.spoke(), "");
}

TEST(OracleSet, keeps_the_first_violation_and_tells_what_came_before) {
  OracleStage stage;
  stage.lead(1, 1);
  stage.lead(1, 2);
  stage.record(2, 3, Verdict{});
  ASSERT_TRUE(stage.oracles().violation().has_value());
  EXPECT_EQ(stage.oracles().violation()->agent, OracleStage::agent(2));
  ASSERT_FALSE(stage.oracles().story().empty());
  EXPECT_EQ(stage.oracles().story().back().text, "record 1 of a1: a1 leads");
}

}  // namespace
}  // namespace elastic::test
