// What a line under `faults` may look like, as JSON Schema: the keys of fault_lines.cc by the table
// of kinds.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "chaos/scenario/section.h"

namespace elastic::chaos {

// Adds what lines consist of to `definitions` and returns the schema of the list.
Json faults_schema(Json& definitions);

}  // namespace elastic::chaos
