// The cursor on chosen values, and the known failures of other systems' samplers as cases of what
// happens here instead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/data/cursor.h"
#include "core/data/shares.h"

namespace elastic::data {
namespace {

using Samples = std::vector<std::uint64_t>;

DataConfig config_of(std::uint64_t samples, std::uint64_t epochs = 1) {
  DataConfig config;
  config.samples = samples;
  config.seed = math::Seed{17};
  config.epochs = epochs;
  return config;
}

// A job that consumes samples in worlds of changing size: each rank works out its share by itself,
// from the cursor and its place alone.
struct Job {
  explicit Job(const DataConfig& settings) : config(settings) {}

  // Consumes one batch with `world` ranks; returns what they computed, in the order of ranks.
  Samples step(std::uint64_t global_batch, std::uint32_t world) {
    const Batch batch = batch_at(config, cursor, global_batch);
    Samples consumed;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      const Permutation order = order_of(config, cursor.epoch);
      const Share share = share_of(batch, {rank, world});
      for (std::uint64_t i = 0; i < share.size; ++i) {
        consumed.push_back(order.at(Position{share.first.value + i}).value);
      }
    }
    cursor = advance(config, cursor, batch);
    steps.value += 1;
    lineage.insert(lineage.end(), consumed.begin(), consumed.end());
    return consumed;
  }
  void run_epoch(std::uint64_t global_batch, std::uint32_t world) {
    const Epoch epoch = cursor.epoch;
    while (cursor.epoch == epoch) step(global_batch, world);
  }

  DataConfig config;
  Cursor cursor;
  Step steps;
  Samples lineage;
};

Samples order_of_epoch(const DataConfig& config, std::uint64_t epoch) {
  const Permutation order = order_of(config, Epoch{epoch});
  Samples samples;
  for (std::uint64_t i = 0; i < config.samples; ++i) {
    samples.push_back(order.at(Position{i}).value);
  }
  return samples;
}

bool each_once(Samples samples, std::uint64_t of) {
  std::sort(samples.begin(), samples.end());
  Samples all(of);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return samples == all;
}

TEST(DataConfig, that_can_not_be_is_refused_with_a_sentence) {
  const auto found = [](auto change) {
    DataConfig config = config_of(1000, 3);
    change(config);
    return check_config(config).value_or("");
  };
  EXPECT_EQ(found([](DataConfig&) {}), "");
  EXPECT_EQ(found([](DataConfig& c) { c.samples = kMaxSamples; }), "");
  EXPECT_EQ(found([](DataConfig& c) { c.samples = 0; }),
            "samples is 0; a data set needs at least 1");
  EXPECT_EQ(found([](DataConfig& c) { c.samples = kMaxSamples + 1; }),
            "samples is 281474976710657; at most 2^48 (281474976710656) are supported");
  EXPECT_EQ(found([](DataConfig& c) { c.epochs.reset(); }),
            "neither epochs nor max_steps is set, so the training would never end; set one");
  EXPECT_EQ(found([](DataConfig& c) { c.epochs = 0; }),
            "epochs is 0; use at least 1, or leave it out and set max_steps");
  EXPECT_EQ(found([](DataConfig& c) { c.max_steps = 0; }),
            "max_steps is 0; use at least 1, or leave it out");
  EXPECT_EQ(found([](DataConfig& c) { c.epochs = std::uint64_t{1} << 60; }),
            "epochs is 1152921504606846976, which makes more than 2^63 samples; use at most "
            "9223372036854775");
  EXPECT_EQ(found([](DataConfig& c) { c.virtual_shards = 0; }),
            "virtual_shards is 0; at least 1 is needed");
  EXPECT_EQ(found([](DataConfig& c) { c.virtual_shards = 65537; }),
            "virtual_shards is 65537; use at most 65536");
}

TEST(Cursor, the_last_batch_of_an_epoch_is_short) {
  const DataConfig config = config_of(10, 2);
  Cursor cursor;
  Samples sizes;
  Step step;
  while (!finished(config, cursor, step)) {
    const Batch batch = batch_at(config, cursor, 4);
    EXPECT_EQ(batch.epoch, cursor.epoch);
    sizes.push_back(batch.size);
    cursor = advance(config, cursor, batch);
    step.value += 1;
  }
  EXPECT_EQ(sizes, (Samples{4, 4, 2, 4, 4, 2}));
  EXPECT_EQ(cursor, (Cursor{Epoch{2}, 0}));
  EXPECT_EQ(steps_per_epoch(config, 4), 3U);
  EXPECT_EQ(total_steps(config, 4), Step{6});
  EXPECT_TRUE(samples_seen(config, cursor) == 20);
}

TEST(Cursor, a_batch_larger_than_the_data_set_is_one_epoch) {
  const DataConfig config = config_of(10, 2);
  EXPECT_EQ(batch_at(config, {}, UINT64_MAX), (Batch{Epoch{0}, Position{0}, 10}));
  EXPECT_EQ(total_steps(config, UINT64_MAX), Step{2});
}

TEST(Cursor, whichever_of_epochs_and_max_steps_comes_first_ends_the_training) {
  DataConfig config = config_of(10, 2);
  config.max_steps = 5;
  EXPECT_EQ(total_steps(config, 4), Step{5});
  EXPECT_EQ(total_steps(config, 5), Step{4});
  EXPECT_FALSE(finished(config, {Epoch{1}, 4}, Step{4}));
  EXPECT_TRUE(finished(config, {Epoch{1}, 8}, Step{5}));
  EXPECT_TRUE(finished(config, {Epoch{2}, 0}, Step{4}));
  config.epochs.reset();
  EXPECT_EQ(total_steps(config, 4), Step{5});
  EXPECT_FALSE(finished(config, {Epoch{7}, 0}, Step{4}));
}

TEST(Cursor, samples_seen_do_not_wrap) {
  DataConfig config;
  config.samples = kMaxSamples;
  config.max_steps = UINT64_MAX;
  ASSERT_EQ(check_config(config), std::nullopt);
  const Cursor late{Epoch{UINT64_MAX - 1}, kMaxSamples - 1};
  const math::uint128 seen = samples_seen(config, late);
  EXPECT_TRUE(seen == math::uint128{UINT64_MAX} * kMaxSamples - 1);
}

// MosaicML Streaming promises one loss curve for every number of devices that divides the global
// batch of 18. Here the others give the same order, too.
TEST(DataOrder, a_global_batch_of_18_has_one_order_on_any_number_of_ranks) {
  const DataConfig config = config_of(100);
  for (const std::uint32_t world : {1U, 2U, 3U, 6U, 9U, 18U, 4U, 5U, 7U, 19U}) {
    Job job(config);
    job.run_epoch(18, world);
    EXPECT_EQ(job.lineage, order_of_epoch(config, 0)) << world << " ranks";
    EXPECT_EQ(job.steps, Step{6});
  }
}

// Streaming rounds the place of a resume down to a multiple of the nodes: 4 nodes would go on from
// sample 8 of 10.
TEST(DataOrder, a_resume_that_the_nodes_do_not_divide_repeats_nothing) {
  Job job(config_of(32));
  job.step(10, 3);
  EXPECT_EQ(job.cursor.consumed, 10U);
  job.run_epoch(10, 4);
  EXPECT_TRUE(each_once(job.lineage, 32));
}

// Streaming tiles a data set that is smaller than the nodes.
TEST(DataOrder, more_ranks_than_samples_leave_some_without_a_sample) {
  Job job(config_of(3));
  job.step(16, 8);
  EXPECT_TRUE(each_once(job.lineage, 3));
  const Batch batch = batch_at(job.config, {}, 16);
  std::uint64_t empty = 0;
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    empty += share_of(batch, {rank, 8}).size == 0 ? 1 : 0;
  }
  EXPECT_EQ(empty, 5U);
}

