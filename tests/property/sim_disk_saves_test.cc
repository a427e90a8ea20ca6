// No crash, at any moment, with any outcome, costs a save that was committed; and no save is taken
// for whole that is not.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/disk_stage.h"
#include "tests/support/effort.h"
#include "tests/support/property.h"

namespace elastic::test {
namespace {

TEST(DiskSavesProperty, power_loss_at_any_moment_loses_no_committed_save) {
  StageCounts counts;
  const std::uint64_t seeds = scaled(60);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const StageRun run{seed, 1 + static_cast<std::uint32_t>(seed % 4), seed % 3 == 0};
    bool past_end = false;
    for (std::uint64_t moment = 0; !past_end; ++moment) {
      const std::string broken = judge_power_loss(run, moment, &past_end, &counts);
      ASSERT_EQ(broken, "") << "seed " << seed << ", moment " << moment;
    }
  }
  EXPECT_GT(counts.crashes, 45 * seeds);
  EXPECT_GT(counts.committed, seeds);
  EXPECT_GT(counts.torn, 10 * seeds) << "no crash left anything behind";
}

TEST(DiskSavesProperty, a_late_shard_of_a_dead_round_never_harms_a_newer_save) {
  StageCounts counts;
  const std::uint64_t seeds = scaled(40);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const StageRun run{seed, 2 + static_cast<std::uint32_t>(seed % 3), seed % 3 == 0};
    bool past_end = false;
    for (std::uint64_t moment = 0; !past_end; ++moment) {
      const auto victim = static_cast<std::uint32_t>(seed + moment);
      const std::string broken = judge_next_round(run, moment, victim, &past_end, &counts);
      ASSERT_EQ(broken, "") << "seed " << seed << ", moment " << moment;
    }
  }
  EXPECT_GT(counts.crashes, 45 * seeds);
  EXPECT_GT(counts.committed, seeds);
}

TEST(DiskSavesProperty, once_a_save_was_read_back_intact_one_is_always_left) {
  StageCounts counts;
  const std::uint64_t seeds = scaled(100);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::string broken =
        judge_retention({seed, 2, false}, 1 + static_cast<std::uint32_t>(seed % 3), &counts);
    ASSERT_EQ(broken, "") << "seed " << seed;
  }
  EXPECT_GT(counts.crashes, seeds) << "nothing was retired";
  EXPECT_GT(counts.torn, seeds) << "nothing rotted";
}

// One client, one directory: what must be there after a crash, by the rules in disk.h.
struct Expected {
  std::optional<std::uint64_t> content;  // number of the write
  bool certain = false;                  // synced: bytes and entry
};

TEST(DiskProperty, what_was_synced_survives_and_what_was_not_is_old_torn_or_whole) {
  check("what was synced survives a crash, and what was not is old, torn or whole",
        {"lost", "torn", "whole", "unsynced entry survived", "unsynced entry lost"},
        [] {
          const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
          sim::Disk disk(sim::Chance(seed), 1, {});
          const NodeId client{1};
          const auto act = [&](sim::DiskRequest request) {
            return disk.complete(disk.submit(std::move(request)).ticket).reply->outcome;
          };
          const auto content = [](std::uint64_t number) {
            return sim::DiskContent{4000, {number, number + 1, number + 2, number + 3}, 0};
          };
          const std::string path = "f";
          std::uint64_t synced = 0, newest = 0;  // numbers of writes; 0: none
          bool entry_synced = false, entry_asked = false;
          const int steps = *rc::gen::inRange(1, 8);
          for (int i = 0; i < steps; ++i) {
            switch (*rc::gen::element(0, 0, 1, 2)) {
              case 0:
                act({client, sim::DiskOpKind::kWrite, path, {}, content(10 * (newest / 10 + 1))});
                newest = 10 * (newest / 10 + 1);
                entry_asked = true;
                break;
              case 1:
                if (act({client, sim::DiskOpKind::kSync, path, {}, {}}) ==
                    checkpoint::DiskOutcome::kOk) {
                  synced = newest;
                }
                break;
              default:
                act({client, sim::DiskOpKind::kSyncDir, ".", {}, {}});
                entry_synced = entry_asked;
            }
          }
          disk.check();
          if (entry_synced && synced != 0) {
            RC_ASSERT(disk.durable(path) == content(synced));
          }
          disk.crash(client);
          disk.check();
          const auto found = disk.visible(path);
          if (entry_synced) RC_ASSERT(found.has_value());
          RC_CLASSIFY(entry_asked && !entry_synced && found, "unsynced entry survived");
          RC_CLASSIFY(entry_asked && !entry_synced && !found, "unsynced entry lost");
          if (!found) return;
          RC_ASSERT(disk.durable(path) == found);
          const sim::DiskContent old = synced == 0 ? sim::DiskContent{} : content(synced);
          if (*found == content(newest)) {
            RC_TAG("whole");
          } else if (*found == old) {
            RC_TAG("lost");
            RC_ASSERT(synced != newest);
          } else {
            RC_TAG("torn");
            RC_ASSERT(synced != newest);
            RC_ASSERT(*found == content(newest).prefix(found->bytes));
          }
        },
        {.max_success = 500});
}

