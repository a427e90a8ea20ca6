// Which saves may be deleted.
#pragma once

#include <cstdint>
#include <vector>

#include "core/membership/records.h"

namespace elastic::checkpoint {

struct Kept {
  std::uint32_t keep = 2;  // saves not known broken; 0 counts as 1
  // The newest save that was read back intact and whose marker is durable; zero: none. A journal
  // founded anew finds the marker, and then this save or a newer one.
  RecordNo proven;
  RecordNo in_use;  // the newest World resumes from it; zero: from none
};

// The content of a Retire record: oldest first, empty if nothing may go. `committed` is sorted,
// newest first, without what was retired already.
//
//  1. Nothing goes that is as new as `proven` or newer; nothing at all while `proven` is none or
//     broken: it is what remains if everything newer turns out broken.
//  2. The newest `keep` saves that are not known broken stay, and what the newest World loads.
std::vector<RecordNo> to_retire(const std::vector<CommittedSave>& committed,
                                const std::vector<RecordNo>& broken, const Kept& kept);

}  // namespace elastic::checkpoint
