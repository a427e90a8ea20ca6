// Several agents on one machine: which one am I, and in which life.
#include <sys/stat.h>

#include <cstdlib>

#include "tests/real/process_stage.h"
#include "transport/real/process/slot.h"

namespace elastic::real::test {
namespace {

class Slots : public testing::Test {
 protected:
  void SetUp() override { ::setenv("ELASTIC_STATE_DIR", folder.path().c_str(), 1); }
  void TearDown() override {
    ::unsetenv("ELASTIC_STATE_DIR");
    ::unsetenv("XDG_RUNTIME_DIR");
  }
  Folder folder;
};

TEST_F(Slots, two_agents_of_a_job_on_one_machine_get_different_slots_and_identities) {
  const auto first = take_slot("job");
  const auto second = take_slot("job");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->number, 0U);
  EXPECT_EQ(second->number, 1U);
  const auto a = next_life(*first, 0);
  const auto b = next_life(*second, 0);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->node, b->node);
  const auto other_job = take_slot("other");
  ASSERT_TRUE(other_job);
  EXPECT_EQ(other_job->number, 0U);
  EXPECT_NE(next_life(*other_job, 0)->node, a->node);
}

TEST_F(Slots, a_slot_is_free_again_when_its_holder_is_gone_and_the_lowest_is_taken) {
  auto first = take_slot("job");
  const auto second = take_slot("job");
  ASSERT_TRUE(first && second);
  first->lock.close();
  const auto again = take_slot("job");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->number, 0U);
}

TEST_F(Slots, a_child_of_the_holder_does_not_keep_the_slot) {
  Stage stage;
  auto slot = take_slot("job");
  ASSERT_TRUE(slot);
  stage.start({"echo up; exec sleep 600"});
  ASSERT_TRUE(stage.until_said("up"));
  slot->lock.close();
  EXPECT_EQ(take_slot("job", 0)->number, 0U);
  stage.group->stop(true);
  ASSERT_TRUE(stage.until_over());
}

TEST_F(Slots, who_wants_a_slot_that_is_held_learns_by_whom) {
  const auto slot = take_slot("job", 3);
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->number, 3U);
  const auto refused = take_slot("job", 3);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "slot 3 of job job is held by process " + std::to_string(::getpid()) +
                                 "; wait for its end, or take another slot");
}

TEST_F(Slots, an_agent_keeps_its_node_id_and_its_life_grows_even_if_the_clock_goes_back) {
  const std::int64_t now = 1'800'000'000;
  auto slot = take_slot("job");
  ASSERT_TRUE(slot);
  const auto first = next_life(*slot, 7, now);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->life.value, 1'800'000'000U - 1'704'067'200U);
  AgentId last = *first;
  for (const std::int64_t clock :
       {now, now - 1'000'000, std::int64_t{0}, std::int64_t{-5}, now + 5}) {
    slot->lock.close();
    slot = take_slot("job");
    ASSERT_TRUE(slot);
    const auto next = next_life(*slot, 7, clock);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->node, first->node);
    EXPECT_GT(next->life, last.life);
    last = *next;
  }
}

TEST_F(Slots, the_order_key_is_the_upper_part_of_the_node_id) {
  const auto slot = take_slot("job");
  ASSERT_TRUE(slot);
  const NodeId low = next_life(*slot, 0)->node;
  const NodeId high = next_life(*slot, 65535)->node;
  EXPECT_EQ(low.value >> 48, 0U);
  EXPECT_EQ(high.value >> 48, 65535U);
  EXPECT_EQ(low.value << 16, high.value << 16);
  EXPECT_NE(low.value, 0U);
}

TEST_F(Slots, an_agent_that_has_lost_its_last_life_becomes_another_one) {
  const auto slot = take_slot("job");
  ASSERT_TRUE(slot);
  const auto before = next_life(*slot, 0);
  std::filesystem::remove(slot->folder + "/life");
  const auto after = next_life(*slot, 0);
  ASSERT_TRUE(before && after);
  EXPECT_NE(before->node, after->node);
  std::ofstream(slot->folder + "/life") << "soon\n";
  EXPECT_NE(next_life(*slot, 0)->node, after->node);
}

TEST_F(Slots, lives_stay_below_2_to_the_32) {
  EXPECT_EQ(life_after(0, 0), 1U);
  EXPECT_EQ(life_after(UINT32_MAX - 1, 0), UINT32_MAX);
  EXPECT_EQ(life_after(UINT32_MAX, 0), std::nullopt);
  EXPECT_EQ(life_after(5, INT64_MAX / 2), 6U) << "a clock that is far off counts for nothing";
  const auto slot = take_slot("job");
  ASSERT_TRUE(slot);
  std::ofstream(slot->folder + "/life") << UINT32_MAX << "\n";
  const auto refused = next_life(*slot, 0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("no life is left; remove " + slot->folder), std::string::npos);
}

TEST_F(Slots, a_state_folder_is_for_its_owner_alone) {
  ::unsetenv("ELASTIC_STATE_DIR");
  ::setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  const auto made = job_folder("job");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->find(folder.path() + "/elastic/"), 0U);
  struct stat found {};
  ASSERT_EQ(::stat((folder / "elastic").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
  // One that is open to others, or a link, is not used.
  ::chmod((folder / "elastic").c_str(), 0755);
  const auto elsewhere = job_folder("job");
  EXPECT_NE(elsewhere, made);
  if (elsewhere) std::filesystem::remove(*elsewhere);  // in /tmp
  std::filesystem::remove_all(folder / "elastic");
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::create_symlink(folder / "elsewhere", folder / "elastic");
  const auto no_link = job_folder("job");
  EXPECT_NE(no_link, made);
  if (no_link) std::filesystem::remove(*no_link);
}

TEST_F(Slots, a_state_folder_that_cannot_be_made_is_named) {
  ::setenv("ELASTIC_STATE_DIR", "/proc/nowhere", 1);
  const auto refused = take_slot("job");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().find("cannot make /proc/nowhere (ELASTIC_STATE_DIR): "), 0U);
}

}  // namespace
}  // namespace elastic::real::test
