// Comparisons are fair: every policy meets the same machines, and none beats the bound.
#include "chaos/compare/compare.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "chaos/compare/bound.h"
#include "chaos/compare/compare_report.h"
#include "chaos/compare/policy.h"
#include "chaos/run/run.h"
#include "tests/support/property.h"
#include "transport/sim/observer.h"
#include "transport/sim/world.h"

namespace elastic::chaos {
namespace {

// What happens to machines, as the world tells it.
class MachineLog final : public sim::Observer {
 public:
  struct Change {
    Time at{};
    NodeId node{};
    bool up = false;
    bool operator==(const Change&) const = default;
  };
  void on_node(Time now, const sim::NodeEvent& event) override {
    const bool up = event.kind == sim::NodeEventKind::kMachineUp;
    if (!up && event.kind != sim::NodeEventKind::kMachineDown) return;
    changes.push_back({now, event.node, up});
  }
  std::vector<Change> changes;
};

std::vector<MachineLog::Change> changes_of(const std::vector<UpTime>& ups, Time horizon) {
  std::vector<MachineLog::Change> changes;
  for (const UpTime& up : ups) {
    changes.push_back({up.from, up.node, true});
    if (up.to < horizon) changes.push_back({up.to, up.node, false});
  }
  return changes;
}

// Up to `until` only, one order for what happens at one instant; a machine that goes and comes at
// one instant was there all the time.
std::vector<MachineLog::Change> settled(std::vector<MachineLog::Change> changes, Time until) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.node < b.node; });
  std::vector<MachineLog::Change> kept;
  for (const MachineLog::Change& change : changes) {
    if (change.at >= until) continue;
    const bool undone =
        !kept.empty() && kept.back().at == change.at && kept.back().node == change.node;
    undone ? kept.pop_back() : kept.push_back(change);
  }
  return kept;
}

struct Shape {
  std::string text;
  bool messages = false;
  bool short_batch = false;
};

Shape some_scenario() {
  const auto max = *rc::gen::inRange(2, 7);
  const auto min = *rc::gen::inRange(1, max + 1);
  const auto unit = *rc::gen::element(1, 1, 2);
  const auto workers = *rc::gen::inRange(1, 4);
  const auto batch = *rc::gen::inRange(64, 1024);
  const bool messages = *rc::gen::arbitrary<bool>();
  const bool dataset = *rc::gen::arbitrary<bool>();
  const auto nodes = *rc::gen::inRange(max, max + 3);
  const auto churn_s = *rc::gen::inRange(20, 120);
  Shape shape{.text = {}, .messages = messages, .short_batch = dataset};
  shape.text =
      "job:\n  nodes: {min: " + std::to_string(std::max(min / unit, 1) * unit) +
      ", max: " + std::to_string(max) + "}\n  node_unit: " + std::to_string(unit) +
      "\n  workers_per_node: " + std::to_string(workers) +
      "\n  model: {compute_per_sample: 2ms, step_overhead: 3ms, gradient: 40MB, state: "
      "100MB}\n  steps: 100000\n  global_batch: " +
      std::to_string(batch) + "\n  collectives: " + (messages ? "messages" : "modelled") +
      (dataset ? "\n  dataset: " + std::to_string(batch * 3 + batch / 3) : "") +
      "\n  checkpoint: {every: 20s}\n  journal: external\n  start_up: 3s\n"
      "  start_up_jitter: 1s\n  max_restarts: 100000\ncluster:\n  zones:\n    a: {nodes: " +
      std::to_string(nodes) +
      ", price: $1/h}\n  horizon: 6min\nfaults:\n"
      "  - {kind: crash, every: " +
      std::to_string(churn_s) +
      "s, chance: random, for: 1s..40s}\n"
      "  - {kind: reclaim, every: 90s, chance: random, for: 5s..60s}\n"
      "  - {kind: kill_worker, every: 1min, chance: random}\n"
      "  - {kind: slow, every: 1min, chance: random, for: 10s..60s, compute: 50%}\n"
      "  - {kind: freeze, every: 2min, chance: random, for: 1s..20s}\n";
  return shape;
}

