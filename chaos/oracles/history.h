// How every state came to be: the tree of all steps that anybody ever applied.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/types.h"

namespace elastic::chaos {

// A state is named by its lineage; its parent is the state one step before. The states below a
// lineage are its history: each step of it, and so each sample, counts once, because a parent is
// always exactly one step older (LineageOracle checks it at every insertion).
class History {
 public:
  struct Entry {
    Step step;
    RoundId round;  // that finished the step
    Lineage parent;
  };

  // `state` (step, lineage) was applied in `round` on top of `parent`. The first sight counts.
  void add(RoundId round, const StatePoint& state, Lineage parent);

  const Entry* find(Lineage lineage) const;
  // The lineage that `round` gave to `step`; nothing if it never finished it.
  std::optional<Lineage> finished(RoundId round, Step step) const;
  // The lineage of `step` in the history of `lineage`; nothing when unknown or `step` is later.
  std::optional<Lineage> ancestor(Lineage lineage, Step step) const;
  std::size_t size() const { return entries_.size(); }

 private:
  std::unordered_map<std::uint64_t, Entry> entries_;  // by lineage; looked up, never walked
  std::map<std::pair<RoundId, Step>, Lineage> by_round_;
  std::pair<RoundId, Step> last_key_;
  Lineage last_lineage_;
};

}  // namespace elastic::chaos
