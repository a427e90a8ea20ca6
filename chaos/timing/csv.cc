#include "chaos/timing/csv.h"

#include <algorithm>

namespace elastic::chaos {

bool Csv::next() {
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    const std::size_t first = line_.find_first_not_of(" \t");
    if (first == std::string_view::npos || line_[first] == '#') continue;
    split();
    return true;
  }
  return false;
}

void Csv::split() {
  fields_.clear();
  std::size_t from = 0;
  while (true) {
    const std::size_t comma = std::min(line_.find(',', from), line_.size());
    std::string_view text = line_.substr(from, comma - from);
    const std::size_t blanks = std::min(text.find_first_not_of(" \t"), text.size());
    const std::size_t column = from + blanks + 1;
    text.remove_prefix(blanks);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    fields_.push_back({text, static_cast<std::uint32_t>(column)});
    if (comma == line_.size()) return;
    from = comma + 1;
  }
}

}  // namespace elastic::chaos
