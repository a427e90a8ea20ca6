#pragma once

#include <bit>
#include <cstdint>
#include <limits>

// Integer arithmetic that gives the same bits in every build: what determinism forbids to take from
// libm. Q32.32 is a signed or unsigned 64-bit integer that stands for itself divided by 2^32. Every
// function is total: where a result has no value or does not fit, its comment says what comes back.
namespace elastic::math {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

inline constexpr int64_t kOneQ32 = int64_t{1} << 32;

// Addition and multiplication that stop at the ends of the range instead of wrapping.
constexpr int64_t add_sat(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}
constexpr uint64_t add_sat_u64(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
constexpr int64_t mul_sat(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? std::numeric_limits<int64_t>::min()
                            : std::numeric_limits<int64_t>::max();
}
constexpr uint64_t mul_sat_u64(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// a / b rounded up; b = 0 counts as an infinitely large result, UINT64_MAX.
constexpr uint64_t ceil_div(uint64_t a, uint64_t b) {
  if (b == 0) return UINT64_MAX;
  return a / b + (a % b == 0 ? 0 : 1);
}

// value * numerator / denominator through 128 bits, rounded toward zero, saturating. Denominator 0
// saturates toward the sign of the product (0 stays 0).
int64_t mul_div(int64_t value, int64_t numerator, int64_t denominator);
uint64_t mul_div_u64(uint64_t value, uint64_t numerator, uint64_t denominator);

// The largest r with r * r <= value.
uint64_t isqrt(uint64_t value);

// floor(log2(value)); 0 for 0.
constexpr int ilog2(uint64_t value) { return value == 0 ? 0 : 63 - std::countl_zero(value); }

// log2(value) in Q32.32, rounded down, off by at most one unit in the last place; INT64_MIN for 0.
// By repeated squaring of the mantissa, one result bit per squaring.
int64_t log2_q32(uint64_t value);

// ln(value) in Q32.32, off by at most two units in the last place; INT64_MIN for 0.
int64_t ln_q32(uint64_t value);

// value * 2^(exponent_q32 / 2^32), rounded down, saturating at UINT64_MAX. Relative error below
// 2^-56, plus the rounding.
uint64_t mul_exp2(uint64_t value, int64_t exponent_q32);

// 2^(exponent_q32 / 2^32) in Q32.32, rounded down, saturating at UINT64_MAX (from exponent 32 on).
uint64_t exp2_q32(int64_t exponent_q32);

}  // namespace elastic::math
