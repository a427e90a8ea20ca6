#include "core/math/parts.h"

#include <algorithm>
#include <cstddef>

#include "core/assert.h"

namespace elastic::math {

std::vector<Range> cut_by_weight(uint64_t total, std::span<const uint32_t> weights) {
  uint128 sum = 0;
  for (const uint32_t weight : weights) sum += weight;
  const bool equal = sum == 0;
  if (equal) sum = weights.size();

  struct Remainder {
    uint128 value;
    size_t index;
  };
  std::vector<Range> ranges(weights.size());
  std::vector<Remainder> remainders(weights.size());
  uint64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    const uint128 product = uint128{total} * (equal ? 1 : weights[i]);
    ranges[i].size = static_cast<uint64_t>(product / sum);
    remainders[i] = {product % sum, i};
    left -= ranges[i].size;
  }
  std::sort(remainders.begin(), remainders.end(), [](const Remainder& a, const Remainder& b) {
    return a.value != b.value ? a.value > b.value : a.index < b.index;
  });
  ELASTIC_ASSERT(weights.empty() || left < weights.size());
  for (size_t i = 0; i < remainders.size() && left > 0; ++i, --left) {
    ELASTIC_ASSERT(remainders[i].value > 0);  // so that a weight of 0 never gets a unit
    ranges[remainders[i].index].size += 1;
  }
  for (size_t i = 1; i < ranges.size(); ++i) ranges[i].first = ranges[i - 1].end();
  ELASTIC_ASSERT(ranges.empty() || ranges.back().end() == total);
  return ranges;
}

}  // namespace elastic::math
