// Whatever the scenario, what is written reads back to the same; so does a plan.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <tuple>

#include "chaos/scenario/scenario.h"
#include "tests/support/property.h"

namespace elastic::chaos {
namespace {

using rc::gen::inRange;

Duration some_duration() {
  const auto unit =
      *rc::gen::element<std::int64_t>(1, 1'000, 1'000'000, 1'000'000'000, 60'000'000'000);
  return Duration(*inRange<std::int64_t>(1, 1'000) * unit);
}

template <class Enum>
Enum one_of(Enum a, Enum b) {
  return *rc::gen::arbitrary<bool>() ? a : b;
}

Zone some_zone(char name) {
  Zone zone;
  zone.name = std::string(1, name);
  zone.nodes = *inRange<std::uint32_t>(1, 12);
  zone.price_microdollars_per_hour = *inRange<std::int64_t>(0, 9'999'999);
  zone.market = *rc::gen::element<std::string>("", "aws_p3_2021", "gcp_a100_2021", "gce_2019",
                                               "llm_cluster_2024");
  if (zone.market.empty() && *rc::gen::arbitrary<bool>()) {
    zone.at_start = *inRange<std::uint32_t>(0, zone.nodes + 1);
  }
  return zone;
}

FaultEntry some_fault(const Scenario& scenario) {
  FaultEntry entry;
  entry.form = *rc::gen::element(FaultForm::kTimed, FaultForm::kRandom, FaultForm::kSwarm);
  if (entry.form == FaultForm::kSwarm) {
    entry.every = std::chrono::minutes(*inRange(2, 60));
    if (*rc::gen::arbitrary<bool>()) entry.kinds = {sim::FaultKind::kLoss, sim::FaultKind::kCrash};
    return entry;
  }
  entry.kind = static_cast<sim::FaultKind>(*inRange<int>(0, static_cast<int>(sim::kFaultKinds)));
  if (entry.kind == sim::FaultKind::kStorageRot && scenario.job.workers != WorkerKind::kNative) {
    entry.kind = sim::FaultKind::kStorageFull;
  }
  const KindInfo& kind = info(entry.kind);
  if (entry.form == FaultForm::kTimed) {
    entry.at = std::min(some_duration(), scenario.horizon);
  } else {
    entry.every = std::chrono::minutes(*inRange(5, 90));
    entry.regular = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) entry.until = scenario.horizon / 2;
  }
  const bool whom = kind.reach == Reach::kNodes || kind.reach == Reach::kCut;
  if (whom) {
    entry.targets = {*rc::gen::element<std::string>("a0", "zone a", "coordinator")};
    if (kind.reach == Reach::kCut && *rc::gen::arbitrary<bool>()) entry.others = {"zone b"};
  }
  if (kind.length != Need::kNo) {
    const Duration low = some_duration();
    entry.length = LengthRange{low, low};
  }
  const std::int64_t ms = kind.unit == ValueUnit::kWorker ? 0 : kind.value.high;
  if (kind.unit != ValueUnit::kNone) entry.value = ms;
  return entry;
}

Scenario some_scenario() {
  Scenario scenario;
  scenario.name = "generated";
  scenario.sentence = *rc::gen::element<std::string>("", "Why it exists.");
  scenario.zones = {some_zone('a'), some_zone('b')};
  JobConfig& job = scenario.job;
  job.min_nodes = 1;
  job.max_nodes = scenario.zones[0].nodes + scenario.zones[1].nodes;
  job.workers_per_node = *inRange<std::uint32_t>(1, 8);
  job.workers = one_of(WorkerKind::kNative, WorkerKind::kForeign);
  job.journal = JournalKind::kHosted;
  job.growth = one_of(Growth::kAlways, Growth::kNever);
  if (job.workers == WorkerKind::kNative && *rc::gen::arbitrary<bool>()) {
    job.growth = Growth::kPays;
    job.no_progress.failures = *inRange<std::uint32_t>(0, 9);
  }
  job.growth_pays = {some_duration(), some_duration(), *inRange<std::uint32_t>(0, 100) * 10'000,
                     std::nullopt};
  job.restart_back_off.base = std::min(some_duration(), job.restart_back_off.cap);
  job.churn_back_off = {some_duration(), std::chrono::hours(100)};
  if (*rc::gen::arbitrary<bool>()) job.max_churn = *inRange<std::uint32_t>(0, 99);
  job.health.min_healthy = *inRange<std::uint32_t>(0, job.max_nodes + 1);
  job.health.grace = some_duration();
  job.flaps.tolerated = *inRange<std::uint32_t>(0, 9);
  job.restart_policy = one_of(RestartPolicy::kAnyFailure, RestartPolicy::kExitCode);
  job.max_restarts = *inRange<std::uint32_t>(0, 99);
  job.keep_saves = *inRange<std::uint32_t>(0, 99);
  job.cool_down = some_duration();
  job.budget_reset = some_duration();
  job.journal_lost_after = some_duration();
  scenario.training.collective_timeout = some_duration();
  if (*rc::gen::arbitrary<bool>()) job.join_timeout = some_duration();
  scenario.model = {"", some_duration(), some_duration(), *inRange<std::int64_t>(1, 1'000'000'000),
                    *inRange<std::int64_t>(1, 1'000'000'000)};
  scenario.steps = *inRange<std::uint64_t>(1, 1'000'000);
  scenario.checkpoint.interval =
      *rc::gen::element(SaveInterval::kFixed, SaveInterval::kAuto, SaveInterval::kNever);
  if (scenario.checkpoint.interval == SaveInterval::kFixed) {
    scenario.checkpoint.every = some_duration();
  }
  scenario.notice = some_duration();
  scenario.horizon = std::chrono::hours(*inRange(1, 20));
  scenario.network.loss_ppm = *inRange<std::int64_t>(0, 1'000'000);
  scenario.network.bandwidth_bytes_per_second = *inRange<std::int64_t>(1, 10'000'000'000);
  const int faults = *inRange(0, 6);
  for (int i = 0; i < faults; ++i) scenario.faults.push_back(some_fault(scenario));
  scenario.expect = {{Metric::kGoodput, Comparison::kAtLeast, *inRange<std::int64_t>(0, 1'000'000)},
                     {Metric::kCost, Comparison::kLess, *inRange<std::int64_t>(0, 1'000'000'000)}};
  return scenario;
}

// Every field of a world, so that a new one that is forgotten in the language does not compile
// here.
bool same_job(const JobConfig& x, const JobConfig& y) {
  const auto fields = [](const JobConfig& job) {
    const auto& [min, max, unit, workers, kind, journal, host, target, bounds, orphan, lost, last,
                 cap, join, growth, cool, resize, policy, restarts, reset, grace, keep,
                 restart_back_off, churn_back_off, churn, progress, health, flaps, pays] = job;
    const auto& [trip, append, pause, start, stall, step] = bounds;
    const auto& [stuck_after] = progress;
    const auto& [healthy, healthy_grace] = health;
    const auto& [tolerated, window, longest] = flaps;
    const auto& [interval, horizon, margin, total] = pays;
    return std::make_tuple(restart_back_off.base, restart_back_off.cap, churn_back_off.base,
                           churn_back_off.cap, churn, stuck_after, healthy, healthy_grace,
                           tolerated, window, longest, interval, horizon, margin, total, min, max,
                           unit, workers, kind, journal, host, target, orphan, lost, last, cap,
                           join, growth, cool, resize, policy, restarts, reset, grace, keep, trip,
                           append, pause, start, stall, step);
  };
  return fields(x) == fields(y);
}

bool same_training(const sim::TrainingModel& x, const sim::TrainingModel& y) {
  const auto fields = [](const sim::TrainingModel& training) {
    const auto& [steps, dataset, batch, mode, world, ramp, model, sample, overhead, gradient, state,
                 start, jitter, reconfigure, stop, every, storage, stall, collective] = training;
    return std::make_tuple(steps, dataset, batch, mode, world, ramp, model, sample, overhead,
                           gradient, state, start, jitter, reconfigure, stop, every, storage, stall,
                           collective);
  };
  return fields(x) == fields(y);
}

bool same_world(const sim::WorldConfig& x, const sim::WorldConfig& y) {
  const auto nodes = [](const sim::WorldConfig& world) {
    std::vector<std::tuple<std::string, std::uint32_t, std::int64_t, bool>> out;
    for (const sim::NodeSpec& node : world.nodes) {
      out.emplace_back(node.name, node.zone, node.price_microdollars_per_hour,
                       node.present_at_start);
    }
    return out;
  };
  return same_job(x.job, y.job) && same_training(x.training, y.training) && x.zones == y.zones &&
         nodes(x) == nodes(y) && x.network.loss_ppm == y.network.loss_ppm &&
         x.network.bandwidth_bytes_per_second == y.network.bandwidth_bytes_per_second &&
         x.horizon == y.horizon && x.agent_boot == y.agent_boot;
}

TEST(ScenarioRoundTrip, what_is_written_reads_back_to_the_same) {
  test::check("a scenario reads back to the same", {"timed", "random", "swarm", "market"}, [] {
    const Scenario scenario = some_scenario();
    for (const FaultEntry& fault : scenario.faults) {
      if (fault.form == FaultForm::kTimed) RC_TAG("timed");
      if (fault.form == FaultForm::kRandom) RC_TAG("random");
      if (fault.form == FaultForm::kSwarm) RC_TAG("swarm");
    }
    RC_CLASSIFY(!scenario.zones[0].market.empty(), "market");
    const std::string written = scenario_to_yaml(scenario);
    const auto again = parse_scenario(written, "generated.yaml");
    if (!again) RC_FAIL(written + again.error().text());
    RC_ASSERT(scenario_to_yaml(*again) == written);
    RC_ASSERT(again->faults == scenario.faults);
    RC_ASSERT(again->expect == scenario.expect);
    RC_ASSERT(again->zones == scenario.zones);
    RC_ASSERT(again->sentence == scenario.sentence);
    RC_ASSERT(same_world(to_world(*again, 3), to_world(scenario, 3)));
    RC_ASSERT(make_plan(*again, 3) == make_plan(scenario, 3));
  });
}

TEST(ScenarioRoundTrip, a_plan_that_is_written_is_the_plan_of_every_seed) {
  test::check("a plan reads back to the same", {"long plan"}, [] {
    const Scenario scenario = some_scenario();
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    sim::Plan plan = make_plan(scenario, seed);
    // As the shrinker does: some faults less.
    const auto keep = *inRange<std::size_t>(0, plan.size() + 1);
    plan.resize(keep);
    RC_CLASSIFY(plan.size() > 20, "long plan");
    const std::string written = scenario_to_yaml(scenario, &plan);
    const auto again = parse_scenario(written, "generated.yaml");
    if (!again) RC_FAIL(written + again.error().text());
    RC_ASSERT(make_plan(*again, seed + 1) == plan);
    RC_ASSERT(same_world(to_world(*again, 3), to_world(scenario, 3)));
  });
}

TEST(ScenarioRoundTrip, plans_are_sorted_end_at_the_horizon_and_name_machines_that_exist) {
  test::check("plans are well formed", {"with faults"}, [] {
    const Scenario scenario = some_scenario();
    const sim::Plan plan = make_plan(scenario, *rc::gen::arbitrary<std::uint64_t>());
    RC_CLASSIFY(!plan.empty(), "with faults");
    const std::size_t count = machines(scenario).size();
    Time last{};
    for (const sim::Fault& fault : plan) {
      RC_ASSERT(fault.at >= last);
      RC_ASSERT(fault.at <= Time(scenario.horizon));
      RC_ASSERT(fault.length >= Duration{});
      last = fault.at;
      for (const NodeId node : fault.targets) {
        RC_ASSERT(node == kCoordinator || (node.value >= 1 && node.value <= count));
      }
    }
  });
}

}  // namespace
}  // namespace elastic::chaos
