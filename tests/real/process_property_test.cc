// Random sequences of orders on a worker group end with no process left, and every worker's end
// told exactly once.
#include <fmt/format.h>

#include "tests/real/process_stage.h"
#include "tests/support/property.h"

namespace elastic::real::test {
namespace {

// What workers do: end at once, end soon, live on, ignore SIGTERM, leave children, try to escape.
const std::vector<std::string> kPrograms = {
    "exit 0",
    "exit 3",
    "sleep 0.01; exit 1",
    "exec sleep 600",
    "trap '' TERM; while :; do sleep 0.05; done",
    "sleep 600 & sleep 600 & wait",
    "(setsid sh -c 'env -i sleep 600 & exit 0'); exec sleep 600",
    "sh -c 'sleep 600 & exit 0'; exit 0",
};

enum class Order : int {
  kStart,
  kRenew,
  kRenewOlder,
  kNewer,
  kTerm,
  kKill,
  kKillOne,
  kKillSupervisor
};
constexpr int kOrders = 8;

struct Seen {
  std::size_t started = 0;      // workers given to start()
  std::size_t supervisors = 0;  // killed
  std::size_t superseded = 0, terminated = 0, one_killed = 0;
};

class Sequence {
 public:
  Sequence() {
    WorkerGroupOptions options;
    options.timeouts.lease = std::chrono::milliseconds(300);
    options.timeouts.orphan = std::chrono::milliseconds(600);
    options.straggler_grace = std::chrono::milliseconds(20);
    stage.emplace(options);
  }

  void step(Order order, std::uint32_t chance) {
    Stage& s = *stage;
    if (order == Order::kStart && !s.group->alive()) return start(chance);
    const bool alive = s.group->alive();
    const RoundId own = round_of(round);
    switch (order) {
      case Order::kStart:
      case Order::kRenew:
        s.group->renew(monotonic_now(), own);
        break;
      case Order::kRenewOlder:
        if (round > 1) s.group->renew(monotonic_now(), round_of(round - 1));
        break;
      case Order::kNewer:
        if (chance % 2 == 0) break;  // seldom: it ends the tree
        s.group->renew(monotonic_now(), round_of(round + 1));
        seen.superseded += alive ? 1 : 0;
        break;
      case Order::kTerm:
        s.group->stop(false);
        seen.terminated += alive ? 1 : 0;
        break;
      case Order::kKill:
        s.group->stop(true);
        break;
      case Order::kKillOne:
        s.group->kill_worker(chance % 5);
        seen.one_killed += alive ? 1 : 0;
        break;
      case Order::kKillSupervisor:
        kill_supervisor(chance);
        break;
    }
  }

  void start(std::uint32_t chance) {
    ++round;
    ends_checked();
    std::vector<std::string> scripts;
    const std::uint32_t workers = 1 + chance % 4;
    for (std::uint32_t i = 0; i < workers; ++i) {
      chance = chance * 1664525U + 1013904223U;
      scripts.push_back(kPrograms[(chance >> 16) % kPrograms.size()]);
    }
    stage->start(scripts, {}, round);
    seen.started += workers;
    expected = workers;
  }

  void kill_supervisor(std::uint32_t chance) {
    if (chance % 4 != 0) return;
    for (const ProcessStat& process : descendants(::getpid())) {
      if (process.name != kSupervisorProcessName || process.zombie()) continue;
      ++seen.supervisors;
      ::kill(process.pid, SIGKILL);
      return;
    }
  }

  // Of the tree that is over: each rank once, and the last one last.
  void ends_checked() {
    std::set<std::uint32_t> ranks;
    RC_ASSERT(stage->ends.size() == expected);
    for (std::size_t i = 0; i < stage->ends.size(); ++i) {
      ranks.insert(stage->ends[i].local_rank);
      RC_ASSERT(stage->ends[i].last_of_group == (i + 1 == stage->ends.size()));
    }
    RC_ASSERT(ranks.size() == expected);
    stage->ends.clear();
    stage->started.clear();
    expected = 0;
  }

  // Without any order, the orphan bound ends it.
  void finish() {
    RC_ASSERT(stage->until([&] { return !stage->group->alive(); }));
    ends_checked();
    RC_ASSERT(stage->nothing_left());
    RC_ASSERT(stage->unkillable.empty());
  }

  std::optional<Stage> stage;
  Seen seen;
  std::uint64_t round = 0;
  std::size_t expected = 0;
};

TEST(WorkerGroupProperty, any_orders_in_any_sequence_end_with_no_process_and_every_end_told_once) {
  elastic::test::check(
      "any orders in any sequence end with no process left and every worker's end told once",
      {"a supervisor was killed", "superseded", "terminated", "one worker killed"},
      [] {
        const auto steps =
            *rc::gen::container<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(
                40, rc::gen::pair(rc::gen::arbitrary<std::uint32_t>(),
                                  rc::gen::arbitrary<std::uint32_t>()));
        Sequence run;
        for (const auto& [what, chance] : steps) {
          run.step(static_cast<Order>(what % kOrders), chance);
          // A while in which anything may happen, or nothing.
          const std::uint32_t turns = (chance >> 8) % 4;
          run.stage->until([n = 0U, turns]() mutable { return n++ >= turns; });
          if (!run.stage->group->alive() && run.expected > 0) run.ends_checked();
        }
        run.finish();
        RC_CLASSIFY(run.seen.supervisors > 0, "a supervisor was killed");
        RC_CLASSIFY(run.seen.superseded > 0, "superseded");
        RC_CLASSIFY(run.seen.terminated > 0, "terminated");
        RC_CLASSIFY(run.seen.one_killed > 0, "one worker killed");
      },
      {.max_success = 12});
}

}  // namespace
}  // namespace elastic::real::test
