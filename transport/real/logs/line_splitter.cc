#include "transport/real/logs/line_splitter.h"

#include <algorithm>

namespace elastic::real {

std::size_t unfinished_character(std::string_view text) {
  const std::size_t most = std::min<std::size_t>(3, text.size());
  for (std::size_t back = 1; back <= most; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;  // in the middle of a character
    const std::size_t length = byte >= 0xF0U ? 4U : byte >= 0xE0U ? 3U : byte >= 0xC0U ? 2U : 1U;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace elastic::real
