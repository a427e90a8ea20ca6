// Figures as reports show them: three digits that matter, thousands grouped, units written.
#pragma once

#include <cstdint>
#include <string>

#include "core/types.h"

namespace elastic::chaos {

std::string percent_text(std::int64_t ppm);           // 931000: "93.1%"
std::string dollars_text(std::int64_t microdollars);  // "$1,214.80"
// "8h 12m", "2m 03s", "1.32 s", "41 ms": for columns of a table.
std::string span_text(Duration length);
// A moment of a run: "3h 07m 12.4s".
std::string moment_text(Time at);
std::string count_text(std::uint64_t number);  // "1,204,118"
// "4,182" below 10,000; then "41.8k", "4.18M", "12.0G".
std::string short_count_text(std::uint64_t number);
// "1 node", "2 nodes".
std::string plural(std::uint64_t number, const char* one, const char* many);

// part / whole in millionths, rounded to nearest; 0 when the whole is.
std::int64_t share_ppm(Duration part, Duration whole);

}  // namespace elastic::chaos
