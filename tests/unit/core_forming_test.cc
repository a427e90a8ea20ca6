// The decision on chosen views: who is in, what is waited for, where the round resumes.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/membership/forming.h"

namespace elastic {
namespace {

using std::chrono::seconds;

constexpr JournalLife kLife{1ULL << 32U};
constexpr RoundId kWorld{kLife, 1};
constexpr RoundId kNext{kLife, 2};

// A job of 2 to 3 nodes whose round r1 [n1 n2 n3] was left for r2, seen 20 s after the lead began.
class FormingTest : public testing::Test {
 protected:
  FormingTest() {
    job_.min_nodes = 2;
    job_.max_nodes = 3;
    job_.journal = JournalKind::kExternal;
    timeouts_ = std::get<Timeouts>(derive_timeouts(job_));
    World world;
    world.round = kWorld;
    for (std::uint64_t i = 1; i <= 3; ++i) {
      world.members.push_back({{NodeId{i}, AgentLife{1}}, 1});
    }
    journal_.life = kLife;
    journal_.last = RecordNo{2};
    journal_.world = world;
  }

  Peer& peer(std::uint64_t node, AgentState state) {
    Peer& some = peers_[NodeId{node}];
    some.beat.from = {NodeId{node}, AgentLife{1}};
    some.beat.state = state;
    some.heard = some.acked = now_;
    some.ever_acked = true;
    return some;
  }
  // A member of r1 that has left for r2 and holds this step of r1.
  Peer& survivor(std::uint64_t node, std::uint64_t step) {
    Peer& some = peer(node, AgentState::kLeft);
    some.beat.placed = some.beat.entered_newest = kWorld;
    some.beat.left_for = kNext;
    some.beat.held = StatePoint{kWorld, Step{step}, Lineage{100 + step}};
    return some;
  }
  Peer& running(std::uint64_t node) {
    Peer& some = peer(node, AgentState::kRunning);
    some.beat.placed = some.beat.entered = some.beat.entered_newest = kWorld;
    return some;
  }
  Peer& spare(std::uint64_t node) {
    Peer& some = peer(node, AgentState::kPrepared);
    some.beat.left_for = kNext;
    return some;
  }

  // "n1 n2 at 5", or what is waited for.
  std::string decided() {
    const FormingView view{job_,           timeouts_,      journal_, peers_,
                           now_,           lead_return_,   kNext,    forming_since_,
                           forming_since_, members_until_, go_back_, broken_};
    const Forming forming = decide(view);
    if (forming.saves_lost) return "saves lost";
    if (forming.members.empty()) return "wait " + std::to_string(static_cast<int>(forming.wait));
    std::string text;
    for (const Member& member : forming.members) {
      text += "n" + std::to_string(member.agent.node.value) + " ";
    }
    const ResumePoint& resume = forming.resume.resume;
    if (resume.source == ResumePoint::Source::kScratch) return text + "from scratch";
    const bool saved = resume.source == ResumePoint::Source::kCheckpoint;
    return text + (saved ? "saved " : "at ") + std::to_string(resume.state.step.value);
  }
  static std::string waits(WaitReason reason) {
    return "wait " + std::to_string(static_cast<int>(reason));
  }

