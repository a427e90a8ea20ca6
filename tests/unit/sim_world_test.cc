#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "transport/sim/world.h"

namespace elastic::sim {
namespace {

using namespace std::chrono_literals;

struct Watcher : Observer {
  std::uint64_t committed = 0;  // the last step
  int commits = 0;
  std::vector<NodeEvent> nodes;
  std::uint64_t last_index = 0;
  bool in_order = true;
  void on_worker(Time, const WorkerEvent& event) override {
    if (event.kind != WorkerEventKind::kCommitted) return;
    committed = event.state.step.value;
    ++commits;
  }
  void on_node(Time, const NodeEvent& event) override { nodes.push_back(event); }
  void after_event(Time, std::uint64_t index, const World&) override {
    in_order = in_order && index == last_index + 1;
    last_index = index;
  }
};

WorldConfig small(std::uint64_t seed) {
  WorldConfig config;
  config.seed = seed;
  config.zones = {"a"};
  for (int i = 0; i < 4; ++i) config.nodes.push_back({"a" + std::to_string(i), 0, 1'000'000, true});
  config.job.min_nodes = 2;
  config.job.max_nodes = 4;
  config.job.journal = JournalKind::kExternal;
  config.job.detection_target = 2s;
  config.training.total_steps = 400;
  config.training.step_overhead = 100ms;
  config.horizon = 1h;
  return config;
}

Fault at(Duration when, FaultKind kind, std::vector<NodeId> targets, Duration length = {}) {
  Fault fault;
  fault.at = Time(when);
  fault.kind = kind;
  fault.targets = std::move(targets);
  fault.length = length;
  return fault;
}

TEST(World, an_undisturbed_job_ends_with_a_verdict_after_its_last_step) {
  World world(small(1), {});
  Watcher watcher;
  world.watch(watcher);
  const Outcome outcome = world.run(Time::max());
  EXPECT_EQ(outcome.end, Outcome::End::kVerdict);
  ASSERT_TRUE(outcome.verdict);
  EXPECT_EQ(outcome.verdict->kind, Verdict::Kind::kSucceeded);
  EXPECT_EQ(watcher.committed, 400U);
  EXPECT_TRUE(watcher.in_order);
  EXPECT_EQ(watcher.last_index, outcome.events);
}

TEST(World, the_same_seed_gives_the_same_run_whoever_watches_and_however_it_is_cut) {
  const Plan plan = {at(40s, FaultKind::kKillAgent, {kCoordinator}, 3s),
                     at(60s, FaultKind::kReclaim, {NodeId{2}}),
                     at(90s, FaultKind::kAdd, {NodeId{2}})};
  World one(small(5), plan);
  const Outcome whole = one.run(Time::max());
  World two(small(5), plan);
  Watcher watcher;
  two.watch(watcher);
  Outcome cut;
  for (int second = 1; second < 4000 && cut.end == Outcome::End::kHorizon; ++second)
    cut = two.run(Time(1s * second));
  EXPECT_EQ(whole.trace_hash, cut.trace_hash);
  EXPECT_EQ(whole.events, cut.events);
  EXPECT_EQ(one.running_digests(), two.running_digests());
  World other(small(6), plan);
  EXPECT_NE(other.run(Time::max()).trace_hash, whole.trace_hash);
}

TEST(World, event_hashes_are_recorded_for_the_asked_range) {
  World world(small(1), {});
  world.record_event_hashes(10, 25);
  world.run(Time::max());
  EXPECT_EQ(world.event_hashes().size(), 15U);
}

TEST(World, a_reclaimed_machine_comes_back_with_a_later_life_of_its_agent) {
  World world(small(2),
              {at(40s, FaultKind::kReclaim, {NodeId{3}}), at(50s, FaultKind::kAdd, {NodeId{3}})});
  Watcher watcher;
  world.watch(watcher);
  world.run(Time(30s));
  const AgentLife before = world.node(NodeId{3})->self().life;
  world.run(Time(45s));
  EXPECT_FALSE(world.machine_up(NodeId{3}));
  EXPECT_EQ(world.node(NodeId{3}), nullptr);
  world.run(Time(55s));
  EXPECT_GT(world.node(NodeId{3})->self().life, before);
}

TEST(World, a_frozen_agent_gets_nothing_until_it_thaws) {
  World world(small(3), {at(40s, FaultKind::kFreezeAgent, {NodeId{1}}, 20s)});
  world.run(Time(41s));
  EXPECT_TRUE(world.frozen(NodeId{1}));
  const std::uint64_t digest = world.node(NodeId{1})->digest();
  world.run(Time(59s));
  EXPECT_EQ(world.node(NodeId{1})->digest(), digest);
  world.run(Time(61s));
  EXPECT_FALSE(world.frozen(NodeId{1}));
  EXPECT_NE(world.node(NodeId{1})->digest(), digest);
}

TEST(World, a_healed_core_trains_on_while_the_rest_is_cut_off) {
  WorldConfig config = small(4);
  config.job.orphan_bound = 1min;  // the core waits for it: a holder of the newest step was cut off
  World world(config, {at(40s, FaultKind::kPartition, {NodeId{1}, NodeId{2}}, 1h),
                       at(45s, FaultKind::kFreezeMachine, {NodeId{1}}, 1h),
                       at(50s, FaultKind::kCrash, {NodeId{3}})});
  Watcher watcher;
  world.watch(watcher);
  world.run(Time(55s));
  const int before = watcher.commits;
  world.heal_core_and_fail_rest({NodeId{1}, NodeId{3}});
  world.run(Time(55s + 5min));
  EXPECT_GT(watcher.commits, before + 10);
}

}  // namespace
}  // namespace elastic::sim
