// What all nodes of a job must have in common.
#pragma once

#include <optional>
#include <string>

#include "core/membership/config.h"

namespace elastic::real {

// Nothing, or in what the settings of a node differ from those of the job that it wants to join,
// with what to do. The number of workers may differ from node to node, and a node need not know
// which one hosts the journal.
std::optional<std::string> difference(const JobConfig& own, const Timeouts& own_timeouts,
                                      const JobConfig& job, const Timeouts& timeouts);

}  // namespace elastic::real
