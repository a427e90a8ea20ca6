#include "chaos/timing/step_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "chaos/scenario/tree.h"
#include "chaos/timing/csv.h"
#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::chaos {
namespace {

constexpr std::string_view kHeader = "nodes,workers,batch,seconds";
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint32_t kMostNodes = 1'000'000;
constexpr std::uint64_t kMostBatch = 1'000'000'000'000;

auto order(const StepRow& row) {
  return std::make_tuple(row.workers / row.nodes, row.nodes, row.batch);
}

// On the straight line through (x0, y0) and (x1, y1), x0 <= x <= x1.
Duration between(std::uint64_t x, std::uint64_t x0, Duration y0, std::uint64_t x1, Duration y1) {
  if (x1 == x0) return y0;
  const math::int128 rise = math::int128{y1.count()} - y0.count();
  const math::int128 run = math::int128{x1} - x0;
  const math::int128 moved = rise * (math::int128{x} - x0);
  const math::int128 down = moved >= 0 ? moved / run : -((-moved + run - 1) / run);
  return Duration(y0.count() + static_cast<std::int64_t>(down));
}

// "0.0125", at most nine places, to nanoseconds. Negative: is no such number.
std::int64_t read_seconds(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  std::int64_t whole = 0;
  if (!read_whole(text.substr(0, point), whole) || whole > StepTimes::kMostNs / kNsPerSecond) {
    return -1;
  }
  if (point < text.size() && (fraction.empty() || fraction.size() > 9)) return -1;
  std::int64_t ns = 0;
  if (!fraction.empty() && !read_whole(fraction, ns)) return -1;
  for (std::size_t i = fraction.size(); i < 9; ++i) ns *= 10;
  return whole * kNsPerSecond + ns;
}

// A row with the place that it stands at.
struct Placed {
  StepRow row;
  Place place;
};

void read_row(const Csv& csv, std::vector<Placed>& rows, Errors& errors) {
  const std::vector<Csv::Field>& fields = csv.fields();
  if (fields.size() != 4) {
    return errors.add(csv.place(), fmt::format("{} field{}, expected {}", fields.size(),
                                               fields.size() == 1 ? "" : "s", kHeader));
  }
  StepRow row;
  const auto wrong = [&](std::size_t index, std::string_view what) {
    errors.add(csv.place(fields[index]),
               fmt::format("\"{}\" is not {}", printable(fields[index].text), what));
  };
  if (!read_whole(fields[0].text, row.nodes) || row.nodes < 1 || row.nodes > kMostNodes) {
    return wrong(0, "a number of nodes (1 to 1000000)");
  }
  if (!read_whole(fields[1].text, row.workers) || row.workers < 1) {
    return wrong(1, "a number of workers, on all nodes together");
  }
  if (row.workers % row.nodes != 0) {
    return wrong(1, fmt::format("a multiple of the {} nodes; each has as many workers", row.nodes));
  }
  if (!read_whole(fields[2].text, row.batch) || row.batch < 1 || row.batch > kMostBatch) {
    return wrong(2, "a batch of one worker (1 to 10^12 samples)");
  }
  const std::int64_t ns = read_seconds(fields[3].text);
  if (ns < 1 || ns > StepTimes::kMostNs) {
    return wrong(3, "a time in seconds, such as 0.125 (above 0, at most 86400, nine places)");
  }
  row.time = Duration(ns);
  rows.push_back({row, csv.place(fields[3])});
}

// What concerns two rows.
void check_rows(std::vector<Placed>& rows, Errors& errors) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Placed& a, const Placed& b) { return order(a.row) < order(b.row); });
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const StepRow& before = rows[i - 1].row;
    const StepRow& row = rows[i].row;
    if (row.nodes != before.nodes || row.workers != before.workers) continue;
    if (row.batch == before.batch) {
      errors.add(rows[i].place,
                 fmt::format("{} nodes with {} workers and batch {} stand in line "
                             "{} already",
                             row.nodes, row.workers, row.batch, rows[i - 1].place.line));
    } else if (row.time < before.time) {
      errors.add(rows[i].place, fmt::format("batch {} takes less time than batch {} in line {}",
                                            row.batch, before.batch, rows[i - 1].place.line));
    }
  }
}

}  // namespace

StepTimes::StepTimes(std::vector<StepRow> rows) : rows_(std::move(rows)) {
  ELASTIC_ASSERT(!rows_.empty());
  std::sort(rows_.begin(), rows_.end(),
            [](const StepRow& a, const StepRow& b) { return order(a) < order(b); });
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const StepRow& row = rows_[i];
    const std::uint32_t per_node = row.workers / row.nodes;
    const bool same = !worlds_.empty() && worlds_.back().workers_per_node == per_node &&
                      worlds_.back().nodes == row.nodes;
    if (!same) {
      worlds_.push_back({per_node, row.nodes, i, i + 1});
      continue;
    }
    ELASTIC_ASSERT(rows_[i - 1].batch < row.batch);
    ELASTIC_ASSERT(rows_[i - 1].time <= row.time);
    worlds_.back().end = i + 1;
  }
}

std::vector<StepTimes::World>::const_iterator StepTimes::from(std::uint32_t workers_per_node,
                                                              std::uint32_t nodes) const {
  return std::lower_bound(worlds_.begin(), worlds_.end(), std::pair(workers_per_node, nodes),
                          [](const World& world, const auto& wanted) {
                            return std::pair(world.workers_per_node, world.nodes) < wanted;
                          });
}

