#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/data/shares.h"

namespace elastic::data {
namespace {

using math::cut;
using math::cut_by_weight;
using math::Part;
using math::Range;

TEST(Parts, adjoin_and_differ_by_at_most_one) {
  EXPECT_EQ(cut(10, {0, 4}), (Range{0, 2}));
  EXPECT_EQ(cut(10, {1, 4}), (Range{2, 3}));
  EXPECT_EQ(cut(10, {2, 4}), (Range{5, 2}));
  EXPECT_EQ(cut(10, {3, 4}), (Range{7, 3}));
  EXPECT_EQ(cut(2, {0, 3}), (Range{0, 0}));
  EXPECT_EQ(cut(0, {1, 3}), (Range{0, 0}));
}

TEST(Parts, of_the_largest_whole_do_not_overflow) {
  EXPECT_EQ(cut(UINT64_MAX, {UINT32_MAX - 1, UINT32_MAX}).end(), UINT64_MAX);
  EXPECT_EQ(cut(UINT64_MAX, {0, 2}), (Range{0, UINT64_MAX / 2}));
}

TEST(Parts, that_make_no_sense_have_defined_ranges) {
  EXPECT_EQ(cut(10, {4, 4}), (Range{10, 0}));
  EXPECT_EQ(cut(10, {0, 0}), (Range{0, 10}));
}

TEST(Parts, by_weight_give_the_rest_to_the_largest_remainders) {
  // Quotas of 10: 4.28, 2.85, 2.85 by weights 3, 2, 2.
  const std::vector<std::uint32_t> weights = {3, 2, 2};
  EXPECT_EQ(cut_by_weight(10, weights), (std::vector<Range>{{0, 4}, {4, 3}, {7, 3}}));
  // Quotas of 1: a half each; the lower index goes first.
  const std::vector<std::uint32_t> halves = {1, 1};
  EXPECT_EQ(cut_by_weight(1, halves), (std::vector<Range>{{0, 1}, {1, 0}}));
  const std::vector<std::uint32_t> some_zero = {0, 5, 0};
  EXPECT_EQ(cut_by_weight(7, some_zero), (std::vector<Range>{{0, 0}, {0, 7}, {7, 0}}));
  const std::vector<std::uint32_t> all_zero = {0, 0};
  EXPECT_EQ(cut_by_weight(4, all_zero), (std::vector<Range>{{0, 2}, {2, 2}}));
  EXPECT_TRUE(cut_by_weight(7, {}).empty());
}

TEST(Shares, begin_where_the_batch_begins) {
  const Batch batch{Epoch{3}, Position{100}, 10};
  EXPECT_EQ(share_of(batch, {1, 4}), (Share{Position{102}, 3}));
  EXPECT_EQ(shard_of(batch, {3, 4}), (Share{Position{107}, 3}));
  const std::vector<std::uint32_t> weights = {1, 3};
  EXPECT_EQ(weighted_shares(batch, weights),
            (std::vector<Share>{{Position{100}, 3}, {Position{103}, 7}}));
}

TEST(Shares, of_eight_shards_on_three_ranks_are_whole_shards) {
  EXPECT_EQ(data::shards_of_rank(8, {0, 3}), (Range{0, 2}));
  EXPECT_EQ(data::shards_of_rank(8, {1, 3}), (Range{2, 3}));
  EXPECT_EQ(data::shards_of_rank(8, {2, 3}), (Range{5, 3}));
  const Batch batch{Epoch{0}, Position{40}, 20};
  // Shards of 20 samples begin at 0, 2, 5, 7, 10, 12, 15, 17.
  EXPECT_EQ(share_by_shards(batch, 8, {0, 3}), (Share{Position{40}, 5}));
  EXPECT_EQ(share_by_shards(batch, 8, {1, 3}), (Share{Position{45}, 7}));
  EXPECT_EQ(share_by_shards(batch, 8, {2, 3}), (Share{Position{52}, 8}));
}

TEST(Shares, of_two_shards_on_four_ranks_are_empty_for_two_of_them) {
  const Batch batch{Epoch{0}, Position{0}, 9};
  EXPECT_EQ(share_by_shards(batch, 2, {0, 4}).size, 0U);
  EXPECT_EQ(share_by_shards(batch, 2, {1, 4}), (Share{Position{0}, 4}));
  EXPECT_EQ(share_by_shards(batch, 2, {2, 4}).size, 0U);
  EXPECT_EQ(share_by_shards(batch, 2, {3, 4}), (Share{Position{4}, 5}));
}

}  // namespace
}  // namespace elastic::data
