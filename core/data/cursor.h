// The place of a job in its data. Committed with each step; all that a restart in another world
// needs to go on with exactly the samples that are left. It moves only when a step is applied, by
// the batch of that step: so along the steps that a state descends from, each sample of an epoch
// counts once, whatever was computed and given up beside them.
//
// Alternatives rejected: a state per rank or loader (it cannot be read by another number of ranks);
// a count of steps (it says how many samples only while world and batch never changed).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/data/permutation.h"
#include "core/math/integer.h"
#include "core/math/random.h"
#include "core/types.h"

namespace elastic::data {

constexpr std::uint32_t kMaxVirtualShards = 1U << 16;

// What the user decides about data; the same for the whole life of a job. At least one of `epochs`
// and `max_steps` is set; with both, whichever comes first ends the training.
struct DataConfig {
  std::uint64_t samples = 0;  // of one epoch
  math::Seed seed{};
  std::optional<std::uint64_t> epochs;
  std::optional<std::uint64_t> max_steps;
  std::uint32_t virtual_shards = 64;  // that a batch is cut into, whatever the world (shares.h)
  bool operator==(const DataConfig&) const = default;
};

// Samples [0, consumed) of the order of `epoch`, and all earlier epochs, have been consumed.
// Canonical: consumed < samples. The end of an epoch is the start of the next, so that a cursor
// read back there neither repeats nor drops an epoch; after the last it is {epochs, 0}.
struct Cursor {
  Epoch epoch;
  std::uint64_t consumed = 0;
  constexpr auto operator<=>(const Cursor&) const = default;
};

// Positions [first, first + size) of the order of one epoch: what one step consumes.
struct Batch {
  Epoch epoch;
  Position first;
  std::uint64_t size = 0;
  constexpr auto operator<=>(const Batch&) const = default;
};

// A sentence that says why these settings can't be, and what to do; empty if they can.
std::optional<std::string> check_config(const DataConfig& config);
// The same for a cursor that comes from outside, such as a manifest, for settings that passed.
std::optional<std::string> check_cursor(const DataConfig& config, const Cursor& cursor);

// The functions below REQUIRE settings and cursors that pass these checks, and global_batch > 0.

// The order of an epoch.
Permutation order_of(const DataConfig& config, Epoch epoch);

// What the next step consumes. The last batch of an epoch is short when global_batch does not
// divide what is left: never padded, dropped, or filled from the next epoch. REQUIRES: not past the
// last epoch.
Batch batch_at(const DataConfig& config, const Cursor& cursor, std::uint64_t global_batch);

// The cursor after a step that consumed `batch`. REQUIRES: the batch begins at the cursor.
Cursor advance(const DataConfig& config, const Cursor& cursor, const Batch& batch);

// No step follows: the last epoch is consumed, or max_steps steps are done.
bool finished(const DataConfig& config, const Cursor& cursor, Step step);

// Steps of one whole epoch, the short one included, while the global batch stays the same.
std::uint64_t steps_per_epoch(const DataConfig& config, std::uint64_t global_batch);

// Steps of the whole training if the global batch is the same from its start to its end.
Step total_steps(const DataConfig& config, std::uint64_t global_batch);

// Samples consumed since the start of training, each as often as it was consumed: what schedules
// count. 128 bits, because without `epochs` nothing bounds it below 2^112.
math::uint128 samples_seen(const DataConfig& config, const Cursor& cursor);

}  // namespace elastic::data
