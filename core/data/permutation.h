// The order in which an epoch visits the samples: a keyed bijection, computed at any position.
//
// Alternatives rejected: a shuffled table (memory and start-up time grow with the data set, on
// every worker and after every restart); a stride, position * a + b (neighbours stay at one
// distance); a swap-or-not network (needs no walking, but several times as many rounds).
#pragma once

#include <array>
#include <cstdint>

#include "core/math/random.h"
#include "core/types.h"

namespace elastic::data {

// A pass over the data set; the first is 0.
using Epoch = Id<struct EpochTag>;
// A place in the order of one epoch, from 0.
using Position = Id<struct PositionTag>;
// A sample of the data set, by its index there, from 0.
using Sample = Id<struct SampleTag>;

constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 48;

// How one epoch orders `samples` samples (1 to kMaxSamples).
//
// Promises:
//  1. Positions and samples below `samples` correspond one to one, for every size.
//  2. The order is a function of (samples, seed, epoch) alone, for ever: checkpoints rely on it.
//  3. Memory is constant.
// A Feistel network (Luby, Rackoff 1988) over the smallest power of two that holds the samples, at
// least 4. Its halves may differ by one bit and are changed in turn, so the domain is below twice
// the samples (or 4). What lands outside the samples is sent through again until it lands inside
// ("cycle walking", Black, Rogaway 2002): fewer than 2 passes expected (at most 4 for a single
// sample), more than k with probability about 2^-k, and never more than 1 + domain - samples.
// A pass is 20 rounds of a few nanoseconds: large domains would do with fewer, but in a domain of 8
// a round has few choices, and with 12 the orders of six samples are measurably uneven. Good enough
// to shuffle data; it hides nothing from an adversary.
class Permutation {
 public:
  Permutation(std::uint64_t samples, math::Seed seed, Epoch epoch);

  [[nodiscard]] Sample at(Position position) const;
  [[nodiscard]] Position position_of(Sample sample) const;
  [[nodiscard]] std::uint64_t samples() const { return samples_; }

 private:
  static constexpr std::size_t kRounds =
      20;  // even: they change the upper and the lower half in turn

  [[nodiscard]] std::uint64_t forward(std::uint64_t word) const;
  [[nodiscard]] std::uint64_t backward(std::uint64_t word) const;

  std::uint64_t samples_;
  std::uint64_t outside_;  // words of the domain that are no sample
  int high_bits_;
  int low_bits_;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace elastic::data
