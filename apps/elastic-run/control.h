// status, leave, stop, preempt: questions and orders to a running job.
#pragma once

#include "apps/elastic-run/options.h"

namespace elastic::launch {

// Prints the answer. Gives the exit status: 0, or 10 where the job cannot be reached or refuses.
int control(const Options& options);

// The answer of an agent as a table, 80 columns.
std::string format_status(const std::string& json);

}  // namespace elastic::launch