TEST(DiskProperty, a_crash_leaves_any_subset_of_unsynced_entries_and_renames_stay_whole) {
  std::map<std::string, int> seen;  // which of the names a, b, c are there
  const std::uint64_t seeds = scaled(400);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    sim::Disk disk(sim::Chance(seed), 1, {});
    const NodeId client{1};
    const auto act = [&](sim::DiskOpKind kind, const std::string& path, const std::string& to) {
      const sim::Disk::Submitted submitted = disk.submit({client, kind, path, to, {10, {1}, 0}});
      ASSERT_EQ(disk.complete(submitted.ticket).reply->outcome, checkpoint::DiskOutcome::kOk);
    };
    act(sim::DiskOpKind::kWrite, "a", "");
    act(sim::DiskOpKind::kSync, "a", "");
    act(sim::DiskOpKind::kSyncDir, ".", "");
    act(sim::DiskOpKind::kRename, "a", "b");
    act(sim::DiskOpKind::kWrite, "c", "");
    disk.crash(client);
    disk.check();
    std::string names;
    for (const std::string& name : disk.list(".")) names += name;
    ++seen[names];
  }
  if (seeds < 50) return;  // with few seeds not every subset need come up
  EXPECT_GT(seen["a"], 0);
  EXPECT_GT(seen["b"], 0);
  EXPECT_GT(seen["ac"], 0);
  EXPECT_GT(seen["bc"], 0);
  EXPECT_EQ(seen.size(), 4U) << "a rename was half done";
}

TEST(DiskProperty, an_operation_draws_the_same_whatever_others_do) {
  check("an operation takes the same time and meets the same fate whatever other clients do",
        {"others act", "others are quiet"}, [] {
          const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
          const int others = *rc::gen::inRange(0, 6);
          const auto fate = [seed](int noise) {
            sim::Disk disk(sim::Chance(seed), 1, {});
            std::vector<std::uint64_t> words;
            for (int i = 0; i < 4; ++i) {
              for (int k = 0; k < noise; ++k) {
                const std::string path = "other" + std::to_string(k);
                const sim::Disk::Submitted other =
                    disk.submit({NodeId{9}, sim::DiskOpKind::kWrite, path, {}, {5, {2}, 0}});
                disk.complete(other.ticket);
              }
              const std::string path = "mine" + std::to_string(i);
              const sim::Disk::Submitted mine =
                  disk.submit({NodeId{1}, sim::DiskOpKind::kWrite, path, {}, {4000, {1, 2}, 0}});
              words.push_back(static_cast<std::uint64_t>(mine.after.count()));
              if (i < 3) disk.complete(mine.ticket);
            }
            for (const sim::Disk::Submitted& late : disk.crash(NodeId{1})) {
              words.push_back(static_cast<std::uint64_t>(late.after.count()));
              disk.complete(late.ticket);
            }
            for (int i = 0; i < 4; ++i) {
              const auto found = disk.visible("mine" + std::to_string(i));
              words.push_back(found ? found->fact().digest : 0);
            }
            return words;
          };
          RC_ASSERT(fate(0) == fate(others));
          RC_CLASSIFY(others > 0, "others act");
          RC_CLASSIFY(others == 0, "others are quiet");
        });
}

}  // namespace
}  // namespace elastic::test
