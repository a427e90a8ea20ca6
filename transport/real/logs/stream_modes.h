// Which streams of which workers: the values of torchrun's -r/--redirects and -t/--tee.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace elastic::real {

struct StreamMode {
  bool out = false;
  bool err = false;
  bool operator==(const StreamMode&) const = default;
};

// By local rank. With a map, ranks that it does not name have none.
struct StreamModes {
  StreamMode every;
  std::map<int, StreamMode> by_rank;

  StreamMode of(int local_rank) const {
    const auto found = by_rank.find(local_rank);
    return found == by_rank.end() ? every : found->second;
  }
  // The highest local rank that is named, -1 if none: the caller refuses one that does not exist.
  int highest() const { return by_rank.empty() ? -1 : by_rank.rbegin()->first; }
  bool operator==(const StreamModes&) const = default;
};

// Parses "3" (all ranks: 0 none, 1 out, 2 err, 3 both) or "0:1,12:3" (local rank : mode). Ranks may
// have several digits. The error says what was expected, found, and where (column from 1).
tl::expected<StreamModes, std::string> parse_stream_modes(std::string_view text);

}  // namespace elastic::real
