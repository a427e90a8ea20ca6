#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/worker/ring.h"
#include "tests/support/ring_net.h"

namespace elastic {
namespace {

using test::in_words;
using test::Numbers;
using test::result_of;
using test::RingNet;

constexpr RoundId kRound{JournalLife{1}, 4};
constexpr RoundId kNext{JournalLife{1}, 5};

Collective collective_of(CollectiveKind kind, std::uint64_t elements, std::uint64_t chunk,
                         std::uint32_t bucket = 0, RoundId round = kRound) {
  return {.kind = kind,
          .id = {round, Step{11}, bucket},
          .elements = elements,
          .chunk_elements = chunk,
          .root = 0};
}

std::vector<Numbers> buffers_of(std::uint32_t world, std::uint64_t elements) {
  std::vector<Numbers> buffers(world, Numbers(elements));
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    for (std::uint64_t i = 0; i < elements; ++i) buffers[rank][i] = 1000 * (rank + 1) + i;
  }
  return buffers;
}

// A network in which every link carries one chunk per tick, which arrives `latency` ticks later.
struct Ticks {
  int ticks = 0;
  std::vector<std::string> lines;  // what the links carried in each tick
};
Ticks run(RingNet& net, int latency = 1) {
  Ticks result;
  std::vector<std::vector<int>> due(net.world());  // arrival of what is on the link to a rank
  for (bool moved = true; moved; ++result.ticks) {
    moved = false;
    std::string line;
    for (std::uint32_t rank = 0; rank < net.world(); ++rank) {
      const auto& sent = net[net.previous(rank)].sent;
      if (sent.size() > due[rank].size()) {
        due[rank].push_back(result.ticks + latency);
        if (!line.empty()) line += ", ";
        line += std::to_string(net.previous(rank)) + "->" + std::to_string(rank) + " " +
                in_words(sent.at(due[rank].size() - 1).header);
      }
    }
    if (!line.empty()) result.lines.push_back(line);
    for (std::uint32_t rank = 0; rank < net.world(); ++rank) {
      if (due[rank].empty()) continue;
      moved = true;
      if (due[rank].front() > result.ticks + 1) continue;
      due[rank].erase(due[rank].begin());
      net.deliver(rank);
    }
  }
  --result.ticks;  // the last one moved nothing
  return result;
}

Ticks run_all(RingNet& net, const Collective& collective, int latency = 1) {
  const auto buffers = buffers_of(net.world(), collective.elements);
  for (std::uint32_t rank = 0; rank < net.world(); ++rank) {
    net.start(rank, collective, buffers[rank]);
  }
  const Ticks ticks = run(net, latency);
  for (std::uint32_t rank = 0; rank < net.world(); ++rank) {
    EXPECT_TRUE(net[rank].ring.done()) << "rank " << rank;
    EXPECT_EQ(net[rank].buffers.at(collective.id), result_of(collective, buffers));
  }
  return ticks;
}

TEST(Ring, the_all_reduce_of_three_ranks_with_two_chunks_each) {
  RingNet net(3, kRound);
  const Ticks ticks = run_all(net, collective_of(CollectiveKind::kAllReduce, 6, 1));
  const std::vector<std::string> schedule = {
      "2->0 reduce 0 [4,5), 0->1 reduce 0 [0,1), 1->2 reduce 0 [2,3)",
      "2->0 reduce 0 [5,6), 0->1 reduce 0 [1,2), 1->2 reduce 0 [3,4)",
      "2->0 reduce 1 [2,3), 0->1 reduce 1 [4,5), 1->2 reduce 1 [0,1)",
      "2->0 reduce 1 [3,4), 0->1 reduce 1 [5,6), 1->2 reduce 1 [1,2)",
      "2->0 copy 0 [0,1), 0->1 copy 0 [2,3), 1->2 copy 0 [4,5)",
      "2->0 copy 0 [1,2), 0->1 copy 0 [3,4), 1->2 copy 0 [5,6)",
      "2->0 copy 1 [4,5), 0->1 copy 1 [0,1), 1->2 copy 1 [2,3)",
      "2->0 copy 1 [5,6), 0->1 copy 1 [1,2), 1->2 copy 1 [3,4)",
  };
  EXPECT_EQ(ticks.lines, schedule);
}

TEST(Ring, the_broadcast_of_three_ranks_is_confirmed_in_a_second_lap) {
  RingNet net(3, kRound);
  Collective collective = collective_of(CollectiveKind::kBroadcast, 3, 2);
  collective.root = 1;
  const std::vector<std::string> schedule = {
      "1->2 copy 0 [0,2)",    "2->0 copy 1 [0,2), 1->2 copy 0 [2,3)",
      "2->0 copy 1 [2,3)",    "0->1 confirm 0 [0,0)",
      "1->2 confirm 1 [0,0)",
  };
  EXPECT_EQ(run_all(net, collective).lines, schedule);
}

TEST(Ring, an_all_reduce_sends_twice_the_buffer_less_two_segments) {
  for (const std::uint32_t world : {1U, 2U, 3U, 4U, 7U}) {
    RingNet net(world, kRound);
    const std::uint64_t elements = 60;
    run_all(net, collective_of(CollectiveKind::kAllReduce, elements, 4));
    std::uint64_t all = 0;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      all += net[rank].elements_sent;
      if (elements % world == 0) {
        EXPECT_EQ(net[rank].elements_sent, 2 * (world - 1) * elements / world);
      }
    }
    EXPECT_EQ(all, 2 * (world - 1) * elements) << world << " ranks";
  }
}

