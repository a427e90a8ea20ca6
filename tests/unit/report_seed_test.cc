#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "chaos/report/json.h"
#include "chaos/report/report.h"

namespace elastic::chaos {
namespace {

using namespace std::chrono_literals;

const Commands kCommands{
    .repeat = "elastic-sim scenarios/spot_churn.yaml --seed 8123",
    .shrink = "elastic-sim shrink scenarios/spot_churn.yaml --seed 8123",
};

// Eight hours on two zones, invented.
RunResult sample() {
  RunResult result;
  result.scenario = "spot_churn";
  result.seed = 1;
  result.wall_ms = 612;
  result.outcome.at = Time(8h + 12min);
  result.outcome.events = 4'182'004;
  result.outcome.trace_hash = 0xFEDCBA9876543210U;
  Summary& summary = result.summary;
  summary.time = {.productive = 7h + 38min,
                  .redone = 0s,
                  .waiting = 11min,
                  .reconfiguring = 9min,
                  .saving = 8min,
                  .below_minimum = 6min,
                  .whole = 8h + 12min};
  summary.goodput_ppm = 931'000;
  summary.cost_microdollars = 214'800'000;
  summary.cost_per_1000_steps_microdollars = 11'430'000;
  summary.machine_time = 234h;
  summary.steps_committed = 18'792;
  summary.steps_redone_in_part = 41;
  summary.checkpoints = 47;
  summary.rounds = 61;
  summary.leads = 3;
  summary.nodes_lost = 88;
  summary.loss_batches = 12;
  summary.biggest_batch = 6;
  summary.nodes_joined = 83;
  summary.faults[static_cast<std::size_t>(sim::FaultKind::kPartition)] = 1;
  summary.faults[static_cast<std::size_t>(sim::FaultKind::kFreezeMachine)] = 1;
  summary.workers_killed = 10;
  summary.recoveries.assign(40, 410ms);
  summary.recovery_p50 = 410ms;
  summary.recovery_p99 = 1320ms;
  summary.recovery_max = 1900ms;
  summary.sizes = {{.at = Time(0h), .up = {20, 12}, .training = {0, 0}},
                   {.at = Time(30min), .up = {20, 12}, .training = {20, 12}},
                   {.at = Time(2h), .up = {20, 0}, .training = {20, 0}},
                   {.at = Time(4h), .up = {10, 12}, .training = {10, 12}},
                   {.at = Time(7h), .up = {1, 12}, .training = {1, 6}}};
  summary.ended = Time(8h + 12min);
  summary.finished = true;
  result.zones = {{.name = "a", .capacity = 20}, {.name = "b", .capacity = 12}};
  result.marks = {
      {.at = Time(2h), .kind = sim::FaultKind::kPartition, .label = "partition zone a"},
      {.at = Time(5h), .kind = sim::FaultKind::kFreezeMachine, .label = "freeze machine a3"}};
  result.expected = {{.wanted = "finishes within 9h", .found = "8h 12m", .ok = true},
                     {.wanted = "goodput >= 90%", .found = "93.1%", .ok = true}};
  result.oracles = {
      {.name = "committed_steps", .promise = "No committed step falls.", .checks = 18'792},
      {.name = "ranks", .promise = "Ranks are a permutation.", .checks = 61},
      {.name = "budgets", .promise = "Budgets hold.", .checks = 0}};
  LivenessResult liveness;
  liveness.moment = Time(3h);
  liveness.core.assign(9, NodeId{1});
  liveness.bound = 400s;
  liveness.took = 1300ms;
  result.liveness = liveness;
  return result;
}

RunResult broken() {
  RunResult result = sample();
  result.seed = 8123;
  result.verdict = VerdictClass::kSafety;
  result.expected.clear();
  result.liveness.reset();
  Violation violation;
  violation.oracle = "sample_count";
  violation.title = "a sample was counted twice";
  violation.at = Time(3h + 7min + 12400ms);
  violation.event = 1'204'118;
  violation.agent.node = NodeId{24};
  violation.round.number = 31;
  violation.expected = "each sample of epoch 2 once along the lineage of step 7,204";
  violation.found = "sample 911,402 in steps 7,198 (round 30) and 7,204 (round 31)";
  result.violation = violation;
  result.violation_node = "b4";
  result.story = {
      {.at = Time(3h + 7min + 12100ms), .event = 1'204'090, .text = "a7 worker 3 exits"},
      {.at = Time(3h + 7min + 12400ms), .event = 1'204'118, .text = "b4 applies step 7,204"}};
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void expect_fits(const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    if (line.find("elastic-sim ") != std::string::npos) continue;  // commands stay whole
    EXPECT_LE(columns(line), 80U) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "[" << line << "]";
  }
}

TEST(SeedReport, a_run_that_holds_reads_like_this) {
  const std::string golden =
      R"(spot_churn  seed 1   holds                            8h 12m simulated in 0.61 s

  time        productive 93.1%  waiting 2.2%  reconfiguring 1.8%  saving 1.6%
              redone 0.0%  below minimum 1.2%
  goodput     93.1%  of what the same nodes could do undisturbed
  cost        $214.80   $11.43 per 1,000 steps   9d 18h of machine time
  steps       18,792 committed, 0 lost, 41 redone in part, 47 saves
  rounds      61   nodes lost 88 (12 batches, biggest 6)   joined 83
              coordinators 3
  faults      freeze machine 1, partition 1, workers killed 10
  recovery    p50 410 ms   p99 1.32 s   max 1.90 s   (40 times)

  world size  0h              2h              4h              6h              8h
  zone a 0-20 ····▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▁▁▁▁▁▁▁▁▁▁
  zone b 0-12 ····▇▇▇▇▇▇▇▇▇▇▇▇▁               ▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▅▄▄▄▄▄▄▄▄▄
  events                      ↑ partition zone a      ↑ freeze machine a3

  expected    finishes within 9h       8h 12m   ok
              goodput >= 90%           93.1%    ok
  liveness    when all but 9 nodes are cut off at 3h 00m 00.0s, the job goes on
              after 1.30 s (bound 6m 40s)
  oracles     3 silent in 18,853 checks
              committed_steps 18.7k, ranks 61
              nothing to check for: budgets
)";
  const std::string text = seed_report(sample(), kCommands, Look{});
  EXPECT_EQ(text, golden);
  expect_fits(text);
}

TEST(SeedReport, a_broken_promise_reads_like_this) {
  const std::string golden =
      R"(spot_churn  seed 8123   SAFETY: a sample was counted twice
                                                      8h 12m simulated in 0.61 s

  at 3h 07m 12.4s, event 1,204,118, node b4 (round 31)
  oracle      sample_count
  expected    each sample of epoch 2 once along the lineage of step 7,204
  found       sample 911,402 in steps 7,198 (round 30) and 7,204 (round 31)

  before it   12.100s a7 worker 3 exits
              12.400s b4 applies step 7,204

  repeat      elastic-sim scenarios/spot_churn.yaml --seed 8123
  shrink      elastic-sim shrink scenarios/spot_churn.yaml --seed 8123

  oracles     3 watched in 18,853 checks
              committed_steps 18.7k, ranks 61
              nothing to check for: budgets
)";
  const std::string text = seed_report(broken(), kCommands, Look{});
  EXPECT_EQ(text, golden);
  expect_fits(text);
}

TEST(SeedReport, without_utf8_it_is_ascii) {
  for (const RunResult& result : {sample(), broken()}) {
    const std::string text = seed_report(result, kCommands, Look{.utf8 = false});
    for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << text;
    expect_fits(text);
  }
}

TEST(SeedReport, colour_changes_no_column) {
  const std::string plain = seed_report(broken(), kCommands, Look{});
  const std::string coloured = seed_report(broken(), kCommands, Look{.colour = true});
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(coloured.find('\x1b'), std::string::npos);
  const auto one = lines_of(plain);
  const auto two = lines_of(coloured);
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(columns(one[i]), columns(two[i]));
}

TEST(SeedReport, a_missed_expectation_is_named_in_the_headline) {
  RunResult result = sample();
  result.verdict = VerdictClass::kMissed;
  result.expected[1] = {.wanted = "goodput >= 95%", .found = "93.1%", .ok = false};
  EXPECT_EQ(verdict_words(result), "missed: goodput >= 95%");
  EXPECT_NE(seed_report(result, kCommands, Look{}).find("93.1%    MISSED"), std::string::npos);
  result.expected[0].ok = false;
  EXPECT_EQ(verdict_words(result), "missed: 2 expectations");
}

TEST(SeedReport, a_crash_says_what_where_and_how_to_repeat_it) {
  RunResult result = broken();
  result.violation.reset();
  result.verdict = VerdictClass::kCrash;
  result.crash = Crash{.what = "rank < size", .where = "core/x.cc:10"};
  result.crash_at = Time(12s);
  result.crash_event = 77;
  const std::string text = seed_report(result, kCommands, Look{});
  for (const char* part : {"CRASH", "rank < size", "core/x.cc:10", "event 77", "--seed 8123"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(SeedReport, every_oracle_is_listed_with_its_promise_on_request) {
  const std::string text = seed_report(sample(), kCommands, Look{.all_oracles = true});
  for (const OracleTally& oracle : sample().oracles) {
    EXPECT_NE(text.find(oracle.promise), std::string::npos) << text;
  }
  expect_fits(text);
}

TEST(SeedReport, an_empty_result_is_no_reason_to_stumble) {
  const std::string text = seed_report(RunResult{}, Commands{}, Look{});
  expect_fits(text);
  EXPECT_FALSE(seed_json(RunResult{}, Commands{}).empty());
}

TEST(SeedJson, holds_the_same_figures_with_units_in_the_names) {
  const auto json = nlohmann::json::parse(seed_json(sample(), kCommands));
  EXPECT_EQ(json.at("verdict"), "holds");
  EXPECT_EQ(json.at("summary").at("goodput_ppm"), 931'000);
  EXPECT_EQ(json.at("summary").at("recovery_p99_ns"), 1'320'000'000);
  EXPECT_EQ(json.at("trace_hash"), "fedcba9876543210");
  EXPECT_EQ(json.at("oracles").at("ranks"), 61);
  const auto& time = json.at("summary").at("time");
  std::int64_t sum = 0;
  for (const auto& [key, value] : time.items()) {
    if (key != "whole_ns") sum += value.get<std::int64_t>();
  }
  EXPECT_EQ(sum, time.at("whole_ns"));
  EXPECT_TRUE(json.at("failure").is_null());
  const auto failed = nlohmann::json::parse(seed_json(broken(), kCommands));
  EXPECT_EQ(failed.at("exit_status"), 5);
  EXPECT_EQ(failed.at("failure").at("oracle"), "sample_count");
  EXPECT_EQ(failed.at("failure").at("repeat"), kCommands.repeat);
}

}  // namespace
}  // namespace elastic::chaos
