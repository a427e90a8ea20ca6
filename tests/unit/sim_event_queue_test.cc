#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/math/random.h"
#include "transport/sim/clock.h"
#include "transport/sim/event_queue.h"

namespace elastic::sim {
namespace {

using namespace std::chrono_literals;

Event event_with(std::uint64_t a) {
  Event event;
  event.a = a;
  return event;
}

TEST(EventQueue, events_leave_in_order_of_time_then_of_pushing) {
  EventQueue queue;
  std::vector<std::tuple<std::int64_t, std::uint64_t>> wanted;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    const std::uint64_t drawn = math::draw(math::Seed{1}, math::Stream{1}, i);
    const auto at = static_cast<std::int64_t>(math::below(drawn, 300));
    queue.push(Time(Duration(at)), event_with(i));
    wanted.emplace_back(at, i);
  }
  std::sort(wanted.begin(), wanted.end());
  for (const auto& [at, index] : wanted) {
    ASSERT_FALSE(queue.empty());
    const EventQueue::Due due = queue.pop();
    ASSERT_EQ(due.at, Time(Duration(at)));
    ASSERT_EQ(due.event.a, index);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, a_reserved_place_is_kept_among_events_of_the_same_time) {
  EventQueue queue;
  const std::uint64_t early = queue.take_sequence();
  queue.push(Time(5ns), event_with(2));
  queue.push_at(Time(5ns), early, event_with(1));
  EXPECT_EQ(queue.pop().event.a, 1U);
  EXPECT_EQ(queue.pop().event.a, 2U);
}

TEST(EventQueue, a_slab_gives_freed_slots_again) {
  Slab<int> slab;
  const std::uint32_t one = slab.put(1);
  const std::uint32_t two = slab.put(2);
  EXPECT_EQ(slab.take(one), 1);
  EXPECT_EQ(slab.put(3), one);
  EXPECT_EQ(slab.at(two), 2);
  EXPECT_EQ(slab.in_use(), 2U);
}

TEST(LocalClock, runs_with_true_time_from_its_own_start) {
  LocalClock clock;
  clock.start(Time(10s), Time(1000s));
  EXPECT_EQ(clock.local(Time(12s)), Time(1002s));
  EXPECT_EQ(clock.when(Time(10s), Time(1002s)), Time(12s));
}

TEST(LocalClock, a_drift_changes_its_rate_and_never_makes_it_jump) {
  LocalClock clock;
  clock.start(Time{}, Time(1h));
  clock.set_rate(Time(100s), 10'000);
  EXPECT_EQ(clock.local(Time(100s)), Time(1h + 100s));
  EXPECT_EQ(clock.local(Time(200s)), Time(1h + 201s));
  clock.set_rate(Time(200s), 0);
  EXPECT_EQ(clock.local(Time(200s)), Time(1h + 201s));
  EXPECT_EQ(clock.local(Time(300s)), Time(1h + 301s));
}

TEST(LocalClock, when_is_the_first_instant_at_which_the_clock_shows_that_much) {
  for (const std::int64_t ppm : {-9'999, -3, 0, 7, 4'321}) {
    LocalClock clock;
    clock.start(Time{}, Time{});
    clock.set_rate(Time{}, ppm);
    for (std::int64_t wanted = 1; wanted < 4'000'000'000; wanted = wanted * 3 + 1) {
      const Time at = clock.when(Time{}, Time(Duration(wanted)));
      ASSERT_GE(clock.local(at), Time(Duration(wanted)));
      if (at > Time{}) {
        ASSERT_LT(clock.local(at - 1ns), Time(Duration(wanted)));
      }
    }
  }
}

class LazyTimerTest : public testing::Test {
 protected:
  void SetUp() override { clock.start(Time{}, Time{}); }
  // Runs the queue empty; gives the times at which the timer fired.
  std::vector<Time> fired() {
    std::vector<Time> times;
    while (!queue.empty()) {
      const EventQueue::Due due = queue.pop();
      ++popped;
      if (timer.popped(queue, due) == LazyTimer::Popped::kDue) times.push_back(due.at);
    }
    return times;
  }
  EventQueue queue;
  LocalClock clock;
  LazyTimer timer;
  Event event;
  int popped = 0;
};

TEST_F(LazyTimerTest, a_timer_that_is_put_off_again_and_again_fires_once_and_costs_little) {
  for (int i = 0; i < 1000; ++i)
    timer.arm(queue, clock, Time(Duration(i)), Time(10us) + Duration(i), event);
  EXPECT_EQ(fired(), std::vector<Time>{Time(10us) + 999ns});
  EXPECT_EQ(popped, 2);
}

TEST_F(LazyTimerTest, a_timer_that_is_brought_forward_fires_at_the_earlier_time_only) {
  timer.arm(queue, clock, Time{}, Time(10us), event);
  timer.arm(queue, clock, Time{}, Time(3us), event);
  EXPECT_EQ(fired(), std::vector<Time>{Time(3us)});
}

TEST_F(LazyTimerTest, a_cancelled_timer_does_not_fire) {
  timer.arm(queue, clock, Time{}, Time(10us), event);
  timer.cancel();
  EXPECT_TRUE(fired().empty());
}

TEST_F(LazyTimerTest, a_timer_follows_its_clock_when_that_runs_faster) {
  timer.arm(queue, clock, Time{}, Time(1s), event);
  clock.set_rate(Time{}, 1'000'000);
  timer.clock_changed(queue, clock, Time{}, event);
  EXPECT_EQ(fired(), std::vector<Time>{Time(500ms)});
}

TEST_F(LazyTimerTest, a_timer_follows_its_clock_when_that_runs_slower) {
  timer.arm(queue, clock, Time{}, Time(1s), event);
  clock.set_rate(Time{}, -500'000);
  timer.clock_changed(queue, clock, Time{}, event);
  EXPECT_EQ(fired(), std::vector<Time>{Time(2s)});
}

TEST_F(LazyTimerTest, a_timer_that_came_due_in_a_freeze_fires_on_the_thaw) {
  timer.arm(queue, clock, Time{}, Time(1s), event);
  timer.popped_while_frozen(queue, queue.pop());
  EXPECT_TRUE(queue.empty());
  timer.thaw(queue, Time(7s), event);
  EXPECT_EQ(fired(), std::vector<Time>{Time(7s)});
}

}  // namespace
}  // namespace elastic::sim