// One chunk a tick on each link, so no schedule needs fewer ticks than a rank has chunks to send.
// Whole segments would wait for each other on every hop: 2 * 3 * (8 + 7) = 90 ticks at latency 8,
// not 55.
TEST(Ring, an_all_reduce_keeps_its_links_busy_in_spite_of_latency) {
  constexpr int kChunks = 8, kWorld = 4;  // per segment
  const Collective collective = collective_of(CollectiveKind::kAllReduce, kWorld * kChunks * 5, 5);
  const int sent = 2 * (kWorld - 1) * kChunks;
  for (const int latency : {1, 4, 8}) {
    RingNet net(kWorld, kRound);
    EXPECT_EQ(run_all(net, collective, latency).ticks, sent + latency - 1) << latency;
  }
}

TEST(Ring, a_broadcast_takes_its_chunks_and_two_laps_not_their_product) {
  for (const int chunks : {1, 10, 100}) {
    for (const std::uint32_t world : {2U, 3U, 8U}) {
      RingNet net(world, kRound);
      const auto elements = static_cast<std::uint64_t>(chunks) * 3;
      const Ticks ticks = run_all(net, collective_of(CollectiveKind::kBroadcast, elements, 3));
      const int laps = 2 * (static_cast<int>(world) - 1);
      EXPECT_EQ(ticks.ticks, chunks - 1 + laps) << chunks << " chunks, " << world << " ranks";
    }
  }
}

TEST(Ring, one_chunk_goes_round_in_two_laps) {
  RingNet net(5, kRound);
  EXPECT_EQ(run_all(net, collective_of(CollectiveKind::kAllReduce, 5, 1)).ticks, 2 * 4);
}

TEST(Ring, sizes_that_divide_nothing_work) {
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kBroadcast, CollectiveKind::kAllGather}) {
    for (const std::uint32_t world : {1U, 2U, 3U, 5U}) {
      for (const std::uint64_t elements : {0U, 1U, 2U, 4U, 7U, 23U}) {
        for (const std::uint64_t chunk : {1U, 2U, 3U, 100U}) {
          RingNet net(world, kRound);
          run_all(net, collective_of(kind, elements, chunk));
        }
      }
    }
  }
}

TEST(Ring, alone_is_done_at_once_and_sends_nothing) {
  RingNet net(1, kRound);
  EXPECT_EQ(run_all(net, collective_of(CollectiveKind::kAllReduce, 9, 2)).ticks, 0);
  EXPECT_EQ(net[0].elements_sent, 0U);
}

TEST(Ring, an_all_reduce_of_no_elements_is_a_barrier) {
  RingNet net(3, kRound);
  const Collective barrier = collective_of(CollectiveKind::kAllReduce, 0, 8);
  net.start(0, barrier, {});
  net.start(1, barrier, {});
  run(net);
  EXPECT_FALSE(net[0].ring.done());
  EXPECT_FALSE(net[1].ring.done());
  net.start(2, barrier, {});
  run(net);
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(net[rank].ring.done());
}

