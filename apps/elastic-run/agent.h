// One agent of a job, from its command line to its exit status: wiring, nothing else.
#pragma once

#include "apps/elastic-run/options.h"

namespace elastic::launch {

// Runs until the job, or this node's part in it, is over. With --nodes-on-this-machine it starts
// the other agents as processes of their own. Gives the exit status.
int run_job(const Options& options, const Machine& machine, const Environment& environment);

}  // namespace elastic::launch
