// A set of nodes named by a fault.
#pragma once

#include <cstddef>
#include <vector>

#include "core/types.h"

namespace elastic::sim {

// Empty lists mean what the fault says they mean; this class only answers "is it listed".
class NodeSet {
 public:
  NodeSet() = default;
  NodeSet(const std::vector<NodeId>& nodes, std::size_t node_count) {
    if (nodes.empty()) return;
    listed_.assign(node_count + 1, 0);
    for (const NodeId node : nodes) {
      if (node.value <= node_count) listed_[node.value] = 1;
    }
  }
  bool empty() const { return listed_.empty(); }
  bool has(NodeId node) const { return node.value < listed_.size() && listed_[node.value] != 0; }

 private:
  std::vector<unsigned char> listed_;
};

}  // namespace elastic::sim
