// Each sample of an epoch counts once along the lineage, whatever a job goes through.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/data/cursor.h"
#include "core/data/shares.h"
#include "core/math/digest.h"
#include "tests/support/property.h"

namespace elastic::data {
namespace {

using test::check;
constexpr test::PropertyOptions kOften{.max_success = 1000};

// Sizes of all magnitudes, the ends of each among them.
std::uint64_t any_samples() {
  const auto bits = *rc::gen::element(0, 1, 2, 3, 5, 8, 13, 20, 31, 32, 33, 40, 47, 48);
  const std::uint64_t top = std::uint64_t{1} << bits;
  const auto drawn = *rc::gen::arbitrary<std::uint64_t>();
  switch (*rc::gen::element(0, 1, 2)) {
    case 0:
      return top;
    case 1:
      return std::min(top + 1, kMaxSamples);
    default:
      return std::min(top + math::mix(drawn) % top, kMaxSamples);
  }
}

TEST(PermutationProperty, positions_and_samples_correspond_one_to_one_at_every_size) {
  check("an order is a bijection at every size", {"one sample", "a power of two", "one above"}, [] {
    const auto samples = *rc::gen::weightedOneOf<std::uint64_t>(
        {{1, rc::gen::element<std::uint64_t>(1, 2, 3, 4, 5, 8, 16, 17, 64, 65, 256, 257)},
         {1, rc::gen::inRange<std::uint64_t>(1, 1000)}});
    RC_CLASSIFY(samples == 1, "one sample");
    RC_CLASSIFY(samples > 1 && std::has_single_bit(samples), "a power of two");
    RC_CLASSIFY(samples > 2 && std::has_single_bit(samples - 1), "one above");
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto epoch = *rc::gen::arbitrary<std::uint64_t>();
    const Permutation order(samples, math::Seed{seed}, Epoch{epoch});
    std::vector<bool> seen(samples);
    for (std::uint64_t i = 0; i < samples; ++i) {
      const Sample sample = order.at(Position{i});
      RC_ASSERT(sample.value < samples);
      RC_ASSERT(!seen[sample.value]);
      seen[sample.value] = true;
      RC_ASSERT(order.position_of(sample) == Position{i});
    }
  });
}

TEST(PermutationProperty, the_order_inverts_at_any_place_of_the_largest_data_sets) {
  check(
      "an order inverts at any place up to 2^48 samples", {"above 2^40", "2^48"},
      [] {
        const std::uint64_t samples = any_samples();
        RC_CLASSIFY(samples > std::uint64_t{1} << 40, "above 2^40");
        RC_CLASSIFY(samples == kMaxSamples, "2^48");
        const auto seed = *rc::gen::arbitrary<std::uint64_t>();
        const auto epoch = *rc::gen::inRange<std::uint64_t>(0, 100);
        const Permutation order(samples, math::Seed{seed}, Epoch{epoch});
        const auto drawn = *rc::gen::arbitrary<std::uint64_t>();
        const std::uint64_t place = math::mix(drawn) % samples;
        const Sample sample = order.at(Position{place});
        RC_ASSERT(sample.value < samples);
        RC_ASSERT(order.position_of(sample) == Position{place});
        RC_ASSERT(order.at(order.position_of(Sample{place})) == Sample{place});
      },
      kOften);
}

// How ranks of a world divide a batch in one step of a history.
enum class Way { kByRank, kByShards, kByWeight };

// The samples that all ranks compute, each from the cursor and its own place, in the order of
// ranks.
std::vector<Sample> computed(const DataConfig& config, const Batch& batch, Way way,
                             std::uint32_t world) {
  std::vector<std::uint32_t> weights;
  if (way == Way::kByWeight) {
    weights = *rc::gen::container<std::vector<std::uint32_t>>(
        world, rc::gen::inRange<std::uint32_t>(0, 5));
  }
  std::vector<Sample> samples;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    const Permutation order = order_of(config, batch.epoch);
    const Share share = way == Way::kByRank ? share_of(batch, {rank, world})
                        : way == Way::kByShards
                            ? share_by_shards(batch, config.virtual_shards, {rank, world})
                            : weighted_shares(batch, weights).at(rank);
    for (std::uint64_t i = 0; i < share.size; ++i) {
      samples.push_back(order.at(Position{share.first.value + i}));
    }
  }
  return samples;
}

// A job through its life. `lineage` is what its present state descends from; every prefix of it is
// a committed state to which it may be rolled back.
class History {
 public:
  explicit History(const DataConfig& config) : config_(config) {}

