// Means over seeds with their 95 % confidence intervals.
#pragma once

#include <cstdint>
#include <span>

namespace elastic::chaos {

// A mean and half the width of its 95 % confidence interval (Student's t), in the unit of the
// values.
struct Interval {
  std::uint64_t count = 0;
  double mean = 0;
  double half = 0;  // 0 with fewer than two values: nothing is known of the spread

  double low() const { return mean - half; }
  double high() const { return mean + half; }
  // Of a paired difference: zero lies outside.
  bool differs_from_zero() const { return count >= 2 && (low() > 0 || high() < 0); }
  bool operator==(const Interval&) const = default;
};

Interval interval_of(std::span<const double> values);
// Of a[i] - b[i]; both of one length.
Interval paired_difference(std::span<const double> a, std::span<const double> b);

// The 97.5 % quantile of Student's t with this many degrees of freedom (at least 1), to 0.1 %.
double student_t(std::uint64_t degrees);

}  // namespace elastic::chaos
