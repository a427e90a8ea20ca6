#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "transport/sim/storage.h"

namespace elastic::sim {
namespace {

using namespace std::chrono_literals;
constexpr JournalLife kLife{7};
constexpr Lineage kLineage{42};
constexpr std::int64_t kSecondsWorth = 1'000'000'000;  // bytes, of the storage made here

class StorageTest : public testing::Test {
 protected:
  using Way = Storage::Way;
  // Runs until nothing moves any more, or `until`. When each transfer was through.
  void run(Time until = kEndOfTime) {
    while (!timeline.queue.empty()) {
      const EventQueue::Due due = timeline.queue.pop();
      if (due.at > until) {
        timeline.queue.push(due.at, due.event);
        break;
      }
      timeline.now = due.at;
      for (const TransferId id : storage.complete(timeline, due.event)) through[id] = timeline.now;
    }
    if (until != kEndOfTime) timeline.now = until;
  }
  static Storage::SaveKey key(std::uint64_t step, std::uint64_t round = 1) {
    return {Step{step}, RoundId{kLife, round}};
  }
  void save(std::uint64_t step) { storage.share_stored(key(step), kLineage, 0, 1); }
  bool intact(std::uint64_t step) const { return storage.intact(key(step), kLineage); }

  Timeline timeline;
  Storage storage{kSecondsWorth};
  std::map<TransferId, Time> through;
};

TEST_F(StorageTest, transfers_share_the_bandwidth) {
  const TransferId one = storage.start(timeline, Way::kWrite, kSecondsWorth);
  const TransferId other = storage.start(timeline, Way::kRead, kSecondsWorth);
  run();
  EXPECT_EQ(through.at(one), Time{2s});
  EXPECT_EQ(through.at(other), Time{2s});
}

TEST_F(StorageTest, while_it_is_full_what_writes_waits_and_what_reads_has_it_all) {
  const TransferId written = storage.start(timeline, Way::kWrite, kSecondsWorth);
  const TransferId read = storage.start(timeline, Way::kRead, kSecondsWorth);
  run(Time{1s});  // half of each
  storage.set_full(timeline, true);
  const TransferId later = storage.start(timeline, Way::kWrite, kSecondsWorth);
  EXPECT_FALSE(storage.writable());
  EXPECT_TRUE(storage.reachable());
  run(Time{9s});
  EXPECT_EQ(through.at(read), Time{1500ms});
  EXPECT_EQ(through.size(), 1U);
  storage.set_full(timeline, false);
  run();
  EXPECT_EQ(through.at(written), Time{11s}) << "it begins anew, beside the other";
  EXPECT_EQ(through.at(later), Time{11s});
}

TEST_F(StorageTest, a_write_that_waits_for_room_can_be_cancelled) {
  storage.set_full(timeline, true);
  const TransferId gone = storage.start(timeline, Way::kWrite, kSecondsWorth);
  storage.cancel(timeline, gone);
  storage.set_full(timeline, false);
  run();
  EXPECT_TRUE(through.empty());
}

TEST_F(StorageTest, slow_storage_takes_longer_from_then_on) {
  const TransferId transfer = storage.start(timeline, Way::kWrite, kSecondsWorth);
  run(Time{500ms});
  storage.set_speed(timeline, 100'000);
  run(Time{3s});  // a quarter of a second's worth more
  storage.set_speed(timeline, 1'000'000);
  run();
  EXPECT_EQ(through.at(transfer), Time{3250ms});
}

TEST_F(StorageTest, nothing_moves_while_it_cannot_be_reached_full_or_not) {
  const TransferId transfer = storage.start(timeline, Way::kWrite, kSecondsWorth);
  storage.set_reachable(timeline, false);
  storage.set_full(timeline, true);
  storage.set_full(timeline, false);
  run(Time{5s});
  EXPECT_TRUE(through.empty());
  storage.set_reachable(timeline, true);
  run();
  EXPECT_EQ(through.at(transfer), Time{6s});
}

TEST_F(StorageTest, rot_hits_the_newest_whole_save_or_one_before) {
  for (const std::uint64_t step : {10U, 20U, 30U}) save(step);
  storage.share_stored(key(40), kLineage, 0, 2);  // half of it
  storage.rot(1);
  EXPECT_TRUE(intact(10) && intact(30));
  EXPECT_FALSE(intact(20));
  storage.rot(0);
  EXPECT_TRUE(intact(10));
  EXPECT_FALSE(intact(30));
  storage.rot(9);  // the oldest
  EXPECT_FALSE(intact(10));
  storage.rot(0);  // nothing is left to rot
  save(50);
  EXPECT_TRUE(intact(50));
}

TEST_F(StorageTest, a_save_is_intact_as_what_it_is_and_nothing_else) {
  save(10);
  EXPECT_TRUE(storage.intact(key(10), kLineage));
  EXPECT_FALSE(storage.intact(key(10), Lineage{43}));
  EXPECT_FALSE(storage.intact(key(10, 2), kLineage));
  storage.remove(key(10));
  EXPECT_FALSE(storage.intact(key(10), kLineage));
}

}  // namespace
}  // namespace elastic::sim
