// The model that simulated workers train: small, but real arithmetic. Its state is a function of
// exactly which samples were applied, in which order, with which learning rates.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/data/cursor.h"
#include "core/data/shares.h"
#include "core/math/digest.h"
#include "core/math/random.h"
#include "core/policy/adascale.h"
#include "core/policy/learning_rate.h"

namespace elastic::sim {

constexpr std::size_t kLanes = 8;
using Lanes = std::array<std::uint64_t, kLanes>;

// Each position p of an epoch's order has a pseudo-random contribution c(p) = C(p + 1) - C(p) per
// lane, so that the sum over a run of positions is C(end) - C(first): its cost does not depend on
// the size of a batch, yet a position that is missing, twice there, or of another epoch changes the
// sum (but for a chance of 2^-64 a lane). Arithmetic is modulo 2^64: exact, and the same in any
// order of summation, as deterministic mode is (design section 5).
struct Weights {
  Lanes lanes{};
  bool operator==(const Weights&) const = default;
};

inline Weights initial_weights(math::Seed seed) {
  Weights weights;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    weights.lanes[lane] = math::draw(seed, math::Stream{0x77656967687473}, lane);
  }
  return weights;
}

// Of one share of a batch, by a worker that holds `weights`.
inline Lanes gradient(const Weights& weights, math::Seed seed, data::Epoch epoch,
                      const data::Share& share) {
  Lanes sum{};
  if (share.size == 0) return sum;
  const std::uint64_t key = math::mix(static_cast<std::uint64_t>(seed) ^ (epoch.value << 1));
  const std::uint64_t first = math::mix(key + share.first.value);
  const std::uint64_t end = math::mix(key + share.first.value + share.size);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t spread = math::mix(end + lane) - math::mix(first + lane);
    sum[lane] = spread * (2 * weights.lanes[lane] + 1);
  }
  return sum;
}

inline void add(Lanes& sum, const Lanes& more) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum[lane] += more[lane];
}

// No two updates commute, so that the order of steps shows. `rate` is the learning rate (any unit).
inline void apply(Weights& weights, const Lanes& gradient_sum, std::uint64_t rate) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t moved = weights.lanes[lane] + rate * gradient_sum[lane];
    weights.lanes[lane] = std::rotl(moved, 17) * 0xd1342543de82ef95ULL + lane + 1;
  }
}

// Statistics such as a training would have, as a function of the gradient alone.
inline policy::GradientStats gradient_stats(const Lanes& sum) {
  policy::GradientStats stats;
  stats.count = 8;
  stats.mean_square_q32 = (sum[0] >> 30) + (std::uint64_t{1} << 32);
  stats.square_mean_q32 = stats.mean_square_q32 / 8 + (sum[1] >> 33);
  stats.square_mean_q32 = std::min(stats.square_mean_q32, stats.mean_square_q32);
  return stats;
}

inline std::uint64_t digest_of(const Weights& weights) {
  math::Digest digest;
  for (const std::uint64_t lane : weights.lanes) digest.add(lane);
  return digest.value();
}

// The sequence of an undisturbed run in which the global batch never changes.
class Undisturbed {
 public:
  Undisturbed(const data::DataConfig& data, std::uint64_t global_batch)
      : data_(data), global_batch_(global_batch), weights_(initial_weights(data.seed)) {}

  Step step() const { return step_; }
  std::uint64_t digest() const { return digest_of(weights_); }
  bool finished() const { return data::finished(data_, cursor_, step_); }
  void advance() {
    const data::Batch batch = data::batch_at(data_, cursor_, global_batch_);
    const Lanes sum = gradient(weights_, data_.seed, batch.epoch, {batch.first, batch.size});
    apply(weights_, sum, policy::kUnchanged.q32);
    cursor_ = data::advance(data_, cursor_, batch);
    ++step_.value;
  }

 private:
  data::DataConfig data_;
  std::uint64_t global_batch_;
  data::Cursor cursor_;
  Step step_;
  Weights weights_;
};

}  // namespace elastic::sim
