// What elastic-sim does for each action. Each returns the exit status.
#pragma once

#include "apps/elastic-sim/options.h"

namespace elastic::app {

int run_one(const Options& options);
int run_many(const Options& options);
int validate(const Options& options);
int explain(const Options& options);
int describe_trace(const Options& options);
int shrink(const Options& options);
int print_schema();
// For the second process of --verify.
int print_window(const Options& options);

}  // namespace elastic::app
