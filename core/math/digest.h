#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace elastic::math {

// Mixes 64 bits so that each input bit flips about half of the output bits. A bijection: no two
// words share an image. Source: the finaliser of splitmix64 (Steele, Lea, Flood 2014, constants of
// Stafford's variant 13).
constexpr uint64_t mix(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

// A running 64-bit digest of a sequence of words and texts.
//
// Promises:
//  1. The same sequence gives the same value in every build, on every machine (integers only; texts
//  are read byte by byte).
//  2. Order counts, and so does how often `add` was called: add(0) changes the value, add("ab")
//  differs from add("a"),
//     add("b").
//  3. For a given word the step is a bijection of the state, so a difference, once there, never
//  falls out by a later word
//     that both sides add.
// Not a defence against an adversary: it tells runs apart, it signs nothing.
// Ownership: a plain value; copying it is its snapshot.
class Digest {
 public:
  constexpr void add(uint64_t word) {
    state_ = mix(std::rotl(state_, 23) * kMultiplier + word + kIncrement);
  }
  void add(std::string_view text);

  [[nodiscard]] constexpr uint64_t value() const { return mix(state_ ^ kIncrement); }

  friend constexpr bool operator==(const Digest&, const Digest&) = default;

 private:
  static constexpr uint64_t kMultiplier =
      0xd1342543de82ef95ULL;  // odd: multiplication is a bijection
  static constexpr uint64_t kIncrement = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio
  uint64_t state_ = 0x243f6a8885a308d3ULL;  // first digits of pi, an arbitrary start
};

}  // namespace elastic::math
