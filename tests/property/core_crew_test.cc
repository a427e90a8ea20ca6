// What single workers say becomes, once each, what all workers of a node have done.
#include <gtest/gtest.h>

#include <vector>

#include "core/agent/crew.h"
#include "tests/support/property.h"

namespace elastic {
namespace {

using std::chrono::milliseconds;

template <class T>
T below(T bound) {
  return *rc::gen::inRange<T>(0, bound);
}

RoundId round(std::uint64_t number) { return {JournalLife{1}, number}; }

TEST(CrewProperty, tells_the_agent_only_what_all_living_workers_have_done_and_each_thing_once) {
  test::check(
      "entered, left, saved and finished are told when the last worker has, and once",
      {"one worker", "several workers", "entered", "left", "one died", "left after a death"}, [] {
        JobConfig job;
        job.workers_per_node = 1 + below<std::uint32_t>(4);
        const std::uint32_t size = job.workers_per_node;
        Timeouts timeouts;
        timeouts.beat = milliseconds(100);
        timeouts.lost_after = milliseconds(500);
        Crew crew(job, timeouts);
        Time now{milliseconds(1000)};
        std::vector<Input> told;
        std::vector<RoundId> entered(size), left(size);
        std::vector<bool> alive(size, false);
        RoundId told_entered, told_left;
        bool any_entered = false, any_left = false, died = false, left_after_death = false;
        const auto give = [&](const CrewInput& input) {
          told.clear();
          crew.step(now, input, told);
          crew.check();
          for (const Input& one : told) {
            if (const auto* in = std::get_if<WorkersEntered>(&one)) {
              RC_ASSERT(in->round > told_entered);
              told_entered = in->round;
              any_entered = true;
              for (std::uint32_t rank = 0; rank < size; ++rank) {
                RC_ASSERT(alive[rank] && entered[rank] == in->round);
                RC_ASSERT(left[rank] <= in->round);
              }
            }
            if (const auto* out = std::get_if<WorkersLeft>(&one)) {
              RC_ASSERT(out->for_round > told_left);
              told_left = out->for_round;
              any_left = true;
              left_after_death = left_after_death || died;
              for (std::uint32_t rank = 0; rank < size; ++rank)
                RC_ASSERT(!alive[rank] || left[rank] >= out->for_round);
            }
          }
        };
        for (std::uint32_t rank = 0; rank < size; ++rank) {
          alive[rank] = true;
          give(CrewStarted{rank});
          give(CrewPrepared{rank});
        }
        RC_ASSERT(told.size() == 1 && std::holds_alternative<WorkersPrepared>(told[0]));
        std::uint64_t newest = 0;
        const int events = *rc::gen::inRange(5, 80);
        for (int i = 0; i < events; ++i) {
          now += milliseconds(below(100));
          const std::uint32_t rank = below(size);
          switch (below(8)) {
            case 0:
              newest += below<std::uint64_t>(2);
              give(CrewPlaced{round(newest)});
              break;
            case 1:
              if (!alive[rank] || below(4) != 0) break;
              died = true;
              alive[rank] = false;
              entered[rank] = left[rank] = {};
              give(CrewExited{rank, ExitStatus{1, 0}});
              break;
            case 2:
              if (alive[rank]) break;
              alive[rank] = true;
              give(CrewStarted{rank});
              give(CrewPrepared{rank});
              break;
            case 3:
            case 4:
            case 5:
              if (!alive[rank] || newest == 0) break;
              entered[rank] = round(newest);
              give(CrewSaid{rank, SaysEntered{round(newest), {round(newest), Step{newest}, {}}}});
              break;
            default:
              if (!alive[rank]) break;
              left[rank] = std::max(left[rank], round(newest + 1));
              give(CrewSaid{rank, SaysLeft{round(newest + 1), std::nullopt}});
          }
        }
        RC_CLASSIFY(size == 1, "one worker");
        RC_CLASSIFY(size > 1, "several workers");
        RC_CLASSIFY(any_entered, "entered");
        RC_CLASSIFY(any_left, "left");
        RC_CLASSIFY(died, "one died");
        RC_CLASSIFY(left_after_death, "left after a death");
      });
}

TEST(CrewProperty, tells_a_frozen_worker_from_its_victims_and_from_a_pause_of_the_agent) {
  test::check(
      "silent is who does not speak, or computes one step past its bound; never who waits, and "
      "nobody because the agent itself was paused",
      {"frozen", "computes too long", "all well", "agent paused"}, [] {
        JobConfig job;
        job.workers_per_node = 3;
        job.bounds.step = milliseconds(5000);
        Timeouts timeouts;
        timeouts.beat = milliseconds(100);
        timeouts.lost_after = milliseconds(500);
        Crew crew(job, timeouts);
        Time now{milliseconds(1000)};
        std::vector<Input> told;
        for (std::uint32_t rank = 0; rank < 3; ++rank) {
          crew.step(now, CrewStarted{rank}, told);
          crew.step(now, CrewPrepared{rank}, told);
        }
        const std::uint32_t victim = below(3U);
        const int kind = below(4);  // 0: frozen, 1: computes too long, 2: all well, 3: agent paused
        const Time since = now;
        std::optional<std::uint32_t> silent;
        for (int beat = 0; beat < 70; ++beat) {
          now += kind == 3 && beat == 30 ? milliseconds(60'000) : milliseconds(100);
          told.clear();
          for (std::uint32_t rank = 0; rank < 3; ++rank) {
            if (kind == 0 && rank == victim) continue;
            SaysPulse pulse;
            pulse.computing = kind == 1 && rank == victim;
            if (pulse.computing) pulse.for_how_long = now - since;
            crew.step(now, CrewSaid{rank, pulse}, told);
          }
          told.clear();
          crew.step(now, CrewPolled{}, told);
          RC_ASSERT(told.size() == 1);
          silent = std::get<WorkerPulse>(told[0]).silent_rank;
          if (kind >= 2) RC_ASSERT(!silent.has_value());
          if (silent) RC_ASSERT(*silent == victim);
        }
        if (kind < 2) RC_ASSERT(silent == victim);
        RC_CLASSIFY(kind == 0, "frozen");
        RC_CLASSIFY(kind == 1, "computes too long");
        RC_CLASSIFY(kind == 2, "all well");
        RC_CLASSIFY(kind == 3, "agent paused");
      });
}

}  // namespace
}  // namespace elastic
