// Who writes what of a state.
#pragma once

#include <cstdint>
#include <vector>

#include "core/checkpoint/layout.h"

namespace elastic::checkpoint {

// Elements [first, first + elements) of tensor number `tensor` of the layout; never empty.
struct Piece {
  std::uint32_t tensor = 0;
  std::uint64_t first = 0;
  std::uint64_t elements = 0;
  bool operator==(const Piece&) const = default;
};

// What one writer writes, in the order of the layout.
using Share = std::vector<Piece>;

std::uint64_t bytes_of(const Layout& layout, const Share& share);

// Cuts the state into one share for each writer, by rank. A function of its arguments alone, so
// that every rank computes the same one; time and memory O(tensors + writers).
//
//  1. Every byte is in exactly one share, and the shares follow each other in the layout's order.
//  2. Cuts lie between elements.
//  3. Each share differs from total / writers by less than the largest element.
// REQUIRES: no problem in the layout; writers > 0.
std::vector<Share> plan(const Layout& layout, std::uint32_t writers);

}  // namespace elastic::checkpoint
