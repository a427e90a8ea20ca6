#include "core/checkpoint/layout.h"

#include <limits>
#include <set>
#include <string_view>

namespace elastic::checkpoint {

std::optional<std::string> problem_in(const Layout& layout) {
  std::set<std::string_view> names;
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  for (const Tensor& tensor : layout.tensors) {
    const std::string which = "tensor '" + tensor.name + "'";
    if (tensor.name.empty()) return "a tensor has no name; give each one its own";
    if (!names.insert(tensor.name).second) return which + " is there twice; names must differ";
    if (tensor.element_size == 0) return which + " has elements of 0 bytes; at least 1 is needed";
    if (tensor.elements > left / tensor.element_size) {
      return which + " has " + std::to_string(tensor.elements) + " elements of " +
             std::to_string(tensor.element_size) + " bytes; the state exceeds 2^64 bytes";
    }
    left -= tensor.bytes();
  }
  return std::nullopt;
}

std::uint64_t total_bytes(const Layout& layout) {
  std::uint64_t total = 0;
  for (const Tensor& tensor : layout.tensors) total += tensor.bytes();
  return total;
}

}  // namespace elastic::checkpoint
