// The small process between an agent and its foreign workers (design section 3): it outlives the
// agent, and sees to it that no worker runs without a lease.
//
// Alternatives rejected: a lease that only the agent enforces (a frozen or killed agent enforces
// nothing); a parent-death signal alone (it kills at once, so that an agent could not be restarted
// under its workers, and it says nothing of a frozen agent).
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/membership/config.h"
#include "core/types.h"

namespace elastic {

enum class TreeSignal : std::uint8_t { kStop, kContinue, kTerminate, kKill };

// Inputs.
struct TreeStarted {
  RoundId round;
  Time lease_from;  // sending of the acknowledged beat on which the agent started the tree
};
struct TreeRenewed {
  Time from;        // see RenewLease
  RoundId running;  // newest recorded round: newer than the tree's own kills the tree
};
struct TreeSignalled {  // the agent's own stop order
  bool kill = false;
};
struct AgentGone {};  // the pipe to the agent closed
struct TreeTimer {};
struct TreeEmpty {};  // no process is left
using SupervisorInput =
    std::variant<TreeStarted, TreeRenewed, TreeSignalled, AgentGone, TreeTimer, TreeEmpty>;

// Effects.
struct SignalTree {
  TreeSignal signal;
};
struct ArmTreeTimer {
  Time at;  // on the same clock as `now`; replaces the one armed before
};
using SupervisorEffect = std::variant<SignalTree, ArmTreeTimer>;
using SupervisorEffects = std::vector<SupervisorEffect>;

// One worker tree, from start to empty. An acknowledgement that names the tree's own round renews
// the lease, and lets a stopped tree continue; one that names a newer round kills the tree, unless
// it is being terminated already; one that names an older round renews nothing.
//
// Invariants:
//  1. At or after lease_from + lease the tree is stopped (or dead), unless renewed since.
//  2. At or after lease_from + orphan the tree is killed.
//  3. A tree whose agent is gone is stopped at once, and never continues.
//  4. A killed tree is never continued.
// REQUIRES: TreeStarted comes first, once, with a round.
class Supervisor {
 public:
  enum class Tree : std::uint8_t { kNone, kRunning, kStopped, kKilled, kEmpty };

  explicit Supervisor(const Timeouts& timeouts) : timeouts_(timeouts) {}
  void step(Time now, const SupervisorInput& input, SupervisorEffects& effects);
  void check() const;
  std::uint64_t digest() const;
  Tree tree() const { return tree_; }
  RoundId round() const { return round_; }

 private:
  void enforce(Time now, SupervisorEffects& effects);

  Timeouts timeouts_;
  Tree tree_ = Tree::kNone;
  RoundId round_;
  Time lease_from_{};
  bool agent_gone_ = false;
  bool terminating_ = false;
};

}  // namespace elastic
