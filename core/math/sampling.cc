#include "core/math/sampling.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/math/integer.h"
#include "core/math/random.h"

namespace elastic::math {
namespace {

using std::chrono::nanoseconds;

constexpr uint64_t kLn2Q64 = 12786308645202655659ULL;  // ln(2) * 2^64, rounded down
constexpr uint64_t kLog2EQ32 = 6196328018ULL;          // log2(e) * 2^32, rounded down

uint64_t positive(nanoseconds length) {
  return length.count() < 0 ? 0 : static_cast<uint64_t>(length.count());
}

nanoseconds saturated(uint64_t count) {
  const auto most = static_cast<uint64_t>(kForever.count());
  return nanoseconds{static_cast<int64_t>(std::min(count, most))};
}

// log2(-ln(1 - u)) in Q32.32 for a draw above 0. Near 0, where exponential_q32 has few digits left,
// the first terms of the series -ln(1 - u) = u (1 + u/2 + ...) give them.
int64_t log2_exponential_q32(uint64_t drawn) {
  constexpr uint64_t kSmall = uint64_t{1} << 48;  // u < 2^-16: the next term is below 2^-33
  if (drawn < kSmall) {
    const uint64_t half_u_q32 = drawn >> 33;
    const auto correction = static_cast<int64_t>((half_u_q32 * kLog2EQ32) >> 32);
    return log2_q32(drawn) - (int64_t{64} << 32) + correction;
  }
  return log2_q32(exponential_q32(drawn)) - (int64_t{32} << 32);
}

}  // namespace

uint64_t exponential_q32(uint64_t drawn) {
  const uint64_t remaining =
      ~drawn;  // (1 - u) * 2^64 - 1; counted as at least 1, the smallest there is
  const int64_t log2 = log2_q32(std::max<uint64_t>(remaining, 1));
  // Taking back the one unit that rounding log2 down has added makes u = 0 give exactly 0.
  const auto minus_log2 = static_cast<uint64_t>((int64_t{64} << 32) - log2 - 1);
  return static_cast<uint64_t>((uint128{minus_log2} * kLn2Q64) >> 64);
}

nanoseconds exponential(uint64_t drawn, nanoseconds mean) {
  return saturated(mul_div_u64(exponential_q32(drawn), positive(mean), uint64_t{1} << 32));
}

nanoseconds weibull(uint64_t drawn, const Weibull& distribution) {
  if (drawn == 0) return nanoseconds{0};
  const int64_t shape_q16 = std::max<int64_t>(distribution.shape_q16, 1);
  const int64_t exponent = mul_div(log2_exponential_q32(drawn), int64_t{1} << 16, shape_q16);
  return saturated(mul_exp2(positive(distribution.scale), exponent));
}

nanoseconds piecewise_hazard(uint64_t drawn, std::span<const HazardPiece> pieces, nanoseconds age) {
  uint64_t left_q32 = exponential_q32(drawn);  // how much hazard this one endures
  nanoseconds from = std::max(age, nanoseconds{0});
  for (size_t i = 0; i < pieces.size(); ++i) {
    const HazardPiece& piece = pieces[i];
    const bool last = i + 1 == pieces.size();
    if (!last && piece.until <= from) continue;
    if (piece.mean > nanoseconds{0} && piece.mean != kForever) {
      const auto mean = static_cast<uint64_t>(piece.mean.count());
      const uint64_t wait = mul_div_u64(left_q32, mean, uint64_t{1} << 32);
      const nanoseconds room = last ? kForever - from : piece.until - from;
      if (wait < positive(room)) return from + saturated(wait);
      if (last) return kForever;
      const uint64_t spent_q32 = mul_div_u64(positive(room), uint64_t{1} << 32, mean);
      left_q32 -= std::min(left_q32, spent_q32);
    }
    from = piece.until;
  }
  return kForever;
}

std::optional<QuantileTable> QuantileTable::from(std::vector<Point> points) {
  if (points.empty() || points.back().ppm > 1'000'000) return std::nullopt;
  for (size_t i = 1; i < points.size(); ++i) {
    const bool rises = points[i - 1].ppm < points[i].ppm;
    if (!rises || points[i - 1].value > points[i].value) return std::nullopt;
  }
  return QuantileTable(std::move(points));
}

int64_t QuantileTable::at(uint64_t drawn) const {
  constexpr int kFractionBits = 24;
  const uint64_t where = below(drawn, uint64_t{1'000'000} << kFractionBits);
  const auto right = std::upper_bound(points_.begin(), points_.end(), where,
                                      [](uint64_t position, const Point& point) {
                                        return position < uint64_t{point.ppm} << kFractionBits;
                                      });
  if (right == points_.begin()) return points_.front().value;
  if (right == points_.end()) return points_.back().value;
  const auto left = right - 1;
  const uint64_t width = uint64_t{right->ppm - left->ppm} << kFractionBits;
  const uint64_t into = where - (uint64_t{left->ppm} << kFractionBits);
  // Unsigned: the distance between two int64 values can be twice what an int64 holds.
  const uint64_t rise = static_cast<uint64_t>(right->value) - static_cast<uint64_t>(left->value);
  const uint64_t value = static_cast<uint64_t>(left->value) + mul_div_u64(rise, into, width);
  return static_cast<int64_t>(value);
}

}  // namespace elastic::math