// DistributedSampler with 10 samples on 4 ranks: ceil(10 / 4) = 3 each, 2 duplicates; with
// drop_last ceil((10 - 4) / 4) = 2 each, 2 samples never read.
TEST(DataOrder, ten_samples_on_four_ranks_are_ten_samples) {
  Job job(config_of(10));
  EXPECT_EQ(job.step(10, 4).size(), 10U);
  EXPECT_TRUE(each_once(job.lineage, 10));
  Samples sizes;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    sizes.push_back(share_of({Epoch{0}, Position{0}, 10}, {rank, 4}).size);
  }
  EXPECT_EQ(sizes, (Samples{2, 3, 2, 3}));
}

// Horovod and AdaptDL fill the last batch from the head, which was consumed already.
TEST(DataOrder, the_end_of_an_epoch_takes_nothing_from_its_head) {
  Job job(config_of(11));
  job.step(8, 4);
  const Samples last = job.step(8, 4);
  EXPECT_EQ(last.size(), 3U);
  EXPECT_TRUE(each_once(job.lineage, 11));
}

// torchft's static shards: what a dead replica group owned is never read.
TEST(DataOrder, what_a_dead_rank_would_have_read_is_read_by_the_others) {
  Job job(config_of(48));
  job.step(12, 4);
  job.run_epoch(12, 3);
  EXPECT_TRUE(each_once(job.lineage, 48));
}

// DLRover computes the place as steps * micro batch * replicas, as if the world had always been
// the present one: 15 steps * 8 * 2 = 240.
TEST(DataOrder, the_place_does_not_follow_from_the_number_of_steps) {
  Job job(config_of(1000));
  for (int i = 0; i < 10; ++i) job.step(4 * 8, 4);
  for (int i = 0; i < 5; ++i) job.step(2 * 8, 2);
  EXPECT_EQ(job.steps, Step{15});
  EXPECT_EQ(job.cursor, (Cursor{Epoch{0}, 10 * 4 * 8 + 5 * 2 * 8}));
}

