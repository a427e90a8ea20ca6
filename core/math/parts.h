#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/math/integer.h"

// Cuts a whole into parts that are as equal as can be, or as their weights say, and that always add
// up to it: batches into shares and virtual shards, buffers into segments.
namespace elastic::math {

// One of `of` parts; index < of.
struct Part {
  uint32_t index = 0;
  uint32_t of = 1;
  friend constexpr bool operator==(const Part&, const Part&) = default;
};

// Units [first, first + size) of the whole. May be empty; an empty one still has its place.
struct Range {
  uint64_t first = 0;
  uint64_t size = 0;
  [[nodiscard]] constexpr uint64_t end() const { return first + size; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

// Units [floor(index * total / of), floor((index + 1) * total / of)). Sizes differ by at most one,
// part i + 1 begins where part i ends, the first begins at 0 and the last ends at `total`. An index
// beyond the last part is empty at the end; zero parts count as one.
constexpr Range cut(uint64_t total, Part part) {
  const uint32_t of = part.of == 0 ? 1 : part.of;
  if (part.index >= of) return {total, 0};
  const auto first = static_cast<uint64_t>(uint128{total} * part.index / of);
  const auto end = static_cast<uint64_t>(uint128{total} * (part.index + uint64_t{1}) / of);
  return {first, end - first};
}

// One range per weight, in their order and adjoining, by the method of the largest remainder: each
// gets the whole units of total * weight / sum, and the units left over go one each to the largest
// remainders (equal ones: the lower index first). So each size is within one of its exact quota,
// and the sizes add up to `total`. Weight 0 gives an empty range; weights that are all 0 count as
// equal. No weights give no ranges.
std::vector<Range> cut_by_weight(uint64_t total, std::span<const uint32_t> weights);

}  // namespace elastic::math
