#pragma once

#include <cstdint>

#include "core/math/digest.h"
#include "core/math/integer.h"

namespace elastic::math {

// Chance without a shared sequence: a draw is a pure function of (seed, stream, index). Taking one
// draw away leaves every other draw as it was, which is what lets a fault plan be edited and a run
// be repeated.
//
// Never put two draws into one full expression: compilers evaluate arguments in different orders.
enum class Seed : uint64_t {};
enum class Stream : uint64_t {};

// The stream of one entity (a node, a link) within a family of streams. Distinct (family, entity)
// pairs collide only by chance, about 2^-64 per pair.
constexpr Stream substream(Stream family, uint64_t entity) {
  return Stream{mix(static_cast<uint64_t>(family) * 0xd1342543de82ef95ULL + 0x9e3779b97f4a7c15ULL) ^
                mix(entity + 0x2545f4914f6cdd1dULL)};
}

// 64 evenly distributed bits. Index and key meet only after both were mixed, so that no stream is a
// shifted copy of another.
constexpr uint64_t draw(Seed seed, Stream stream, uint64_t index) {
  const uint64_t seed_key = mix(static_cast<uint64_t>(seed) + 0x9e3779b97f4a7c15ULL);
  const uint64_t key = mix(seed_key ^ (static_cast<uint64_t>(stream) * 0xd1342543de82ef95ULL));
  return mix(key ^ mix(index + 0x9e3779b97f4a7c15ULL));
}

// A value in [0, bound), from a draw; 0 when bound is 0. Multiply-shift (Lemire 2019) without
// rejection: each value's probability is within 2^-64 of 1/bound, which no run of ours can notice.
constexpr uint64_t below(uint64_t drawn, uint64_t bound) {
  return static_cast<uint64_t>((uint128{drawn} * bound) >> 64);
}

// A value in [low, high], both included. An empty range (high < low) gives low.
constexpr int64_t between(uint64_t drawn, int64_t low, int64_t high) {
  if (high <= low) return low;
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const uint64_t offset = span == UINT64_MAX ? drawn : below(drawn, span + 1);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

// True with probability ppm / 1'000'000; never at 0, always at a million and above.
constexpr bool chance_ppm(uint64_t drawn, uint64_t ppm) { return below(drawn, 1'000'000) < ppm; }

}  // namespace elastic::math
