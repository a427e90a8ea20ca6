#include "core/checkpoint/interval.h"

#include <algorithm>
#include <limits>

#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::checkpoint {
namespace {

// The largest r with r * r <= value, for values below 2^126.
std::uint64_t root(math::uint128 value) {
  math::uint128 low = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const math::uint128 with = low | (math::uint128{1} << bit);
    if (with * with <= value) low = with;
  }
  return static_cast<std::uint64_t>(low);
}

}  // namespace

Duration daly_interval(Duration cost, Duration mtbf) {
  ELASTIC_ASSERT(cost >= Duration(0));
  ELASTIC_ASSERT(mtbf > Duration(0));
  const auto c = static_cast<std::uint64_t>(cost.count());
  const auto m = static_cast<std::uint64_t>(mtbf.count());
  if (c / 2 >= m) return mtbf;
  // s r = C and s r^2 = C r, so that one root of a product and one of a quotient are enough.
  const std::uint64_t s = root(math::uint128{2} * c * m);
  const std::uint64_t r_q32 = root((math::uint128{c} << 63) / m);
  const std::uint64_t third = c / 3;
  const auto ninth = static_cast<std::uint64_t>((math::uint128{c} * r_q32 / 9) >> 32);
  const math::uint128 sum = math::uint128{s} + third + ninth;
  const math::uint128 interval = sum > c ? sum - c : 0;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return Duration(static_cast<std::int64_t>(std::min<math::uint128>(interval, kMost)));
}

Duration estimated_mtbf(const IntervalRule& rule, const Measured& measured) {
  const std::int64_t time = math::add_sat(std::max<std::int64_t>(rule.assumed_mtbf.count(), 1),
                                          std::max<std::int64_t>(measured.running.count(), 0));
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t parts = std::min(math::add_sat_u64(measured.failures, 1), kMost);
  return Duration(std::max<std::int64_t>(time / static_cast<std::int64_t>(parts), 1));
}

Duration save_interval(const IntervalRule& rule, const Measured& measured) {
  const Duration longest = std::max(rule.shortest, rule.longest);
  if (!measured.save_cost) return rule.shortest;
  const Duration cost = std::max(*measured.save_cost, Duration(0));
  return std::clamp(daly_interval(cost, estimated_mtbf(rule, measured)), rule.shortest, longest);
}

}  // namespace elastic::checkpoint
