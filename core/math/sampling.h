#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Samples of distributions, from one 64-bit draw each (core/math/random.h), by inverse cumulative
// distribution functions in fixed point. Larger draws give larger samples, so that two runs that
// share draws stay comparable. Times are nanoseconds. Every function is total: what does not fit
// comes back as kForever, negative parameters count as 0.
namespace elastic::math {

inline constexpr std::chrono::nanoseconds kForever = std::chrono::nanoseconds::max();

// -ln(1 - u) in Q32.32 for the draw's u in [0, 1): a sample of the exponential distribution with
// mean 1, at most 44.4. Error at most four units of 2^-32.
uint64_t exponential_q32(uint64_t drawn);

// A waiting time with constant hazard. Error at most `mean` * 2^-30, plus a nanosecond.
std::chrono::nanoseconds exponential(uint64_t drawn, std::chrono::nanoseconds mean);

// Weibull: shape below 1 fails early, 1 is exponential, above 1 wears out. The cumulative
// distribution is 1 - exp(-(t / scale)^shape).
struct Weibull {
  std::chrono::nanoseconds scale{};  // 63.2 % of the samples are below it
  uint32_t shape_q16 = 1U << 16;  // the shape times 2^16; 0 counts as the smallest shape there is
};
// Relative error at most 2^-13 / shape (below 2^-28 / shape for the larger half), plus a
// nanosecond.
std::chrono::nanoseconds weibull(uint64_t drawn, const Weibull& distribution);

// A hazard that is constant over pieces of age, as measured for spot instances: `mean` is one over
// the hazard (the mean life if this piece went on for ever), kForever or not positive for no hazard
// at all. The last piece goes on for ever whatever its `until`; pieces are sorted by `until`, and
// one that ends before it begins is empty.
struct HazardPiece {
  std::chrono::nanoseconds until{};
  std::chrono::nanoseconds mean{};
};
// The age at which something fails that has reached `age` alive: at least `age`, kForever if it
// never does.
std::chrono::nanoseconds piecewise_hazard(uint64_t drawn, std::span<const HazardPiece> pieces,
                                          std::chrono::nanoseconds age = {});

// A distribution given by some of its quantiles, in any unit: linear between neighbours, constant
// outside. Invariants: at least one point; `ppm` strictly increases and is at most 1'000'000;
// `value` never decreases.
class QuantileTable {
 public:
  struct Point {
    uint32_t ppm = 0;
    int64_t value = 0;
  };
  // Nothing if the points break an invariant.
  static std::optional<QuantileTable> from(std::vector<Point> points);

  // The sample for a draw; the draw's upper 44 bits or so decide.
  [[nodiscard]] int64_t at(uint64_t drawn) const;
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

 private:
  explicit QuantileTable(std::vector<Point> points) : points_(std::move(points)) {}
  std::vector<Point> points_;
};

}  // namespace elastic::math