TEST(CompareProperty, machines_are_the_same_under_every_policy_and_the_bound_is_not_beaten) {
  test::check(
      "under random plans every policy of a seed sees the same machines go and come as the bound "
      "does, and commits no more steps than the bound by the same time",
      {"chunks as messages", "one completion for all", "short batches", "machines went",
       "steps were committed"},
      [] {
        const Shape shape = some_scenario();
        const auto source = parse_source(shape.text, "random.yaml");
        const auto base = check_source(*source);
        if (!base) RC_LOG(base.error().text());
        RC_ASSERT(base.has_value());
        const std::uint64_t seed = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
        const sim::Plan plan = make_plan(*base, seed);
        const sim::WorldConfig world = to_world(*base, seed);
        const OracleBound bound(world, plan);
        const Time horizon = Time{} + base->horizon;
        const auto meant = changes_of(up_times(world, plan), horizon);
        std::uint64_t committed = 0;
        for (const Policy policy : {Policy::kRigid, Policy::kRestart, Policy::kElastic}) {
          const auto scenario = under_policy(*source, *base, policy);
          RC_ASSERT(scenario.has_value());
          MachineLog log;
          RunOptions options;
          options.liveness = false;
          options.plan = &plan;
          options.attach = [&](sim::World& w) { w.watch(log); };
          const RunResult result = run_seed(*scenario, seed, options);
          RC_ASSERT(result.verdict == VerdictClass::kHolds);
          const Time until = std::min(result.outcome.at, horizon);
          RC_ASSERT(settled(log.changes, until) == settled(meant, until));
          const Row row = row_of(result);
          const double most = bound.steps_by(Duration(row.finish_ns));
          RC_LOG() << name(policy) << " " << row.steps_committed << " of " << most << "\n";
          RC_ASSERT(static_cast<double>(row.steps_committed) <= most + 1e-6);
          committed += row.steps_committed;
        }
        RC_CLASSIFY(shape.messages, "chunks as messages");
        RC_CLASSIFY(!shape.messages, "one completion for all");
        RC_CLASSIFY(shape.short_batch, "short batches");
        RC_CLASSIFY(meant.size() > world.nodes.size() + 1, "machines went");
        RC_CLASSIFY(committed > 100, "steps were committed");
      },
      {.max_success = 40});
}

TEST(CompareProperty, censored_runs_are_never_dropped) {
  test::check(
      "whatever ended the runs, every seed that no oracle stopped counts, and those that did not "
      "finish count at the horizon",
      {"all finished", "some censored", "all censored", "one failed"}, [] {
        PolicyComparison comparison;
        const auto count = *rc::gen::inRange<std::uint64_t>(1, 12);
        comparison.seeds = {1, count};
        comparison.policies = {Policy::kRigid, Policy::kElastic};
        comparison.horizon = std::chrono::hours(1);
        comparison.runs.resize(2);
        std::uint64_t censored = 0;
        std::uint64_t failed = 0;
        double sum = 0;
        for (std::uint64_t seed = 1; seed <= count; ++seed) {
          PolicyRun run;
          run.row.seed = seed;
          run.row.finished = *rc::gen::arbitrary<bool>();
          run.row.finish_ns = *rc::gen::inRange<std::int64_t>(1, 3'600'000'000'000);
          comparison.runs[1].emplace_back(run);
          const bool fails = *rc::gen::inRange(0, 10) == 0;
          if (fails) run.row.verdict = VerdictClass::kSafety;
          comparison.runs[0].emplace_back(run);
          failed += fails ? 1 : 0;
          if (fails) continue;
          censored += run.row.finished ? 0 : 1;
          sum += run.row.finished ? static_cast<double>(run.row.finish_ns) : 3.6e12;
        }
        const PolicyFigures figures = figures_of(comparison, 0);
        RC_ASSERT(figures.runs == count - failed);
        RC_ASSERT(figures.censored() == censored);
        RC_ASSERT(figures.finish_ns.count == count - failed);
        if (figures.runs > 0) {
          const double mean = sum / static_cast<double>(figures.runs);
          RC_ASSERT(std::abs(figures.finish_ns.mean - mean) < 1e3);
        }
        RC_CLASSIFY(figures.runs > 0 && censored == 0, "all finished");
        RC_CLASSIFY(censored > 0 && censored < figures.runs, "some censored");
        RC_CLASSIFY(censored > 0 && censored == figures.runs, "all censored");
        RC_CLASSIFY(failed > 0, "one failed");
      });
}

}  // namespace
}  // namespace elastic::chaos
