// elastic-sim sweep: what one or two settings do to a job.
#pragma once

#include "apps/elastic-sim/options.h"

namespace elastic::app {

int sweep(const Options& options);

// Footer of `sweep --help`: questions and how to ask them.
extern const char* const kSweepFooter;

}  // namespace elastic::app
