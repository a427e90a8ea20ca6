#include "core/math/digest.h"

#include <cstddef>

namespace elastic::math {

void Digest::add(std::string_view text) {
  add(uint64_t{text.size()});  // the length first, so that a text never reads like two shorter ones
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8 && at + i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      word |= uint64_t{byte} << (8 * i);
    }
    add(word);
  }
}

}  // namespace elastic::math
