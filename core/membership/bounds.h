// Compares what was measured with what was declared (DeclaredBounds).
#pragma once

#include "core/agent/io.h"
#include "core/types.h"

namespace elastic {

// Of one bound in one life of an agent: says when a measurement exceeds it, and again only for one
// that is larger by half, so that a bound that never holds fills no log.
struct BoundWatch {
  Duration worst{};

  bool exceeds(Duration measured, Duration declared) {
    if (measured <= declared || measured <= worst + worst / 2) return false;
    worst = measured;
    return true;
  }
  Note note(NodeId self, Bound bound, Duration declared) const {
    return {NoteKind::kBoundExceeded,
            self,
            {},
            static_cast<std::uint64_t>(bound),
            static_cast<std::uint64_t>(worst.count()),
            static_cast<std::uint64_t>(declared.count())};
  }
};

}  // namespace elastic
