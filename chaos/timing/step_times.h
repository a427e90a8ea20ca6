// How long a training step takes, from a table: measured and fitted (presets), or a user's own.
// Integers alone, so that the same table gives the same run everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "chaos/scenario/problem.h"
#include "core/types.h"

namespace elastic::chaos {

struct StepRow {
  std::uint32_t nodes = 0;
  std::uint32_t workers = 0;  // on all nodes together; a multiple of nodes
  std::uint64_t batch = 0;    // samples of one worker in one pass
  Duration time{};
  bool operator==(const StepRow&) const = default;
};

// Invariants: at least one row; sorted by (workers / nodes, nodes, batch), no configuration twice;
// within one world, a larger batch never takes less time. Immutable.
class StepTimes {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  static constexpr std::size_t kMostRows = 100'000;
  static constexpr std::int64_t kMostNs = std::int64_t{86'400} * 1'000'000'000;

  // Rows in any order that keep the invariants otherwise.
  explicit StepTimes(std::vector<StepRow> rows);

  // The time of a step in which each worker has `batch` samples, or why the table does not say.
  // Only rows with as many workers on each node count. Between two batches, and then between two
  // numbers of nodes, times lie on a straight line, rounded down to whole nanoseconds; outside of
  // the table nothing is assumed. But a batch above the largest is worked through in the fewest
  // passes p that fit (gradient accumulation), with ceil(batch / p) samples each: p - 1 times the
  // time of one worker on one node (nothing is reduced), which must then be in the table, and a
  // step.
  [[nodiscard]] tl::expected<Duration, std::string> at(std::uint32_t nodes,
                                                       std::uint32_t workers_per_node,
                                                       std::uint64_t batch) const;

  [[nodiscard]] const std::vector<StepRow>& rows() const { return rows_; }
  [[nodiscard]] std::string to_csv() const;  // reads back to the same rows

 private:
  // The rows of one world.
  struct World {
    std::uint32_t workers_per_node = 0;
    std::uint32_t nodes = 0;
    std::size_t first = 0;
    std::size_t end = 0;
  };
  // The first that is not before this one in order.
  [[nodiscard]] std::vector<World>::const_iterator from(std::uint32_t workers_per_node,
                                                        std::uint32_t nodes) const;
  [[nodiscard]] const World* exact(std::uint32_t workers_per_node, std::uint32_t nodes) const;
  [[nodiscard]] std::uint64_t most(const World& world) const { return rows_[world.end - 1].batch; }
  [[nodiscard]] std::uint64_t least(const World& world) const { return rows_[world.first].batch; }
  // Requires least(world) <= batch <= most(world).
  [[nodiscard]] Duration within(const World& world, std::uint64_t batch) const;

  std::vector<StepRow> rows_;
  std::vector<World> worlds_;  // sorted by (workers_per_node, nodes)
};

// Reads a table: a header `nodes,workers,batch,seconds`, then a line for each configuration, with
// `seconds` a decimal number of at most nine places. Empty lines and lines that begin with # are
// skipped. Everything else that is not as StepTimes wants it is an error with its place.
tl::expected<StepTimes, Errors> parse_step_times(std::string_view text, const std::string& file);
// The same from a regular file of at most StepTimes::kMostBytes.
tl::expected<StepTimes, Errors> load_step_times(const std::string& path);

}  // namespace elastic::chaos
