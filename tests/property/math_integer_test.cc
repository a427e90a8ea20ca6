#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "core/math/digest.h"
#include "core/math/integer.h"
#include "tests/support/property.h"

namespace elastic::math {
namespace {

using test::check;
constexpr test::PropertyOptions kOften{.max_success = 1000};

// A number of any magnitude: RapidCheck's own are small, the interesting ones fill all 64 bits.
uint64_t any_magnitude() {
  const auto bits = *rc::gen::arbitrary<uint32_t>();
  const auto shift = *rc::gen::inRange(0, 65);
  return shift == 64 ? 0 : mix(bits) >> shift;
}

int64_t any_signed() {
  const bool negative = *rc::gen::arbitrary<bool>();
  const auto magnitude = static_cast<int64_t>(any_magnitude() >> 1);
  return negative ? -magnitude : magnitude;
}

TEST(IntegerProperty, isqrt_is_the_largest_root_that_fits) {
  check(
      "isqrt is the largest root whose square fits", {"a perfect square", "above 2^63"},
      [] {
        uint64_t value = any_magnitude();
        if (*rc::gen::arbitrary<bool>()) value = isqrt(value) * isqrt(value);
        const uint64_t root = isqrt(value);
        RC_CLASSIFY(root * root == value, "a perfect square");
        RC_CLASSIFY(value >> 63 == 1, "above 2^63");
        RC_ASSERT(root <= value);
        RC_ASSERT(uint128{root} * root <= value);
        RC_ASSERT(uint128{root + 1} * (root + 1) > value);
      },
      kOften);
}

TEST(IntegerProperty, mul_div_agrees_with_128_bits_wherever_it_fits) {
  check(
      "mul_div is exact or saturated", {"fits", "saturates", "negative"},
      [] {
        const int64_t value = any_signed();
        const int64_t numerator = any_signed();
        int64_t denominator = any_signed();
        if (denominator == 0) denominator = 1;
        const int128 exact = int128{value} * numerator / denominator;
        const bool fits = exact >= std::numeric_limits<int64_t>::min() &&
                          exact <= std::numeric_limits<int64_t>::max();
        RC_CLASSIFY(fits, "fits");
        RC_CLASSIFY(!fits, "saturates");
        RC_CLASSIFY(exact < 0, "negative");
        const int64_t found = mul_div(value, numerator, denominator);
        if (fits) {
          RC_ASSERT(found == static_cast<int64_t>(exact));
        } else {
          RC_ASSERT((found < 0) == (exact < 0));
        }
      },
      kOften);
}

TEST(IntegerProperty, ceil_div_is_the_smallest_sufficient_multiple) {
  check(
      "ceil_div is the smallest q with q * b >= a", {"exact", "rounded up"},
      [] {
        const uint64_t a = any_magnitude();
        const uint64_t b = any_magnitude() | 1;
        const uint64_t q = ceil_div(a, b);
        RC_CLASSIFY(a % b == 0, "exact");
        RC_CLASSIFY(a % b != 0, "rounded up");
        RC_ASSERT(uint128{q} * b >= a);
        if (q > 0) RC_ASSERT(uint128{q - 1} * b < a);
      },
      kOften);
}

TEST(IntegerProperty, logarithm_and_power_undo_each_other) {
  check(
      "2^log2(x) is x but for the last places", {"a power of two", "above 2^32"},
      [] {
        uint64_t value = any_magnitude() | 1;
        if (*rc::gen::arbitrary<bool>()) value = uint64_t{1} << ilog2(value);
        RC_CLASSIFY((value & (value - 1)) == 0, "a power of two");
        RC_CLASSIFY(value >> 32 != 0, "above 2^32");
        const uint64_t back = mul_exp2(1, log2_q32(value));
        RC_ASSERT(back <= value);
        RC_ASSERT(value - back <= (value >> 31) + 1);
      },
      kOften);
}

TEST(IntegerProperty, logarithms_and_powers_never_fall) {
  check(
      "a larger argument never has a smaller logarithm or power", {"neighbours"},
      [] {
        const uint64_t low = any_magnitude() | 1;
        const uint64_t high = add_sat_u64(low, *rc::gen::inRange<uint64_t>(0, 3));
        RC_CLASSIFY(high == low + 1, "neighbours");
        RC_ASSERT(log2_q32(low) <= log2_q32(high));
        RC_ASSERT(ln_q32(low) <= ln_q32(high));
        const auto exponent = static_cast<int64_t>(low >> 26);
        RC_ASSERT(exp2_q32(exponent) <= exp2_q32(exponent + 1));
      },
      kOften);
}

}  // namespace
}  // namespace elastic::math
