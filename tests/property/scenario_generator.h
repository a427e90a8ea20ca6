// Scenarios of all kinds that the language knows, for properties.
#pragma once

#include "chaos/scenario/scenario.h"

namespace elastic::test {

// Two zones of a few machines, up to five faults, two expectations; valid. Draws from RapidCheck.
chaos::Scenario some_scenario();

}  // namespace elastic::test
