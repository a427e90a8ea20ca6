#include "core/math/integer.h"

#include <array>
#include <cstddef>

namespace elastic::math {
namespace {

// floor(sqrt(value)) for 128 bits; used at compile time to make the table below.
constexpr uint64_t isqrt_128(uint128 value) {
  uint128 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const uint128 candidate = root | (uint128{1} << bit);
    if (candidate * candidate <= value) root = candidate;
  }
  return static_cast<uint64_t>(root);
}

// kRoots[k] = 2^(2^-(k+1)) with 63 fraction bits: each the square root of the one before it.
constexpr std::array<uint64_t, 32> make_roots() {
  std::array<uint64_t, 32> roots{};
  uint128 previous = uint128{1} << 64;  // 2 in Q1.63
  for (size_t k = 0; k < roots.size(); ++k) {
    roots[k] = isqrt_128(previous << 63);
    previous = roots[k];
  }
  return roots;
}
constexpr std::array<uint64_t, 32> kRoots = make_roots();
static_assert(kRoots[0] == 13043817825332782212ULL, "sqrt(2) * 2^63, rounded down");

constexpr uint64_t kLn2Q64 = 12786308645202655659ULL;  // ln(2) * 2^64, rounded down

// 2^(fraction / 2^32) in [1, 2) with 63 fraction bits, rounded down.
uint64_t exp2_fraction_q63(uint32_t fraction) {
  uint64_t product = uint64_t{1} << 63;
  for (size_t k = 0; k < kRoots.size(); ++k) {
    if ((fraction >> (31 - k)) & 1U) {
      product = static_cast<uint64_t>((uint128{product} * kRoots[k]) >> 63);
    }
  }
  return product;
}

}  // namespace

int64_t mul_div(int64_t value, int64_t numerator, int64_t denominator) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const int128 product = int128{value} * numerator;
  if (denominator == 0) return product == 0 ? 0 : (product < 0 ? kMin : kMax);
  const int128 quotient = product / denominator;
  if (quotient > kMax) return kMax;
  if (quotient < kMin) return kMin;
  return static_cast<int64_t>(quotient);
}

uint64_t mul_div_u64(uint64_t value, uint64_t numerator, uint64_t denominator) {
  const uint128 product = uint128{value} * numerator;
  if (denominator == 0) return product == 0 ? 0 : UINT64_MAX;
  const uint128 quotient = product / denominator;
  return quotient > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(quotient);
}

uint64_t isqrt(uint64_t value) {
  if (value < 2) return value;
  // Newton's method from above falls until it reaches the root; the start is a power of two not
  // below it.
  uint64_t root = uint64_t{1} << ((std::bit_width(value) + 1) / 2);
  for (;;) {
    const uint64_t next = (root + value / root) / 2;
    if (next >= root) return root;
    root = next;
  }
}

int64_t log2_q32(uint64_t value) {
  if (value == 0) return std::numeric_limits<int64_t>::min();
  const int whole = ilog2(value);
  uint64_t mantissa = value << (63 - whole);  // in [1, 2) with 63 fraction bits
  uint64_t fraction = 0;
  for (int bit = 0; bit < 32; ++bit) {
    const uint128 square = uint128{mantissa} * mantissa;  // in [1, 4) with 126 fraction bits
    const bool two_or_more = (square >> 127) != 0;
    mantissa = static_cast<uint64_t>(square >> (two_or_more ? 64 : 63));
    fraction = (fraction << 1) | (two_or_more ? 1U : 0U);
  }
  return (int64_t{whole} << 32) | static_cast<int64_t>(fraction);
}

int64_t ln_q32(uint64_t value) {
  if (value == 0) return std::numeric_limits<int64_t>::min();
  const auto log2 = static_cast<uint64_t>(log2_q32(value));
  return static_cast<int64_t>((uint128{log2} * kLn2Q64) >> 64);
}

uint64_t mul_exp2(uint64_t value, int64_t exponent_q32) {
  const int64_t whole = exponent_q32 >> 32;  // rounds down, so the fraction is not negative
  const auto fraction = static_cast<uint32_t>(exponent_q32 & (kOneQ32 - 1));
  if (value == 0 || whole < -64) return 0;
  if (whole >= 64) return UINT64_MAX;
  const uint128 product = uint128{value} * exp2_fraction_q63(fraction);  // below 2^128
  const int64_t shift = 63 - whole;                                      // in [0, 127]
  const uint128 result = product >> shift;
  return result > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(result);
}

uint64_t exp2_q32(int64_t exponent_q32) {
  return mul_exp2(static_cast<uint64_t>(kOneQ32), exponent_q32);
}

}  // namespace elastic::math
