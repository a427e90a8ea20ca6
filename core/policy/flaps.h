// Flap damping: a node that leaves without notice again and again is kept out for a while, so that
// the others can train. After route flap damping in BGP (RFC 2439): a penalty for each departure,
// which decays by half each half-life; at the upper threshold the node is suppressed until the
// penalty has decayed to the lower one.
//
// The numbers follow from what an operator can say: a node may be lost `tolerated` times in each
// `window`, and is never kept out for longer than `longest` in one piece.
//   one departure     P
//   half-life         h = window / 8, doubled with each further suppression (six times at most), so
//                     that the time for which a node is kept out doubles too
//   suppressed at     T = tolerated * P * (1 + 1/128)
//   taken again at    T / 4
//   forgotten below   P / 16
//
// A good node is never suppressed: with at most k = tolerated departures in each window of 8
// half-lives, its score is below k P (1 + 2^-8 + 2^-16 + ...) = k P * 256/255 < T.
//
// A flapper causes few changes: let n be its departures in a time t. Its score never exceeds T + P,
// so it loses at most (T + P) * ln 2 / h per time, and n P is what the score has gained in all plus
// what it has lost:
//   n <= (T/P + 1) * (1 + t ln 2 / h)       (most_departures)
// Longer half-lives only slow the loss; letting a node in after `longest` lets the score drop by
// less than the first half-life would have, because longest >= 3 h (refused otherwise). This holds
// for each node that is not needed: while fewer than min_nodes would be in without them, suppressed
// nodes are taken all the same, since a job that waits for a bad node is no better than one that
// suffers from it.
//
// Scores travel from coordinator to coordinator as numbers without a time: the score as of the
// moment of the record, and the length of suppression that is left. Whoever leads lets them decay
// by its own clock. Time that nobody has measured does not count as decay, so a change of leader
// can only keep a node out for longer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/types.h"

namespace elastic::policy {

constexpr std::uint32_t kDeparture = 1U << 20;  // P: the penalty for one, in units of a score
constexpr std::uint32_t kMaxTolerated = 100;

struct FlapRules {
  std::uint32_t tolerated = 3;  // departures in a window; zero: no damping
  Duration window{std::chrono::hours(1)};
  Duration longest{std::chrono::hours(1)};
};

// One node's record, as of the moment when it was written.
struct FlapScore {
  NodeId node;
  std::uint32_t score = 0;
  std::uint32_t suppressions = 0;  // since its score was last forgotten
  Duration left{};                 // it is suppressed for so long yet
  bool operator==(const FlapScore&) const = default;
};

Duration half_life(const FlapRules& rules, std::uint32_t suppressions);
std::uint32_t suppressed_at(const FlapRules& rules);
std::uint32_t taken_again_at(const FlapRules& rules);
// The most departures of one node within `length` that damping lets happen.
std::uint64_t most_departures(const FlapRules& rules, Duration length);

// The scores of all nodes, on the clock of whoever leads.
// Invariants: 1. no score exceeds T + P. 2. a suppression is never longer than `longest`. 3.
// nothing is kept below the level at which a node is forgotten, once settled.
class FlapTable {
 public:
  explicit FlapTable(const FlapRules& rules) : rules_(rules) {}

  // Takes over what a record says, of which `age` has surely passed since it was written.
  void restore(Time now, const std::vector<FlapScore>& scores, Duration age);
  // The node has left without notice, and a round must change for it.
  void departed(Time now, NodeId node);
  // Lets time pass: ends suppressions, forgets who has been good for long.
  void settle(Time now);

  [[nodiscard]] bool suppressed(Time now, NodeId node) const;
  [[nodiscard]] Duration left(Time now, NodeId node) const;
  [[nodiscard]] std::uint32_t score(Time now, NodeId node) const;
  // For the record, by node.
  [[nodiscard]] std::vector<FlapScore> scores(Time now) const;

  void check() const;
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct Entry {
    std::uint32_t score = 0;
    Time as_of{};
    std::uint32_t suppressions = 0;
    std::optional<Time> until;  // suppressed
  };
  [[nodiscard]] std::uint32_t decayed(const Entry& entry, Time now) const;
  void settle(Time now, Entry& entry) const;

  FlapRules rules_;
  std::map<NodeId, Entry> entries_;
};

}  // namespace elastic::policy
