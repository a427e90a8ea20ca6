#include "chaos/report/interval.h"

#include <array>
#include <cmath>
#include <vector>

#include "core/assert.h"

namespace elastic::chaos {

double student_t(std::uint64_t degrees) {
  ELASTIC_ASSERT(degrees >= 1);
  // Exact to three decimals where the series below is not.
  constexpr std::array<double, 6> kFew{12.706, 4.303, 3.182, 2.776, 2.571, 2.447};
  if (degrees <= kFew.size()) return kFew[degrees - 1];
  // Cornish-Fisher about the normal quantile.
  constexpr double z = 1.959963985;
  const double n = static_cast<double>(degrees);
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  const double z7 = z5 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

Interval interval_of(std::span<const double> values) {
  Interval interval;
  interval.count = values.size();
  if (values.empty()) return interval;
  double sum = 0;
  for (const double value : values) sum += value;
  interval.mean = sum / static_cast<double>(values.size());
  if (values.size() < 2) return interval;
  double squares = 0;
  for (const double value : values) {
    squares += (value - interval.mean) * (value - interval.mean);
  }
  const double degrees = static_cast<double>(values.size() - 1);
  interval.half = student_t(values.size() - 1) *
                  std::sqrt(squares / degrees / static_cast<double>(values.size()));
  return interval;
}

Interval paired_difference(std::span<const double> a, std::span<const double> b) {
  ELASTIC_ASSERT(a.size() == b.size());
  std::vector<double> differences(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) differences[i] = a[i] - b[i];
  return interval_of(differences);
}

}  // namespace elastic::chaos
