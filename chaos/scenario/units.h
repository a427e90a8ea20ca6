// Quantities as people write them, and back. Everything is exact: a decimal that does not come out
// as a whole number of the smallest unit is refused, and nothing passes through a floating-point
// number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "core/types.h"

namespace elastic::chaos {

// A quantity, or what is wrong with the text: `"90" is not a duration; write a unit, such as 90s or
// 2h`.
template <class T>
using Parsed = tl::expected<T, std::string>;

// `45s`, `1.5h`, `1h30m`, `-200ms`; units ns us ms s min (in compounds also m) h d, largest first.
Parsed<Duration> parse_duration(std::string_view text);
// `300MiB`, `12GB`, `100B`; to bytes.
Parsed<std::int64_t> parse_size(std::string_view text);
// `25Gbit/s`, `1GB/s`; to bytes per second.
Parsed<std::int64_t> parse_rate(std::string_view text);
// `$0.918/h`; to microdollars per hour.
Parsed<std::int64_t> parse_price(std::string_view text);
// `$240`; to microdollars.
Parsed<std::int64_t> parse_money(std::string_view text);
// `10ppm`, `5%`; to millionths. With `plain`, a number without a unit is a fraction: `0.9`.
Parsed<std::int64_t> parse_share(std::string_view text, bool plain = false);
// `1281167`, `1_281_167`; a whole number without a sign.
Parsed<std::uint64_t> parse_count(std::string_view text);

// How quantities are spelt, as regular expressions for JSON Schema (ECMA 262, without ^ and $).
// They know units and digits, but no bounds; only a count comes with its bounds (inclusive, from
// 0). A duration is one without a sign; of those that must not be negative, "-0s" is one, too.
std::string duration_pattern();
std::string unsigned_duration_pattern();
std::string size_pattern();
std::string rate_pattern();
std::string price_pattern();
std::string money_pattern();
std::string share_pattern(bool plain = false);
std::string count_pattern(std::uint64_t low, std::uint64_t high);

// The shortest text that reads back to the same value (in one unit, except durations: `1h30min`).
std::string duration_text(Duration value);
std::string size_text(std::int64_t bytes);
std::string rate_text(std::int64_t bytes_per_second);
std::string price_text(std::int64_t microdollars_per_hour);
std::string money_text(std::int64_t microdollars);
std::string share_text(std::int64_t ppm);

// For people, not for reading back: 8h 12m, 41.9 s, 120 us; three figures at most.
std::string rough_duration(Duration value);

}  // namespace elastic::chaos
