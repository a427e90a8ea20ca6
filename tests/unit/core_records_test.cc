#include <gtest/gtest.h>

#include "core/membership/hash.h"
#include "core/membership/journal_client.h"
#include "core/membership/records.h"

namespace elastic {
namespace {

constexpr JournalLife kLife{1ULL << 32U};

World three_nodes() {
  World world;
  world.round = {kLife, 1};
  world.members = {{{NodeId{7}, AgentLife{1}}, 2},
                   {{NodeId{3}, AgentLife{4}}, 1},
                   {{NodeId{5}, AgentLife{1}}, 4}};
  return world;
}

std::uint64_t digest_of(const Record& record) {
  Hash hash;
  hash(record);
  return hash.value();
}

TEST(Records, ranks_follow_the_order_of_the_members) {
  const World world = three_nodes();
  EXPECT_EQ(first_rank(world, 0), 0U);
  EXPECT_EQ(first_rank(world, 1), 2U);
  EXPECT_EQ(first_rank(world, 2), 3U);
  EXPECT_EQ(world_size(world), 7U);
  EXPECT_EQ(index_of(world, NodeId{3}), 1U);
  EXPECT_EQ(index_of(world, NodeId{4}), world.members.size());
  EXPECT_EQ(world_size(World{}), 0U);
}

TEST(Records, rounds_and_leads_are_ordered_by_journal_then_number) {
  const JournalLife later{2ULL << 32U};
  EXPECT_LT((RoundId{kLife, 900}), (RoundId{later, 1}));
  EXPECT_LT((RoundId{kLife, 1}), (RoundId{kLife, 2}));
  EXPECT_LT((LeadId{kLife, RecordNo{900}}), (LeadId{later, RecordNo{1}}));
  EXPECT_FALSE(RoundId{});
  EXPECT_TRUE((RoundId{kLife, 1}));
}

TEST(Records, a_view_is_the_fold_of_its_records) {
  JournalView view;
  view.life = kLife;
  const AgentId leader{NodeId{1}, AgentLife{2}};
  view.apply({RecordNo{1}, {leader, 1, Lead{leader}}});
  view.apply({RecordNo{2}, {leader, 2, three_nodes()}});
  view.apply({RecordNo{3}, {leader, 3, Checkpoint{Step{10}, {kLife, 1}, Lineage{5}, 6}}});
  EXPECT_EQ(view.last, RecordNo{3});
  EXPECT_EQ(view.lead, (LeadId{kLife, RecordNo{1}}));
  EXPECT_EQ(view.leader, leader);
  EXPECT_EQ(view.world_record, RecordNo{2});
  EXPECT_EQ(view.checkpoint->step, Step{10});
  EXPECT_FALSE(view.verdict.has_value());
  view.apply({RecordNo{4}, {leader, 4, Verdict{}}});
  EXPECT_TRUE(view.verdict.has_value());
  EXPECT_EQ(view.world->members.size(), 3U);
}

TEST(Records, a_view_names_the_saves_that_are_not_retired_newest_first) {
  JournalView view;
  view.life = kLife;
  const AgentId leader{NodeId{1}, AgentLife{2}};
  for (std::uint64_t k = 1; k <= 4; ++k) {
    view.apply({RecordNo{k}, {leader, k, Checkpoint{Step{10 * k}, {kLife, k}, Lineage{k}, k}}});
  }
  ASSERT_EQ(view.saves.size(), 4U);
  EXPECT_EQ(view.saves.front().record, RecordNo{4});
  // Number 77 was emptied by a compaction before this view began.
  view.apply({RecordNo{5}, {leader, 5, Retire{{RecordNo{1}, RecordNo{3}, RecordNo{77}}}}});
  ASSERT_EQ(view.saves.size(), 2U);
  EXPECT_EQ(view.saves[0].record, RecordNo{4});
  EXPECT_EQ(view.saves[1].record, RecordNo{2});
  EXPECT_FALSE(view.has_save(RecordNo{3}));
  ASSERT_EQ(view.last_retired.size(), 2U);
  EXPECT_EQ(view.last_retired[0].checkpoint.step, Step{30});
  EXPECT_EQ(view.checkpoint->step, Step{40});
  view.apply({RecordNo{6}, {leader, 6, Retire{{RecordNo{2}}}}});
  ASSERT_EQ(view.last_retired.size(), 1U);
  EXPECT_EQ(view.last_retired[0].record, RecordNo{2});
}

TEST(Records, every_field_of_a_record_counts_in_its_digest) {
  const AgentId leader{NodeId{1}, AgentLife{2}};
  const Record first{leader, 1, three_nodes()};
  Record changed = first;
  EXPECT_EQ(digest_of(first), digest_of(changed));
  changed.nonce = 2;
  EXPECT_NE(digest_of(first), digest_of(changed));
  changed = first;
  std::get<World>(changed.body).members[1].workers = 2;
  EXPECT_NE(digest_of(first), digest_of(changed));
  changed = first;
  std::get<World>(changed.body).sitting_out.push_back(NodeId{9});
  EXPECT_NE(digest_of(first), digest_of(changed));
  changed = first;
  std::get<World>(changed.body).broken.push_back(RecordNo{9});
  EXPECT_NE(digest_of(first), digest_of(changed));
  EXPECT_NE(digest_of({leader, 1, Retire{{RecordNo{1}}}}), digest_of({leader, 1, Retire{}}));
  EXPECT_NE(digest_of({leader, 1, Verdict{}}), digest_of({leader, 1, Lead{}}));
}

TEST(Records, only_code_zero_without_a_signal_is_well) {
  EXPECT_TRUE((ExitStatus{0, 0}.ok()));
  EXPECT_FALSE((ExitStatus{1, 0}.ok()));
  EXPECT_FALSE((ExitStatus{0, 9}.ok()));
}

}  // namespace
}  // namespace elastic
