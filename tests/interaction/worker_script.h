// Plays one text file of tests/interaction/workers: workers, their ring and their neighbours, chunk
// by chunk, without agents. The grammar is in tests/interaction/README.md.
#pragma once

#include <string>

#include "tests/interaction/script.h"

namespace elastic::interaction {

Played play_workers(const std::string& script);

}  // namespace elastic::interaction
