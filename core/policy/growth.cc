#include "core/policy/growth.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::policy {
namespace {

// b (1/W - 1/W') of the header, for b from two measurements.
Duration amdahl_gain(const GrowthFacts& facts) {
  StepLength small = facts.here;
  StepLength large = facts.elsewhere;
  if (small.nodes > large.nodes) std::swap(small, large);
  const Duration shorter = small.length - large.length;
  if (shorter <= Duration::zero()) return Duration::zero();
  const std::int64_t fewer = large.nodes - small.nodes;
  // b = shorter * small.nodes * large.nodes / fewer; one of the two sizes is W.
  const std::int64_t other = facts.here.nodes == small.nodes ? large.nodes : small.nodes;
  const std::int64_t gain = math::mul_div(math::mul_sat(shorter.count(), other),
                                          facts.after - facts.nodes, fewer * facts.after);
  return Duration(gain);
}

}  // namespace

const char* growth_text(GrowthAnswer answer) {
  switch (answer) {
    case GrowthAnswer::kGrow:
      return "it pays";
    case GrowthAnswer::kOff:
      return "growth is off";
    case GrowthAnswer::kNoRoom:
      return "the round would not become larger";
    case GrowthAnswer::kTooSoon:
      return "the last change was too recent";
    case GrowthAnswer::kNotMeasured:
      return "no step or no pause was measured yet";
    case GrowthAnswer::kDoesNotPay:
      return "it saves less than it costs";
  }
  return "?";
}

Duration expected_step(const GrowthFacts& facts) {
  ELASTIC_ASSERT(facts.nodes > 0 && facts.after > facts.nodes);
  ELASTIC_ASSERT(facts.here.nodes == facts.nodes);
  const std::int64_t here = facts.here.length.count();
  const std::int64_t linear = math::mul_div(here, facts.nodes, facts.after);
  std::int64_t expected = linear + (here - linear + 1) / 2;
  const StepLength& other = facts.elsewhere;
  if (other.length > Duration::zero() && other.nodes > 0 && other.nodes != facts.nodes) {
    expected = std::max(expected, here - amdahl_gain(facts).count());
  }
  return Duration(std::clamp(expected, linear, here));
}

GrowthAnswer grows(const GrowthFacts& facts, const GrowthRules& rules) {
  if (rules.mode == Growth::kNever) return GrowthAnswer::kOff;
  if (facts.after <= facts.nodes) return GrowthAnswer::kNoRoom;
  if (rules.mode == Growth::kAlways) return GrowthAnswer::kGrow;
  if (facts.running_for < rules.interval) return GrowthAnswer::kTooSoon;
  const bool measured = facts.here.length > Duration::zero() && facts.pause > Duration::zero();
  if (!measured) return GrowthAnswer::kNotMeasured;
  const std::int64_t saved_each = (facts.here.length - expected_step(facts)).count();
  ELASTIC_ASSERT(saved_each >= 0);
  std::uint64_t steps = static_cast<std::uint64_t>(rules.horizon / facts.here.length);
  if (facts.steps_left) steps = std::min(steps, *facts.steps_left);
  const std::uint64_t saved = math::mul_sat_u64(static_cast<std::uint64_t>(saved_each), steps);
  const auto pause = static_cast<std::uint64_t>(facts.pause.count());
  const std::uint64_t cost =
      math::add_sat_u64(pause, math::mul_div_u64(pause, rules.margin_ppm, 1'000'000));
  return saved > cost ? GrowthAnswer::kGrow : GrowthAnswer::kDoesNotPay;
}

}  // namespace elastic::policy
