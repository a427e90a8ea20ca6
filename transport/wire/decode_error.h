// Why bytes were refused.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace elastic::wire {

struct DecodeError {
  std::string field;     // path from the outermost message, as "order.placement.round"
  std::string expected;  // what would have been accepted there
  std::string found;
  bool operator==(const DecodeError&) const = default;
  // "order.wait: expected WAIT_REASON_NONE (1) to WAIT_REASON_NOT_GROWING (12), found 77".
  std::string message() const {
    const std::string& where = field.empty() ? std::string("message") : field;
    return where + ": expected " + expected + ", found " + found;
  }
};

template <class T>
using Decoded = tl::expected<T, DecodeError>;

}  // namespace elastic::wire
