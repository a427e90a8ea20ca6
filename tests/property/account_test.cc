#include "chaos/account/account.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/property.h"

namespace elastic::chaos {
namespace {

using sim::NodeEventKind;
using sim::WorkerEventKind;

sim::WorldConfig four_machines() {
  sim::WorldConfig config;
  config.job.min_nodes = 2;
  config.job.max_nodes = 4;
  config.zones = {"a", "b"};
  config.training.total_steps = 40;
  config.training.compute_per_sample = Duration(1000);
  for (std::uint32_t i = 0; i < 4; ++i) {
    config.nodes.push_back({.name = "n" + std::to_string(i),
                            .zone = i / 2,
                            .price_microdollars_per_hour = 900'000 + i,
                            .present_at_start = true});
  }
  return config;
}

RoundId round_of(std::uint64_t number) { return {JournalLife{1}, number}; }

// One happening after another, in any order, sensible or not: the account is total.
class History {
 public:
  History() : account_(four_machines()) {}

  void step(std::uint32_t what, std::uint64_t pick, std::int64_t wait_us) {
    now_ += Duration(wait_us * 1000 + static_cast<std::int64_t>(pick % 7));
    const NodeId node{pick % 4 + 1};
    switch (what % 14) {
      case 0:
        return machine(node, NodeEventKind::kMachineUp);
      case 1:
        return machine(node, NodeEventKind::kMachineDown);
      case 2:
        return machine(node, NodeEventKind::kFrozen);
      case 3:
        return machine(node, NodeEventKind::kThawed);
      case 4:
        return ask(pick % 3 == 0);
      case 5:
        return world(pick);
      case 6:
        return worker(WorkerEventKind::kStepBegun, node, Duration(wait_us * 300));
      case 7:
        return commit(node);
      case 8:
        return worker(WorkerEventKind::kStall, node, Duration(wait_us * 100));
      case 9:
        return worker(WorkerEventKind::kLeft, node, {}, round_of(rounds_ + 1));
      case 10:
        return worker(WorkerEventKind::kExited, node, {});
      case 11:
        return worker(WorkerEventKind::kGone, node, {});
      case 12:
        return worker(WorkerEventKind::kFrozen, node, {});
      default:
        return worker(WorkerEventKind::kThawed, node, {});
    }
  }

  void verdict() { account_.on_record(now_, {RecordNo{999}, {{}, 0, Verdict{}}}, JournalLife{1}); }
  Account& account() { return account_; }
  Time now() const { return now_; }
  std::uint64_t committed() const { return committed_; }
  bool fell() const { return fell_; }

 private:
  void machine(NodeId node, NodeEventKind kind) {
    account_.on_node(now_, {kind, node, AgentLife{1}, true});
  }
  void ask(bool planned) {
    const Note note{NoteKind::kAskLeave, NodeId{}, round_of(rounds_ + 1), 0, planned ? 1U : 0U, 0};
    account_.on_note(now_, {NodeId{1}, AgentLife{1}}, note);
  }
  void world(std::uint64_t pick) {
    World world;
    world.round = round_of(++rounds_);
    for (std::uint64_t n = 1; n <= 2 + pick % 3; ++n) {
      world.members.push_back({{NodeId{n}, AgentLife{1}}, 1});
    }
    const std::uint64_t back = pick % 5 == 0 ? std::min<std::uint64_t>(committed_, pick % 3) : 0;
    fell_ = fell_ || back > 0;
    committed_ -= back;
    world.resume.state.step = Step{committed_};
    account_.on_record(now_, {RecordNo{rounds_}, {{}, 0, world}}, JournalLife{1});
  }
  void worker(WorkerEventKind kind, NodeId node, Duration length, RoundId other = {}) {
    sim::WorkerEvent event{};
    event.kind = kind;
    event.node = node;
    event.life = AgentLife{1};
    event.round = other ? other : round_of(rounds_);
    event.state.step = Step{committed_};
    event.length = length;
    event.local_rank = 0;
    event.status = {1, 0};
    account_.on_worker(now_, event);
  }
  void commit(NodeId node) {
    if (rounds_ == 0) return;
    ++committed_;
    worker(WorkerEventKind::kCommitted, node, {});
  }

