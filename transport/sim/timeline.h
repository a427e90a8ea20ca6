// True time and what is due: shared by all parts of one world.
#pragma once

#include "core/types.h"
#include "transport/sim/event_queue.h"

namespace elastic::sim {

struct Timeline {
  EventQueue queue;
  Time now{};  // true time

  void in(Duration after, const Event& event) { queue.push(now + after, event); }
};

}  // namespace elastic::sim
