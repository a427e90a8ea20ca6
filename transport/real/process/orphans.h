// What a supervisor that was killed from outside leaves to the agent, its nearest sub-reaper.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "transport/real/process/process_table.h"

namespace elastic::real {

// Kills, and reaps, the children of this process that it did not make itself (own_children.h), and
// what descends from them. Gives those that were still there. As process 1, which adopts orphans of
// anybody, it kills only what carries `mark`, or is of one of these process groups or sessions.
std::vector<ProcessStat> kill_adopted(const std::string& mark, std::span<const pid_t> groups);

}  // namespace elastic::real
