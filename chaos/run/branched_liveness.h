// The liveness phase as a branch of the main run: what it came to, on its way through a pipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chaos/liveness/liveness.h"

namespace elastic::chaos {

// Of a phase in which no oracle spoke: one that found something is run again by itself, with its
// story.
struct BranchedLiveness {
  LivenessResult result;
  std::vector<std::uint64_t> checks;  // by oracle, from the beginning of the run
};

std::string to_text(const BranchedLiveness& branched);
// Nothing for anything else.
std::optional<BranchedLiveness> branched_liveness_from_text(const std::string& text);

}  // namespace elastic::chaos
