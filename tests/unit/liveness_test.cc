#include "chaos/liveness/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "chaos/oracles/oracle_set.h"
#include "transport/sim/world.h"

namespace elastic::chaos {
namespace {

using sim::FaultKind;

sim::WorldConfig five_machines(JournalKind journal, std::uint64_t seed) {
  sim::WorldConfig config;
  config.seed = seed;
  config.job.min_nodes = 2;
  config.job.max_nodes = 5;
  config.job.journal = journal;
  config.job.journal_host = NodeId{1};
  config.zones = {"a"};
  config.training.total_steps = 1'000'000;
  config.training.step_overhead = std::chrono::milliseconds(200);
  for (int i = 0; i < 5; ++i) {
    config.nodes.push_back({.name = "a" + std::to_string(i),
                            .zone = 0,
                            .price_microdollars_per_hour = 0,
                            .present_at_start = true});
  }
  return config;
}

LivenessResult judge(const sim::WorldConfig& config, const sim::Plan& plan) {
  sim::World world(config, plan);
  OracleSet oracles(config, world.timeouts());
  oracles.watch(world);
  const LivenessPlan when = plan_liveness(config.seed, std::chrono::minutes(10));
  const LivenessResult result = LivenessCheck(world, when, oracles).run();
  EXPECT_FALSE(oracles.violation().has_value()) << config.seed << " " << oracles.violation()->found;
  return result;
}

TEST(Liveness, the_moment_lies_between_a_tenth_and_nine_tenths_and_follows_from_the_seed) {
  const Duration span = std::chrono::hours(10);
  bool early = false;
  bool late = false;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const LivenessPlan plan = plan_liveness(seed, span);
    EXPECT_EQ(plan.moment, plan_liveness(seed, span).moment);
    EXPECT_GE(plan.moment - Time{}, span / 10);
    EXPECT_LE(plan.moment - Time{}, span / 10 * 9);
    early = early || plan.moment - Time{} < span / 4;
    late = late || plan.moment - Time{} > span / 4 * 3;
  }
  EXPECT_TRUE(early && late);
}

TEST(Liveness, the_bound_covers_everything_that_may_come_one_after_the_other) {
  const sim::WorldConfig config = five_machines(JournalKind::kExternal, 1);
  const auto timeouts = std::get<Timeouts>(derive_timeouts(config.job));
  const Duration bound = liveness_bound(config, timeouts);
  EXPECT_GT(bound, timeouts.orphan + timeouts.lease + timeouts.enter + config.job.last_call_cap +
                       config.job.stop_grace + config.job.resize_deadline);
  EXPECT_LT(bound, Duration(std::chrono::hours(2)));
}

TEST(Liveness, a_healed_core_comes_back_whatever_was_wrong_before) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const sim::WorldConfig config = five_machines(JournalKind::kExternal, seed);
    sim::Plan plan;
    for (std::uint64_t i = 0; i < 5; ++i) {
      const Time at = Time(std::chrono::seconds(60 + 7 * i));
      plan.push_back({.at = at,
                      .kind = i % 2 == 0 ? FaultKind::kCrash : FaultKind::kFreezeMachine,
                      .targets = {NodeId{i + 1}},
                      .others = {},
                      .length = std::chrono::hours(1)});
    }
    const LivenessResult result = judge(config, plan);
    EXPECT_EQ(result.kind, LivenessResult::Kind::kHeld) << seed << " " << name(result.kind);
    EXPECT_LE(result.took, result.bound);
    EXPECT_GE(result.core.size(), config.job.min_nodes);
  }
}

TEST(Liveness, without_the_host_of_the_journal_the_voided_assumption_is_named) {
  std::map<LivenessResult::Kind, int> kinds;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const sim::WorldConfig config = five_machines(JournalKind::kHosted, seed);
    const LivenessResult result = judge(config, {});
    ++kinds[result.kind];
    const bool host_in =
        std::find(result.core.begin(), result.core.end(), NodeId{1}) != result.core.end();
    if (host_in) {
      EXPECT_EQ(result.kind, LivenessResult::Kind::kHeld) << seed;
    } else if (result.kind == LivenessResult::Kind::kVoided) {
      EXPECT_EQ(result.proof, "a0, which hosts it, is not in the core");
    }
  }
  EXPECT_GT(kinds[LivenessResult::Kind::kHeld], 0);
  EXPECT_GT(kinds[LivenessResult::Kind::kVoided], 0);
  EXPECT_EQ(kinds[LivenessResult::Kind::kViolation], 0);
}

}  // namespace
}  // namespace elastic::chaos
