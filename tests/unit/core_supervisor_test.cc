#include <gtest/gtest.h>

#include <string>

#include "core/agent/supervisor.h"

namespace elastic {
namespace {

using std::chrono::seconds;

constexpr RoundId kRound{JournalLife{1}, 3};
constexpr RoundId kNewer{JournalLife{1}, 4};
constexpr RoundId kOlder{JournalLife{1}, 2};

Time at(int s) { return Time{seconds(s)}; }

// A supervisor with a lease of 10 s and an orphan bound of 60 s, its tree started at 0.
class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() { EXPECT_EQ(give(0, TreeStarted{kRound, at(0)}), "timer 10"); }

  std::string give(int now_s, const SupervisorInput& input) {
    SupervisorEffects effects;
    supervisor_.step(at(now_s), input, effects);
    supervisor_.check();
    std::string text;
    for (const SupervisorEffect& effect : effects) {
      if (!text.empty()) text += ", ";
      if (const auto* signal = std::get_if<SignalTree>(&effect)) {
        static const char* const names[] = {"stop", "continue", "terminate", "kill"};
        text += names[static_cast<std::size_t>(signal->signal)];
      } else {
        const Duration when = std::get<ArmTreeTimer>(effect).at.time_since_epoch();
        text += "timer " + std::to_string(when / seconds(1));
      }
    }
    return text;
  }

  static Timeouts timeouts() {
    Timeouts some;
    some.lease = seconds(10);
    some.orphan = seconds(60);
    return some;
  }

  Supervisor supervisor_{timeouts()};
};

TEST_F(SupervisorTest, stops_the_tree_when_the_lease_is_over) {
  EXPECT_EQ(give(9, TreeTimer{}), "timer 10");
  EXPECT_EQ(give(10, TreeTimer{}), "stop, timer 60");
  EXPECT_EQ(supervisor_.tree(), Supervisor::Tree::kStopped);
}

TEST_F(SupervisorTest, a_renewal_counts_from_the_sending_of_the_beat) {
  EXPECT_EQ(give(8, TreeRenewed{at(5), kRound}), "timer 15");
  EXPECT_EQ(give(10, TreeTimer{}), "timer 15");
  EXPECT_EQ(give(15, TreeTimer{}), "stop, timer 65");
}

TEST_F(SupervisorTest, an_older_renewal_shortens_nothing) {
  EXPECT_EQ(give(8, TreeRenewed{at(5), kRound}), "timer 15");
  EXPECT_EQ(give(9, TreeRenewed{at(2), kRound}), "timer 15");
}

TEST_F(SupervisorTest, an_acknowledgement_of_the_own_round_lets_the_tree_continue) {
  EXPECT_EQ(give(10, TreeTimer{}), "stop, timer 60");
  EXPECT_EQ(give(12, TreeRenewed{at(11), kRound}), "continue, timer 21");
}

TEST_F(SupervisorTest, an_acknowledgement_that_names_an_older_round_renews_nothing) {
  EXPECT_EQ(give(5, TreeRenewed{at(5), kOlder}), "timer 10");
  EXPECT_EQ(give(10, TreeTimer{}), "stop, timer 60");
}

TEST_F(SupervisorTest, a_newer_round_kills_the_tree) {
  EXPECT_EQ(give(5, TreeRenewed{at(5), kNewer}), "kill");
  EXPECT_EQ(give(6, TreeRenewed{at(6), kRound}), "");
  EXPECT_EQ(give(60, TreeTimer{}), "");
}

TEST_F(SupervisorTest, a_newer_round_leaves_its_grace_to_a_tree_that_was_asked_to_stop) {
  EXPECT_EQ(give(5, TreeSignalled{}), "terminate, timer 10");
  EXPECT_EQ(give(6, TreeRenewed{at(6), kNewer}), "");
  EXPECT_EQ(give(10, TreeTimer{}), "stop, timer 60");  // but no lease
}

TEST_F(SupervisorTest, the_orphan_bound_kills_the_tree) {
  EXPECT_EQ(give(10, TreeTimer{}), "stop, timer 60");
  EXPECT_EQ(give(60, TreeTimer{}), "kill");
  EXPECT_EQ(give(61, TreeRenewed{at(61), kRound}), "");
}

TEST_F(SupervisorTest, a_tree_without_an_agent_never_continues) {
  EXPECT_EQ(give(3, AgentGone{}), "stop, timer 60");
  EXPECT_EQ(give(4, TreeRenewed{at(4), kRound}), "timer 64");
  EXPECT_EQ(supervisor_.tree(), Supervisor::Tree::kStopped);
}

TEST_F(SupervisorTest, a_stopped_tree_cannot_act_on_sigterm_and_is_killed) {
  EXPECT_EQ(give(10, TreeTimer{}), "stop, timer 60");
  EXPECT_EQ(give(11, TreeSignalled{}), "kill");
}

TEST_F(SupervisorTest, an_empty_tree_gets_no_signal) {
  EXPECT_EQ(give(5, TreeEmpty{}), "");
  EXPECT_EQ(give(10, TreeTimer{}), "");
  EXPECT_EQ(give(11, TreeSignalled{true}), "");
  EXPECT_EQ(give(12, TreeRenewed{at(12), kNewer}), "");
}

}  // namespace
}  // namespace elastic