  void live() {
    for (int events = 0; !finished(config_, cursor_, step_of(lineage_.size())); ++events) {
      switch (*rc::gen::weightedElement<int>({{6, 0}, {2, 1}, {2, 2}, {1, 3}, {1, 4}})) {
        case 1:
          world_ = *rc::gen::inRange<std::uint32_t>(1, 10);
          break;
        case 2:
          global_batch_ = *rc::gen::inRange<std::uint64_t>(1, 24);
          break;
        case 3:
          // A step is computed, and the world is lost before it was committed.
          computed(config_, batch_at(config_, cursor_, global_batch_), any_way(), world_);
          lost_ = true;
          world_ = *rc::gen::inRange<std::uint32_t>(1, 10);
          break;
        case 4:
          if (events < 60) roll_back();
          break;
        default:
          consume();
      }
    }
  }

  void judge() const {
    std::uint64_t position = 0, epoch = 0;
    for (const Committed& step : lineage_) {
      const Permutation order = order_of(config_, Epoch{epoch});
      RC_ASSERT(!step.samples.empty());
      for (const Sample sample : step.samples) {
        // In the order of the epoch, whatever worlds there were: so each exactly once.
        RC_ASSERT(position < config_.samples);
        RC_ASSERT(sample == order.at(Position{position}));
        ++position;
      }
      if (position == config_.samples) {
        ++epoch;
        position = 0;
      }
    }
    if (!config_.max_steps) {
      RC_ASSERT(epoch == *config_.epochs);
      RC_ASSERT(position == 0U);
    }
    RC_ASSERT(samples_seen(config_, cursor_) == math::uint128{epoch} * config_.samples + position);
    count_samples();
  }

  bool rolled_back_over_an_epoch() const { return over_an_epoch_; }
  bool rolled_back() const { return rolled_back_; }
  bool lost_a_step() const { return lost_; }
  bool short_batch() const { return short_batch_; }

 private:
  struct Committed {
    Cursor before;
    std::vector<Sample> samples;
  };

  static Step step_of(std::size_t steps) { return Step{steps}; }
  static Way any_way() { return *rc::gen::element(Way::kByRank, Way::kByShards, Way::kByWeight); }

  void consume() {
    const Batch batch = batch_at(config_, cursor_, global_batch_);
    const Way way = any_way();
    short_batch_ = short_batch_ || batch.size < global_batch_;
    lineage_.push_back({cursor_, computed(config_, batch, way, world_)});
    RC_ASSERT(lineage_.back().samples.size() == batch.size);
    cursor_ = advance(config_, cursor_, batch);
    RC_ASSERT(!check_cursor(config_, cursor_));
  }

  void roll_back() {
    if (lineage_.empty()) return;
    const auto kept = *rc::gen::inRange<std::size_t>(0, lineage_.size());
    const Cursor to = lineage_[kept].before;
    over_an_epoch_ = over_an_epoch_ || to.epoch < cursor_.epoch;
    rolled_back_ = true;
    cursor_ = to;
    lineage_.resize(kept);
    world_ = *rc::gen::inRange<std::uint32_t>(1, 10);
  }

  // The same claim without the permutation's help: a plain count.
  void count_samples() const {
    std::map<Epoch, std::set<Sample>> seen;
    for (const Committed& step : lineage_) {
      for (const Sample sample : step.samples) {
        RC_ASSERT(seen[step.before.epoch].insert(sample).second);
      }
    }
    for (const auto& [epoch, samples] : seen) {
      if (epoch < cursor_.epoch) RC_ASSERT(samples.size() == config_.samples);
    }
  }