const StepTimes::World* StepTimes::exact(std::uint32_t workers_per_node,
                                         std::uint32_t nodes) const {
  const auto found = from(workers_per_node, nodes);
  if (found == worlds_.end()) return nullptr;
  const bool same = found->workers_per_node == workers_per_node && found->nodes == nodes;
  return same ? &*found : nullptr;
}

Duration StepTimes::within(const World& world, std::uint64_t batch) const {
  ELASTIC_ASSERT(batch >= least(world));
  ELASTIC_ASSERT(batch <= most(world));
  const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(world.first);
  const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(world.end);
  const auto above = std::lower_bound(
      begin, end, batch, [](const StepRow& row, std::uint64_t least) { return row.batch < least; });
  const StepRow& high = *above;
  const StepRow& low = high.batch == batch ? high : *(above - 1);
  return between(batch, low.batch, low.time, high.batch, high.time);
}

tl::expected<Duration, std::string> StepTimes::at(std::uint32_t nodes,
                                                  std::uint32_t workers_per_node,
                                                  std::uint64_t batch) const {
  const auto first = from(workers_per_node, 0);
  const auto end = from(workers_per_node, UINT32_MAX);  // no table has so many nodes
  if (first == end) {
    return tl::unexpected(fmt::format("says nothing of nodes with {} worker{} each",
                                      workers_per_node, workers_per_node == 1 ? "" : "s"));
  }
  const auto last = end - 1;
  if (nodes < first->nodes || nodes > last->nodes) {
    return tl::unexpected(fmt::format("covers {} to {} nodes with {} worker{} each, not {}",
                                      first->nodes, last->nodes, workers_per_node,
                                      workers_per_node == 1 ? "" : "s", nodes));
  }
  const auto high = from(workers_per_node, nodes);
  const auto low = high->nodes == nodes ? high : high - 1;
  const std::uint64_t largest = std::min(most(*low), most(*high));
  const std::uint64_t smallest = std::max(least(*low), least(*high));
  const std::uint64_t passes = batch == 0 ? 1 : (batch - 1) / largest + 1;
  const std::uint64_t share = batch == 0 ? 0 : (batch - 1) / passes + 1;
  if (share < smallest || share > largest) {
    return tl::unexpected(
        fmt::format("covers batches of {} to {} samples per worker on {} nodes, "
                    "not {}",
                    smallest, largest, nodes, batch));
  }
  const Duration step =
      between(nodes, low->nodes, within(*low, share), high->nodes, within(*high, share));
  if (passes == 1) return step;
  const World* alone = exact(1, 1);
  if (alone == nullptr || share < least(*alone) || share > most(*alone)) {
    return tl::unexpected(fmt::format(
        "covers batches up to {} samples per worker on {} nodes; {} would take {} passes of {}, "
        "for which it lacks one worker on one node",
        largest, nodes, batch, passes, share));
  }
  const auto more = static_cast<std::int64_t>(std::min<std::uint64_t>(passes - 1, kMostBatch));
  return Duration(math::add_sat(math::mul_sat(within(*alone, share).count(), more), step.count()));
}

std::string StepTimes::to_csv() const {
  std::string out = fmt::format("{}\n", kHeader);
  for (const StepRow& row : rows_) {
    out += fmt::format("{},{},{},{}.{:09}\n", row.nodes, row.workers, row.batch,
                       row.time.count() / kNsPerSecond, row.time.count() % kNsPerSecond);
  }
  return out;
}

tl::expected<StepTimes, Errors> parse_step_times(std::string_view text, const std::string& file) {
  Errors errors;
  Csv csv(text, file);
  if (!csv.next()) {
    errors.add({file, 1, 1}, fmt::format("an empty table; expected the header {}", kHeader));
    return tl::unexpected(errors);
  }
  std::string header;
  for (const Csv::Field& field : csv.fields()) {
    header += fmt::format("{}{}", header.empty() ? "" : ",", field.text);
  }
  if (header != kHeader) {
    errors.add(csv.place(),
               fmt::format("the header \"{}\", expected {}", printable(header), kHeader));
    return tl::unexpected(errors);
  }
  std::vector<Placed> rows;
  while (csv.next() && !errors.full()) {
    if (rows.size() >= StepTimes::kMostRows) {
      errors.add(csv.place(), fmt::format("more than {} rows", StepTimes::kMostRows));
      break;
    }
    read_row(csv, rows, errors);
  }
  if (errors.empty() && rows.empty()) errors.add({file, 1, 1}, "a table without rows");
  if (errors.empty()) check_rows(rows, errors);
  if (!errors.empty()) return tl::unexpected(errors);
  std::vector<StepRow> out;
  out.reserve(rows.size());
  for (const Placed& one : rows) out.push_back(one.row);
  return StepTimes(std::move(out));
}

tl::expected<StepTimes, Errors> load_step_times(const std::string& path) {
  const tl::expected<std::string, Errors> text = read_regular_file(path, StepTimes::kMostBytes);
  if (!text) return tl::unexpected(text.error());
  return parse_step_times(*text, path);
}

}  // namespace elastic::chaos
