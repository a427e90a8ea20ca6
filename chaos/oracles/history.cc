#include "chaos/oracles/history.h"

namespace elastic::chaos {

void History::add(RoundId round, const StatePoint& state, Lineage parent) {
  const std::pair<RoundId, Step> key{round, state.step};
  if (key == last_key_ && state.lineage == last_lineage_) return;
  last_key_ = key;
  last_lineage_ = state.lineage;
  by_round_.emplace(key, state.lineage);
  entries_.emplace(state.lineage.value, Entry{state.step, round, parent});
}

const History::Entry* History::find(Lineage lineage) const {
  const auto it = entries_.find(lineage.value);
  return it == entries_.end() ? nullptr : &it->second;
}

std::optional<Lineage> History::finished(RoundId round, Step step) const {
  if (last_key_ == std::pair{round, step} && last_lineage_) return last_lineage_;
  const auto it = by_round_.find({round, step});
  if (it == by_round_.end()) return std::nullopt;
  return it->second;
}

std::optional<Lineage> History::ancestor(Lineage lineage, Step step) const {
  for (;;) {
    const Entry* entry = find(lineage);
    if (entry == nullptr) {
      // Step 0 has no entry: nobody applied it.
      return step.value == 0 ? std::optional(lineage) : std::nullopt;
    }
    if (entry->step == step) return lineage;
    if (entry->step < step) return std::nullopt;
    lineage = entry->parent;
  }
}

}  // namespace elastic::chaos
