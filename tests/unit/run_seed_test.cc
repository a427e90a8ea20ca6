#include <gtest/gtest.h>

#include <cstdio>

#include "chaos/report/report.h"
#include "chaos/run/batch.h"
#include "chaos/run/event_log.h"
#include "chaos/run/run.h"
#include "chaos/run/verify.h"
#include "core/assert.h"

namespace elastic::chaos {
namespace {

Scenario small() {
  const auto scenario = parse_scenario(R"(# A small job that loses a machine.
job:
  nodes: {min: 2, max: 4}
  model: resnet50
  steps: 300
  global_batch: 1024
  checkpoint: {every: 2min, size: 300MiB}
  journal: external
  detection_target: 1s
cluster:
  zones:
    a: {nodes: 4, price: $0.918/h}
  horizon: 2h
faults:
  - {at: 2min, kind: crash, node: a1, for: 30s}
expect:
  steps_lost: "== 0"
)",
                                       "small.yaml");
  EXPECT_TRUE(scenario.has_value());
  return *scenario;
}

// An assertion that fails at the thousandth event of one seed.
class Saboteur final : public sim::Observer {
 public:
  void after_event(Time /*now*/, std::uint64_t index, const sim::World& world) override {
    ELASTIC_ASSERT(!(index == 1000 && world.config().seed == 5));
  }
};

TEST(RunSeed, the_same_seed_gives_the_same_row) {
  Row one = row_of(run_seed(small(), 3, {}), true);
  Row two = row_of(run_seed(small(), 3, {}), true);
  one.wall_ms = two.wall_ms = 0;
  EXPECT_EQ(one, two);
  EXPECT_EQ(one.verdict, VerdictClass::kHolds) << one.title;
  EXPECT_EQ(one.steps_committed, 300U);
  EXPECT_FALSE(one.liveness.empty());
}

TEST(RunSeed, its_time_adds_up_and_its_faults_are_marked) {
  const RunResult result = run_seed(small(), 1, {});
  EXPECT_EQ(result.summary.time.sum(), result.summary.time.whole);
  ASSERT_EQ(result.marks.size(), 1U);
  EXPECT_EQ(result.marks[0].label, "crash a1");
  ASSERT_EQ(result.zones.size(), 1U);
  EXPECT_EQ(result.zones[0].capacity, 4U);
}

TEST(RunSeed, a_plan_of_the_callers_takes_the_place_of_the_seeds) {
  const sim::Plan nothing;
  RunOptions options;
  options.plan = &nothing;
  const RunResult result = run_seed(small(), 1, options);
  EXPECT_EQ(result.summary.nodes_lost, 0U);
  EXPECT_TRUE(result.marks.empty());
}

TEST(RunSeed, without_the_main_run_only_the_liveness_phase_is_made) {
  RunOptions options;
  options.main = false;
  const RunResult result = run_seed(small(), 1, options);
  EXPECT_EQ(result.outcome.events, 0U);
  EXPECT_TRUE(result.liveness.has_value());
}

TEST(RunSeed, a_failed_assertion_ends_with_a_report_and_status_3) {
  testing::FLAGS_gtest_death_test_style = "fast";
  Saboteur saboteur;
  RunOptions options;
  options.attach = [&](sim::World& world) { world.watch(saboteur); };
  options.on_crash = [](const RunResult& result) {
    std::fputs(seed_report(result, {.repeat = "REPEAT", .shrink = ""}, Look{}).c_str(), stderr);
  };
  EXPECT_EXIT(run_seed(small(), 5, options), testing::ExitedWithCode(3),
              "CRASH(.|\n)*event 1,000(.|\n)*index == 1000(.|\n)*REPEAT");
}

TEST(RunBatch, a_crash_is_the_result_of_its_seed_and_of_no_other) {
  Saboteur saboteur;
  BatchOptions options;
  options.seeds = {.first = 2, .last = 9};
  options.jobs = 3;
  options.run.attach = [&](sim::World& world) { world.watch(saboteur); };
  const BatchResult batch = run_batch(small(), options);
  ASSERT_EQ(batch.rows.size(), 8U);
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    EXPECT_EQ(batch.rows[i].seed, 2 + i);
    EXPECT_EQ(batch.rows[i].verdict,
              batch.rows[i].seed == 5 ? VerdictClass::kCrash : VerdictClass::kHolds);
  }
  EXPECT_EQ(batch.rows[3].oracle, "assertion");
  EXPECT_EQ(batch.rows[3].event, 1000U);
  EXPECT_EQ(exit_status(verdict_of(batch)), 3);
  EXPECT_FALSE(batch.oracles.empty());
  EXPECT_EQ(batch.oracles.size(), batch.rows[0].checks.size());
}

TEST(EventWindow, names_the_first_event_that_differs) {
  const std::string one = event_window(small(), 1, 4097, 8193);
  EXPECT_EQ(one, event_window(small(), 1, 4097, 8193));
  Difference same;
  compare_windows(same, 4097, one, one);
  EXPECT_EQ(same.event, 0U);
  EXPECT_FALSE(same.note.empty());
  Difference other;
  compare_windows(other, 4097, one, event_window(small(), 2, 4097, 8193));
  EXPECT_GE(other.event, 4097U);
  EXPECT_LT(other.event, 8193U);
  EXPECT_TRUE(!other.first.empty() || !other.second.empty());
  EXPECT_ANY_THROW(compare_windows(other, 1, "", "{}"));
}

}  // namespace
}  // namespace elastic::chaos