  DataConfig config_;
  Cursor cursor_;
  std::uint32_t world_ = 3;
  std::uint64_t global_batch_ = 7;
  std::vector<Committed> lineage_;
  bool rolled_back_ = false, over_an_epoch_ = false, lost_ = false, short_batch_ = false;
};

TEST(DataOrderProperty, any_history_of_worlds_and_rollbacks_counts_each_sample_once_in_one_order) {
  check(
      "any history of worlds, batches, resumes and rollbacks counts each sample once, in one order",
      {"rolled back", "rolled back over an epoch", "a computed step was lost", "a short batch",
       "stopped by max_steps"},
      [] {
        DataConfig config;
        config.samples = *rc::gen::inRange<std::uint64_t>(1, 80);
        config.seed = math::Seed{*rc::gen::arbitrary<std::uint64_t>()};
        config.epochs = *rc::gen::inRange<std::uint64_t>(1, 4);
        config.virtual_shards = *rc::gen::inRange<std::uint32_t>(1, 20);
        if (*rc::gen::inRange(0, 3) == 0) {
          config.max_steps = *rc::gen::inRange<std::uint64_t>(1, 30);
        }
        RC_ASSERT(!check_config(config));
        History history(config);
        history.live();
        history.judge();
        RC_CLASSIFY(history.rolled_back(), "rolled back");
        RC_CLASSIFY(history.rolled_back_over_an_epoch(), "rolled back over an epoch");
        RC_CLASSIFY(history.lost_a_step(), "a computed step was lost");
        RC_CLASSIFY(history.short_batch(), "a short batch");
        RC_CLASSIFY(config.max_steps.has_value(), "stopped by max_steps");
      },
      {.max_success = 500});
}

TEST(CursorProperty, steps_are_counted_as_a_run_with_a_constant_batch_takes_them) {
  check(
      "counted steps are the steps of a run", {"max_steps first", "epochs first", "short batch"},
      [] {
        DataConfig config;
        config.samples = *rc::gen::inRange<std::uint64_t>(1, 50);
        config.epochs = *rc::gen::inRange<std::uint64_t>(1, 5);
        if (*rc::gen::arbitrary<bool>()) {
          config.max_steps = *rc::gen::inRange<std::uint64_t>(1, 60);
        }
        const auto global_batch = *rc::gen::inRange<std::uint64_t>(1, 70);
        Cursor cursor;
        Step step;
        std::uint64_t first_epoch = 0;
        math::uint128 seen = 0;
        while (!finished(config, cursor, step)) {
          const Batch batch = batch_at(config, cursor, global_batch);
          RC_CLASSIFY(batch.size < global_batch, "short batch");
          first_epoch += batch.epoch == Epoch{0} ? 1 : 0;
          cursor = advance(config, cursor, batch);
          step.value += 1;
          seen += batch.size;
          RC_ASSERT(samples_seen(config, cursor) == seen);
        }
        RC_CLASSIFY(cursor.epoch.value < *config.epochs, "max_steps first");
        RC_CLASSIFY(cursor.epoch.value == *config.epochs, "epochs first");
        RC_ASSERT(total_steps(config, global_batch) == step);
        if (cursor.epoch.value > 0) {
          RC_ASSERT(steps_per_epoch(config, global_batch) == first_epoch);
        }
      },
      kOften);
}

TEST(CursorProperty, settings_that_pass_the_check_work_at_their_ends) {
  check(
      "settings that pass the check work at their ends",
      {"passed", "refused", "2^48 samples", "without epochs"},
      [] {
        const std::vector<std::uint64_t> ends = {
            0, 1, 2, 1U << 15, (1U << 15) + 1, kMaxSamples, kMaxSamples + 1, UINT64_MAX};
        const auto wild =
            rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(), rc::gen::elementOf(ends));
        DataConfig config;
        config.samples = *rc::gen::oneOf(rc::gen::just(kMaxSamples), wild);
        if (*rc::gen::arbitrary<bool>()) config.epochs = *wild;
        if (*rc::gen::arbitrary<bool>()) config.max_steps = *wild;
        config.virtual_shards = *rc::gen::element<std::uint32_t>(0, 1, 64, 65536, 65537);
        const auto refusal = check_config(config);
        RC_CLASSIFY(refusal.has_value(), "refused");
        if (refusal) {
          RC_ASSERT(!refusal->empty());
          return;
        }
        RC_TAG("passed");
        RC_CLASSIFY(config.samples == kMaxSamples, "2^48 samples");
        RC_CLASSIFY(!config.epochs.has_value(), "without epochs");
        const Epoch last{config.epochs.value_or(UINT64_MAX) - 1};
        const Cursor cursor{last, config.samples - 1};
        RC_ASSERT(!check_cursor(config, cursor));
        const Batch batch = batch_at(config, cursor, UINT64_MAX);
        RC_ASSERT(batch.size == 1U);
        RC_ASSERT(total_steps(config, 1).value > 0);
        const Cursor next = advance(config, cursor, batch);
        RC_ASSERT(samples_seen(config, next) == samples_seen(config, cursor) + 1);
        if (config.epochs) {
          RC_ASSERT(finished(config, next, Step{0}));
          RC_ASSERT(check_cursor(config, {next.epoch, 1}).has_value() || config.samples == 1);
        }
      },
      kOften);
}

}  // namespace
}  // namespace elastic::data
