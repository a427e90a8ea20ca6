// What a saved state consists of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elastic::checkpoint {

// A named row of equal elements. Its shape and element type are the trainer's; here only sizes
// count.
struct Tensor {
  std::string name;
  std::uint32_t element_size = 0;  // bytes
  std::uint64_t elements = 0;      // may be none
  bool operator==(const Tensor&) const = default;

  std::uint64_t bytes() const { return element_size * elements; }
};

// In the order in which the state's bytes are counted. Every rank must have the same one.
struct Layout {
  std::vector<Tensor> tensors;
  bool operator==(const Layout&) const = default;
};

// Nothing, or a sentence: a name that is empty or there twice, an element without size, a total
// that does not fit 64 bits.
std::optional<std::string> problem_in(const Layout& layout);

// REQUIRES: no problem in it.
std::uint64_t total_bytes(const Layout& layout);

}  // namespace elastic::checkpoint
