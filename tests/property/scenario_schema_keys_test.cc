// Each key of a scenario takes and refuses the same values by the schema and by the checker:
// documents that use every key, with each value in its place in turn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "chaos/scenario/faults.h"
#include "chaos/scenario/scenario.h"
#include "chaos/scenario/schema.h"
#include "core/math/digest.h"
#include "tests/property/schema_judge.h"
#include "tests/support/effort.h"

namespace elastic::chaos {
namespace {

using test::written;

// Between them, every key of every section. Bounds and times are such that one key alone can
// change.
constexpr std::string_view kSteps = R"(
job:
  nodes: {min: 2, max: 4}
  node_unit: 1
  workers_per_node: 2
  workers: native
  model: {compute_per_sample: 4ms, step_overhead: 60ms, gradient: 100MB, state: 200MB}
  steps: 100
  dataset: 1000
  global_batch: 1024
  batch_mode: constant
  reference_world: 4
  ramp_steps: 10
  collectives: auto
  checkpoint: {every: 5min, size: 1GB, bandwidth: 1GB/s, copy_stall: 1s, keep: 3}
  journal: hosted
  journal_host: a0
  bounds:
    {round_trip: 20ms, journal: 40ms, pause: 100ms, start_up: 5min, transfer_stall: 10s, step: 1h}
  detection_target: 2s
  orphan_bound: 10min
  journal_lost_after: 10min
  last_call: 10s
  last_call_cap: 60s
  join_timeout: 1h
  growth: pays
  cool_down: 60s
  resize_deadline: 60s
  restart_policy: exit_code
  max_restarts: 9
  budget_reset: 1h
  stop_grace: 10s
  restart_back_off: 1s
  restart_back_off_cap: 10s
  max_churn: 99
  churn_back_off: 1s
  churn_back_off_cap: 10s
  no_progress: 3
  min_healthy: 1
  min_healthy_grace: 10min
  flaps: {tolerated: 3, window: 1h, longest: 1h}
  growth_pays: {interval: 5min, horizon: 1h, margin: 20%}
  start_up: 20s
  start_up_jitter: 5s
  reconfigure: 150ms
  stop_time: 1s
  collective_timeout: 10min
cluster:
  zones: {a: {nodes: 4, at_start: 3, price: $1/h}, b: {nodes: 4, price: $2/h, market: aws_p3_2021}}
  notice: 30s
  horizon: 24h
  agent_boot: 1s
network:
  {latency: 120us, jitter: 60us, bandwidth: 25Gbit/s, loss: 10ppm, duplicate: 10ppm, reorder: 10ppm}
journal: {append: 4ms, read: 1ms, jitter: 1ms}
expect:
  finishes_within: 9h
  goodput: ">= 90%"
  steps_lost: "== 0"
  steps_redone: "<= 9"
  recovery_p99: "<= 30s"
  recovery_max: "<= 30s"
  cost: "<= $99"
  rounds: "<= 99"
)";
constexpr std::string_view kEpochs = R"(
job: {nodes: {min: 2, max: 4}, model: resnet50, epochs: 3, dataset: 1000, journal: external}
cluster: {zones: {a: {nodes: 4}}}
availability: {trace: nowhere.csv, from: 1h}
expect: {lost_steps: "== 0"}
)";
constexpr std::string_view kTable = R"(
job: {nodes: {min: 2, max: 4}, model: {table: nowhere.csv, state: 1GB}, steps: 9}
cluster: {zones: {a: {nodes: 4}}}
)";

// Every kind once at a time and once again and again, one line each, and a swarm.
std::vector<FaultEntry> lines() {
  std::vector<FaultEntry> all;
  for (std::size_t i = 0; i < sim::kFaultKinds; ++i) {
    const KindInfo& kind = info(static_cast<sim::FaultKind>(i));
    FaultEntry entry;
    entry.kind = kind.kind;
    entry.at = std::chrono::hours(1);
    if (kind.reach != Reach::kNobody) entry.targets = {"a1"};
    if (kind.reach == Reach::kCut) entry.others = {"a2", "zone b"};
    const Duration minute = std::chrono::minutes(1);
    if (kind.length != Need::kNo) entry.length = LengthRange{minute, minute};
    if (kind.unit != ValueUnit::kNone)
      entry.value = kind.unit == ValueUnit::kWorker ? 0 : kind.value.high;
    if (kind.kind == sim::FaultKind::kReclaim) entry.notice = std::chrono::seconds(20);
    all.push_back(entry);
    entry.form = FaultForm::kRandom;
    entry.every = std::chrono::hours(1);
    entry.from = std::chrono::minutes(5);
    entry.until = std::chrono::hours(9);
    if (entry.length) entry.length->high *= 2;
    all.push_back(entry);
  }
  FaultEntry swarm;
  swarm.form = FaultForm::kSwarm;
  swarm.every = std::chrono::minutes(5);
  swarm.kinds = {sim::FaultKind::kLoss, sim::FaultKind::kCrash};
  all.push_back(swarm);
  return all;
}

