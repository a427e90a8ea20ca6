#include "core/checkpoint/shard_plan.h"

#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::checkpoint {

std::uint64_t bytes_of(const Layout& layout, const Share& share) {
  std::uint64_t bytes = 0;
  for (const Piece& piece : share) {
    ELASTIC_ASSERT(piece.tensor < layout.tensors.size());
    bytes += piece.elements * layout.tensors[piece.tensor].element_size;
  }
  return bytes;
}

std::vector<Share> plan(const Layout& layout, std::uint32_t writers) {
  ELASTIC_ASSERT(writers > 0);
  const std::uint64_t total = total_bytes(layout);
  std::vector<Share> shares(writers);
  std::uint32_t tensor = 0;
  std::uint64_t base = 0;     // bytes before `tensor`
  std::uint64_t element = 0;  // of `tensor`: the first that nobody writes yet
  for (std::uint32_t writer = 0; writer < writers; ++writer) {
    // The cut after this writer, rounded down to an element: each cut moves by less than one.
    const std::uint64_t cut = math::mul_div_u64(total, std::uint64_t{writer} + 1, writers);
    while (tensor < layout.tensors.size()) {
      const Tensor& here = layout.tensors[tensor];
      const std::uint64_t end = base + here.bytes();
      const std::uint64_t until = cut >= end ? here.elements : (cut - base) / here.element_size;
      if (until > element) shares[writer].push_back({tensor, element, until - element});
      if (cut < end) {
        element = until;
        break;
      }
      base = end;
      element = 0;
      ++tensor;
    }
  }
  ELASTIC_ASSERT(tensor == layout.tensors.size());
  ELASTIC_ASSERT(base == total);
  return shares;
}

}  // namespace elastic::checkpoint
