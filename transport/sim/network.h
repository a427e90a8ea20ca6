// What happens to a message between two nodes: nothing, loss, delay, duplication, reordering,
// partition.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/types.h"
#include "transport/sim/chance.h"
#include "transport/sim/config.h"
#include "transport/sim/node_set.h"
#include "transport/sim/plan.h"

namespace elastic::sim {

// Promises:
//  1. A message to oneself arrives once, after kSelfDelay, whatever the faults.
//  2. Every draw depends on the link and on how many messages it carried before, and on nothing
//  else.
//  3. Without loss, duplication, reordering and partitions every message arrives once.
// A fault with empty `others` lies between its targets and everybody else; with empty `targets` as
// well, between all nodes.
class Network {
 public:
  static constexpr Duration kSelfDelay{std::chrono::microseconds(2)};

  Network(const NetworkModel& model, const Chance& chance, std::size_t nodes);

  struct Delivery {
    std::uint32_t copies = 0;
    std::array<Duration, 2> after{};
  };
  Delivery send(NodeId from, NodeId to, Time now);
  // A network fault begins and ends; `number` names it.
  void begin(std::uint64_t number, const Fault& fault);
  void end(std::uint64_t number);
  void end_all();
  // For good: nothing passes between `inside` and the others, nor among the others.
  void cut_off_all_but(const std::vector<NodeId>& inside);

  // Nothing passes from `from` to `to` at present.
  bool blocked(NodeId from, NodeId to) const;
  // Who exchanged a message with `node` at or after `since`, by number.
  std::vector<NodeId> peers(NodeId node, Time since) const;
  std::uint64_t sent() const { return sent_; }

  static bool concerns(FaultKind kind);

 private:
  struct Link {
    std::uint64_t to = 0;
    std::uint64_t count = 0;
    Time last{};
  };
  struct Effect {
    std::uint64_t number;
    FaultKind kind;
    NodeSet targets;
    NodeSet others;
    std::int64_t value;
    bool between(NodeId from, NodeId to) const;
    bool applies(NodeId from, NodeId to) const;
  };
  struct Rates {
    std::int64_t loss_ppm, duplicate_ppm, reorder_ppm, delay_ns;
  };
  Link& link(NodeId from, NodeId to);
  Rates rates(NodeId from, NodeId to) const;

  NetworkModel model_;
  Chance chance_;
  std::size_t nodes_;
  std::vector<std::vector<Link>> links_;  // by sender; sorted by receiver
  std::vector<Effect> effects_;
  NodeSet inside_;  // empty: nobody is cut off
  std::uint64_t sent_ = 0;
};

}  // namespace elastic::sim
