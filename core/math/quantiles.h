#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/math/digest.h"

namespace elastic::math {

// The nearest-rank quantile: the smallest value of the sample that at least `ppm` millionths of it
// do not exceed; ppm 0 gives the minimum, 1'000'000 and above the maximum. 0 for an empty sample.
// Exact; takes the sample by value to reorder it.
int64_t quantile(std::vector<int64_t> sample, uint32_t ppm);

// Quantiles of a stream in little memory: counts per bucket, where each power of two is cut into
// 128 buckets.
//
// Promises:
//  1. quantile(ppm) is at least the exact nearest-rank quantile, and above it by at most 1/128 of
//  it (values below 128 are
//     exact); minimum and maximum are exact.
//  2. The order of `add` and the way in which histograms were merged do not matter.
// Values are in the caller's unit; negative ones count as 0. Memory: eight bytes per bucket up to
// the largest value seen, at most 58 KiB.
class Histogram {
 public:
  void add(int64_t value);
  void merge(const Histogram& other);

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] int64_t min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] int64_t max() const { return max_; }
  // The sum of all values, saturating.
  [[nodiscard]] int64_t sum() const { return sum_; }
  [[nodiscard]] int64_t quantile(uint32_t ppm) const;
  void add_to(Digest& digest) const;

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  int64_t min_ = std::numeric_limits<int64_t>::max();
  int64_t max_ = 0;
  int64_t sum_ = 0;
};

}  // namespace elastic::math
