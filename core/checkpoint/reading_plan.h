// Who reads what of a save, for any number of readers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/checkpoint/manifest.h"

namespace elastic::checkpoint {

// One contiguous read: elements [first, first + elements) of tensor number `tensor`, from byte
// `offset` of file number `file` on; never empty.
struct Extent {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint32_t tensor = 0;
  std::uint64_t first = 0;
  std::uint64_t elements = 0;
  bool operator==(const Extent&) const = default;
};

// What one reader reads, in the order of the tensors.
using Reading = std::vector<Extent>;

// How far a cut moves to leave a chunk whole: this part of an even share.
constexpr std::uint64_t kCutSlack = 16;

// Cuts a save into one part for each reader, by rank. The number of writers does not matter.
//
//  1. Every byte of every tensor is in exactly one part, and read once.
//  2. A part differs from total / readers by less than an eighth of that plus the largest element.
//  3. A cut lies between two chunks if one ends within a sixteenth of an even part of where it
//     should be, else between two elements. With as many readers as the writers of a plan, each
//     reads one whole file.
// Time and memory O(chunks + readers). REQUIRES: no problem in the manifest; readers > 0.
std::vector<Reading> reading_plan(const Manifest& manifest, std::uint32_t readers);

}  // namespace elastic::checkpoint
