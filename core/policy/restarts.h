// What a job may spend on failures: a budget of restarts for failures of the program, another one
// for losses of nodes (churn), and a back-off before the next round when failures come in a row.
//
// Both budgets are the job's. Alternative rejected: one per node, as launchers have it that count
// restarts in each agent: a job of N nodes then restarts up to N times as often as its operator
// allowed, and a replaced node starts with a fresh budget.
#pragma once

#include <cstdint>
#include <optional>

#include "core/types.h"

namespace elastic::policy {

// A delay that doubles: nothing before the first repetition, then `base`, 2 `base`, and so on up to
// `cap`. A base of zero switches it off.
struct BackOff {
  Duration base{};
  Duration cap{};
};
// The delay before the round that follows the failure number `failures` since the last reset. Never
// shrinks as failures grow; zero for the first one.
Duration delay_after(std::uint32_t failures, const BackOff& back_off);

struct SpendingRules {
  std::uint32_t max_restarts = 0;
  std::optional<std::uint32_t> max_churn;  // empty: unlimited
  BackOff restart;
  BackOff churn;
  Duration reset{};  // a round that every member ran in for so long clears both counts
};

// Counts since the last reset.
struct Spent {
  std::uint32_t restarts = 0;  // failures of the program
  std::uint32_t churn = 0;     // rounds that ended because nodes were lost
  bool operator==(const Spent&) const = default;
};

// How a round ended, or the forming of one that never ran.
struct RoundEnd {
  Duration ran{};              // since every member had entered it; zero if that never was
  std::uint32_t failures = 0;  // of the program, each counted once
  bool churn = false;          // ended by a loss, and not by a failure or an announced change
};

enum class Allowance : std::uint8_t { kGoOn, kRestartsUsedUp, kChurnUsedUp };

// Invariants:
//  1. `spent.restarts` grows by `failures` exactly, `spent.churn` by one at most, after a reset if
//  there was one.
//  2. kGoOn exactly when neither count is above its limit; restarts are named first.
//  3. The delay is due only to what this round added.
struct Charge {
  Spent spent;
  Allowance allowance = Allowance::kGoOn;
  Duration delay{};  // before the next round, on the clock of whoever leads
};
Charge charge(const Spent& before, const RoundEnd& end, const SpendingRules& rules);

}  // namespace elastic::policy
