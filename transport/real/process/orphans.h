// What a supervisor that was killed from outside leaves to the agent, its nearest sub-reaper.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "transport/real/process/process_table.h"

namespace elastic::real {

struct Adopted {
  // An adopted child was seen, dead or alive. Only we reap it: so when none is seen, there was none
  // when the look began, and nothing that descends from one.
  bool any = false;
  std::vector<ProcessStat> alive;
};

// One look: kills, and reaps, the children of this process that it did not make itself
// (own_children.h), and kills what descends from them. As process 1, which adopts orphans of
// anybody, it takes only what carries `mark`, or is of one of these process groups or sessions.
Adopted kill_adopted(const std::string& mark, std::span<const pid_t> groups);

}  // namespace elastic::real
