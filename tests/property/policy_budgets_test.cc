// Laws of budgets, of the no-progress detector, of the least number of machines and of growth.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/policy/growth.h"
#include "core/policy/healthy.h"
#include "core/policy/progress.h"
#include "core/policy/restarts.h"
#include "tests/support/property.h"

namespace elastic::policy {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

SpendingRules any_rules() {
  SpendingRules rules;
  rules.max_restarts = *rc::gen::inRange(0U, 6U);
  if (*rc::gen::arbitrary<bool>()) rules.max_churn = *rc::gen::inRange(0U, 6U);
  rules.restart = {milliseconds(*rc::gen::inRange(0, 3000)), seconds(*rc::gen::inRange(1, 60))};
  rules.churn = {milliseconds(*rc::gen::inRange(0, 3000)), seconds(*rc::gen::inRange(1, 60))};
  rules.reset = minutes(*rc::gen::inRange(1, 60) + 9);
  return rules;
}

RoundEnd any_end() {
  RoundEnd end;
  end.ran = minutes(*rc::gen::element(0, 0, 0, 0, 0, 5, 80));
  const int kind = *rc::gen::inRange(0, 3);
  if (kind == 1) end.failures = *rc::gen::inRange(1U, 4U);
  if (kind == 2) end.churn = true;
  return end;
}

TEST(RestartsProperty, a_job_goes_on_exactly_while_both_counts_are_within_their_limits) {
  test::check(
      "counts since the last reset grow by what happened alone, and the job goes on exactly while "
      "both are within their limits",
      {"goes on", "restarts used up", "churn used up", "reset", "unlimited churn"}, [] {
        const SpendingRules rules = any_rules();
        Spent spent;
        std::uint64_t failures = 0;
        std::uint64_t churn = 0;
        const int rounds = *rc::gen::inRange(1, 60);
        for (int i = 0; i < rounds; ++i) {
          const RoundEnd end = any_end();
          const bool reset = end.ran >= rules.reset;
          RC_CLASSIFY(reset && failures + churn > 0, "reset");
          failures = (reset ? 0 : failures) + end.failures;
          churn = (reset ? 0 : churn) + (end.churn ? 1 : 0);
          const Charge charged = charge(spent, end, rules);
          RC_ASSERT(charged.spent.restarts == failures);
          RC_ASSERT(charged.spent.churn == churn);
          const bool restarts_over = failures > rules.max_restarts;
          const bool churn_over = rules.max_churn && churn > *rules.max_churn;
          RC_ASSERT((charged.allowance == Allowance::kRestartsUsedUp) == restarts_over);
          RC_ASSERT((charged.allowance == Allowance::kChurnUsedUp) ==
                    (churn_over && !restarts_over));
          RC_CLASSIFY(charged.allowance == Allowance::kGoOn, "goes on");
          RC_CLASSIFY(restarts_over, "restarts used up");
          RC_CLASSIFY(churn_over && !restarts_over, "churn used up");
          RC_CLASSIFY(!rules.max_churn && churn > 5, "unlimited churn");
          spent = charged.spent;
        }
      });
}

TEST(RestartsProperty, a_back_off_doubles_up_to_its_cap) {
  test::check("no delay for the first failure, then the base, doubled each time, at most the cap",
              {"off", "doubles", "capped"}, [] {
                const BackOff back_off{milliseconds(*rc::gen::inRange(0, 5000)),
                                       seconds(*rc::gen::inRange(5, 3600))};
                RC_CLASSIFY(back_off.base == Duration::zero(), "off");
                RC_ASSERT(delay_after(0, back_off) == Duration::zero());
                RC_ASSERT(delay_after(1, back_off) == Duration::zero());
                RC_ASSERT(delay_after(2, back_off) == back_off.base);
                Duration last = back_off.base;
                const auto failures = *rc::gen::inRange(3U, 200U);
                for (std::uint32_t i = 3; i <= failures; ++i) {
                  const Duration delay = delay_after(i, back_off);
                  RC_ASSERT(delay == std::min(last * 2, back_off.cap));
                  RC_CLASSIFY(delay == last * 2 && last > Duration::zero(), "doubles");
                  RC_CLASSIFY(delay == back_off.cap, "capped");
                  last = delay;
                }
                RC_ASSERT(delay_after(UINT32_MAX, back_off) >= last);
              });
}

TEST(ProgressProperty, failures_at_one_step_go_back_once_and_then_stop) {
  test::check(
      "K failures in a row without a new furthest step go back once if they can, K more stop the "
      "job, and nothing else does",
      {"off", "went back", "stopped", "could not go back", "got past it", "a loss between"}, [] {
        const ProgressRules rules{*rc::gen::inRange(0U, 5U)};
        RC_CLASSIFY(rules.failures == 0, "off");
        Progress progress;
        Step furthest;
        std::uint32_t in_a_row = 0;
        bool back = false;
        for (int i = 0; i < 40; ++i) {
          Attempt attempt;
          attempt.failed = *rc::gen::inRange(0, 4) != 0;
          attempt.can_go_back = *rc::gen::inRange(0, 4) != 0;
          attempt.reached = Step{furthest.value + (*rc::gen::inRange(0, 8) == 0 ? 1U : 0U)};
          if (furthest && *rc::gen::inRange(0, 5) == 0) attempt.reached = Step{furthest.value - 1};
          if (attempt.reached > furthest) {
            RC_CLASSIFY(in_a_row > 0, "got past it");
            furthest = attempt.reached;
            in_a_row = 0;
            back = false;
          }
          RC_CLASSIFY(!attempt.failed && in_a_row > 0, "a loss between");
          if (attempt.failed) ++in_a_row;
          const Judgement judged = judge(progress, attempt, rules);
          const bool due = rules.failures > 0 && attempt.failed && in_a_row >= rules.failures;
          const NextTry expected = !due                           ? NextTry::kGoOn
                                   : back || !attempt.can_go_back ? NextTry::kStop
                                                                  : NextTry::kGoBack;
          RC_ASSERT(judged.next == expected);
          RC_CLASSIFY(expected == NextTry::kGoBack, "went back");
          RC_CLASSIFY(expected == NextTry::kStop && back, "stopped");
          RC_CLASSIFY(expected == NextTry::kStop && !back, "could not go back");
          if (expected == NextTry::kStop) return;
          if (expected == NextTry::kGoBack) {
            in_a_row = 0;
            back = true;
          }
          RC_ASSERT(judged.progress.failures == in_a_row);
          RC_ASSERT(judged.progress.stuck_at == furthest);
          RC_ASSERT(judged.progress.went_back == back);
          progress = judged.progress;
        }
      });
}

TEST(HealthyProperty, a_job_ends_exactly_after_the_grace_below_the_minimum) {
  test::check(
      "a job ends exactly when every look for longer than the grace found too few alive",
      {"ended", "recovered in time", "off", "never short"}, [] {
        const HealthRules rules{*rc::gen::inRange(0U, 6U), seconds(*rc::gen::inRange(0, 30))};
        HealthWatch watch(rules);
        Time now{seconds(5)};
        Time short_since = kEndOfTime;
        bool ever_short = false;
        bool ended = false;
        for (int i = 0; i < 40 && !ended; ++i) {
          now += milliseconds(*rc::gen::inRange(0, 5000));
          const auto alive = *rc::gen::inRange(0U, 10U);
          const bool few = alive < rules.min_healthy;
          if (few && short_since == kEndOfTime) short_since = now;
          RC_CLASSIFY(!few && short_since != kEndOfTime, "recovered in time");
          if (!few) short_since = kEndOfTime;
          ever_short = ever_short || few;
          ended = watch.step(now, alive);
          watch.check();
          RC_ASSERT(ended == (few && now - short_since > rules.grace));
          RC_ASSERT(few == (watch.left(now) != Duration::max()));
          if (few && !ended) {
            HealthWatch later = watch;
            RC_ASSERT(later.step(now + watch.left(now), alive));
          }
        }
        RC_CLASSIFY(ended, "ended");
        RC_CLASSIFY(rules.min_healthy == 0, "off");
        RC_CLASSIFY(!ever_short, "never short");
      });
}

GrowthFacts any_facts() {
  GrowthFacts facts;
  facts.nodes = *rc::gen::inRange(1U, 20U);
  facts.after = facts.nodes + *rc::gen::inRange(0U, 10U);
  facts.here = {facts.nodes, milliseconds(*rc::gen::inRange(1, 4000))};
  if (*rc::gen::arbitrary<bool>()) {
    facts.elsewhere = {*rc::gen::inRange(1U, 30U), milliseconds(*rc::gen::inRange(1, 4000))};
  }
  facts.pause = milliseconds(*rc::gen::inRange(0, 60'000));
  if (*rc::gen::arbitrary<bool>()) facts.steps_left = *rc::gen::inRange<std::uint64_t>(0, 2000);
  facts.running_for = seconds(*rc::gen::inRange(0, 600));
  const int missing = *rc::gen::inRange(0, 10);
  if (missing == 1) facts.pause = Duration::zero();
  if (missing == 2) facts.here.length = Duration::zero();
  return facts;
}

TEST(GrowthProperty, a_larger_round_is_formed_only_if_it_pays_for_the_pause) {
  test::check(
      "kPays counts on no more than half of what perfect scaling would save, grows only if that is "
      "more than the pause, never too soon, and never unmeasured",
      {"grow", "no room", "too soon", "not measured", "does not pay", "two sizes measured"},
      [] {
        const GrowthFacts facts = any_facts();
        const GrowthRules rules{.mode = Growth::kPays,
                                .interval = seconds(*rc::gen::inRange(0, 400)),
                                .horizon = minutes(*rc::gen::inRange(1, 120)),
                                .margin_ppm = *rc::gen::inRange(0U, 1'000'000U)};
        const GrowthAnswer answer = grows(facts, rules);
        RC_CLASSIFY(answer == GrowthAnswer::kGrow, "grow");
        RC_CLASSIFY(answer == GrowthAnswer::kNoRoom, "no room");
        RC_CLASSIFY(answer == GrowthAnswer::kTooSoon, "too soon");
        RC_CLASSIFY(answer == GrowthAnswer::kNotMeasured, "not measured");
        RC_CLASSIFY(answer == GrowthAnswer::kDoesNotPay, "does not pay");
        GrowthRules other = rules;
        other.mode = Growth::kNever;
        RC_ASSERT(grows(facts, other) == GrowthAnswer::kOff);
        other.mode = Growth::kAlways;
        RC_ASSERT((grows(facts, other) == GrowthAnswer::kGrow) == (facts.after > facts.nodes));
        if (answer != GrowthAnswer::kGrow) return;
        RC_CLASSIFY(facts.elsewhere.length > Duration::zero(), "two sizes measured");
        RC_ASSERT(facts.running_for >= rules.interval);
        const Duration expected = expected_step(facts);
        const Duration saved = facts.here.length - expected;
        RC_ASSERT(saved > Duration::zero());
        RC_ASSERT(saved * 2 <=
                  facts.here.length * (facts.after - facts.nodes) / facts.after + Duration(2));
        const auto steps =
            std::min<std::uint64_t>(facts.steps_left.value_or(UINT64_MAX),
                                    static_cast<std::uint64_t>(rules.horizon / facts.here.length));
        RC_ASSERT(saved * static_cast<std::int64_t>(steps) > facts.pause);
        GrowthFacts more = facts;
        if (more.steps_left) *more.steps_left += 1;
        RC_ASSERT(grows(more, rules) == GrowthAnswer::kGrow);
      },
      {.max_success = 1000});
}

TEST(Growth, follows_the_measured_curve_where_that_is_the_worse_one) {
  GrowthFacts facts;
  facts.nodes = 4;
  facts.after = 8;
  facts.here = {4, milliseconds(1000)};
  // Half of perfect: (1 + 4/8) / 2.
  EXPECT_EQ(expected_step(facts), milliseconds(750));
  // t = 800 + 800/n through (2, 1200 ms) and (4, 1000 ms): 900 ms on eight.
  facts.elsewhere = {2, milliseconds(1200)};
  EXPECT_EQ(expected_step(facts), milliseconds(900));
  facts.elsewhere = {2, milliseconds(900)};  // more nodes were slower
  EXPECT_EQ(expected_step(facts), milliseconds(1000));
  EXPECT_STREQ(growth_text(grows(facts, {.mode = Growth::kNever})), "growth is off");
}

}  // namespace
}  // namespace elastic::policy