// 93: torchtitan 811 loses the loader state of ranks 2 and 3.
TEST(KnownFailures, four_ranks_two_ranks_four_ranks_read_each_sample_exactly_once) {
  Job job(config_of(103));
  for (int i = 0; i < 3; ++i) job.step(8, 4);
  for (int i = 0; i < 4; ++i) job.step(8, 2);
  job.run_epoch(8, 4);
  EXPECT_TRUE(each_once(job.lineage, 103));
  EXPECT_EQ(job.lineage, order_of_epoch(job.config, 0));
}

// 94: Megatron-Bridge PR 5637 loads rank 0's file alone, reports success, and skips samples.
TEST(KnownFailures, two_ranks_to_one_neither_skips_nor_repeats) {
  Job job(config_of(50));
  for (int i = 0; i < 3; ++i) job.step(7, 2);
  const Samples next = job.step(7, 1);
  const Samples order = order_of_epoch(job.config, 0);
  EXPECT_EQ(next, Samples(order.begin() + 21, order.begin() + 28));
  job.run_epoch(7, 1);
  EXPECT_TRUE(each_once(job.lineage, 50));
}

// 95: Automodel 533, a loader whose state knows nothing of the other ranks.
TEST(KnownFailures, any_old_and_new_number_of_ranks_agree_where_they_are) {
  for (std::uint32_t before = 1; before <= 6; ++before) {
    for (std::uint32_t after = 1; after <= 6; ++after) {
      Job job(config_of(41));
      job.step(13, before);
      job.run_epoch(13, after);
      EXPECT_EQ(job.lineage, order_of_epoch(job.config, 0)) << before << " -> " << after;
    }
  }
}

// 96: meta-pytorch/data 1437, 1513: a state read back at the end of an epoch drops an epoch, and
// the epoch that seeds the shuffle is not in it.
TEST(KnownFailures, a_cursor_read_back_at_the_end_of_an_epoch_is_the_start_of_the_next) {
  Job job(config_of(12, 3));
  job.run_epoch(5, 2);
  EXPECT_EQ(job.cursor, (Cursor{Epoch{1}, 0}));
  Job resumed(job.config);
  resumed.cursor = job.cursor;
  EXPECT_EQ(check_cursor(resumed.config, resumed.cursor), std::nullopt);
  resumed.run_epoch(5, 3);
  EXPECT_EQ(resumed.lineage, order_of_epoch(job.config, 1));
  EXPECT_NE(order_of_epoch(job.config, 1), order_of_epoch(job.config, 0));
  resumed.run_epoch(5, 3);
  EXPECT_TRUE(finished(resumed.config, resumed.cursor, Step{}));
}

// 97: PyTorch PR 147967: the elastic sampler shuffled only what was left, so that a resumed order
// was another order.
TEST(KnownFailures, the_resumed_order_is_the_tail_of_the_original_one) {
  Job job(config_of(64));
  job.step(24, 4);
  const std::size_t cut = job.lineage.size();
  Job resumed(job.config);
  resumed.cursor = job.cursor;
  resumed.run_epoch(9, 3);
  const Samples order = order_of_epoch(job.config, 0);
  EXPECT_EQ(cut, 24U);
  EXPECT_EQ(resumed.lineage, Samples(order.begin() + 24, order.end()));
}

// 99: torchelastic 26: with 2 workers and a remainder of 32, the start index ran past the data set
// at the end of an epoch and was not reset.
TEST(KnownFailures, a_remainder_of_32_on_two_ranks_ends_the_epoch_where_the_data_ends) {
  Job job(config_of(32 * 2 * 5 + 32, 2));
  for (int i = 0; i < 5; ++i) job.step(64, 2);
  EXPECT_EQ(job.cursor.consumed, 320U);
  EXPECT_EQ(job.step(64, 2).size(), 32U);
  EXPECT_EQ(job.cursor, (Cursor{Epoch{1}, 0}));
  EXPECT_EQ(job.step(64, 2).size(), 64U);
}

TEST(KnownFailures, a_cursor_past_the_data_is_refused_with_a_sentence) {
  const DataConfig config = config_of(352, 2);
  EXPECT_EQ(
      check_cursor(config, {Epoch{0}, 384}).value_or(""),
      "the cursor has consumed 384 samples of epoch 0, but an epoch has 352; was it saved for "
      "another data set? (the end of an epoch is saved as the start of the next)");
  EXPECT_EQ(check_cursor(config, {Epoch{2}, 32}).value_or(""),
            "the cursor is in epoch 2 with 32 samples consumed, past the end of training after 2 "
            "epochs; raise epochs to go on");
  EXPECT_EQ(check_cursor(config, {Epoch{2}, 0}), std::nullopt);
}

}  // namespace
}  // namespace elastic::data