  Account account_;
  Time now_{};
  std::uint64_t rounds_ = 0;
  std::uint64_t committed_ = 0;
  bool fell_ = false;
};

TEST(Account, parts_sum_to_the_whole_after_every_happening_of_any_history) {
  test::check(
      "parts sum to the whole after every happening of any history",
      {"a step fell", "time below the minimum", "time saving", "time reconfiguring", "time redone"},
      [](const std::vector<std::tuple<std::uint32_t, std::uint16_t, std::uint16_t>>& script) {
        History history;
        for (const auto& [what, pick, wait] : script) {
          history.step(what, pick, wait);
          const TimeParts parts = history.account().parts(history.now());
          RC_ASSERT(parts.sum() == parts.whole);
          RC_ASSERT(parts.whole == history.now() - Time{});
          RC_ASSERT(parts.productive >= Duration::zero());
          RC_ASSERT(parts.redone >= Duration::zero());
        }
        history.account().finish(history.now());
        const Summary& summary = history.account().summary();
        RC_CLASSIFY(history.fell(), "a step fell");
        RC_CLASSIFY(summary.time.below_minimum > Duration::zero(), "time below the minimum");
        RC_CLASSIFY(summary.time.saving > Duration::zero(), "time saving");
        RC_CLASSIFY(summary.time.reconfiguring > Duration::zero(), "time reconfiguring");
        RC_CLASSIFY(summary.time.redone > Duration::zero(), "time redone");
        RC_ASSERT(summary.time.sum() == summary.time.whole);
        RC_ASSERT(summary.steps_committed == history.committed());
      },
      {.max_success = 400});
}

TEST(Account, nothing_is_counted_after_the_verdict) {
  test::check(
      "nothing is counted after the verdict", {},
      [](const std::vector<std::tuple<std::uint32_t, std::uint16_t, std::uint16_t>>& script) {
        History history;
        history.step(0, 1, 10);
        history.verdict();
        const Summary before = history.account().summary();
        for (const auto& [what, pick, wait] : script) history.step(what, pick, wait);
        history.account().finish(history.now());
        RC_ASSERT(history.account().summary().time == before.time);
        RC_ASSERT(history.account().summary().cost_microdollars == before.cost_microdollars);
        RC_ASSERT(history.account().summary().sizes == before.sizes);
      });
}

// Machines that do nothing else commit whole epochs, each step as long as its batch takes on them.
TEST(Account, whole_epochs_undisturbed_are_a_goodput_of_100_percent_whatever_the_last_batch) {
  test::check(
      "whole epochs undisturbed are a goodput of 100 % whatever the last batch",
      {"a short last batch", "no short batch", "dataset below a batch"},
      [](std::uint16_t size, std::uint8_t batch, std::uint8_t epochs) {
        sim::WorldConfig config = four_machines();
        config.network.bandwidth_bytes_per_second = 0;
        config.network.latency = {};
        config.training.step_overhead = Duration(777);
        config.training.global_batch = batch % 32 + 1;
        config.training.dataset = size % 200 + 1;
        config.training.total_steps = 1'000'000;
        const std::uint64_t whole = config.training.dataset / config.training.global_batch;
        const std::uint64_t rest = config.training.dataset % config.training.global_batch;
        RC_CLASSIFY(whole > 0 && rest > 0, "a short last batch");
        RC_CLASSIFY(rest == 0, "no short batch");
        RC_CLASSIFY(whole == 0, "dataset below a batch");

        Account account(config);
        Time now{};
        for (std::uint64_t node = 1; node <= 4; ++node) {
          account.on_node(now, {NodeEventKind::kMachineUp, NodeId{node}, AgentLife{1}, true});
        }
        std::uint64_t steps = 0;
        const std::uint64_t count = epochs % 5 + 1;
        for (std::uint64_t epoch = 0; epoch < count; ++epoch) {
          for (std::uint64_t part = 0; part < whole + (rest > 0 ? 1 : 0); ++part) {
            const std::uint64_t samples = part < whole ? config.training.global_batch : rest;
            now += Duration(777) + Duration(1000) * ((samples + 3) / 4);
            sim::WorkerEvent event{};
            event.kind = WorkerEventKind::kCommitted;
            event.node = NodeId{1};
            event.round = round_of(1);
            event.state.step = Step{++steps};
            account.on_worker(now, event);
          }
        }
        account.finish(now);
        const Summary& summary = account.summary();
        RC_ASSERT(summary.steps_committed == steps);
        RC_ASSERT(summary.samples_productive == count * config.training.dataset);
        RC_ASSERT(summary.goodput_ppm <= 1'000'010);  // the capacity is rounded down to 1e-6 steps
        RC_ASSERT(summary.goodput_ppm >= 999'999);
      },
      {.max_success = 400});
}

TEST(Account, costs_are_price_times_up_time_to_the_microdollar) {
  History history;
  for (std::uint64_t node = 0; node < 4; ++node) history.step(0, node * 21, 0);  // at time 0
  history.account().finish(Time(std::chrono::hours(2)));
  const Summary& summary = history.account().summary();
  EXPECT_EQ(summary.cost_microdollars, 2 * (4 * 900'000 + 0 + 1 + 2 + 3));
  EXPECT_EQ(summary.machine_time, Duration(std::chrono::hours(8)));
}

}  // namespace
}  // namespace elastic::chaos