// Documents that hold every key: the three above, and one small one for each line of faults.
std::vector<Tree> full_documents() {
  std::vector<Tree> all{*parse_tree(kSteps, "steps.yaml"), *parse_tree(kEpochs, "epochs.yaml"),
                        *parse_tree(kTable, "table.yaml")};
  const auto base = parse_scenario(
      "{job: {nodes: {min: 1, max: 3}, model: resnet50, steps: 9}, "
      "cluster: {zones: {a: {nodes: 3}, b: {nodes: 2}}}}",
      "base.yaml");
  for (const FaultEntry& line : lines()) {
    Scenario one = *base;
    one.faults = {line};
    all.push_back(*parse_tree(scenario_to_yaml(one), "line.yaml"));
  }
  return all;
}

void each_leaf(Tree& tree, const std::function<void(Tree&)>& visit) {
  if (tree.kind == Tree::Kind::kScalar) visit(tree);
  for (Tree::Entry& entry : tree.entries) each_leaf(entry.value, visit);
}

void collect_keys(const Tree& tree, std::set<std::string>& keys) {
  for (const Tree::Entry& entry : tree.entries) {
    keys.insert(entry.key);
    collect_keys(entry.value, keys);
  }
}

void collect_keys(const nlohmann::ordered_json& schema, std::set<std::string>& keys) {
  if (!schema.is_structured()) return;
  for (const auto& [name, value] : schema.items()) {
    if (name == "properties" && schema.is_object()) {
      for (const auto& [key, property] : value.items()) keys.insert(key);
    }
    collect_keys(value, keys);
  }
}

TEST(ScenarioSchemaKeys, documents_hold_every_key_of_the_schema) {
  std::set<std::string> held, known;
  for (const Tree& tree : full_documents()) collect_keys(tree, held);
  collect_keys(nlohmann::ordered_json::parse(scenario_schema()), known);
  known.erase("nodes");  // also one of faults, as these two
  for (const char* in_faults : {"zone", "node"}) known.erase(in_faults);
  for (const std::string& key : known) EXPECT_TRUE(held.contains(key)) << key;
}

// All pairs of keys and values are about 20,000; with ELASTIC_TEST_EFFORT_PPM=7000000 all are
// tried.
TEST(ScenarioSchemaKeys, each_key_takes_the_same_values) {
  std::vector<std::string> documents;
  std::uint64_t pairs = 0;
  const std::uint64_t share_ppm = test::scaled(150'000);
  for (Tree& tree : full_documents()) {
    documents.push_back(written(tree));
    EXPECT_NE(test::checked(documents.back()), test::Said::kBad) << documents.back();
    each_leaf(tree, [&](Tree& leaf) {
      const Tree before = leaf;
      for (const std::string& value : test::scalars()) {
        if (math::mix(++pairs) % 1'000'000 >= share_ppm) continue;
        leaf.text = value;
        leaf.quoted = false;
        documents.push_back(written(tree));
      }
      leaf = before;
    });
  }
  EXPECT_GT(pairs, 20'000U);
  test::expect_agreement(documents);
}

TEST(ScenarioSchemaKeys, each_key_may_be_left_out_or_not_alike) {
  std::vector<std::string> documents;
  const std::function<void(Tree&, const std::function<void()>&)> each =
      [&](Tree& tree, const std::function<void()>& visit) {
        for (std::size_t i = 0; i < tree.entries.size(); ++i) {
          const Tree::Entry entry = tree.entries[i];
          const auto at = static_cast<std::ptrdiff_t>(i);
          tree.entries.erase(tree.entries.begin() + at);
          visit();
          tree.entries.insert(tree.entries.begin() + at, entry);
          each(tree.entries[i].value, visit);
        }
      };
  for (Tree& tree : full_documents()) each(tree, [&] { documents.push_back(written(tree)); });
  EXPECT_GT(documents.size(), 500U);
  test::expect_agreement(documents);
}

}  // namespace
}  // namespace elastic::chaos
