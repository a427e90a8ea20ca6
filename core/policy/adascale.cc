#include "core/policy/adascale.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/digest.h"

namespace elastic::policy {
namespace {

using math::int128;
using math::uint128;

constexpr int kFractionBits = 48;
constexpr uint128 kMost = uint128{1} << 92;      // times 2^32 fits into 128 bits
constexpr uint128 kLeastVariance = 281'474'977;  // 1e-6: a variance of nothing divides by nothing
constexpr std::int64_t kLog2Of0999Q32 = -6'199'428;
constexpr std::uint64_t kOne = std::uint64_t{1} << 32;

// batch / reference in lowest bits: both below 2^24, at least 1.
struct Scale {
  std::uint64_t batch = 1;
  std::uint64_t reference = 1;
};
Scale scale_of(std::uint64_t batch, std::uint64_t reference) {
  ELASTIC_ASSERT(batch > 0);
  ELASTIC_ASSERT(reference > 0);
  const int bits = math::ilog2(std::max(batch, reference));
  const int shift = std::max(bits - 23, 0);
  return {std::max<std::uint64_t>(batch >> shift, 1),
          std::max<std::uint64_t>(reference >> shift, 1)};
}

uint128 bounded(int128 value) {
  return value <= 0 ? 0 : std::min(static_cast<uint128>(value), kMost);
}

uint128 mixed(uint128 average, uint128 value, std::uint64_t keep_q32) {
  return (average * keep_q32 + value * (kOne - keep_q32)) >> 32;
}

}  // namespace

void AdaScale::add(const GradientStats& stats, std::uint64_t batch, std::uint64_t reference_batch) {
  ELASTIC_ASSERT(stats.count >= 2);
  const bool seen = weight_q32_ > 0;
  if (stats.biased && seen && !biased_) return;
  if (!stats.biased && biased_) *this = AdaScale{};
  biased_ = stats.biased;
  const Scale scale = scale_of(batch, reference_batch);
  constexpr int kMoreBits = kFractionBits - 32;
  const int128 mean_square = int128{stats.mean_square_q32} << kMoreBits;  // below 2^80
  // Rounding may have lifted G a little above L; the variance is none then.
  const int128 square_mean = int128{std::min(stats.square_mean_q32, stats.mean_square_q32)}
                             << kMoreBits;
  const auto count = static_cast<std::int64_t>(std::min<std::uint32_t>(stats.count, 1U << 24U));
  const int128 square = (square_mean * count - mean_square) / (count - 1);
  const int128 variance = (mean_square - square_mean) * static_cast<std::int64_t>(scale.batch) /
                          (int128{count - 1} * static_cast<std::int64_t>(scale.reference));
  const std::int64_t exponent =
      math::mul_div(kLog2Of0999Q32, static_cast<std::int64_t>(scale.batch),
                    static_cast<std::int64_t>(scale.reference));
  // At least one part in 2^32 is new, however small the batch.
  const std::uint64_t keep_q32 = std::min(math::exp2_q32(exponent), kOne - 1);
  variance_ = mixed(variance_, bounded(variance), keep_q32);
  square_ = mixed(square_, bounded(square), keep_q32);
  weight_q32_ = static_cast<std::uint64_t>(mixed(weight_q32_, kOne, keep_q32));
  weight_q32_ = std::max<std::uint64_t>(weight_q32_, 1);
  ELASTIC_ASSERT(variance_ <= kMost && square_ <= kMost);
}

Factor AdaScale::gain(std::uint64_t batch, std::uint64_t reference_batch) const {
  const Scale scale = scale_of(batch, reference_batch);
  if (weight_q32_ == 0) return kUnchanged;
  uint128 variance = std::max((variance_ << 32) / weight_q32_, kLeastVariance);
  uint128 square = (square_ << 32) / weight_q32_;
  while (std::max(variance, square) >= (uint128{1} << 70)) {
    variance >>= 1;
    square >>= 1;
  }
  // (sigma^2 + mu^2) / (sigma^2 / S + mu^2), with S = batch / reference.
  const uint128 above = (variance + square) * scale.batch;
  const uint128 below = variance * scale.reference + square * scale.batch;
  ELASTIC_ASSERT(below > 0);
  const Factor result{static_cast<std::uint64_t>((above << 32) / below)};
  const Factor full = ratio(scale.batch, scale.reference);
  ELASTIC_ASSERT(result >= std::min(kUnchanged, full));
  ELASTIC_ASSERT(result <= std::max(kUnchanged, full));
  return result;
}

void AdaScale::check() const {
  ELASTIC_ASSERT(weight_q32_ <= kOne);
  ELASTIC_ASSERT(variance_ <= kMost);
  ELASTIC_ASSERT(square_ <= kMost);
  ELASTIC_ASSERT(weight_q32_ > 0 || (variance_ == 0 && square_ == 0));
}

std::uint64_t AdaScale::digest() const {
  math::Digest digest;
  for (const uint128 value : {variance_, square_}) {
    digest.add(static_cast<std::uint64_t>(value >> 64));
    digest.add(static_cast<std::uint64_t>(value));
  }
  digest.add(weight_q32_);
  digest.add(biased_ ? 1 : 0);
  return digest.value();
}

ScheduleProgress advance(ScheduleProgress progress, Factor gain, std::uint64_t reference_batch) {
  const uint128 added = uint128{gain.q32} * reference_batch + progress.fraction_q32;
  ELASTIC_ASSERT((added >> 96) == 0);
  const auto whole = static_cast<std::uint64_t>(added >> 32);
  const ScheduleProgress next{math::add_sat_u64(progress.samples, whole),
                              static_cast<std::uint32_t>(added)};
  ELASTIC_ASSERT(next.samples >= progress.samples);
  return next;
}

}  // namespace elastic::policy
