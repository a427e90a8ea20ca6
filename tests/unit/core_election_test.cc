// Who stands when: giving way to a candidate, and journals that answer late.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "core/membership/election.h"

namespace elastic::test {
namespace {

constexpr AgentId kSelf{NodeId{1}, AgentLife{1}};
constexpr AgentId kOther{NodeId{2}, AgentLife{1}};

struct Voter {
  Voter() {
    job.journal = JournalKind::kExternal;
    job.min_nodes = 2;
    job.max_nodes = 4;
    timeouts = std::get<Timeouts>(derive_timeouts(job));
    election.emplace(job, timeouts);
    journal.emplace(job, timeouts);
    journal->start(kSelf, 11);
    election->start(now, kSelf, 11, {kOther.node}, effects);
  }

  // The silence that was drawn since the last call; nothing when the timer was left alone.
  std::optional<Duration> silence() {
    std::optional<Duration> drawn;
    for (const Effect& effect : effects) {
      const auto* arm = std::get_if<ArmTimer>(&effect);
      if (arm != nullptr && arm->timer == TimerId::kSilence) drawn = arm->after;
    }
    effects.clear();
    election->check();
    return drawn;
  }
  void nearly_silent_enough() {
    const std::optional<Duration> drawn = silence();
    ASSERT_TRUE(drawn);
    now += *drawn - Duration(1);
  }
  // How many were asked since the last call.
  std::size_t canvassed() {
    std::size_t count = 0;
    for (const Effect& effect : effects) {
      const auto* send = std::get_if<Send>(&effect);
      count += send != nullptr && std::holds_alternative<Canvass>(send->message) ? 1U : 0U;
    }
    effects.clear();
    election->check();
    return count;
  }
  void asked_by_a_candidate() {
    election->on_canvass(now, {kOther, 1, {}}, {}, {}, now - timeouts.lease, effects);
  }
  // The journal is asked, and answers after so long.
  void read_taking(Duration length) {
    election->on_silence(now, *journal, effects);
    now += length;
    JournalEvent event;
    event.read_done = ~0ULL;
    effects.clear();
    election->on_read(now, event, *journal, effects);
  }

  JobConfig job;
  Timeouts timeouts;
  std::optional<Election> election;
  std::optional<JournalClient> journal;
  Effects effects;
  Time now{};
};

TEST(Election, a_follower_lets_a_candidate_finish_first) {
  Voter voter;
  voter.nearly_silent_enough();
  voter.asked_by_a_candidate();
  const std::optional<Duration> drawn = voter.silence();
  ASSERT_TRUE(drawn);
  EXPECT_GE(*drawn, voter.timeouts.canvass + voter.job.bounds.journal);
  EXPECT_LT(*drawn, voter.timeouts.election_max);
}

TEST(Election, a_follower_whose_silence_lasts_longer_than_a_canvass_goes_on_waiting) {
  Voter voter;
  voter.election->new_lead(voter.now, voter.effects);  // doubled: at least two silences
  ASSERT_TRUE(voter.silence());
  voter.asked_by_a_candidate();
  EXPECT_FALSE(voter.silence());
}

TEST(Election, a_follower_gives_way_once_before_each_attempt_of_its_own) {
  Voter voter;
  voter.nearly_silent_enough();
  voter.asked_by_a_candidate();
  ASSERT_TRUE(voter.silence());
  voter.asked_by_a_candidate();
  EXPECT_FALSE(voter.silence()) << "candidates in a row would keep it from standing for ever";
  voter.read_taking(Duration(0));
  EXPECT_EQ(voter.canvassed(), 1U);
  voter.election->on_canvass_over(voter.now, *voter.journal, voter.effects);
  voter.effects.clear();
  voter.election->heard_leader(voter.now, voter.effects);
  voter.nearly_silent_enough();
  voter.asked_by_a_candidate();
  EXPECT_TRUE(voter.silence()) << "it has stood since, and may give way again";
}

TEST(Election, a_follower_that_hears_its_leader_does_not_give_way) {
  Voter voter;
  voter.election->heard_leader(voter.now, voter.effects);
  ASSERT_TRUE(voter.silence());
  voter.asked_by_a_candidate();
  EXPECT_FALSE(voter.silence());
}

TEST(Election, a_candidate_keeps_on) {
  Voter voter;
  voter.read_taking(Duration(0));
  ASSERT_EQ(voter.canvassed(), 1U);
  voter.asked_by_a_candidate();
  EXPECT_FALSE(voter.silence());
  EXPECT_EQ(voter.election->phase(), Election::Phase::kCanvassing);
}

TEST(Election, the_first_late_answer_of_a_journal_draws_another_silence_and_the_second_does_not) {
  Voter voter;
  voter.read_taking(voter.job.bounds.journal);
  EXPECT_EQ(voter.canvassed(), 1U) << "in time";

  Voter late;
  late.read_taking(late.job.bounds.journal + Duration(1));
  EXPECT_EQ(late.election->phase(), Election::Phase::kFollowing);
  const std::optional<Duration> drawn = late.silence();
  ASSERT_TRUE(drawn);
  EXPECT_LT(*drawn, late.timeouts.election_min);
  late.now += *drawn;
  late.read_taking(late.job.bounds.journal * 2);
  EXPECT_EQ(late.canvassed(), 1U) << "a journal that is always late must not end elections";
}

}  // namespace
}  // namespace elastic::test
