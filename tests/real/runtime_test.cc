// Rounds of several agents over loopback, with workers that only pretend.
#include "tests/real/agents.h"

namespace elastic::real::test {
namespace {

using std::chrono::milliseconds;

TEST_F(Agents, three_nodes_form_one_round_and_end_when_their_programs_have) {
  host();
  for (const std::uint64_t node : {2U, 3U}) join(node);
  ASSERT_TRUE(until([&] { return all_in_one_round(3); }));
  for (const auto& agent : agents_) agent->work.exit_all({});
  ASSERT_TRUE(until([&] {
    return std::all_of(agents_.begin(), agents_.end(),
                       [](const auto& a) { return a->end.has_value(); });
  }));
  for (const auto& agent : agents_) EXPECT_EQ(agent->end->reason, ExitReason::kSucceeded);
}

TEST_F(Agents, nodes_that_start_before_their_host_find_it_when_it_comes) {
  host();
  const std::uint16_t port = port_;
  agents_.clear();  // the port is free again
  for (const std::uint64_t node : {2U, 3U}) join(node);
  run_for(milliseconds(300));
  EXPECT_EQ(running(), 0U);
  port_ = port;
  host();
  EXPECT_TRUE(until([&] { return all_in_one_round(3); }));
}

TEST_F(Agents, a_lost_node_leaves_the_others_in_a_smaller_round) {
  host();
  for (const std::uint64_t node : {2U, 3U}) join(node);
  ASSERT_TRUE(until([&] { return all_in_one_round(3); }));
  agents_[2]->kill();
  EXPECT_TRUE(until([&] { return all_in_one_round(2); }));
}

TEST_F(Agents, a_node_that_joins_makes_the_round_larger) {
  host();
  join(2);
  ASSERT_TRUE(until([&] { return all_in_one_round(2); }));
  join(3);
  EXPECT_TRUE(until([&] { return all_in_one_round(3); }));
}

TEST_F(Agents, a_node_that_leaves_is_not_missed_and_the_job_goes_on) {
  host();
  for (const std::uint64_t node : {2U, 3U}) join(node);
  ASSERT_TRUE(until([&] { return all_in_one_round(3); }));
  agents_[1]->runtime->leave(milliseconds(500));
  ASSERT_TRUE(until([&] { return agents_[1]->end.has_value(); }));
  EXPECT_EQ(agents_[1]->end->reason, ExitReason::kLeft);
  EXPECT_TRUE(
      until([&] { return running() == 2 && agents_[0]->runtime->placement()->group_size == 2; }));
}

TEST_F(Agents, a_program_that_fails_too_often_ends_the_job_everywhere_and_is_named) {
  job_.max_restarts = 1;
  job_.restart_back_off.base = milliseconds(1);
  host();
  join(2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(until([&] { return all_in_one_round(2); }));
    agents_[1]->work.exit(0, {3, 0});
    ASSERT_TRUE(until([&] { return !agents_[1]->running(); }));
  }
  ASSERT_TRUE(until([&] { return agents_[0]->end && agents_[1]->end; }));
  for (const auto& agent : agents_) {
    EXPECT_EQ(agent->end->reason, ExitReason::kProgramFailed);
    ASSERT_TRUE(agent->end->verdict);
    EXPECT_EQ(agent->end->verdict->first_failure.agent.node, NodeId{2});
    EXPECT_EQ(agent->end->verdict->first_failure.status.code, 3);
  }
}

TEST_F(Agents, the_host_comes_back_with_its_journal_and_the_rounds_go_on_from_there) {
  host();
  for (const std::uint64_t node : {2U, 3U}) join(node);
  ASSERT_TRUE(until([&] { return all_in_one_round(3); }));
  const RoundId before = agents_[1]->runtime->placement()->round;
  agents_[0]->kill();
  run_for(milliseconds(200));
  host();
  ASSERT_TRUE(until([&] { return all_in_one_round(3); }));
  const RoundId after = agents_[1]->runtime->placement()->round;
  EXPECT_EQ(after.journal, before.journal);
  EXPECT_GT(after.number, before.number);
}

TEST_F(Agents, who_has_another_token_is_not_let_in_and_told_so) {
  token_ = "one";
  host();
  join(2);
  token_ = "two";
  TestAgent& stranger = join(3);
  ASSERT_TRUE(until([&] { return stranger.end.has_value(); }));
  EXPECT_NE(stranger.end->error.find("token"), std::string::npos) << stranger.end->error;
  EXPECT_TRUE(until([&] { return all_in_one_round(2); }));
}

TEST_F(Agents, who_was_started_with_other_settings_is_told_which) {
  host();
  job_.max_restarts = 9;
  TestAgent& other = join(2);
  ASSERT_TRUE(until([&] { return other.end.has_value(); }));
  EXPECT_NE(other.end->error.find("--max-restarts is 9 here and 3 there"), std::string::npos)
      << other.end->error;
}

TEST_F(Agents, another_job_at_the_endpoint_is_named_and_not_joined) {
  host();
  id_ = "other";
  TestAgent& other = join(2);
  ASSERT_TRUE(until([&] { return !other.observer.lines.empty(); }));
  EXPECT_NE(other.observer.lines[0].find("here runs job \"job\", not \"other\""), std::string::npos)
      << other.observer.lines[0];
  EXPECT_EQ(other.runtime->node(), nullptr);
}

TEST_F(Agents, two_agents_with_one_identity_do_not_both_stay) {
  host();
  join(2, 1);
  ASSERT_TRUE(until([&] { return all_in_one_round(2); }));
  join(2, 2);
  ASSERT_TRUE(
      until([&] { return agents_[1]->end.has_value() || !agents_[1]->observer.lines.empty(); }));
  EXPECT_TRUE(until([&] { return agents_[2]->running(); }));
}

TEST_F(Agents, sixty_four_agents_in_one_process_form_one_round) {
  host();
  for (std::uint64_t node = 2; node <= 64; ++node) join(node);
  EXPECT_TRUE(until([&] { return all_in_one_round(64); }));
}

}  // namespace
}  // namespace elastic::real::test
