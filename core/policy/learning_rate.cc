#include "core/policy/learning_rate.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::policy {
namespace {

using math::uint128;

// floor(sqrt(value)).
std::uint64_t isqrt_128(uint128 value) {
  uint128 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const uint128 candidate = root | (uint128{1} << bit);
    if (candidate * candidate <= value) root = candidate;
  }
  return static_cast<std::uint64_t>(root);
}

Factor saturated(uint128 q32) {
  return {static_cast<std::uint64_t>(std::min<uint128>(q32, UINT64_MAX))};
}

}  // namespace

Factor ratio(std::uint64_t numerator, std::uint64_t denominator) {
  ELASTIC_ASSERT(denominator > 0);
  return saturated((uint128{numerator} << 32) / denominator);
}

// floor(sqrt(floor(x))) = floor(sqrt(x)), so that rounding twice does no harm.
Factor sqrt_ratio(std::uint64_t numerator, std::uint64_t denominator) {
  ELASTIC_ASSERT(denominator > 0);
  return {isqrt_128((uint128{numerator} << 64) / denominator)};
}

Factor scale_factor(const BatchRule& rule, std::uint64_t batch) {
  ELASTIC_ASSERT(rule.mode != BatchMode::kAdaScale);
  ELASTIC_ASSERT(rule.mode != BatchMode::kConstant || batch == rule.reference_batch);
  switch (rule.mode) {
    case BatchMode::kLinear:
      return ratio(batch, rule.reference_batch);
    case BatchMode::kSqrt:
      return sqrt_ratio(batch, rule.reference_batch);
    default:
      return kUnchanged;
  }
}

Factor ramp_at(const Ramp& ramp, std::uint64_t samples) {
  if (samples < ramp.start) return ramp.from;
  const std::uint64_t done = samples - ramp.start;
  if (done >= ramp.length) return ramp.to;
  const bool up = ramp.to >= ramp.from;
  const std::uint64_t whole = up ? ramp.to.q32 - ramp.from.q32 : ramp.from.q32 - ramp.to.q32;
  const std::uint64_t part = math::mul_div_u64(whole, done, ramp.length);
  ELASTIC_ASSERT(part <= whole);
  return {up ? ramp.from.q32 + part : ramp.from.q32 - part};
}

Ramp retarget(const Ramp& ramp, std::uint64_t samples, Factor to, const RampLength& length) {
  ELASTIC_ASSERT(length.batch > 0);
  if (ramp.to == to) return ramp;
  const Ramp next{ramp_at(ramp, samples), to, samples,
                  math::mul_sat_u64(length.steps, length.batch)};
  ELASTIC_ASSERT(length.steps == 0 || ramp_at(next, samples) == ramp_at(ramp, samples));
  return next;
}

Factor legw_factor(const Legw& rule, std::uint64_t batch, std::uint64_t samples) {
  ELASTIC_ASSERT(rule.reference_batch > 0);
  const Factor full = sqrt_ratio(batch, rule.reference_batch);
  const std::uint64_t warmup = math::mul_div_u64(rule.warmup_samples, batch, rule.reference_batch);
  if (samples >= warmup) return full;
  return {math::mul_div_u64(full.q32, samples, warmup)};
}

OptimizerChange optimizer_change(Optimizer optimizer, Factor before, Factor after) {
  ELASTIC_ASSERT(before.q32 > 0);
  OptimizerChange change;
  if (optimizer == Optimizer::kMomentumInside) change.momentum = ratio(after.q32, before.q32);
  change.rescale_moments = optimizer == Optimizer::kAdam && after != before;
  return change;
}

}  // namespace elastic::policy
