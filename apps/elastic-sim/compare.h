// elastic-sim compare.
#pragma once

#include <string>

#include "apps/elastic-sim/options.h"

namespace elastic::app {

int compare(const Options& options);

// What --help of compare says beside its options.
std::string compare_words();

}  // namespace elastic::app
