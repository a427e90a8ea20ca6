// From a scenario and a seed to machines, a world and a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "chaos/scenario/scenario.h"

namespace elastic::chaos {
namespace {

using sim::FaultKind;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kBase =
    "job: {nodes: {min: 2, max: 8}, model: resnet50, dataset: 1000, epochs: 3, global_batch: 64}\n"
    "cluster:\n"
    "  zones: {a: {nodes: 4, price: $1/h}, b: {nodes: 4, price: $2/h, market: aws_p3_2021}}\n"
    "  notice: 2min\n"
    "  horizon: 10h\n";

Scenario read(const std::string& text) {
  const auto scenario = parse_scenario(text, "some/base.yaml");
  EXPECT_TRUE(scenario) << scenario.error().text();
  return scenario.value_or(Scenario());
}

std::vector<sim::Fault> of_kind(const sim::Plan& plan, FaultKind kind) {
  std::vector<sim::Fault> out;
  std::copy_if(plan.begin(), plan.end(), std::back_inserter(out),
               [&](const sim::Fault& fault) { return fault.kind == kind; });
  return out;
}

TEST(ScenarioPlan, machines_are_numbered_by_zone_and_priced) {
  const sim::WorldConfig world = to_world(read(kBase), 7);
  ASSERT_EQ(world.nodes.size(), 8U);
  EXPECT_EQ(world.nodes[4].name, "b0");
  EXPECT_EQ(world.nodes[4].price_microdollars_per_hour, 2'000'000);
  EXPECT_EQ(world.seed, 7U);
  EXPECT_EQ(world.training.total_steps, 48U);  // 3 epochs of 1,000 samples in steps of 64
  EXPECT_EQ(world.job.journal_host, NodeId{1});
}

TEST(ScenarioPlan, the_same_seed_gives_the_same_plan_and_another_another) {
  const Scenario scenario = read(kBase + "faults: [{kind: swarm, mean_between: 5min}]\n");
  EXPECT_EQ(make_plan(scenario, 1), make_plan(scenario, 1));
  EXPECT_NE(make_plan(scenario, 1), make_plan(scenario, 2));
}

TEST(ScenarioPlan, a_market_takes_machines_of_its_zone_only_and_announces_it) {
  const sim::Plan plan = make_plan(read(kBase), 1);
  const auto reclaims = of_kind(plan, FaultKind::kReclaim);
  ASSERT_GT(reclaims.size(), 5U);
  EXPECT_EQ(of_kind(plan, FaultKind::kNotice).size(), reclaims.size());
  for (const sim::Fault& fault : reclaims) {
    for (const NodeId node : fault.targets) EXPECT_GT(node.value, 4U);
  }
  EXPECT_TRUE(std::is_sorted(plan.begin(), plan.end(),
                             [](const auto& a, const auto& b) { return a.at < b.at; }));
}

TEST(ScenarioPlan, one_line_of_faults_less_leaves_the_others_as_they_were) {
  const std::string kills = "  - {kind: kill_worker, every: 20min}\n";
  const std::string freezes = "  - {kind: freeze_agent, every: 30min, for: 1s..9s}\n";
  const sim::Plan both = make_plan(read(kBase + "faults:\n" + kills + freezes), 3);
  const sim::Plan one = make_plan(read(kBase + "faults:\n" + freezes), 3);
  EXPECT_EQ(of_kind(both, FaultKind::kFreezeAgent), of_kind(one, FaultKind::kFreezeAgent));
  EXPECT_EQ(of_kind(both, FaultKind::kReclaim), of_kind(one, FaultKind::kReclaim));
  EXPECT_GT(of_kind(both, FaultKind::kKillWorker).size(), 10U);
}

TEST(ScenarioPlan, a_zone_is_taken_with_a_warning_and_comes_back_at_once) {
  const sim::Plan plan = make_plan(
      read(kBase + "faults: [{at: 1h, kind: reclaim, zone: a, notice: 2min, for: 20min}]\n"), 1);
  const std::vector<NodeId> zone = {NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}};
  const sim::Fault notice{.at = Time(minutes(58)),
                          .kind = FaultKind::kNotice,
                          .targets = zone,
                          .others = {},
                          .length = minutes(2)};
  EXPECT_EQ(std::count(plan.begin(), plan.end(), notice), 1);
  const sim::Fault gone{
      .at = Time(hours(1)), .kind = FaultKind::kReclaim, .targets = zone, .others = {}};
  EXPECT_EQ(std::count(plan.begin(), plan.end(), gone), 1);
  const sim::Fault back{
      .at = Time(minutes(80)), .kind = FaultKind::kAdd, .targets = zone, .others = {}};
  EXPECT_EQ(std::count(plan.begin(), plan.end(), back), 1);
}

TEST(ScenarioPlan, the_coordinator_is_a_target_that_the_world_resolves) {
  const Scenario scenario =
      read(kBase +
           "faults:\n  - {at: 1h, kind: kill_agent, node: coordinator, for: 1s}\n"
           "  - {at: 2h, kind: partition, cut: [coordinator, zone b], for: 9s}\n");
  const sim::Plan plan = make_plan(scenario, 1);
  EXPECT_EQ(of_kind(plan, FaultKind::kKillAgent).at(0).targets,
            std::vector<NodeId>{NodeId{0xFFFFFFFFU}});
  EXPECT_EQ(of_kind(plan, FaultKind::kPartition).at(0).others.size(), 4U);
}

TEST(ScenarioPlan, a_swarm_draws_every_kind) {
  const Scenario scenario = read(kBase + "faults: [{kind: swarm, mean_between: 10s}]\n");
  const sim::Plan plan = make_plan(scenario, 1);
  for (std::size_t i = 0; i < sim::kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    const bool drawn = info(kind).swarm_weight > 0 || kind == FaultKind::kAdd;
    EXPECT_EQ(!of_kind(plan, kind).empty(), drawn) << sim::name(kind);
  }
}

TEST(ScenarioPlan, the_sentence_is_the_leading_comment) {
  const Scenario scenario = read("# scenarios/base.yaml\n# Why it\n# exists.\n" + kBase);
  EXPECT_EQ(scenario.sentence, "Why it exists.");
  const std::string hint = "# yaml-language-server: $schema=schema.json\n";
  EXPECT_EQ(read(hint + "# Why it exists.\n" + kBase).sentence, "Why it exists.");
  EXPECT_EQ(read("# Why it exists.\n" + hint + kBase).sentence, "Why it exists.");
  EXPECT_EQ(scenario.name, "base");
}

TEST(ScenarioPlan, saves_are_further_apart_when_losses_are_rare) {
  const auto interval = [](const std::string& market) {
    std::string text = kBase;
    text.replace(text.find("aws_p3_2021"), 11, market);
    text.replace(text.find("dataset"), 7, "checkpoint: {every: auto}, dataset");
    return to_world(read(text), 1).training.checkpoint_every;
  };
  EXPECT_GE(interval("aws_p3_2021"), seconds(1));
  EXPECT_LT(interval("aws_p3_2021"), interval("gcp_a100_2021"));
  EXPECT_LT(interval("gcp_a100_2021"), interval("llm_cluster_2024"));
}

TEST(ScenarioPlan, an_explanation_names_job_machines_and_faults) {
  const std::string text =
      explain(read(kBase + "faults: [{at: 1h, kind: freeze, node: a3, for: 40s}]\n"), 1);
  EXPECT_NE(text.find("2 to 8 nodes"), std::string::npos) << text;
  EXPECT_NE(text.find("freeze_machine       a3, for 40 s"), std::string::npos) << text;
  EXPECT_NE(text.find("zone b: 4 machines, $2/h each; aws_p3_2021"), std::string::npos) << text;
}

TEST(ScenarioPlan, an_explanation_tells_what_may_be_spent) {
  std::string text = kBase;
  text.replace(text.find("dataset"), 7,
               "max_churn: 9, no_progress: 4, min_healthy: 3, growth: pays, dataset");
  std::string told = explain(read(text), 1);
  for (std::size_t at = told.find("\n             "); at != std::string::npos;
       at = told.find("\n             ")) {
    told.replace(at, 14, " ");  // one line again
  }
  for (const char* part :
       {"3 restarts, from the second on after a wait of 1 s to 10 s; 9 losses of nodes; all "
        "forgotten after a round of 1h 00m",
        "4 failures at one step go back to the save before it", "fewer than 3 machines for 10 min",
        "a machine lost more than 3 times in 1h 00m is kept out for up to 1h 00m",
        "taken in if that saves more than it costs"}) {
    EXPECT_NE(told.find(part), std::string::npos) << part << "\n" << told;
  }
}

TEST(ScenarioPlan, the_scenarios_of_the_tree_are_read_explained_and_written_back) {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"/scenarios", "/scenarios/short"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(ELASTIC_SOURCE_DIR) + folder)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
  }
  ASSERT_GE(files.size(), 18U);
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    const std::string name = file.stem().string();
    const auto scenario = load_scenario(file.string());
    ASSERT_TRUE(scenario) << scenario.error().text();
    EXPECT_FALSE(scenario->sentence.empty()) << name;
    EXPECT_FALSE(explain(*scenario, 1).empty());
    const std::string written = scenario_to_yaml(*scenario);
    const auto again = parse_scenario(written, name + ".yaml");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(scenario_to_yaml(*again), written);
    EXPECT_EQ(make_plan(*again, 9), make_plan(*scenario, 9)) << name;
  }
}

}  // namespace
}  // namespace elastic::chaos
