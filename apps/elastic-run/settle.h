// Second stage of reading a command line: what the texts mean together.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "apps/elastic-run/options.h"
#include "apps/elastic-run/words.h"

namespace elastic::launch {

// `words.action` is kRun. The error is a clause without the name of the command.
tl::expected<Options, std::string> settle_run(const Words& words, const Environment& env,
                                              const Machine& machine);
// A subcommand.
tl::expected<Options, std::string> settle_control(const Words& words);

}  // namespace elastic::launch
