#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "chaos/shrink/minimise.h"
#include "core/math/random.h"

namespace elastic::chaos {
namespace {

using sim::Fault;
using sim::FaultKind;
using std::chrono::hours;
using std::chrono::seconds;

Fault fault(std::int64_t at_s, FaultKind kind, std::vector<std::uint64_t> targets,
            std::int64_t length_s = 0, std::int64_t value = 0) {
  Fault made;
  made.at = Time(seconds(at_s));
  made.kind = kind;
  made.length = seconds(length_s);
  made.value = value;
  for (const std::uint64_t node : targets) made.targets.push_back(NodeId{node});
  return made;
}

bool hits(const Fault& one, FaultKind kind, std::uint64_t node) {
  return one.kind == kind &&
         std::find(one.targets.begin(), one.targets.end(), NodeId{node}) != one.targets.end();
}

// The bug: node 3 crashes after a partition that lasted at least ten seconds.
std::optional<Time> crash_after_partition(const Suspect& suspect) {
  bool partitioned = false;
  for (const Fault& one : suspect.plan) {
    if (one.at > Time{} + suspect.horizon) break;
    partitioned = partitioned || (one.kind == FaultKind::kPartition && one.length >= seconds(10));
    if (partitioned && hits(one, FaultKind::kCrash, 3)) return one.at + seconds(1);
  }
  return std::nullopt;
}

Suspect noisy(std::uint64_t seed, std::size_t faults) {
  Suspect suspect{.plan = {}, .horizon = hours(24)};
  for (std::size_t i = 0; i < faults; ++i) {
    const std::uint64_t kind = math::draw(math::Seed{seed}, math::Stream{1}, i);
    const std::uint64_t node = math::draw(math::Seed{seed}, math::Stream{2}, i);
    suspect.plan.push_back(
        fault(static_cast<std::int64_t>(60 * i),
              math::below(kind, 2) == 0 ? FaultKind::kFreezeAgent : FaultKind::kKillWorker,
              {1 + math::below(node, 8)}, 5));
  }
  suspect.plan[faults / 3] =
      fault(static_cast<std::int64_t>(60 * (faults / 3)), FaultKind::kPartition, {1, 2, 3, 4}, 90);
  suspect.plan[faults / 2] =
      fault(static_cast<std::int64_t>(60 * (faults / 2)), FaultKind::kCrash, {2, 3, 5}, 60);
  return suspect;
}

TEST(Minimise, ends_in_the_two_faults_that_matter) {
  const Minimised small = minimise(noisy(1, 200), crash_after_partition, {.max_trials = 2000});
  ASSERT_TRUE(small.failed);
  EXPECT_TRUE(small.complete);
  ASSERT_EQ(small.smallest.plan.size(), 2U);
  const Fault& partition = small.smallest.plan[0];
  const Fault& crash = small.smallest.plan[1];
  EXPECT_EQ(partition.kind, FaultKind::kPartition);
  EXPECT_EQ(partition.targets.size(), 1U) << "one node is enough for this bug";
  EXPECT_GE(partition.length, seconds(10));
  EXPECT_LT(partition.length, seconds(20)) << "halved until it no longer fails";
  EXPECT_EQ(crash.targets, std::vector<NodeId>{NodeId{3}});
  EXPECT_LE(small.smallest.horizon, Duration(crash.at.time_since_epoch() + seconds(3)));
  EXPECT_TRUE(crash_after_partition(small.smallest).has_value());
}

TEST(Minimise, needs_few_runs_for_few_culprits) {
  const Minimised small = minimise(noisy(2, 1000), crash_after_partition);
  EXPECT_TRUE(small.complete);
  EXPECT_EQ(small.smallest.plan.size(), 2U);
  EXPECT_LT(small.trials, 200U);
}

TEST(Minimise, makes_the_same_trials_every_time) {
  const auto record = [](std::vector<Suspect>& trials) {
    return minimise(noisy(3, 60), [&](const Suspect& one) {
      trials.push_back(one);
      return crash_after_partition(one);
    });
  };
  std::vector<Suspect> first;
  std::vector<Suspect> second;
  const Minimised one = record(first);
  const Minimised two = record(second);
  EXPECT_EQ(first, second);
  EXPECT_EQ(one.smallest, two.smallest);
  EXPECT_EQ(one.trials, first.size());
}

TEST(Minimise, tries_no_suspect_twice_and_keeps_to_its_limit) {
  std::vector<Suspect> trials;
  const auto trial = [&](const Suspect& one) {
    EXPECT_EQ(std::find(trials.begin(), trials.end(), one), trials.end());
    trials.push_back(one);
    return crash_after_partition(one);
  };
  const Minimised small = minimise(noisy(4, 100), trial, {.max_trials = 25});
  EXPECT_TRUE(small.failed);
  EXPECT_FALSE(small.complete);
  EXPECT_EQ(small.trials, 25U);
  EXPECT_EQ(trials.size(), 25U);
  EXPECT_TRUE(crash_after_partition(small.smallest).has_value());
}

TEST(Minimise, says_so_when_the_suspect_does_not_fail) {
  const Minimised none =
      minimise(noisy(5, 10), [](const Suspect&) -> std::optional<Time> { return std::nullopt; });
  EXPECT_FALSE(none.failed);
  EXPECT_EQ(none.trials, 1U);
}

TEST(Minimise, ends_in_an_empty_plan_when_no_fault_is_needed) {
  const Minimised small =
      minimise(noisy(6, 50), [](const Suspect&) { return std::optional<Time>(Time::max()); });
  EXPECT_TRUE(small.complete);
  EXPECT_TRUE(small.smallest.plan.empty());
  EXPECT_EQ(small.smallest.horizon, hours(24)) << "fails at no instant in particular";
}

// For random culprits: the result is minimal, a part of the suspect, and the horizon holds the
// failure.
TEST(Minimise, no_fault_of_the_result_can_be_left_out) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::size_t faults = 20 + seed;
    const Suspect suspect = noisy(seed, faults);
    std::set<std::int64_t> culprits;
    for (std::uint64_t i = 0; i < 1 + seed % 5; ++i) {
      const std::uint64_t drawn = math::draw(math::Seed{seed}, math::Stream{9}, i);
      culprits.insert(static_cast<std::int64_t>(math::below(drawn, faults)));
    }
    const auto trial = [&](const Suspect& one) -> std::optional<Time> {
      std::set<std::int64_t> left = culprits;
      Time last{};
      for (const Fault& f : one.plan) {
        // Times are whole minutes here, so that rounding them changes nothing.
        if (left.erase(f.at.time_since_epoch() / std::chrono::minutes(1)) > 0) last = f.at;
      }
      if (!left.empty()) return std::nullopt;
      return last;
    };
    const Minimised small = minimise(suspect, trial, {.max_trials = 3000});
    ASSERT_TRUE(small.complete) << "seed " << seed;
    EXPECT_EQ(small.smallest.plan.size(), culprits.size()) << "seed " << seed;
    for (std::size_t i = 0; i < small.smallest.plan.size(); ++i) {
      Suspect less = small.smallest;
      less.plan.erase(less.plan.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(trial(less).has_value());
    }
  }
}

}  // namespace
}  // namespace elastic::chaos
