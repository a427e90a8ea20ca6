#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "transport/sim/native.h"
#include "transport/sim/training.h"

namespace elastic::test {

// A world of workers without agents: the test gives the orders and reads the answers. Steps take
// 100 ms, start-up ten seconds.
class TrainingStage : public sim::Surroundings {
 public:
  TrainingStage() {
    config.training.total_steps = 1000;
    config.training.step_overhead = std::chrono::milliseconds(100);
    config.training.start_up = std::chrono::seconds(10);
    config.training.start_up_jitter = Duration{};
    config.training.checkpoint_every = Duration{};
    timeouts.beat = std::chrono::milliseconds(200);
    timeouts.lost_after = std::chrono::seconds(1);
    timeouts.lease = std::chrono::seconds(10);
    timeouts.orphan = std::chrono::seconds(1000);
  }
  // After the test has set config and timeouts.
  void make(std::uint32_t nodes, WorkerKind kind = WorkerKind::kNative) {
    config.nodes.resize(nodes);
    config.job.workers = kind;
    clocks.resize(nodes + 1);
    const sim::Chance chance(3);
    if (kind == WorkerKind::kNative) {
      training = std::make_unique<sim::NativeTraining>(config, timeouts, chance, timeline, *this);
    } else {
      training = std::make_unique<sim::Training>(config, timeouts, chance, timeline, *this);
    }
  }
  AgentId agent(std::uint64_t node) { return {NodeId{node}, AgentLife{1}}; }
  RoundId round(std::uint64_t number) { return {JournalLife{1}, number}; }

  void run_until(Time until) {
    while (!timeline.queue.empty() && timeline.queue.next_time() <= until) {
      const sim::EventQueue::Due due = timeline.queue.pop();
      timeline.now = due.at;
      training->on_event(due);
    }
    timeline.now = until;
  }
  void run_for(Duration length) { run_until(timeline.now + length); }
  void prepare(std::uint32_t nodes) {
    for (std::uint64_t node = 1; node <= nodes; ++node) training->prepare(agent(node));
    run_for(std::chrono::seconds(11));
  }
  void enter(const std::vector<std::uint64_t>& nodes, RoundId into, ResumePoint resume = {}) {
    const auto size = static_cast<std::uint32_t>(nodes.size());
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      Placement place;
      place.round = into;
      place.group_rank = rank;
      place.group_size = size;
      place.first_rank = rank;
      place.world_size = size;
      place.previous = agent(nodes[(rank + size - 1) % size]);
      place.next = agent(nodes[(rank + 1) % size]);
      place.first = agent(nodes[0]);
      place.resume = resume;
      training->enter(agent(nodes[rank]), place);
    }
  }
  std::uint64_t step_of(std::uint64_t node) {
    const auto held = training->held_on(NodeId{node});
    return held ? held->step.value : 0;
  }
  template <class T>
  std::vector<T> told(std::uint64_t node) {
    std::vector<T> found;
    for (const auto& [to, input] : inputs) {
      if (to != NodeId{node}) continue;
      if (const auto* one = std::get_if<T>(&input)) found.push_back(*one);
    }
    return found;
  }
  int count(sim::WorkerEventKind kind) {
    return static_cast<int>(std::count_if(
        events.begin(), events.end(), [&](const sim::WorkerEvent& e) { return e.kind == kind; }));
  }

  void tell_agent(AgentId to, Duration, Input input) override {
    inputs.emplace_back(to.node, input);
  }
  void tell_observers(const sim::WorkerEvent& event) override { events.push_back(event); }
  const sim::LocalClock& clock(NodeId node) const override { return clocks[node.value]; }
  bool machine_up(NodeId) const override { return true; }
  bool machine_frozen(NodeId node) const override { return frozen_machines.contains(node); }
  bool connected(NodeId a, NodeId b) const override {
    return !cut.contains(a) && !cut.contains(b) && !machine_frozen(a) && !machine_frozen(b);
  }
  std::int64_t slow_ppm(NodeId node) const override {
    return slow.contains(node) ? slow.at(node) : 1'000'000;
  }

  sim::WorldConfig config;
  Timeouts timeouts;
  sim::Timeline timeline;
  std::vector<sim::LocalClock> clocks;
  std::set<NodeId> frozen_machines, cut;
  std::map<NodeId, std::int64_t> slow;
  std::vector<std::pair<NodeId, Input>> inputs;
  std::vector<sim::WorkerEvent> events;
  std::unique_ptr<sim::Workforce> training;
};

}  // namespace elastic::test
