// Which save is resumed from, which may go, and how often one is made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/checkpoint/interval.h"
#include "core/checkpoint/restore.h"
#include "core/checkpoint/retention.h"
#include "tests/support/property.h"

namespace elastic::checkpoint {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool contains(const std::vector<RecordNo>& records, RecordNo record) {
  return std::find(records.begin(), records.end(), record) != records.end();
}

std::vector<CommittedSave> any_saves() {
  std::vector<CommittedSave> saves;
  std::uint64_t record = 100;
  const int count = *rc::gen::inRange(0, 8);
  for (int i = 0; i < count; ++i) {
    record -= *rc::gen::inRange<std::uint64_t>(1, 5);
    saves.push_back({RecordNo{record}, {Step{record * 10}, {JournalLife{1}, record}, {}, record}});
  }
  return saves;
}

// Each of them with a chance of one in `one_in`.
std::vector<RecordNo> some_of(const std::vector<CommittedSave>& saves, int one_in) {
  std::vector<RecordNo> some;
  for (const CommittedSave& save : saves) {
    if (*rc::gen::inRange(0, one_in) == 0) some.push_back(save.record);
  }
  return some;
}

TEST(RestoreProperty, the_newest_committed_save_that_is_neither_retired_nor_broken_is_named) {
  test::check("the newest committed save that is neither retired nor broken is named",
              {"newest", "newer broken", "nothing committed", "none left"}, [] {
                const std::vector<CommittedSave> saves = any_saves();
                const int often = *rc::gen::element(1, 2, 4);
                const std::vector<RecordNo> broken = some_of(saves, often);
                const std::vector<RecordNo> retired = some_of(saves, 5);
                const Restore restore = choose_restore(saves, retired, broken);
                const auto usable = [&](const CommittedSave& save) {
                  return !contains(broken, save.record) && !contains(retired, save.record);
                };
                const auto first = std::find_if(saves.begin(), saves.end(), usable);
                RC_ASSERT(restore.save.has_value() == (first != saves.end()));
                if (restore.save) RC_ASSERT(*restore.save == *first);
                bool newer_broken = false;
                for (auto at = saves.begin(); at != first; ++at) {
                  newer_broken = newer_broken || !contains(retired, at->record);
                }
                switch (restore.reason) {
                  case RestoreReason::kNewest:
                    RC_TAG("newest");
                    RC_ASSERT(first != saves.end() && !newer_broken);
                    break;
                  case RestoreReason::kNewerBroken:
                    RC_TAG("newer broken");
                    RC_ASSERT(first != saves.end() && newer_broken);
                    break;
                  case RestoreReason::kNothingCommitted:
                    RC_TAG("nothing committed");
                    RC_ASSERT(saves.empty() && retired.empty());
                    break;
                  case RestoreReason::kNoneLeft:
                    RC_TAG("none left");
                    RC_ASSERT(!saves.empty() && first == saves.end());
                    break;
                }
              });
}

TEST(RetentionProperty, the_proven_save_newer_ones_and_enough_usable_ones_stay) {
  test::check(
      "the proven save, newer ones and enough usable ones stay; all else goes",
      {"nothing proven", "proven is broken", "some go", "a broken one goes", "in use stays"},
      [] {
        const std::vector<CommittedSave> saves = any_saves();
        const std::vector<RecordNo> broken = some_of(saves, 4);
        Kept kept;
        kept.keep = *rc::gen::inRange(0U, 4U);
        if (!saves.empty() && *rc::gen::inRange(0, 4) != 0) {
          kept.proven = saves[*rc::gen::inRange<std::size_t>(0, saves.size())].record;
        }
        if (!saves.empty() && *rc::gen::arbitrary<bool>()) {
          kept.in_use = saves[*rc::gen::inRange<std::size_t>(0, saves.size())].record;
        }
        const std::vector<RecordNo> gone = to_retire(saves, broken, kept);
        RC_ASSERT(std::is_sorted(gone.begin(), gone.end()));
        const bool proven = kept.proven && !contains(broken, kept.proven);
        RC_CLASSIFY(!kept.proven, "nothing proven");
        RC_CLASSIFY(kept.proven && !proven, "proven is broken");
        if (!proven) {
          RC_ASSERT(gone.empty());
          return;
        }
        std::uint32_t usable = 0;  // so far, from the newest on
        const std::uint32_t keep = std::max(kept.keep, 1U);
        bool saved_by_use = false, broken_gone = false;
        for (const CommittedSave& save : saves) {
          const bool is_broken = contains(broken, save.record);
          const bool among = !is_broken && usable < keep;
          const bool stays = save.record >= kept.proven || among || save.record == kept.in_use;
          RC_ASSERT(contains(gone, save.record) == !stays);
          if (!is_broken) ++usable;
          saved_by_use =
              saved_by_use || (save.record == kept.in_use && save.record < kept.proven && !among);
          broken_gone = broken_gone || (is_broken && !stays);
        }
        RC_CLASSIFY(!gone.empty(), "some go");
        RC_CLASSIFY(broken_gone, "a broken one goes");
        RC_CLASSIFY(saved_by_use, "in use stays");
        // Whatever was retired, what is resumed from is there: the proven one at worst.
        const Restore restore = choose_restore(saves, gone, broken);
        RC_ASSERT(restore.save.has_value());
        RC_ASSERT(restore.save->record >= kept.proven);
      },
      {.max_success = 500});
}

// The expected wall time of a unit of work with restarts, by Daly's exact model without restart
// cost: M (exp((interval + cost) / M) - 1) / interval.
double overhead(double interval, double cost, double mtbf) {
  return mtbf * std::expm1((interval + cost) / mtbf) / interval;
}

TEST(IntervalProperty, no_interval_that_is_far_from_it_costs_less) {
  test::check(
      "no interval that is far from Daly's costs less",
      {"cheap saves", "dear saves", "cost above the time between failures"},
      [] {
        const std::int64_t mtbf_ms = *rc::gen::inRange<std::int64_t>(1'000, 400'000'000);
        const std::int64_t part = *rc::gen::element<std::int64_t>(1, 10, 1'000, 100'000);
        const std::int64_t cost_ms =
            *rc::gen::inRange<std::int64_t>(1, std::max<std::int64_t>(2, 3 * mtbf_ms / part));
        const Duration cost = milliseconds(cost_ms);
        const Duration mtbf = milliseconds(mtbf_ms);
        const Duration interval = daly_interval(cost, mtbf);
        RC_ASSERT(interval > Duration(0));
        RC_ASSERT(interval <= 2 * mtbf);
        if (cost >= 2 * mtbf) {
          RC_TAG("cost above the time between failures");
          RC_ASSERT(interval == mtbf);
          return;
        }
        const bool cheap = cost_ms * 50 < mtbf_ms;
        if (cheap) {
          RC_TAG("cheap saves");
        } else {
          RC_TAG("dear saves");
        }
        const double best = overhead(static_cast<double>(interval.count()) / 1e6,
                                     static_cast<double>(cost_ms), static_cast<double>(mtbf_ms));
        for (const double factor : {0.25, 0.5, 2.0, 4.0}) {
          const double other = overhead(static_cast<double>(interval.count()) * factor / 1e6,
                                        static_cast<double>(cost_ms), static_cast<double>(mtbf_ms));
          RC_ASSERT(best <= other);
        }
      },
      {.max_success = 500});
}

TEST(IntervalProperty, more_failures_never_lengthen_it_and_dearer_saves_never_shorten_it) {
  test::check("more failures never lengthen the interval, dearer saves never shorten it",
              {"nothing measured", "at the shortest", "at the longest", "between"},
              [] {
                IntervalRule rule;
                Measured measured;
                measured.failures = *rc::gen::inRange<std::uint64_t>(0, 50);
                measured.running = milliseconds(*rc::gen::inRange<std::int64_t>(0, 400'000'000));
                if (*rc::gen::inRange(0, 5) != 0) {
                  measured.save_cost = Duration(
                      *rc::gen::element<std::int64_t>(0, 1'000'000, 1'000'000'000, 60'000'000'000) *
                      *rc::gen::inRange<std::int64_t>(1, 50));
                }
                const Duration interval = save_interval(rule, measured);
                RC_ASSERT(interval >= rule.shortest);
                RC_ASSERT(interval <= rule.longest);
                if (!measured.save_cost) {
                  RC_TAG("nothing measured");
                  RC_ASSERT(interval == rule.shortest);
                  return;
                }
                RC_CLASSIFY(interval == rule.shortest, "at the shortest");
                RC_CLASSIFY(interval == rule.longest, "at the longest");
                RC_CLASSIFY(interval > rule.shortest && interval < rule.longest, "between");
                // Below that the interval of ever dearer saves tends to the time between failures.
                const Duration mtbf = estimated_mtbf(rule, measured);
                Measured worse = measured;
                ++worse.failures;
                RC_ASSERT(estimated_mtbf(rule, worse) <= mtbf);
                RC_ASSERT(save_interval(rule, worse) <= interval);
                Measured dearer = measured;
                *dearer.save_cost += seconds(1);
                if (*dearer.save_cost < mtbf / 4)
                  RC_ASSERT(save_interval(rule, dearer) >= interval);
              },
              {.max_success = 500});
}

}  // namespace
}  // namespace elastic::checkpoint
