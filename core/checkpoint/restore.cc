#include "core/checkpoint/restore.h"

#include <algorithm>

#include "core/assert.h"

namespace elastic::checkpoint {
namespace {

bool contains(const std::vector<RecordNo>& records, RecordNo record) {
  return std::find(records.begin(), records.end(), record) != records.end();
}

}  // namespace

Restore choose_restore(const std::vector<CommittedSave>& committed,
                       const std::vector<RecordNo>& retired, const std::vector<RecordNo>& broken) {
  if (committed.empty()) {
    return {retired.empty() ? RestoreReason::kNothingCommitted : RestoreReason::kNoneLeft, {}};
  }
  bool passed_over = false;
  for (std::size_t i = 0; i < committed.size(); ++i) {
    ELASTIC_ASSERT(i == 0 || committed[i].record < committed[i - 1].record);
    if (contains(retired, committed[i].record)) continue;
    if (!contains(broken, committed[i].record)) {
      return {passed_over ? RestoreReason::kNewerBroken : RestoreReason::kNewest, committed[i]};
    }
    passed_over = true;
  }
  return {RestoreReason::kNoneLeft, {}};
}

}  // namespace elastic::checkpoint
