#include "core/data/cursor.h"

#include <algorithm>

#include "core/assert.h"

namespace elastic::data {
namespace {

using math::uint128;

// A run consumes at most this many samples by its epochs, so that its steps can be counted.
constexpr uint128 kMaxConsumed = uint128{1} << 63;

bool valid(const DataConfig& config, const Cursor& cursor) {
  if (cursor.consumed >= config.samples) return false;
  if (!config.epochs || cursor.epoch.value < *config.epochs) return true;
  return cursor.epoch.value == *config.epochs && cursor.consumed == 0;
}

}  // namespace

std::optional<std::string> check_config(const DataConfig& config) {
  if (config.samples == 0) return "samples is 0; a data set needs at least 1";
  if (config.samples > kMaxSamples) {
    return "samples is " + std::to_string(config.samples) + "; at most 2^48 (" +
           std::to_string(kMaxSamples) + ") are supported";
  }
  if (!config.epochs && !config.max_steps) {
    return "neither epochs nor max_steps is set, so the training would never end; set one";
  }
  if (config.epochs == 0U) return "epochs is 0; use at least 1, or leave it out and set max_steps";
  if (config.max_steps == 0U) return "max_steps is 0; use at least 1, or leave it out";
  if (config.epochs && uint128{*config.epochs} * config.samples > kMaxConsumed) {
    return "epochs is " + std::to_string(*config.epochs) +
           ", which makes more than 2^63 samples; " + "use at most " +
           std::to_string(static_cast<std::uint64_t>(kMaxConsumed / config.samples));
  }
  if (config.virtual_shards == 0) return "virtual_shards is 0; at least 1 is needed";
  if (config.virtual_shards > kMaxVirtualShards) {
    return "virtual_shards is " + std::to_string(config.virtual_shards) + "; use at most " +
           std::to_string(kMaxVirtualShards);
  }
  return std::nullopt;
}

std::optional<std::string> check_cursor(const DataConfig& config, const Cursor& cursor) {
  if (valid(config, cursor)) return std::nullopt;
  if (cursor.consumed >= config.samples) {
    return "the cursor has consumed " + std::to_string(cursor.consumed) + " samples of epoch " +
           std::to_string(cursor.epoch.value) + ", but an epoch has " +
           std::to_string(config.samples) +
           "; was it saved for another data set? (the end of an epoch is saved as the start of the "
           "next)";
  }
  return "the cursor is in epoch " + std::to_string(cursor.epoch.value) + " with " +
         std::to_string(cursor.consumed) + " samples consumed, past the end of training after " +
         std::to_string(*config.epochs) + " epochs; raise epochs to go on";
}

Permutation order_of(const DataConfig& config, Epoch epoch) {
  return Permutation(config.samples, config.seed, epoch);
}

Batch batch_at(const DataConfig& config, const Cursor& cursor, std::uint64_t global_batch) {
  ELASTIC_ASSERT(valid(config, cursor));
  ELASTIC_ASSERT(!config.epochs || cursor.epoch.value < *config.epochs);
  ELASTIC_ASSERT(global_batch > 0);
  return {.epoch = cursor.epoch,
          .first = Position{cursor.consumed},
          .size = std::min(global_batch, config.samples - cursor.consumed)};
}

Cursor advance(const DataConfig& config, const Cursor& cursor, const Batch& batch) {
  ELASTIC_ASSERT(valid(config, cursor));
  ELASTIC_ASSERT(batch.epoch == cursor.epoch);
  ELASTIC_ASSERT(batch.first.value == cursor.consumed);
  ELASTIC_ASSERT(batch.size > 0);
  ELASTIC_ASSERT(batch.size <= config.samples - cursor.consumed);
  const std::uint64_t consumed = cursor.consumed + batch.size;
  const Cursor next = consumed < config.samples ? Cursor{cursor.epoch, consumed}
                                                : Cursor{Epoch{cursor.epoch.value + 1}, 0};
  ELASTIC_ASSERT(next > cursor);
  ELASTIC_ASSERT(valid(config, next));
  return next;
}

bool finished(const DataConfig& config, const Cursor& cursor, Step step) {
  ELASTIC_ASSERT(valid(config, cursor));
  const bool no_epoch_left = config.epochs && cursor.epoch.value >= *config.epochs;
  const bool no_step_left = config.max_steps && step.value >= *config.max_steps;
  return no_epoch_left || no_step_left;
}

std::uint64_t steps_per_epoch(const DataConfig& config, std::uint64_t global_batch) {
  ELASTIC_ASSERT(global_batch > 0);
  return math::ceil_div(config.samples, global_batch);
}

Step total_steps(const DataConfig& config, std::uint64_t global_batch) {
  ELASTIC_ASSERT(config.epochs || config.max_steps);
  if (!config.epochs) return Step{*config.max_steps};
  const uint128 by_epochs = uint128{*config.epochs} * steps_per_epoch(config, global_batch);
  ELASTIC_ASSERT(by_epochs <= kMaxConsumed);  // a step consumes at least one sample
  const auto steps = static_cast<std::uint64_t>(by_epochs);
  return Step{config.max_steps ? std::min(steps, *config.max_steps) : steps};
}

uint128 samples_seen(const DataConfig& config, const Cursor& cursor) {
  ELASTIC_ASSERT(valid(config, cursor));
  return uint128{cursor.epoch.value} * config.samples + cursor.consumed;
}

}  // namespace elastic::data
