#include "core/data/permutation.h"

#include "core/assert.h"
#include "core/math/digest.h"
#include "core/math/integer.h"

namespace elastic::data {
namespace {

// Frozen, like everything here: another value is another order of every data set.
constexpr math::Stream kOrderStream{0x6f72646572};  // "order"

// `bits` (1 to 24) well-mixed bits of `word`, another function for each key.
std::uint64_t scramble(std::uint64_t word, std::uint64_t key, int bits) {
  return math::mix(word ^ key) >> (64 - bits);
}

}  // namespace

Permutation::Permutation(std::uint64_t samples, math::Seed seed, Epoch epoch) : samples_(samples) {
  ELASTIC_ASSERT(samples >= 1);
  ELASTIC_ASSERT(samples <= kMaxSamples);
  // At least one bit in each half.
  const int bits = samples <= 4 ? 2 : math::ilog2(samples - 1) + 1;
  high_bits_ = (bits + 1) / 2;
  low_bits_ = bits / 2;
  outside_ = (std::uint64_t{1} << bits) - samples;
  const math::Stream stream = math::substream(kOrderStream, epoch.value);
  for (std::size_t round = 0; round < kRounds; ++round) {
    keys_[round] = math::draw(seed, stream, round);
  }
}

std::uint64_t Permutation::forward(std::uint64_t word) const {
  std::uint64_t high = word >> low_bits_;
  std::uint64_t low = word ^ (high << low_bits_);
  for (std::size_t round = 0; round < kRounds; round += 2) {
    high ^= scramble(low, keys_[round], high_bits_);
    low ^= scramble(high, keys_[round + 1], low_bits_);
  }
  return (high << low_bits_) | low;
}

std::uint64_t Permutation::backward(std::uint64_t word) const {
  std::uint64_t high = word >> low_bits_;
  std::uint64_t low = word ^ (high << low_bits_);
  for (std::size_t round = kRounds; round > 0; round -= 2) {
    low ^= scramble(high, keys_[round - 1], low_bits_);
    high ^= scramble(low, keys_[round - 2], high_bits_);
  }
  return (high << low_bits_) | low;
}

// The words on the way are distinct and outside the samples, so there are at most `outside_`.
Sample Permutation::at(Position position) const {
  ELASTIC_ASSERT(position.value < samples_);
  std::uint64_t word = forward(position.value);
  for (std::uint64_t left = outside_; word >= samples_; --left) {
    ELASTIC_ASSERT(left > 0);
    word = forward(word);
  }
  return Sample{word};
}

Position Permutation::position_of(Sample sample) const {
  ELASTIC_ASSERT(sample.value < samples_);
  std::uint64_t word = backward(sample.value);
  for (std::uint64_t left = outside_; word >= samples_; --left) {
    ELASTIC_ASSERT(left > 0);
    word = backward(word);
  }
  return Position{word};
}

}  // namespace elastic::data
