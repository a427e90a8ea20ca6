// Which save to resume from.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/membership/records.h"

namespace elastic::checkpoint {

enum class RestoreReason : std::uint8_t {
  kNewest,            // the newest committed save
  kNewerBroken,       // newer ones were found broken
  kNothingCommitted,  // no save was ever committed: from scratch
  kNoneLeft,          // saves were committed, and none of them can be used
};

struct Restore {
  RestoreReason reason = RestoreReason::kNothingCommitted;
  std::optional<CommittedSave> save;  // kNewest, kNewerBroken
};

// The newest committed save, by record number, that is neither retired nor reported broken: what
// counts is the journal, never what lies in the directory. `committed` is sorted, newest first.
// Fewer steps are lost by no other rule; and a save that was ever retired is not taken up again,
// whatever is broken, because its files may be half deleted.
Restore choose_restore(const std::vector<CommittedSave>& committed,
                       const std::vector<RecordNo>& retired, const std::vector<RecordNo>& broken);

}  // namespace elastic::checkpoint
