// The checkpoint directory on shared storage: transfers that share its bandwidth, saves by (step,
// round) made of the members' shares, and commit markers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/math/integer.h"
#include "core/membership/records.h"
#include "transport/sim/timeline.h"

namespace elastic::sim {

// Names a running transfer; zero: none.
using TransferId = Id<struct TransferTag>;

// Transfers are served at equal rates (processor sharing), exactly, in integers: what counts is the
// virtual time "nanobytes that each transfer has got so far", which grows at bandwidth / transfers.
// While the storage is unreachable nothing moves; while it is full, what writes waits, and begins
// anew when there is room.
class Storage {
 public:
  explicit Storage(std::int64_t bytes_per_second);

  enum class Way : std::uint8_t { kRead, kWrite };
  TransferId start(Timeline& timeline, Way way, std::int64_t bytes);
  void cancel(Timeline& timeline, TransferId transfer);
  // Bytes that it has got so far; zero if it is through or unknown.
  std::int64_t got(Time now, TransferId transfer);
  // kTransfer: what is through, in order of starting.
  std::vector<TransferId> complete(Timeline& timeline, const Event& event);
  void set_reachable(Timeline& timeline, bool reachable);
  void set_full(Timeline& timeline, bool full);
  void set_speed(Timeline& timeline, std::int64_t ppm);  // of the bandwidth
  bool reachable() const { return reachable_; }
  bool writable() const { return reachable_ && !full_; }

  struct Save {
    Lineage lineage;
    std::uint32_t size = 0;    // shares
    std::uint32_t stored = 0;  // of them durable
    std::vector<bool> shares;  // by group rank
    bool rotten = false;
    bool whole() const { return size > 0 && stored == size; }
  };
  struct SaveKey {
    Step step;
    RoundId round;
    auto operator<=>(const SaveKey&) const = default;
  };
  // Member `rank` of `size` has stored its share. True if the save is whole now.
  bool share_stored(SaveKey key, Lineage lineage, std::uint32_t rank, std::uint32_t size);
  // Nothing is left of it.
  void remove(SaveKey key) { saves_.erase(key); }
  // Nothing is left of saves of rounds below `below`, of the same journal, but of `keep`.
  void sweep(RoundId below, const std::vector<CommittedSave>& keep);
  std::size_t saves() const { return saves_.size(); }
  // A bit flips in the whole save that is `back` before the newest that is intact, or in the
  // oldest.
  void rot(std::uint64_t back);
  // Is that save there, whole, of this state, and as it was written?
  bool intact(SaveKey key, Lineage lineage) const;
  // What an unmodified program takes up: the whole save of the highest step, then round.
  std::optional<std::pair<SaveKey, Lineage>> newest_whole() const;

  void put_marker(const CommitMarker& marker);
  const std::optional<CommitMarker>& newest_marker() const { return newest_marker_; }

 private:
  void advance(Time now);
  void schedule(Timeline& timeline);

  struct Transfer {
    Way way = Way::kRead;
    math::uint128 work = 0;    // nanobytes
    math::uint128 finish = 0;  // by `served_`; unless it waits
    bool waits = false;        // for room
  };

  std::int64_t full_speed_;
  std::int64_t bytes_per_second_;
  bool reachable_ = true;
  bool full_ = false;
  math::uint128 served_ = 0;  // nanobytes per transfer
  Time advanced_to_{};
  std::set<std::pair<math::uint128, TransferId>> moving_;  // by finish
  std::map<TransferId, Transfer> transfers_;
  std::uint64_t last_transfer_ = 0;
  std::uint64_t generation_ = 0;
  std::map<SaveKey, Save> saves_;
  std::optional<CommitMarker> newest_marker_;
};

}  // namespace elastic::sim