TEST(Ring, a_root_is_not_done_before_every_rank_holds_the_broadcast) {
  RingNet net(3, kRound);
  const Collective collective = collective_of(CollectiveKind::kBroadcast, 2, 1);
  const auto buffers = buffers_of(3, 2);
  net.start(0, collective, buffers[0]);
  net.start(1, collective, buffers[1]);
  run(net);
  EXPECT_FALSE(net[0].ring.done());
  EXPECT_FALSE(net[1].ring.done());
  net.start(2, collective, buffers[2]);
  run(net);
  EXPECT_TRUE(net[0].ring.done());
  EXPECT_EQ(net[2].buffers.at(collective.id), buffers[0]);
}

// Rank 1 of two gets chunks before it starts what they belong to.
class RingOfTwo : public testing::Test {
 protected:
  RingOfTwo() {
    RingEffects none;
    ring.enter(kRound, {1, 2}, none);
    EXPECT_TRUE(none.empty());
  }
  ChunkFate hear(const ChunkHeader& header) {
    effects.clear();
    const ChunkFate fate = ring.on_chunk(header, effects);
    ring.check();
    return fate;
  }
  static ChunkHeader first_chunk(const Collective& collective) {
    return {collective.id, ChunkPhase::kReduce, 0, 0, 1};
  }
  static Collective sum(std::uint32_t bucket, RoundId round = kRound) {
    return collective_of(CollectiveKind::kAllReduce, 2, 1, bucket, round);
  }
  void start(const Collective& collective) {
    effects.clear();
    ring.start(collective, effects);
    ring.check();
  }
  std::string told() const {
    std::string text;
    for (const RingEffect& effect : effects) {
      if (!text.empty()) text += ", ";
      if (const auto* send = std::get_if<SendChunk>(&effect)) {
        text += "send " + in_words(send->header);
      } else if (const auto* reduce = std::get_if<ReduceChunk>(&effect)) {
        text += "add " + in_words(reduce->header);
      } else if (const auto* store = std::get_if<StoreChunk>(&effect)) {
        text += "store " + in_words(store->header);
      } else if (const auto* drop = std::get_if<DropChunk>(&effect)) {
        text += "drop " + std::to_string(drop->header.id.bucket);
      } else {
        text += "done " + std::to_string(std::get<CollectiveDone>(effect).id.bucket);
      }
    }
    return text;
  }

  Ring ring;
  RingEffects effects;
};

TEST_F(RingOfTwo, keeps_a_chunk_of_the_next_collective_until_it_starts) {
  EXPECT_EQ(hear(first_chunk(sum(0))), ChunkFate::kKept);
  EXPECT_EQ(told(), "");
  start(sum(0));
  EXPECT_EQ(told(), "send reduce 0 [1,2), add reduce 0 [0,1), send copy 0 [0,1)");
  EXPECT_EQ(hear({sum(0).id, ChunkPhase::kCopy, 0, 1, 1}), ChunkFate::kUsed);
  EXPECT_EQ(told(), "store copy 0 [1,2), done 0");
}

TEST_F(RingOfTwo, refuses_what_is_beyond_the_next_collective) {
  EXPECT_EQ(hear(first_chunk(sum(1))), ChunkFate::kKept);
  EXPECT_EQ(hear(first_chunk(sum(1))), ChunkFate::kDuplicate);
  EXPECT_EQ(hear(first_chunk(sum(2))), ChunkFate::kTooEarly);
  EXPECT_EQ(told(), "");
  // The nearer one shows that what is kept was beyond.
  EXPECT_EQ(hear(first_chunk(sum(0))), ChunkFate::kKept);
  EXPECT_EQ(told(), "drop 1");
  EXPECT_EQ(ring.count(ChunkFate::kTooEarly), 2U);
  EXPECT_EQ(ring.count(ChunkFate::kDuplicate), 1U);
}

TEST_F(RingOfTwo, keeps_no_more_headers_than_a_collective_can_have) {
  Collective large = sum(0);
  for (std::uint64_t i = 0; i < Ring::kMaxChunks; ++i) {
    ASSERT_EQ(ring.on_chunk({large.id, ChunkPhase::kReduce, 0, i, 1}, effects), ChunkFate::kKept);
  }
  EXPECT_EQ(hear({large.id, ChunkPhase::kReduce, 0, Ring::kMaxChunks, 1}), ChunkFate::kTooEarly);
}

