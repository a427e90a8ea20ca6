// How a state came to be, in one word.
#pragma once

#include "core/math/digest.h"
#include "core/types.h"

namespace elastic {

// Digest of the chain of (step, round that finished it): of the state after `step` was applied in
// `round` to a state of lineage `before`. The lineage of step 0 is zero.
constexpr Lineage next_lineage(Lineage before, Step step, RoundId round) {
  math::Digest digest;
  digest.add(before.value);
  digest.add(step.value);
  digest.add(round.journal.value);
  digest.add(round.number);
  return Lineage{digest.value()};
}

}  // namespace elastic
