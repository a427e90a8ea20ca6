#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace elastic::test {

// How many of `full` seeds or repetitions to run: all of them, or the share that the environment
// variable ELASTIC_TEST_EFFORT_PPM (millionths) asks for, at least one. Sanitizer builds run about
// ten times slower and ask for a tenth. For counts of independent repetitions, never for what one
// checks.
inline uint64_t scaled(uint64_t full) {
  const char* text = std::getenv("ELASTIC_TEST_EFFORT_PPM");
  const uint64_t ppm = text == nullptr ? 1'000'000 : std::strtoull(text, nullptr, 10);
  return std::max<uint64_t>(1, full * ppm / 1'000'000);
}

}  // namespace elastic::test