TEST_F(RingOfTwo, drops_kept_chunks_that_turn_out_impossible) {
  EXPECT_EQ(hear({sum(0).id, ChunkPhase::kReduce, 0, 0, 2}), ChunkFate::kKept);
  start(sum(0));
  EXPECT_EQ(told(), "send reduce 0 [1,2), drop 0");
  EXPECT_EQ(ring.count(ChunkFate::kWrongPlace), 1U);
}

TEST_F(RingOfTwo, refuses_impossible_chunks_with_a_reason) {
  start(sum(3));
  const CollectiveId id = sum(3).id;
  EXPECT_EQ(hear({id, ChunkPhase::kConfirm, 0, 0, 0}), ChunkFate::kWrongPhase);
  EXPECT_EQ(hear({id, ChunkPhase{9}, 0, 0, 0}), ChunkFate::kWrongPhase);
  EXPECT_EQ(hear({id, ChunkPhase::kReduce, 1, 0, 1}), ChunkFate::kWrongHop);
  EXPECT_EQ(hear({id, ChunkPhase::kReduce, UINT32_MAX, 0, 1}), ChunkFate::kWrongHop);
  EXPECT_EQ(hear({id, ChunkPhase::kReduce, 0, 1, 1}), ChunkFate::kWrongPlace);
  EXPECT_EQ(hear({id, ChunkPhase::kReduce, 0, 0, 2}), ChunkFate::kWrongPlace);
  EXPECT_EQ(hear({id, ChunkPhase::kReduce, 0, 0, 0}), ChunkFate::kWrongPlace);
  EXPECT_EQ(hear({id, ChunkPhase::kReduce, 0, UINT64_MAX, 1}), ChunkFate::kWrongPlace);
  EXPECT_EQ(hear({sum(2).id, ChunkPhase::kReduce, 0, 0, 1}), ChunkFate::kStale);
  EXPECT_EQ(told(), "");
  EXPECT_EQ(hear(first_chunk(sum(3))), ChunkFate::kUsed);
  EXPECT_EQ(hear(first_chunk(sum(3))), ChunkFate::kDuplicate);
  EXPECT_EQ(told(), "");
}

TEST_F(RingOfTwo, refuses_a_result_before_it_has_given_its_part_to_it) {
  // With three ranks, rank 1 adds to segment 0 before it can hear of its sum.
  Ring of_three;
  of_three.enter(kRound, {1, 3}, effects);
  of_three.start(collective_of(CollectiveKind::kAllReduce, 3, 1), effects);
  const CollectiveId id = sum(0).id;
  EXPECT_EQ(of_three.on_chunk({id, ChunkPhase::kCopy, 1, 0, 1}, effects), ChunkFate::kWrongPhase);
  EXPECT_EQ(of_three.on_chunk({id, ChunkPhase::kReduce, 0, 0, 1}, effects), ChunkFate::kUsed);
  EXPECT_EQ(of_three.on_chunk({id, ChunkPhase::kCopy, 1, 0, 1}, effects), ChunkFate::kUsed);
}

TEST_F(RingOfTwo, refuses_a_confirmation_before_it_holds_what_is_confirmed) {
  Ring of_three;
  of_three.enter(kRound, {1, 3}, effects);
  of_three.start(collective_of(CollectiveKind::kBroadcast, 2, 1), effects);
  const CollectiveId id = sum(0).id;
  EXPECT_EQ(of_three.on_chunk({id, ChunkPhase::kCopy, 0, 0, 1}, effects), ChunkFate::kUsed);
  EXPECT_EQ(of_three.on_chunk({id, ChunkPhase::kConfirm, 1, 0, 0}, effects),
            ChunkFate::kWrongPhase);
  EXPECT_EQ(of_three.on_chunk({id, ChunkPhase::kCopy, 0, 1, 1}, effects), ChunkFate::kUsed);
  EXPECT_FALSE(of_three.done());
  EXPECT_EQ(of_three.on_chunk({id, ChunkPhase::kConfirm, 1, 0, 0}, effects), ChunkFate::kUsed);
  EXPECT_TRUE(of_three.done());
}

