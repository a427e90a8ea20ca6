// Laws of flap damping: a flapper causes few changes, and a good node is never suppressed.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/policy/flaps.h"
#include "tests/support/property.h"

namespace elastic::policy {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr NodeId kNode{7};

FlapRules any_rules() {
  FlapRules rules;
  rules.tolerated = *rc::gen::inRange(1U, 12U);
  rules.window = minutes(*rc::gen::inRange(4, 200));
  rules.longest = half_life(rules, 0) * 3 + minutes(*rc::gen::inRange(0, 200));
  return rules;
}

// Departures in the longest stretch of `length`, which begins at a departure.
std::uint64_t most_in(const std::vector<Time>& times, Duration length) {
  std::uint64_t most = 0;
  for (std::size_t i = 0, end = 0; i < times.size(); ++i) {
    while (end < times.size() && times[end] - times[i] <= length) ++end;
    most = std::max<std::uint64_t>(most, end - i);
  }
  return most;
}

// What a flapper waits for before it goes again.
enum class Tactic { kAtOnce, kJustBelow, kSometimes };

struct Flapper {
  FlapRules rules;
  Tactic tactic;
  Time now{};
  std::vector<Time> departures;
  bool suppressed_once = false;
  bool led_anew = false;
};

void wait_for_turn(Flapper& flapper, const FlapTable& table) {
  const Duration moment = std::max(half_life(flapper.rules, 0) / 64, Duration(1));
  if (table.suppressed(flapper.now, kNode)) {
    flapper.suppressed_once = true;
    flapper.now += table.left(flapper.now, kNode);
  }
  if (flapper.tactic == Tactic::kAtOnce) {
    flapper.now += moment;
  } else if (flapper.tactic == Tactic::kSometimes) {
    flapper.now += moment * *rc::gen::inRange(1, 500);
  } else {
    // As often as it can without ever being suppressed.
    const std::uint32_t bound = suppressed_at(flapper.rules) - kDeparture;
    do {
      flapper.now += moment;
    } while (table.score(flapper.now, kNode) >= bound && bound > 0);
  }
}

TEST(FlapsProperty, a_flapper_causes_no_more_changes_than_the_header_derives) {
  test::check(
      "for any flapper, any length of time has at most most_departures of it",
      {"suppressed", "never suppressed", "leaders changed", "tolerates one"},
      [] {
        Flapper flapper{any_rules(), static_cast<Tactic>(*rc::gen::inRange(0, 3)), {}, {}};
        FlapTable table(flapper.rules);
        const int departures = *rc::gen::inRange(5, 120);
        for (int i = 0; i < departures; ++i) {
          wait_for_turn(flapper, table);
          table.settle(flapper.now);
          RC_ASSERT(!table.suppressed(flapper.now, kNode));
          table.departed(flapper.now, kNode);
          table.check();
          flapper.departures.push_back(flapper.now);
          if (*rc::gen::inRange(0, 12) != 0) continue;
          // Another leads, on a clock of its own: only what it has measured counts as decay.
          flapper.led_anew = true;
          const auto scores = table.scores(flapper.now);
          flapper.now += seconds(*rc::gen::inRange(0, 2000));
          table.restore(flapper.now, scores, Duration::zero());
        }
        RC_CLASSIFY(flapper.suppressed_once, "suppressed");
        RC_CLASSIFY(!flapper.suppressed_once, "never suppressed");
        RC_CLASSIFY(flapper.led_anew, "leaders changed");
        RC_CLASSIFY(flapper.rules.tolerated == 1, "tolerates one");
        for (const Duration length :
             {Duration(seconds(1)), flapper.rules.window / 8, Duration(minutes(60)),
              flapper.rules.window, flapper.rules.window * 5}) {
          RC_ASSERT(most_in(flapper.departures, length) <= most_departures(flapper.rules, length));
        }
      },
      {.max_success = 300});
}

TEST(FlapsProperty, a_good_node_is_never_suppressed) {
  test::check("a node with at most `tolerated` departures in each window is never suppressed",
              {"as often as tolerated", "at once", "settled between"}, [] {
                const FlapRules rules = any_rules();
                FlapTable table(rules);
                Time now{};
                std::vector<Time> departures;
                const int count = *rc::gen::inRange(1, 60);
                bool full = false;
                for (int i = 0; i < count; ++i) {
                  const auto jump = *rc::gen::inRange(0, 3);
                  if (jump == 1) now += rules.window / *rc::gen::inRange(2, 50);
                  if (jump == 2) now += rules.window;
                  if (departures.size() >= rules.tolerated) {
                    const Time oldest = departures[departures.size() - rules.tolerated];
                    full = full || now <= oldest + rules.window;
                    now = std::max(now, oldest + rules.window);
                  }
                  const bool settle = *rc::gen::arbitrary<bool>();
                  RC_CLASSIFY(settle, "settled between");
                  RC_CLASSIFY(jump == 0 && i > 0, "at once");
                  if (settle) table.settle(now);
                  table.departed(now, kNode);
                  departures.push_back(now);
                  table.check();
                  RC_ASSERT(!table.suppressed(now, kNode));
                }
                RC_CLASSIFY(full, "as often as tolerated");
              });
}

TEST(FlapsProperty, the_next_departure_after_those_tolerated_suppresses) {
  test::check(
      "`tolerated` + 1 departures at once suppress for no longer than `longest`, each further "
      "suppression for twice the time or `longest`, until the score is at the lower threshold",
      {"longest", "doubled"}, [] {
        const FlapRules rules = any_rules();
        FlapTable table(rules);
        Time now{};
        Duration last{};
        for (int round = 0; round < 4; ++round) {
          int needed = 0;
          while (!table.suppressed(now, kNode)) {
            table.departed(now, kNode);
            RC_ASSERT(++needed <= static_cast<int>(rules.tolerated) + 1);
          }
          RC_ASSERT(round > 0 || needed == static_cast<int>(rules.tolerated) + 1);
          const Duration left = table.left(now, kNode);
          RC_ASSERT(left <= rules.longest);
          RC_CLASSIFY(left == rules.longest, "longest");
          // How far above the threshold the last departure went decides on less than one half-life.
          const bool grew = left >= last + half_life(rules, static_cast<std::uint32_t>(round)) / 4;
          RC_CLASSIFY(round > 0 && grew && left < rules.longest, "doubled");
          RC_ASSERT(round == 0 || grew || left == rules.longest);
          last = left;
          now += left;
          RC_ASSERT(!table.suppressed(now, kNode));
          RC_ASSERT(table.score(now, kNode) <= taken_again_at(rules));
        }
      });
}

TEST(FlapsProperty, a_score_that_travels_is_the_same_score) {
  test::check("a table that is written down and taken over at the same moment goes on alike",
              {"suppressed", "decaying", "forgotten"}, [] {
                const FlapRules rules = any_rules();
                FlapTable here(rules);
                Time now{seconds(1000)};
                const int count = *rc::gen::inRange(1, 20);
                for (int i = 0; i < count; ++i) {
                  now += rules.window / *rc::gen::inRange(1, 100);
                  here.departed(now, NodeId{*rc::gen::inRange<std::uint64_t>(1, 4)});
                }
                now += rules.window / *rc::gen::inRange(1, 100);
                here.settle(now);
                // The other's clock shows another time.
                const Duration shift = seconds(*rc::gen::inRange(-900, 90000));
                FlapTable there(rules);
                there.restore(now + shift, here.scores(now), Duration::zero());
                there.check();
                for (std::uint64_t id = 1; id < 4; ++id) {
                  const NodeId node{id};
                  RC_CLASSIFY(here.suppressed(now, node), "suppressed");
                  RC_CLASSIFY(!here.suppressed(now, node) && here.score(now, node) > 0, "decaying");
                  RC_CLASSIFY(here.score(now, node) == 0, "forgotten");
                  RC_ASSERT(there.score(now + shift, node) == here.score(now, node));
                  RC_ASSERT(there.left(now + shift, node) == here.left(now, node));
                }
                // Later on, rounding may tell them apart by one unit.
                const Duration later = rules.window / *rc::gen::inRange(1, 30);
                for (std::uint64_t id = 1; id < 4; ++id) {
                  const std::int64_t a = here.score(now + later, NodeId{id});
                  const std::int64_t b = there.score(now + shift + later, NodeId{id});
                  RC_ASSERT(a - b <= 1 && b - a <= 1);
                }
              });
}

TEST(Flaps, numbers_of_the_default_rules) {
  const FlapRules rules;
  EXPECT_EQ(half_life(rules, 0), seconds(450));
  EXPECT_EQ(half_life(rules, 1), seconds(450));
  EXPECT_EQ(half_life(rules, 3), seconds(1800));
  EXPECT_EQ(half_life(rules, 100), seconds(450 * 64));
  // (T/P + 1)(1 + 8 ln 2) = 4.0234 * 6.5452 = 26.33, and one for rounding.
  EXPECT_EQ(most_departures(rules, std::chrono::hours(1)), 27U);
  FlapTable table(rules);
  const Time now{seconds(9)};
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(table.suppressed(now, kNode));
    table.departed(now, kNode);
  }
  // From 4 P to 3.0234 P / 4: log2(5.292) = 2.4038 half-lives.
  EXPECT_NEAR(static_cast<double>(table.left(now, kNode).count()) / 1e9, 2.4038 * 450, 0.1);
  table.settle(now + std::chrono::hours(30));
  EXPECT_TRUE(table.scores(now + std::chrono::hours(30)).empty());
}

TEST(Flaps, without_tolerance_nothing_is_damped) {
  FlapTable table({.tolerated = 0});
  for (int i = 0; i < 50; ++i) table.departed(Time{}, kNode);
  EXPECT_FALSE(table.suppressed(Time{}, kNode));
  EXPECT_TRUE(table.scores(Time{}).empty());
}

}  // namespace
}  // namespace elastic::policy
