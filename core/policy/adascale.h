// AdaScale: how much a larger batch is worth, from the noise of the gradients (Johnson et al. 2020;
// the estimate from c gradients at a time as in AdaptDL). With sigma^2 the variance and mu^2 the
// squared norm of the true gradient at the reference batch, and S = batch / reference batch,
//   gain r = (sigma^2 + mu^2) / (sigma^2 / S + mu^2)        between 1 and S
// multiplies the learning rate, and a step counts as r steps of the schedule. From c gradients of a
// step, with L the mean of their squared norms and G the squared norm of their mean:
//   mu^2 = (c G - L) / (c - 1)      sigma^2 = (L - G) S / (c - 1)
// averaged over steps with weight 1 - 0.999^S for a new value, corrected for the start.
//
// A single gradient per step has no variance to see; then two successive steps' gradients stand in
// (c = 2, `biased`): training moved in between. The first unbiased statistics throw that away, and
// biased ones are ignored from there on.
#pragma once

#include <cstdint>

#include "core/math/integer.h"
#include "core/policy/learning_rate.h"

namespace elastic::policy {

// Of one step. Squared norms are Q32.32: what is larger than 2^32 counts as that. In deterministic
// mode both are sums of exact values, so that they do not depend on the route of a reduction.
struct GradientStats {
  std::uint64_t mean_square_q32 = 0;  // L
  std::uint64_t square_mean_q32 = 0;  // G: at most L, up to rounding
  std::uint32_t count = 2;            // c, at least 2
  bool biased = false;                // of successive steps
};

// Kept with the checkpoint's cursor.
// Invariants: 1. weight is 0 exactly before the first statistics. 2. the gain lies between 1 and S
// (between S and 1 for a batch below the reference).
class AdaScale {
 public:
  void add(const GradientStats& stats, std::uint64_t batch, std::uint64_t reference_batch);
  // The factor on the learning rate for steps of `batch` samples; 1 before any statistics.
  [[nodiscard]] Factor gain(std::uint64_t batch, std::uint64_t reference_batch) const;

  void check() const;
  [[nodiscard]] std::uint64_t digest() const;
  bool operator==(const AdaScale&) const = default;

 private:
  // Moving averages with 48 fraction bits, below 2^92, not yet corrected for the start.
  math::uint128 variance_ = 0;
  math::uint128 square_ = 0;
  std::uint64_t weight_q32_ = 0;  // of all that the averages have seen, at most 1
  bool biased_ = false;
};

// The position of a schedule that counts samples of the reference batch: a step of gain r counts as
// r * reference_batch of them. Kept with the cursor.
struct ScheduleProgress {
  std::uint64_t samples = 0;
  std::uint32_t fraction_q32 = 0;
  bool operator==(const ScheduleProgress&) const = default;
};
ScheduleProgress advance(ScheduleProgress progress, Factor gain, std::uint64_t reference_batch);

}  // namespace elastic::policy
