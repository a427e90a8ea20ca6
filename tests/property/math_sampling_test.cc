#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/math/digest.h"
#include "core/math/quantiles.h"
#include "core/math/random.h"
#include "core/math/sampling.h"
#include "tests/support/property.h"

namespace elastic::math {
namespace {

using std::chrono::nanoseconds;
using test::check;
constexpr test::PropertyOptions kOften{.max_success = 1000};

uint64_t any_draw() {
  const auto bits = *rc::gen::arbitrary<uint32_t>();
  const auto shift =
      *rc::gen::weightedOneOf<int>({{3, rc::gen::just(0)}, {1, rc::gen::inRange(0, 64)}});
  const bool from_the_top = *rc::gen::arbitrary<bool>();
  const uint64_t drawn = mix(bits) >> shift;
  return from_the_top ? ~drawn : drawn;
}

TEST(SamplingProperty, a_larger_draw_never_gives_a_smaller_sample) {
  check(
      "samples rise with their draw", {"neighbouring draws", "tiny draw", "early failures"},
      [] {
        const uint64_t low = any_draw();
        const bool neighbours = *rc::gen::arbitrary<bool>();
        const uint64_t other = any_draw();
        const uint64_t high = neighbours ? low + (low == UINT64_MAX ? 0 : 1) : std::max(low, other);
        const auto scale = nanoseconds{*rc::gen::inRange<int64_t>(1, int64_t{1} << 50)};
        const auto shape = *rc::gen::inRange<uint32_t>(1U << 14, 1U << 19);
        RC_CLASSIFY(neighbours, "neighbouring draws");
        RC_CLASSIFY(low >> 40 == 0, "tiny draw");
        RC_CLASSIFY(shape < (1U << 16), "early failures");
        RC_ASSERT(exponential(low, scale) <= exponential(high, scale));
        const Weibull distribution{.scale = scale, .shape_q16 = shape};
        const auto slack = nanoseconds{weibull(high, distribution).count() >> 12};
        RC_ASSERT(weibull(low, distribution) - slack <= weibull(high, distribution));
      },
      kOften);
}

TEST(SamplingProperty, a_piecewise_life_is_never_shorter_than_the_age_reached) {
  check(
      "a life is at least the age reached, and rises with the draw",
      {"ends in a later piece", "never fails", "already older than a piece"},
      [] {
        std::vector<HazardPiece> pieces;
        nanoseconds until{0};
        for (size_t left = *rc::gen::inRange<size_t>(0, 5); left > 0; --left) {
          until += nanoseconds{*rc::gen::inRange<int64_t>(0, 1'000'000)};
          const int64_t mean = *rc::gen::inRange<int64_t>(0, 1'000'000);
          pieces.push_back({.until = until, .mean = nanoseconds{mean < 100'000 ? 0 : mean}});
        }
        const auto age = nanoseconds{*rc::gen::inRange<int64_t>(0, 1'500'000)};
        const uint64_t low = any_draw();
        const uint64_t high = std::max(low, any_draw());
        const nanoseconds life = piecewise_hazard(low, pieces, age);
        RC_CLASSIFY(pieces.size() > 1 && life > pieces.front().until, "ends in a later piece");
        RC_CLASSIFY(life == kForever, "never fails");
        RC_CLASSIFY(pieces.size() > 1 && age > pieces.front().until, "already older than a piece");
        RC_ASSERT(life >= age);
        RC_ASSERT(life - nanoseconds{5} <= piecewise_hazard(high, pieces, age));
      },
      kOften);
}

TEST(SamplingProperty, a_quantile_table_stays_within_its_points) {
  check(
      "samples of a table are within its points and rise with the draw",
      {"one point", "several points", "a step"},
      [] {
        std::vector<QuantileTable::Point> points;
        uint32_t ppm = *rc::gen::inRange<uint32_t>(0, 1000);
        int64_t value = *rc::gen::arbitrary<int32_t>();
        bool step = false;
        for (size_t left = *rc::gen::inRange<size_t>(1, 8); left > 0; --left) {
          points.push_back({.ppm = ppm, .value = value});
          ppm += *rc::gen::inRange<uint32_t>(1, 100'000);
          const int64_t rise = *rc::gen::inRange<int64_t>(0, 1000);
          step = step || (rise == 0 && left > 1);
          value += rise;
        }
        RC_CLASSIFY(points.size() == 1, "one point");
        RC_CLASSIFY(points.size() > 1, "several points");
        RC_CLASSIFY(step, "a step");
        const auto table = QuantileTable::from(points);
        RC_ASSERT(table.has_value());
        const uint64_t low = any_draw();
        const uint64_t high = std::max(low, any_draw());
        RC_ASSERT(points.front().value <= table->at(low));
        RC_ASSERT(table->at(low) <= table->at(high));
        RC_ASSERT(table->at(high) <= points.back().value);
      },
      kOften);
}

TEST(QuantilesProperty, the_histogram_is_close_above_the_exact_quantile) {
  check(
      "a histogram's quantile is at most 1/128 above the exact one",
      {"large values", "small values", "merged from parts"},
      [] {
        std::vector<int64_t> sample;
        for (size_t left = *rc::gen::inRange<size_t>(1, 60); left > 0; --left) {
          sample.push_back(static_cast<int64_t>(any_draw() >> *rc::gen::inRange(1, 64)));
        }
        const size_t cut = *rc::gen::inRange<size_t>(0, sample.size() + 1);
        Histogram whole;
        Histogram first;
        Histogram second;
        for (size_t i = 0; i < sample.size(); ++i) {
          whole.add(sample[i]);
          (i < cut ? first : second).add(sample[i]);
        }
        second.merge(first);
        const auto ppm = *rc::gen::inRange<uint32_t>(0, 1'000'001);
        const int64_t exact = quantile(sample, ppm);
        const int64_t found = whole.quantile(ppm);
        RC_CLASSIFY(exact > 1'000'000'000, "large values");
        RC_CLASSIFY(exact < 128, "small values");
        RC_CLASSIFY(cut > 0 && cut < sample.size(), "merged from parts");
        RC_ASSERT(found >= exact);
        RC_ASSERT(found - exact <= exact / 128);
        RC_ASSERT(second == whole);
      },
      kOften);
}

TEST(RandomProperty, a_value_between_two_bounds_is_between_them) {
  check(
      "between keeps its bounds", {"a wide range", "one value"},
      [] {
        const int64_t a = static_cast<int64_t>(any_draw());
        const bool one = *rc::gen::arbitrary<bool>();
        const int64_t b = one ? a : static_cast<int64_t>(any_draw());
        const int64_t low = std::min(a, b);
        const int64_t high = std::max(a, b);
        RC_CLASSIFY(high / 2 - low / 2 > (int64_t{1} << 61), "a wide range");
        RC_CLASSIFY(low == high, "one value");
        const int64_t value = between(any_draw(), low, high);
        RC_ASSERT(low <= value);
        RC_ASSERT(value <= high);
      },
      kOften);
}

}  // namespace
}  // namespace elastic::math
