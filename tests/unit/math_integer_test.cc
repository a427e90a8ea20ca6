#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "core/math/integer.h"
#include "tests/support/within.h"

namespace elastic::math {
namespace {

using test::within;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Integer, saturating_sums_and_products_stop_at_the_ends) {
  EXPECT_EQ(add_sat(kMax, 1), kMax);
  EXPECT_EQ(add_sat(kMin, -1), kMin);
  EXPECT_EQ(add_sat(-2, 5), 3);
  EXPECT_EQ(mul_sat(kMax, 2), kMax);
  EXPECT_EQ(mul_sat(kMax, -2), kMin);
  EXPECT_EQ(mul_sat(kMin, -1), kMax);
  EXPECT_EQ(mul_sat_u64(UINT64_MAX, 2), UINT64_MAX);
  EXPECT_EQ(add_sat_u64(UINT64_MAX, 1), UINT64_MAX);
}

TEST(Integer, ceil_div_rounds_up_and_takes_zero_for_infinitely_small) {
  EXPECT_EQ(ceil_div(0, 7), 0U);
  EXPECT_EQ(ceil_div(14, 7), 2U);
  EXPECT_EQ(ceil_div(15, 7), 3U);
  EXPECT_EQ(ceil_div(UINT64_MAX, 2), uint64_t{1} << 63);
  EXPECT_EQ(ceil_div(1, 0), UINT64_MAX);
}

TEST(Integer, mul_div_goes_through_128_bits_and_saturates) {
  EXPECT_EQ(mul_div(kMax, 1'000'000, 1'000'000), kMax);
  EXPECT_EQ(mul_div(-7, 1, 2), -3);
  EXPECT_EQ(mul_div(kMax, 2, 1), kMax);
  EXPECT_EQ(mul_div(kMax, -2, 1), kMin);
  EXPECT_EQ(mul_div(1, 1, 0), kMax);
  EXPECT_EQ(mul_div(0, 1, 0), 0);
  EXPECT_EQ(mul_div_u64(UINT64_MAX, UINT64_MAX, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(mul_div_u64(UINT64_MAX, 3, 2), UINT64_MAX);
}

TEST(Integer, isqrt_is_exact_at_the_top_of_the_range) {
  EXPECT_EQ(isqrt(0), 0U);
  EXPECT_EQ(isqrt(3), 1U);
  EXPECT_EQ(isqrt(4), 2U);
  EXPECT_EQ(isqrt(UINT64_MAX), 4294967295U);
  EXPECT_EQ(isqrt(18446744065119617025ULL), 4294967295U);
  EXPECT_EQ(isqrt(18446744065119617024ULL), 4294967294U);
}

// Expected values were computed with 60 decimal digits and rounded down.
TEST(Integer, logarithms_agree_with_60_digit_arithmetic) {
  EXPECT_EQ(log2_q32(0), kMin);
  EXPECT_EQ(log2_q32(1), 0);
  EXPECT_EQ(log2_q32(8), int64_t{3} << 32);
  EXPECT_TRUE(within(log2_q32(3), 6807362105, 1));
  EXPECT_TRUE(within(log2_q32(1'000'000'007), 128408152788, 1));
  EXPECT_TRUE(within(log2_q32(UINT64_MAX), (int64_t{64} << 32) - 1, 1));
  EXPECT_EQ(ln_q32(1), 0);
  EXPECT_TRUE(within(ln_q32(10), 9889527670, 2));
  EXPECT_TRUE(within(ln_q32(1'000'000'007), 89005749066, 2));
}

TEST(Integer, powers_of_two_agree_with_60_digit_arithmetic) {
  EXPECT_EQ(exp2_q32(0), uint64_t{1} << 32);
  EXPECT_EQ(exp2_q32(int64_t{5} << 32), uint64_t{32} << 32);
  EXPECT_TRUE(within(static_cast<int64_t>(exp2_q32(kOneQ32 / 2)), 6074000999, 1));
  EXPECT_EQ(exp2_q32(-kOneQ32), uint64_t{1} << 31);
  EXPECT_EQ(exp2_q32(int64_t{-40} << 32), 0U);
  EXPECT_EQ(exp2_q32(int64_t{32} << 32), UINT64_MAX);
  EXPECT_EQ(mul_exp2(1000, int64_t{-2} << 32), 250U);
  EXPECT_EQ(mul_exp2(1, int64_t{63} << 32), uint64_t{1} << 63);
  EXPECT_EQ(mul_exp2(UINT64_MAX, kMin), 0U);
  EXPECT_EQ(mul_exp2(1, kMax), UINT64_MAX);
  EXPECT_EQ(mul_exp2(0, kMax), 0U);
}

}  // namespace
}  // namespace elastic::math
