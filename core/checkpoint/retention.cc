#include "core/checkpoint/retention.h"

#include <algorithm>

#include "core/assert.h"
#include "core/mutants.h"

namespace elastic::checkpoint {

std::vector<RecordNo> to_retire(const std::vector<CommittedSave>& committed,
                                const std::vector<RecordNo>& broken, const Kept& kept) {
  const auto is_broken = [&](RecordNo record) {
    return std::find(broken.begin(), broken.end(), record) != broken.end();
  };
  // Planted: whatever is newest is good enough, or only it is.
  const bool unproven = ELASTIC_MUTANT("retire_before_read_back");
  const bool careless = ELASTIC_MUTANT("collect_only_intact");
  RecordNo proven = kept.proven;
  if (unproven && !committed.empty()) proven = committed.front().record;
  if ((!proven || is_broken(proven)) && !unproven) return {};
  const std::uint32_t keep = std::max<std::uint32_t>(kept.keep, 1);
  std::vector<RecordNo> gone;
  std::uint32_t staying = 0;
  for (const CommittedSave& save : committed) {
    const bool usable = !is_broken(save.record);
    const bool among = staying < keep && (usable || careless);
    const bool needed = save.record >= proven || save.record == kept.in_use;
    if (usable || careless) ++staying;
    if (!among && (careless || !needed)) gone.push_back(save.record);
  }
  std::reverse(gone.begin(), gone.end());
  ELASTIC_ASSERT(gone.size() < committed.size() || committed.empty());
  ELASTIC_ASSERT(careless || std::find(gone.begin(), gone.end(), proven) == gone.end());
  return gone;
}

}  // namespace elastic::checkpoint
