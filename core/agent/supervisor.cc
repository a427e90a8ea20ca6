#include "core/agent/supervisor.h"

#include <algorithm>

#include "core/assert.h"
#include "core/membership/hash.h"

namespace elastic {

void Supervisor::step(Time now, const SupervisorInput& input, SupervisorEffects& effects) {
  const Tree before = tree_;
  if (const auto* started = std::get_if<TreeStarted>(&input)) {
    ELASTIC_ASSERT(tree_ == Tree::kNone);
    tree_ = Tree::kRunning;
    round_ = started->round;
    lease_from_ = started->lease_from;
  } else if (const auto* renewed = std::get_if<TreeRenewed>(&input)) {
    if (renewed->running > round_ && tree_ != Tree::kNone && tree_ != Tree::kEmpty) {
      // Superseded: there is nothing left to continue for. A tree that is asked to stop keeps its
      // grace.
      if (!terminating_ && tree_ != Tree::kKilled) {
        tree_ = Tree::kKilled;
        effects.push_back(SignalTree{TreeSignal::kKill});
      }
      return;
    }
    if (renewed->running == round_) lease_from_ = std::max(lease_from_, renewed->from);
  } else if (const auto* signalled = std::get_if<TreeSignalled>(&input)) {
    if (tree_ == Tree::kRunning || tree_ == Tree::kStopped) {
      terminating_ = true;
      // A stopped tree cannot act on SIGTERM, and must not continue without a lease.
      const bool kill = signalled->kill || tree_ == Tree::kStopped;
      if (kill) tree_ = Tree::kKilled;
      effects.push_back(SignalTree{kill ? TreeSignal::kKill : TreeSignal::kTerminate});
    }
  } else if (std::holds_alternative<AgentGone>(input)) {
    agent_gone_ = true;
  } else if (std::holds_alternative<TreeEmpty>(input)) {
    tree_ = Tree::kEmpty;
    return;
  }
  enforce(now, effects);
  ELASTIC_ASSERT(before != Tree::kKilled || tree_ == Tree::kKilled);
  ELASTIC_ASSERT(before != Tree::kEmpty || tree_ == Tree::kEmpty);
}

// Stops, continues or kills by lease and orphan bound, and arms the timer for the next of these
// moments.
void Supervisor::enforce(Time now, SupervisorEffects& effects) {
  if (tree_ != Tree::kRunning && tree_ != Tree::kStopped) return;
  const Time lease_over = lease_from_ + timeouts_.lease;
  const Time orphan_over = lease_from_ + timeouts_.orphan;
  if (now >= orphan_over) {
    tree_ = Tree::kKilled;
    effects.push_back(SignalTree{TreeSignal::kKill});
    return;
  }
  const bool may_run = now < lease_over && !agent_gone_;
  if (!may_run && tree_ == Tree::kRunning) {
    tree_ = Tree::kStopped;
    effects.push_back(SignalTree{TreeSignal::kStop});
  } else if (may_run && tree_ == Tree::kStopped) {
    tree_ = Tree::kRunning;
    effects.push_back(SignalTree{TreeSignal::kContinue});
  }
  ELASTIC_ASSERT(tree_ != Tree::kRunning || now < lease_over);
  ELASTIC_ASSERT(tree_ != Tree::kRunning || !agent_gone_);
  effects.push_back(ArmTreeTimer{tree_ == Tree::kRunning ? lease_over : orphan_over});
}

void Supervisor::check() const {
  ELASTIC_ASSERT(tree_ == Tree::kNone || round_);
  ELASTIC_ASSERT(!(agent_gone_ && tree_ == Tree::kRunning));
  ELASTIC_ASSERT(!terminating_ || tree_ != Tree::kNone);
}

std::uint64_t Supervisor::digest() const {
  Hash hash;
  hash(tree_, round_, lease_from_, agent_gone_, terminating_);
  return hash.value();
}

}  // namespace elastic
