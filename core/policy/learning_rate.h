// What a change of the batch does to the learning rate: a factor on the rate that was chosen for
// the reference batch. Factors are Q32.32, so that every build computes the same bits.
//
// Schedules (warm-up, decay) go on to count samples, not steps: a step of a larger batch is more of
// the schedule. The factor comes on top of them.
//
// Sources: linear rule, gradual warm-up and momentum correction: Goyal et al. 2017, sections 2.1,
// 2.2, 3; square root with a warm-up that grows with the batch: You et al. 2019 (LEGW).
#pragma once

#include <cstdint>

#include "core/policy/batch.h"

namespace elastic::policy {

// A factor as Q32.32: below 2^32.
struct Factor {
  std::uint64_t q32 = std::uint64_t{1} << 32;
  constexpr auto operator<=>(const Factor&) const = default;
};
constexpr Factor kUnchanged{};

// numerator / denominator, rounded down, saturating.
Factor ratio(std::uint64_t numerator, std::uint64_t denominator);
// The square root of it, rounded down: exact to the last place.
Factor sqrt_ratio(std::uint64_t numerator, std::uint64_t denominator);

// The factor for a step of `batch` samples: 1 for kConstant, k for kLinear, sqrt(k) for kSqrt,
// where k = batch / reference_batch. REQUIRES: not kAdaScale, whose factor is a gain (adascale.h).
Factor scale_factor(const BatchRule& rule, std::uint64_t batch);

// A factor on its way from one value to another, in equal parts per sample. It is kept with the
// cursor of the checkpoint, so that a restart goes on where the last committed step left it.
// Invariant: outside [start, start + length) it stands still at `from` or `to`.
struct Ramp {
  Factor from;
  Factor to;
  std::uint64_t start = 0;   // in samples since the start of training
  std::uint64_t length = 0;  // samples
  bool operator==(const Ramp&) const = default;
};
Factor ramp_at(const Ramp& ramp, std::uint64_t samples);
// From where the factor is now to `to`, over `steps` steps of `batch` samples. Unchanged if it is
// already on its way there.
struct RampLength {
  std::uint32_t steps = 0;
  std::uint64_t batch = 1;
};
Ramp retarget(const Ramp& ramp, std::uint64_t samples, Factor to, const RampLength& length);

// LEGW for a whole training: sqrt(k), reached over k times the warm-up of the reference batch.
struct Legw {
  std::uint64_t reference_batch = 1;
  std::uint64_t warmup_samples = 0;  // of the reference batch
};
Factor legw_factor(const Legw& rule, std::uint64_t batch, std::uint64_t samples);

// What an optimiser must do beside using the new rate.
enum class Optimizer : std::uint8_t {
  kMomentumOutside,  // v = m v + g, w -= eta v: eta is outside v (torch.optim.SGD)
  kMomentumInside,   // v = m v + eta g, w -= v: v carries the old eta
  kAdam,             // second moments; scaled by the square root
};
struct OptimizerChange {
  Factor momentum;               // on m, for one step: eta_new / eta_old if v carries eta, else 1
  bool rescale_moments = false;  // Adam: start the bias correction of the moments again at step 0
  bool operator==(const OptimizerChange&) const = default;
};
// REQUIRES: before.q32 > 0.
OptimizerChange optimizer_change(Optimizer optimizer, Factor before, Factor after);

}  // namespace elastic::policy
