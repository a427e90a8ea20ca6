#include "core/policy/restarts.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::policy {
namespace {

std::uint32_t add(std::uint32_t a, std::uint32_t b) {
  return b > UINT32_MAX - a ? UINT32_MAX : a + b;
}

}  // namespace

Duration delay_after(std::uint32_t failures, const BackOff& back_off) {
  ELASTIC_ASSERT(back_off.base >= Duration::zero());
  if (failures < 2 || back_off.base == Duration::zero()) return Duration::zero();
  const std::uint32_t doublings = std::min(failures - 2, 62U);
  const Duration::rep delay = math::mul_sat(back_off.base.count(), Duration::rep{1} << doublings);
  return std::min(Duration(delay), std::max(back_off.base, back_off.cap));
}

Charge charge(const Spent& before, const RoundEnd& end, const SpendingRules& rules) {
  ELASTIC_ASSERT(rules.reset > Duration::zero());
  Charge result;
  result.spent = end.ran >= rules.reset ? Spent{} : before;
  result.spent.restarts = add(result.spent.restarts, end.failures);
  if (end.churn) result.spent.churn = add(result.spent.churn, 1);
  if (result.spent.restarts > rules.max_restarts) {
    result.allowance = Allowance::kRestartsUsedUp;
  } else if (rules.max_churn && result.spent.churn > *rules.max_churn) {
    result.allowance = Allowance::kChurnUsedUp;
  }
  if (end.failures > 0) result.delay = delay_after(result.spent.restarts, rules.restart);
  if (end.churn) {
    result.delay = std::max(result.delay, delay_after(result.spent.churn, rules.churn));
  }
  ELASTIC_ASSERT(result.delay >= Duration::zero());
  ELASTIC_ASSERT(end.failures > 0 || end.churn || result.delay == Duration::zero());
  return result;
}

}  // namespace elastic::policy
