// Pieces that the JSON Schema of a scenario is put together from: what each kind of value may look
// like. Quantities with units are named once, under $defs, and referred to.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/scenario/section.h"

namespace elastic::chaos {

// A quantity by name: duration, size, rate, share, price. `positive`: not zero.
Json quantity_schema(std::string_view name, bool positive);
// A whole number, plain or in quotes.
Json count_schema(Bounds bounds);
Json choice_schema(const std::vector<std::string_view>& names);
// A text that matches as a whole. `pattern` has no ^ and $.
Json text_schema(const std::string& pattern);
// `pattern` for quantities that are not zero.
std::string positive(const std::string& pattern);

// What quantity_schema refers to, by name.
Json quantity_definitions();

}  // namespace elastic::chaos