TEST_F(RingOfTwo, that_has_left_uses_and_keeps_nothing_more) {
  EXPECT_EQ(hear(first_chunk(sum(0))), ChunkFate::kKept);
  start(sum(0));
  EXPECT_EQ(hear(first_chunk(sum(1))), ChunkFate::kKept);
  effects.clear();
  ring.cancel(effects);
  ring.cancel(effects);
  EXPECT_EQ(told(), "drop 1");
  EXPECT_FALSE(ring.running());
  EXPECT_FALSE(ring.done());
  EXPECT_EQ(hear({sum(0).id, ChunkPhase::kCopy, 0, 1, 1}), ChunkFate::kStale);
  EXPECT_EQ(hear(first_chunk(sum(2))), ChunkFate::kStale);
  EXPECT_EQ(told(), "");
}

TEST_F(RingOfTwo, that_was_done_before_it_left_stays_done) {
  EXPECT_EQ(hear(first_chunk(sum(0))), ChunkFate::kKept);
  start(sum(0));
  EXPECT_EQ(hear({sum(0).id, ChunkPhase::kCopy, 0, 1, 1}), ChunkFate::kUsed);
  ring.cancel(effects);
  EXPECT_TRUE(ring.done());
}

TEST_F(RingOfTwo, keeps_chunks_of_the_next_round_across_the_change) {
  start(sum(0));
  EXPECT_EQ(hear(first_chunk(sum(1))), ChunkFate::kKept);
  // The previous rank is in the next round already, so this one is dead.
  EXPECT_EQ(hear(first_chunk(sum(0, kNext))), ChunkFate::kKept);
  EXPECT_EQ(told(), "drop 1");
  EXPECT_EQ(hear(first_chunk(sum(1))), ChunkFate::kStale);
  ring.cancel(effects);
  ring.enter(kNext, {1, 2}, effects);
  EXPECT_EQ(hear(first_chunk(sum(0))), ChunkFate::kStale);
  start(sum(0, kNext));
  EXPECT_EQ(told(), "send reduce 0 [1,2), add reduce 0 [0,1), send copy 0 [0,1)");
}

// Step 11 is finished by rank 2 although the others have left, rank 1 before it was done itself.
TEST(Ring, a_rank_finishes_from_chunks_already_sent_when_the_others_have_left) {
  RingNet net(3, kRound);
  const Collective collective = collective_of(CollectiveKind::kAllReduce, 3, 1);
  const auto buffers = buffers_of(3, 3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) net.start(rank, collective, buffers[rank]);
  while (net[1].heard.size() < 3) {  // of 4
    const std::uint32_t next = net.can_deliver(0) ? 0 : net.can_deliver(1) ? 1 : 2;
    net.deliver(next);
  }
  EXPECT_FALSE(net[1].ring.done());
  EXPECT_FALSE(net[2].ring.done());
  net.cancel(0, SIZE_MAX);
  net.cancel(1, SIZE_MAX);
  while (net.can_deliver(2)) net.deliver(2);
  EXPECT_TRUE(net[2].ring.done());
  EXPECT_EQ(net[2].buffers.at(collective.id), result_of(collective, buffers));
  EXPECT_FALSE(net[1].ring.done());
}

TEST(Ring, equal_histories_have_equal_digests_and_others_have_not) {
  const Collective collective = collective_of(CollectiveKind::kAllReduce, 4, 1);
  Ring one, other;
  RingEffects effects;
  for (Ring* ring : {&one, &other}) {
    ring->enter(kRound, {0, 2}, effects);
    ring->start(collective, effects);
  }
  EXPECT_EQ(one.digest(), other.digest());
  const Ring before = one;
  EXPECT_EQ(one.on_chunk({collective.id, ChunkPhase::kReduce, 0, 2, 1}, effects), ChunkFate::kUsed);
  EXPECT_NE(one.digest(), other.digest());
  EXPECT_EQ(before.digest(), other.digest());
  EXPECT_EQ(other.on_chunk({collective.id, ChunkPhase::kReduce, 0, 3, 1}, effects),
            ChunkFate::kUsed);
  EXPECT_NE(one.digest(), other.digest());
}

}  // namespace
}  // namespace elastic
