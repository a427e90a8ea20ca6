#include "chaos/compare/compare.h"

#include <gtest/gtest.h>

#include <sstream>

#include "chaos/compare/compare_report.h"

namespace elastic::chaos {
namespace {

constexpr std::string_view kSmall = R"(# A small job that loses machines.
job:
  nodes: {min: 2, max: 4}
  model: {compute_per_sample: 1ms, gradient: 1MB, state: 1MB}
  steps: 100
  global_batch: 1200
  checkpoint: {every: 1min}
  journal: external
cluster:
  zones:
    a: {nodes: 4, price: $3.60/h}
  horizon: 10min
network: {latency: 1us, bandwidth: 100GB/s}
faults:
  - {at: 10s, kind: reclaim, node: a1}
  - {at: 10s, kind: crash, node: a2, for: 20s}
expect: {finishes_within: 2min}
)";

Source source_of(std::string_view text) {
  auto source = parse_source(text, "small.yaml");
  EXPECT_TRUE(source.has_value());
  return *source;
}

Scenario small() { return *check_source(source_of(kSmall)); }

TEST(ComparePolicies, rigid_asks_for_all_machines_and_restart_keeps_the_bounds_of_the_scenario) {
  const Source source = source_of(kSmall);
  const Scenario base = small();
  const auto rigid = under_policy(source, base, Policy::kRigid);
  ASSERT_TRUE(rigid.has_value());
  EXPECT_EQ(rigid->job.min_nodes, 4U);
  EXPECT_EQ(rigid->job.workers, WorkerKind::kForeign);
  EXPECT_EQ(rigid->job.detection_target, std::chrono::seconds(15));
  EXPECT_TRUE(rigid->expect.empty());
  const auto restart = under_policy(source, base, Policy::kRestart);
  ASSERT_TRUE(restart.has_value());
  EXPECT_EQ(restart->job.min_nodes, 2U);
  EXPECT_EQ(restart->job.last_call_cap, std::chrono::seconds(30));
  const auto elastic = under_policy(source, base, Policy::kElastic);
  ASSERT_TRUE(elastic.has_value());
  EXPECT_EQ(elastic->job.workers, WorkerKind::kNative);
  for (const auto* one : {&*rigid, &*restart, &*elastic}) {
    EXPECT_EQ(make_plan(*one, 7), make_plan(base, 7));
    EXPECT_EQ(machines(*one).size(), 4U);
  }
}

TEST(ComparePolicies, of_a_measured_model_steps_cost_the_same_under_every_policy) {
  std::string text(kSmall);
  const std::string_view model = "{compute_per_sample: 1ms, gradient: 1MB, state: 1MB}";
  text.replace(text.find(model), model.size(), "resnet50-imagenet");
  const Source source = source_of(text);
  const auto base = check_source(source);
  ASSERT_TRUE(base.has_value()) << base.error().text();
  for (const Policy policy : {Policy::kRigid, Policy::kRestart, Policy::kElastic}) {
    const auto under = under_policy(source, *base, policy);
    ASSERT_TRUE(under.has_value()) << under.error().text();
    EXPECT_EQ(simulated_model(*under), simulated_model(*base)) << name(policy);
  }
  // Without its setting, rigid would meet the table at the one size that it has.
  Source rigid = source;
  ASSERT_FALSE(apply_override(rigid, "job.nodes.min=4").has_value());
  EXPECT_FALSE(simulated_model(*check_source(rigid)) == simulated_model(*base));
  EXPECT_EQ(settings(Policy::kRigid, *base).size(), settings(Policy::kRigid, 4).size() + 5);
}

TEST(ComparePolicies, a_list_is_read_strictly) {
  EXPECT_EQ(parse_policies("elastic,rigid")->size(), 2U);
  EXPECT_EQ(parse_policies("rigd").error(), "unknown policy \"rigd\"; did you mean \"rigid\"?");
  EXPECT_EQ(parse_policies("rigid,rigid").error(), "\"rigid\" is there twice");
  EXPECT_FALSE(parse_policies("").has_value());
  EXPECT_FALSE(parse_policies("rigid,").has_value());
}

TEST(ComparePolicies, the_bound_is_what_can_be_worked_out_by_hand) {
  const Scenario base = small();
  const OracleBound bound(to_world(base, 1), make_plan(base, 1));
  // 300 ms a step on four (less the 2 ms of applying) for 10 s, 600 ms on two for 20 s, then 400 ms
  // on three; the transfers and the grace of those who die weigh some milliseconds.
  EXPECT_NEAR(bound.steps_by(std::chrono::seconds(10)), 10 / 0.298, 0.1);
  EXPECT_NEAR(bound.steps_by(std::chrono::seconds(30)), 10 / 0.298 + 20 / 0.598, 0.2);
  const double left = 100 - 10 / 0.298 - 20 / 0.598;
  const BoundFigures figures = bound.figures();
  EXPECT_TRUE(figures.finished);
  EXPECT_EQ(figures.steps, 100U);
  const double seconds = 30 + left * 0.398;
  EXPECT_NEAR(static_cast<double>(figures.finish.count()) / 1e9, seconds, 0.1);
  // $0.001 a second and machine.
  EXPECT_NEAR(static_cast<double>(figures.cost_microdollars), 1e3 * (40 + 40 + 3 * (seconds - 30)),
              500);
}

TEST(ComparePolicies, the_bound_does_nothing_below_the_minimum) {
  Scenario base = small();
  base.job.min_nodes = 4;
  const OracleBound bound(to_world(base, 1), make_plan(base, 1));
  EXPECT_FALSE(bound.figures().finished);
  EXPECT_EQ(bound.figures().finish, base.horizon);
  EXPECT_NEAR(bound.steps_by(std::chrono::minutes(9)), 10 / 0.298, 0.1);
}

PolicyRun run_with(std::uint64_t seed, bool finished, std::int64_t minutes, std::int64_t dollars) {
  PolicyRun run;
  run.row.seed = seed;
  run.row.finished = finished;
  run.row.finish_ns = minutes * 60'000'000'000;
  run.row.cost_microdollars = dollars * 1'000'000;
  run.row.steps_committed = 50;
  run.row.steps_redone = 1234;
  run.bound_steps = 100;
  run.bound = {.finished = true,
               .finish = std::chrono::minutes(30),
               .steps = 100,
               .goodput_ppm = 1'000'000,
               .cost_microdollars = 5'000'000};
  return run;
}

PolicyComparison two_policies() {
  PolicyComparison comparison;
  comparison.scenario = "made_up";
  comparison.seeds = {1, 3};
  comparison.policies = {Policy::kRestart, Policy::kElastic};
  comparison.changes = {{"job.workers=foreign"}, {}};
  comparison.horizon = std::chrono::minutes(600);
  comparison.deadline = std::chrono::minutes(100);
  comparison.runs = {
      {run_with(1, true, 200, 20), run_with(2, false, 600, 60),
       run_with(3, false, 90, 1)},  // gave up
      {run_with(1, true, 50, 10), run_with(2, true, 60, 11), run_with(3, true, 101, 12)}};
  return comparison;
}

std::string repeat(Policy policy, std::uint64_t seed) {
  return "repeat " + std::string(name(policy)) + " " + std::to_string(seed);
}

TEST(CompareReport, a_run_that_did_not_finish_counts_at_the_horizon_whatever_ended_it) {
  const PolicyComparison comparison = two_policies();
  const PolicyFigures restart = figures_of(comparison, 0);
  EXPECT_EQ(restart.runs, 3U);
  EXPECT_EQ(restart.censored(), 2U);
  EXPECT_EQ(restart.in_time, 0U);
  EXPECT_EQ(restart.median_finish_ns, 600 * 60'000'000'000);
  EXPECT_NEAR(restart.finish_ns.mean, (200.0 + 600 + 600) / 3 * 60e9, 1);
  EXPECT_EQ(figures_of(comparison, 1).in_time, 2U);
  EXPECT_NEAR(restart.of_bound_ppm.mean, 500'000, 1);
}

TEST(CompareReport, a_difference_has_the_sign_and_the_interval_of_the_pairs) {
  const std::vector<PolicyDifference> found = differences(two_policies());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].finish_ns.mean, (150.0 + 540 + 499) / 3 * 60e9, 1);
  EXPECT_GT(found[0].finish_ns.half, 0);
  EXPECT_EQ(found[0].censored, 2U);
  PolicyComparison without = two_policies();
  without.policies = {Policy::kRestart, Policy::kRigid};
  EXPECT_TRUE(differences(without).empty());
}

TEST(CompareReport, a_failing_seed_is_shown_left_out_of_every_policy_and_decides_the_verdict) {
  PolicyComparison comparison = two_policies();
  comparison.runs[0][1]->row.verdict = VerdictClass::kSafety;
  comparison.runs[0][1]->row.oracle = "committed_steps";
  comparison.runs[0][1]->row.title = "a committed step fell";
  EXPECT_EQ(verdict_of(comparison), VerdictClass::kSafety);
  EXPECT_EQ(comparison.complete(), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(figures_of(comparison, 1).runs, 2U);
  const std::string text = compare_report(comparison, repeat, {});
  EXPECT_NE(text.find("restart seed 2 safety committed_steps"), std::string::npos) << text;
  EXPECT_NE(text.find("repeat restart 2"), std::string::npos) << text;
}

TEST(CompareReport, keeps_to_80_columns_and_to_ascii_where_asked) {
  Look plain;
  plain.utf8 = false;
  for (const Look& look : {Look(), plain}) {
    const std::string text = compare_report(two_policies(), repeat, look);
    std::istringstream lines(text);
    for (std::string one; std::getline(lines, one);) EXPECT_LE(columns(one), 80U) << one;
    EXPECT_NE(text.find("restart 2 of 3"), std::string::npos) << text;
    if (look.utf8) continue;
    for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << text;
  }
}

TEST(CompareReport, a_run_crosses_a_pipe_unchanged) {
  const PolicyRun run = run_with(18'446'744'073'709'551'615U, true, 3, 4);
  EXPECT_EQ(policy_run_from_text(to_text(run)), run);
  EXPECT_ANY_THROW(policy_run_from_text("{}"));
}

TEST(CompareReport, the_csv_has_a_line_for_each_run) {
  const std::string text = compare_csv(two_policies());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
  EXPECT_EQ(text.rfind("seed,policy,verdict,finished,", 0), 0U);
  EXPECT_NE(text.find("\n2,restart,holds,false,"), std::string::npos) << text;
}

}  // namespace
}  // namespace elastic::chaos
