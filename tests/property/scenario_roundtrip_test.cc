// Whatever the scenario, what is written reads back to the same; so does a plan.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <tuple>

#include "chaos/scenario/scenario.h"
#include "tests/property/scenario_generator.h"
#include "tests/support/property.h"

namespace elastic::chaos {
namespace {

using rc::gen::inRange;
using test::some_scenario;

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
  const std::vector<std::string> classes{"timed", "random", "swarm", "market", "no compute"};
  test::check("a scenario reads back to the same", classes, [] {
    const Scenario scenario = some_scenario();
    RC_CLASSIFY(scenario.model.compute_per_sample == Duration{}, "no compute");
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
