#include "core/math/quantiles.h"

#include <algorithm>
#include <cstddef>

#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::math {
namespace {

constexpr int kSubBits = 7;  // 2^7 buckets per power of two
constexpr uint64_t kSub = uint64_t{1} << kSubBits;

// Values below 2 * kSub have a bucket each; above, the top kSubBits + 1 bits of a value choose its
// bucket.
size_t bucket_of(uint64_t value) {
  if (value < 2 * kSub) return value;
  const auto shift = static_cast<uint64_t>(ilog2(value) - kSubBits);
  return shift * kSub + (value >> shift);
}

// The largest value of a bucket.
int64_t bucket_top(size_t bucket) {
  if (bucket < 2 * kSub) return static_cast<int64_t>(bucket);
  const uint64_t shift = bucket / kSub - 1;
  const uint64_t high = bucket - shift * kSub;
  return static_cast<int64_t>(((high + 1) << shift) - 1);
}

// The 1-based rank of the value that is the quantile. REQUIRES count > 0.
uint64_t rank_of(uint64_t count, uint32_t ppm) {
  const uint64_t rank =
      static_cast<uint64_t>((uint128{count} * std::min(ppm, 1'000'000U) + 999'999) / 1'000'000);
  return std::max<uint64_t>(rank, 1);
}

}  // namespace

int64_t quantile(std::vector<int64_t> sample, uint32_t ppm) {
  if (sample.empty()) return 0;
  const auto nth = sample.begin() + static_cast<std::ptrdiff_t>(rank_of(sample.size(), ppm) - 1);
  std::nth_element(sample.begin(), nth, sample.end());
  return *nth;
}

void Histogram::add(int64_t value) {
  const int64_t counted = std::max<int64_t>(value, 0);
  const size_t bucket = bucket_of(static_cast<uint64_t>(counted));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  min_ = std::min(min_, counted);
  max_ = std::max(max_, counted);
  sum_ = add_sat(sum_, counted);
  ELASTIC_ASSERT(min_ <= max_);
  ELASTIC_ASSERT(bucket_of(static_cast<uint64_t>(max_)) < buckets_.size());
}

void Histogram::merge(const Histogram& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ = add_sat(sum_, other.sum_);
  ELASTIC_ASSERT(count_ == 0 || min_ <= max_);
  ELASTIC_ASSERT(count_ == 0 || bucket_of(static_cast<uint64_t>(max_)) < buckets_.size());
}

int64_t Histogram::quantile(uint32_t ppm) const {
  if (count_ == 0) return 0;
  uint64_t left = rank_of(count_, ppm);
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (buckets_[bucket] >= left) return std::min(bucket_top(bucket), max_);
    left -= buckets_[bucket];
  }
  return max_;
}

void Histogram::add_to(Digest& digest) const {
  digest.add(count_);
  digest.add(static_cast<uint64_t>(min()));
  digest.add(static_cast<uint64_t>(max_));
  digest.add(static_cast<uint64_t>(sum_));
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (buckets_[bucket] == 0) continue;
    digest.add(uint64_t{bucket});
    digest.add(buckets_[bucket]);
  }
}

}  // namespace elastic::math
