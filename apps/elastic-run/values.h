// Texts of options as values, and back. Errors are clauses that say what was found and what to
// write; the caller puts the name of the option before them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "apps/elastic-run/options.h"

namespace elastic::launch {

template <class T>
using Value = tl::expected<T, std::string>;

// More than any cluster has: keeps counts away from overflow.
constexpr std::uint32_t kMaxNodes = 100'000;
constexpr std::uint32_t kMaxWorkersPerNode = 4'096;
constexpr std::uint32_t kMaxAgentsHere = 1'024;

Value<std::uint32_t> parse_number(std::string_view text, std::uint32_t low, std::uint32_t high);
std::string number_text(std::uint32_t value);
// "4" or "2:8".
Value<std::pair<std::uint32_t, std::uint32_t>> parse_nnodes(std::string_view text);
// `300ms`, `1h30min`, or seconds without a unit: `90`, `0.1`. Not negative.
Value<Duration> parse_time(std::string_view text);
std::string time_text(Duration value);
Value<real::StreamModes> parse_streams(std::string_view text);
std::string streams_text(const real::StreamModes& modes);
// "0,3,12"
Value<std::set<int>> parse_ranks(std::string_view text);
std::string ranks_text(const std::set<int>& ranks);
// Texts with commas between them; `,,` stands for a comma inside one.
std::vector<std::string> parse_texts(std::string_view text);
std::string texts_text(const std::vector<std::string>& texts);

struct Signals {
  std::vector<int> stop, forward;  // ascending, each once
};
Value<Signals> parse_signals(std::string_view text);
std::string signals_text(const std::vector<int>& stop, const std::vector<int>& forward);
// "SIGTERM", or "signal 42".
std::string signal_name(int signal);

// Refuses macros that nobody fills in.
Value<std::string> parse_prefix(std::string_view text);

// One of `choices`, by its place.
Value<std::size_t> parse_choice(std::string_view text,
                                const std::vector<std::string_view>& choices);

}  // namespace elastic::launch
