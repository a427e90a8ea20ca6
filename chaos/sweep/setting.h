// A setting of a scenario with the values that a sweep gives it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chaos/scenario/units.h"

namespace elastic::chaos {

struct Setting {
  std::string path;                 // "job.checkpoint.every"
  std::vector<std::string> values;  // as --set takes them; at least one, no two alike
  bool operator==(const Setting&) const = default;
};

constexpr std::size_t kMaxValues = 64;  // of one setting

// `PATH=V1,V2,...`. Commas in brackets, braces and quotes do not separate. A value may be a range:
// `8..32:+8` (arithmetic), `1min..64min:x2` (geometric; the factor is a whole number), of counts,
// durations, sizes, rates, shares or prices. A range ends with the last value that is not above its
// end. `5s..20s` without a step is one value, as scenarios have it.
Parsed<Setting> parse_setting(std::string_view text);

}  // namespace elastic::chaos
