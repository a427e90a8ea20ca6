// No worker tree runs without a lease, whatever its agent does.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/agent/supervisor.h"
#include "tests/support/property.h"

namespace elastic {
namespace {

using std::chrono::milliseconds;

Timeouts any_timeouts() {
  Timeouts t;
  t.lease = milliseconds(*rc::gen::inRange(1, 200));
  t.orphan = t.lease + milliseconds(*rc::gen::inRange(1, 500));
  return t;
}

// The supervisor, and what its tree does by the signals that it got.
struct Tree {
  explicit Tree(const Timeouts& timeouts) : supervisor(timeouts) {}

  void give(Time now, const SupervisorInput& input) {
    SupervisorEffects effects;
    supervisor.step(now, input, effects);
    supervisor.check();
    for (const SupervisorEffect& effect : effects) {
      if (const auto* signal = std::get_if<SignalTree>(&effect)) {
        RC_ASSERT(!killed || signal->signal == TreeSignal::kKill);
        if (signal->signal == TreeSignal::kKill) killed = true;
        if (signal->signal == TreeSignal::kStop) stopped = true;
        if (signal->signal == TreeSignal::kContinue) stopped = false;
      } else {
        timer = std::get<ArmTreeTimer>(effect).at;
      }
    }
  }

  Supervisor supervisor;
  std::optional<Time> timer;
  bool stopped = false, killed = false;
};

TEST(SupervisorProperty, no_tree_runs_without_a_lease) {
  test::check("no tree runs without a lease",
              {"stopped", "continued", "killed by the orphan bound", "killed by a newer round",
               "agent gone"},
              [] {
                const Timeouts timeouts = any_timeouts();
                Tree tree(timeouts);
                const RoundId own{JournalLife{1}, 5};
                Time now{milliseconds(1000)};
                Time lease_from = now - milliseconds(*rc::gen::inRange(0, 50));
                bool agent_gone = false, superseded = false, terminated = false;
                tree.give(now, TreeStarted{own, lease_from});
                const int events = *rc::gen::inRange(0, 40);
                for (int i = 0; i < events; ++i) {
                  Time next = now + milliseconds(*rc::gen::inRange(0, 120));
                  while (tree.timer && *tree.timer <= next) {  // timers fire on time
                    now = *tree.timer;
                    tree.timer.reset();
                    tree.give(now, TreeTimer{});
                  }
                  now = next;
                  const bool was_stopped = tree.stopped;
                  switch (*rc::gen::inRange(0, 8)) {
                    case 0:
                      agent_gone = true;
                      tree.give(now, AgentGone{});
                      break;
                    case 1:
                      terminated = true;
                      tree.give(now, TreeSignalled{*rc::gen::arbitrary<bool>()});
                      break;
                    case 2: {
                      const RoundId newest{JournalLife{1}, *rc::gen::inRange<std::uint64_t>(4, 7)};
                      superseded = superseded || newest > own;
                      const Time from = now - milliseconds(*rc::gen::inRange(0, 100));
                      if (newest == own && !tree.killed) lease_from = std::max(lease_from, from);
                      tree.give(now, TreeRenewed{from, newest});
                      break;
                    }
                    default: {
                      const Time from = now - milliseconds(*rc::gen::inRange(0, 100));
                      if (!tree.killed) lease_from = std::max(lease_from, from);
                      tree.give(now, TreeRenewed{from, own});
                    }
                  }
                  RC_CLASSIFY(tree.stopped, "stopped");
                  RC_CLASSIFY(was_stopped && !tree.stopped, "continued");
                  RC_CLASSIFY(agent_gone, "agent gone");
                  RC_CLASSIFY(superseded && tree.killed, "killed by a newer round");
                  if (tree.killed) {
                    RC_CLASSIFY(!superseded && !terminated, "killed by the orphan bound");
                    continue;
                  }
                  const bool lease_holds = now < lease_from + timeouts.lease && !agent_gone;
                  RC_ASSERT(tree.stopped || lease_holds);
                  RC_ASSERT(now < lease_from + timeouts.orphan);
                  RC_ASSERT(!superseded || terminated);
                }
              },
              {.max_success = 2000});
}

}  // namespace
}  // namespace elastic
