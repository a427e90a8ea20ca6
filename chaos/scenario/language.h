// The keys of a scenario, each listed once: the same functions read a file, write one, and describe
// them all for the JSON Schema.
#pragma once

#include "chaos/scenario/scenario.h"
#include "chaos/scenario/section.h"

namespace elastic::chaos {

// What stands in a file before anything is resolved: faults refer to machines, and how many there
// are may depend on a trace, so they are read last.
void job_keys(Section& file, Scenario& scenario);
void cluster_keys(Section& file, Scenario& scenario);
void availability_keys(Section& file, Scenario& scenario);
void network_keys(Section& file, Scenario& scenario);
void journal_keys(Section& file, Scenario& scenario);
void expect_keys(Section& file, Scenario& scenario);

// How names of zones and machines are spelt, as regular expressions without ^ and $.
std::string zone_pattern();
std::string machine_pattern();

}  // namespace elastic::chaos
