#include "transport/real/logs/stream_modes.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace elastic::real {
namespace {

constexpr int kHighestRank = 65'535;

std::optional<StreamMode> mode_of(std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '3') return std::nullopt;
  const int bits = text[0] - '0';
  return StreamMode{(bits & 1) != 0, (bits & 2) != 0};
}

tl::unexpected<std::string> wrong(std::size_t column, std::string what) {
  return tl::make_unexpected(fmt::format("column {}: {}", column, what));
}

}  // namespace

tl::expected<StreamModes, std::string> parse_stream_modes(std::string_view text) {
  StreamModes modes;
  if (text.find(':') == std::string_view::npos) {
    const auto every = mode_of(text);
    if (!every) {
      return wrong(1, fmt::format("\"{}\" is no mode: write 0 (none), 1 (stdout), 2 (stderr), 3 "
                                  "(both), or a map such as 0:1,12:3 (local rank : mode)",
                                  text));
    }
    modes.every = *every;
    return modes;
  }
  for (std::size_t at = 0;;) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      return wrong(at + 1, fmt::format("\"{}\" has no colon: write local rank : mode", part));
    }
    int rank = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + colon, rank);
    if (error != std::errc{} || end != part.data() + colon || rank < 0 || rank > kHighestRank) {
      return wrong(at + 1, fmt::format("\"{}\" is no local rank", part.substr(0, colon)));
    }
    const auto mode = mode_of(part.substr(colon + 1));
    if (!mode) {
      return wrong(at + colon + 2,
                   fmt::format("\"{}\" is no mode: 0 none, 1 stdout, 2 stderr, 3 both",
                               part.substr(colon + 1)));
    }
    if (!modes.by_rank.emplace(rank, *mode).second) {
      return wrong(at + 1, fmt::format("local rank {} is named twice", rank));
    }
    if (comma == text.size()) return modes;
    at = comma + 1;
  }
}

}  // namespace elastic::real