  JobConfig job_;
  Timeouts timeouts_;
  JournalView journal_;
  Peers peers_;
  Time now_{seconds(1000)};
  Time lead_return_{seconds(980)};
  Time forming_since_{seconds(999)};
  Time members_until_{seconds(1009)};
  std::vector<RecordNo> broken_;
  bool go_back_ = false;
};

TEST_F(FormingTest, closes_when_everybody_is_in) {
  survivor(1, 5), survivor(2, 5), survivor(3, 5);
  EXPECT_EQ(decided(), "n1 n2 n3 at 5");
}

TEST_F(FormingTest, the_highest_step_of_the_newest_round_is_resumed) {
  survivor(1, 5), survivor(2, 6), survivor(3, 5);
  EXPECT_EQ(decided(), "n1 n2 n3 at 6");
}

TEST_F(FormingTest, waits_for_a_member_that_is_alive_and_still_in) {
  survivor(1, 5), survivor(2, 5), running(3);
  EXPECT_EQ(decided(), waits(WaitReason::kMembersLeave));
  now_ = seconds(1010) + Time{};
  forming_since_ = Time{seconds(990)};
  members_until_ = Time{seconds(1000)};
  EXPECT_EQ(decided(), "n1 n2 at 5");  // its agent had all the time that it may take
}

TEST_F(FormingTest, does_not_wait_for_the_lost) {
  survivor(1, 5), survivor(2, 5), running(3).lost = true;
  EXPECT_EQ(decided(), "n1 n2 at 5");
}

TEST_F(FormingTest, is_below_min_with_one_node) {
  survivor(1, 5);
  EXPECT_EQ(decided(), waits(WaitReason::kBelowMin));
}

TEST_F(FormingTest, a_suppressed_node_is_neither_taken_nor_waited_for) {
  survivor(1, 5), survivor(2, 5), spare(3).suppressed_until = now_ + seconds(9);
  EXPECT_EQ(decided(), "n1 n2 at 5");
  running(3).suppressed_until = now_ + seconds(9);
  EXPECT_EQ(decided(), "n1 n2 at 5");
  spare(3).suppressed_until = now_;  // over
  EXPECT_EQ(decided(), "n1 n2 n3 at 5");
}

TEST_F(FormingTest, a_suppressed_node_is_taken_if_there_are_too_few_without_it) {
  survivor(1, 5), survivor(2, 5).suppressed_until = now_ + seconds(9);
  peer(3, AgentState::kRunning).lost = true;
  EXPECT_EQ(decided(), "n1 n2 at 5");
}

TEST_F(FormingTest, a_suppressed_node_is_taken_if_it_alone_holds_the_newest_state) {
  spare(1), spare(2), survivor(3, 5).suppressed_until = now_ + seconds(9);
  peers_[NodeId{1}].beat.from.life = peers_[NodeId{2}].beat.from.life = AgentLife{2};
  EXPECT_EQ(decided(), "n1 n2 n3 at 5");
}

TEST_F(FormingTest, going_back_resumes_the_checkpoint_whatever_members_hold) {
  survivor(1, 5), survivor(2, 5), survivor(3, 5);
  journal_.checkpoint = Checkpoint{Step{3}, kWorld, Lineage{103}, 0};
  journal_.checkpoint_record = RecordNo{2};
  journal_.saves = {{RecordNo{2}, *journal_.checkpoint}};
  EXPECT_EQ(decided(), "n1 n2 n3 at 5");
  go_back_ = true;
  EXPECT_EQ(decided(), "n1 n2 n3 saved 3");
}

TEST_F(FormingTest, what_was_abandoned_is_never_resumed) {
  survivor(1, 5), survivor(2, 5), survivor(3, 5);
  for (auto& [node, some] : peers_) {
    some.beat.held->entered = RoundId{kLife, 0};
    some.beat.entered_newest = RoundId{kLife, 0};
  }
  journal_.checkpoint = Checkpoint{Step{3}, RoundId{kLife, 0}, Lineage{103}, 0};
  journal_.checkpoint_record = RecordNo{2};
  journal_.saves = {{RecordNo{2}, *journal_.checkpoint}};
  EXPECT_EQ(decided(), "n1 n2 n3 at 5");
  journal_.world->abandoned_below = kWorld;
  EXPECT_EQ(decided(), "n1 n2 n3 saved 3");
}

TEST_F(FormingTest, survivors_come_first_and_in_their_order) {
  survivor(3, 5), survivor(1, 5), spare(4), spare(2).beat.from.life = AgentLife{2};
  EXPECT_EQ(decided(), "n1 n2 n3 at 5");
}

TEST_F(FormingTest, a_full_round_waits_for_members_but_not_for_others) {
  survivor(1, 5), survivor(2, 5), spare(4);
  peer(5, AgentState::kPrepared);  // has not heard of the leave yet
  EXPECT_EQ(decided(), "n1 n2 n4 at 5");
  running(3);
  EXPECT_EQ(decided(), waits(WaitReason::kMembersLeave));
}

TEST_F(FormingTest, a_multiple_of_the_unit_is_used) {
  job_.node_unit = 2, job_.max_nodes = 4;
  survivor(1, 5), survivor(2, 5), survivor(3, 5);
  EXPECT_EQ(decided(), "n1 n2 at 5");
  spare(4);
  EXPECT_EQ(decided(), "n1 n2 n3 n4 at 5");
}

TEST_F(FormingTest, a_new_life_of_a_member_takes_no_place_of_one_that_stayed) {
  job_.node_unit = 2;
  Peer& back = spare(1);
  back.beat.from.life = AgentLife{2};
  survivor(2, 7);
  survivor(3, 7);
  EXPECT_EQ(decided(), "n2 n3 at 7");
  job_.node_unit = 1;
  EXPECT_EQ(decided(), "n1 n2 n3 at 7");  // with room for all it has its rank again
}

TEST_F(FormingTest, who_sits_out_is_not_in) {
  survivor(1, 5), survivor(2, 5), survivor(3, 5).sits_out_until = now_ + seconds(1);
  EXPECT_EQ(decided(), "n1 n2 at 5");
}

TEST_F(FormingTest, who_leaves_soon_is_left_out_unless_it_is_needed) {
  survivor(1, 5), survivor(2, 5);
  Peer& leaver = survivor(3, 5);
  leaver.leaving = true, leaver.leave_at = now_ + seconds(20);
  EXPECT_EQ(decided(), "n1 n2 at 5");
  peers_.at(NodeId{2}).lost = true;
  EXPECT_EQ(decided(), "n1 n3 at 5");  // otherwise too few
  leaver.leave_at = now_;
  EXPECT_EQ(decided(), waits(WaitReason::kBelowMin));  // its time is up
}

TEST_F(FormingTest, a_native_round_with_no_proof_of_death_is_waited_for) {
  running(1).lost = running(2).lost = running(3).lost = true;
  spare(4), spare(5);
  EXPECT_EQ(decided(), waits(WaitReason::kRoundNotDead));
  now_ += timeouts_.orphan + seconds(60);
  EXPECT_EQ(decided(), "n4 n5 from scratch");
}

TEST_F(FormingTest, a_holder_is_waited_for_until_all_are_surely_gone) {
  survivor(1, 5).lost = true;  // has left: the round is dead; but it holds step 5
  running(2).lost = running(3).lost = true;
  spare(4), spare(5);
  EXPECT_EQ(decided(), waits(WaitReason::kHolder));
  journal_.checkpoint = Checkpoint{Step{3}, kWorld, Lineage{103}, 0};
  journal_.saves = {{RecordNo{8}, *journal_.checkpoint}};
  EXPECT_EQ(decided(), waits(WaitReason::kHolder));
  now_ += timeouts_.orphan + seconds(60);
  EXPECT_EQ(decided(), "n4 n5 saved 3");
}

// All members of r1 are gone for good; saves of steps 3 and 5 were committed in it.
TEST_F(FormingTest, a_save_found_broken_gives_way_to_the_one_before) {
  running(1).lost = running(2).lost = running(3).lost = true;
  now_ += timeouts_.orphan + seconds(60);
  spare(4), spare(5);
  const Checkpoint older{Step{3}, kWorld, Lineage{103}, 0};
  const Checkpoint newer{Step{5}, kWorld, Lineage{105}, 0};
  journal_.checkpoint = newer;
  journal_.checkpoint_record = RecordNo{9};
  journal_.saves = {{RecordNo{9}, newer}, {RecordNo{8}, older}};
  EXPECT_EQ(decided(), "n4 n5 saved 5");
  broken_ = {RecordNo{9}};
  EXPECT_EQ(decided(), "n4 n5 saved 3");
  broken_ = {RecordNo{8}, RecordNo{9}};
  EXPECT_EQ(decided(), "saves lost");
}

// After the save of step 5 was found broken, r1 had resumed from that of step 3 and made step 4: it
// is less than what was committed, and more than what can be loaded.
TEST_F(FormingTest, a_held_state_is_compared_with_what_can_be_loaded) {
  const Checkpoint older{Step{3}, kWorld, Lineage{103}, 0};
  const Checkpoint newer{Step{5}, kWorld, Lineage{105}, 0};
  journal_.checkpoint = newer;
  journal_.checkpoint_record = RecordNo{9};
  journal_.saves = {{RecordNo{9}, newer}, {RecordNo{8}, older}};
  World world;
  world.round = kNext;
  world.members = {{{NodeId{1}, AgentLife{1}}, 1}, {{NodeId{2}, AgentLife{1}}, 1}};
  world.resume = {ResumePoint::Source::kHolders, {kWorld, Step{4}, Lineage{104}}, {}};
  world.holders = {{NodeId{1}, AgentLife{1}}, {NodeId{2}, AgentLife{1}}};
  journal_.world = world;
  // n1 left r2 before it ever entered it, with the state of r1.
  for (const std::uint64_t node : {1, 2}) survivor(node, 4).beat.left_for = {kLife, 3};
  const FormingView view{job_,           timeouts_,      journal_,   peers_,
                         now_,           lead_return_,   {kLife, 3}, forming_since_,
                         forming_since_, members_until_, false,      {RecordNo{9}}};
  const ResumePoint resume = decide(view).resume.resume;
  EXPECT_EQ(resume.source, ResumePoint::Source::kHolders);
  EXPECT_EQ(resume.state.step, Step{4});
}

// Step 6 of r1 is on a branch that the save of r2 is not on, broken or not.
TEST_F(FormingTest, a_state_of_a_round_before_the_newest_checkpoint_stays_out) {
  survivor(1, 6), survivor(2, 6);
  const Checkpoint older{Step{3}, kWorld, Lineage{103}, 0};
  const Checkpoint newer{Step{5}, kNext, Lineage{205}, 0};
  journal_.checkpoint = newer;
  journal_.checkpoint_record = RecordNo{9};
  journal_.saves = {{RecordNo{9}, newer}, {RecordNo{8}, older}};
  broken_ = {RecordNo{9}};
  now_ += timeouts_.orphan + seconds(60);
  for (auto& [node, peer] : peers_) peer.heard = now_;
  EXPECT_EQ(decided(), "n1 n2 saved 3");
}

TEST_F(FormingTest, a_later_life_is_proof_of_death) {
  for (std::uint64_t node = 1; node <= 3; ++node) {
    spare(node).beat.from.life = AgentLife{2};
  }
  EXPECT_EQ(decided(), "n1 n2 n3 from scratch");
  peers_.at(NodeId{3}).beat.state = AgentState::kCleaning;  // has not killed anything yet
  EXPECT_EQ(decided(), waits(WaitReason::kHolder));
}

TEST_F(FormingTest, every_member_of_a_foreign_round_must_be_reaped_or_lapsed) {
  job_.workers = WorkerKind::kForeign;
  for (std::uint64_t node = 1; node <= 2; ++node) {
    Peer& some = survivor(node, 0);
    some.beat.held.reset();
    some.beat.reaped_below = kNext;
  }
  running(3).lost = true;
  EXPECT_EQ(decided(), waits(WaitReason::kRoundNotDead));
  now_ += with_drift(timeouts_.lease);
  EXPECT_EQ(decided(), "n1 n2 from scratch");
}

TEST_F(FormingTest, a_new_leader_gives_unheard_members_the_time_to_be_heard) {
  lead_return_ = now_ - timeouts_.beat;
  survivor(1, 5), survivor(2, 5);
  EXPECT_EQ(decided(), waits(WaitReason::kMembersLeave));
  lead_return_ = now_ - timeouts_.lost_after;
  EXPECT_EQ(decided(), "n1 n2 at 5");
}

TEST_F(FormingTest, a_round_of_another_journal_is_waited_for) {
  journal_.world.reset();
  spare(1), spare(2);
  Peer& stranger = running(3);
  stranger.beat.placed = {JournalLife{7}, 4};
  EXPECT_EQ(decided(), waits(WaitReason::kMembersLeave));
  forming_since_ = Time{seconds(900)};
  EXPECT_EQ(decided(), waits(WaitReason::kRoundNotDead));
  stranger.lost = true;
  EXPECT_EQ(decided(), "n1 n2 from scratch");
}

}  // namespace
}  // namespace elastic
