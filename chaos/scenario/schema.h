// The JSON Schema of scenarios, for editors: made from the list of keys that reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace elastic::chaos {

// Draft 2020-12, as text that ends with a newline; scenarios/schema.json holds it.
//
// What the checker accepts the schema accepts. What the checker refuses the schema refuses, unless
// the checker refuses it only for rules that no JSON Schema can state: rules_beyond_the_schema().
std::string scenario_schema();

struct BeyondSchema {
  std::string_view name;
  std::string_view words;     // the rule
  std::string_view messages;  // of the checker: a regular expression, to be searched for
};
const std::vector<BeyondSchema>& rules_beyond_the_schema();

}  // namespace elastic::chaos
