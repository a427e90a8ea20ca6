// --help and --version.
#pragma once

#include <string>

#include "apps/elastic-run/options.h"

namespace elastic::launch {

// At most 80 columns.
std::string help_text(Action action);
std::string version_text();

}  // namespace elastic::launch
