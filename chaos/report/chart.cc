#include "chaos/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "chaos/report/figures.h"
#include "core/math/integer.h"

namespace elastic::chaos {
namespace {

using math::int128;

constexpr std::array<const char*, 8> kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇"};
constexpr std::array<const char*, 8> kAscii{" ", "_", ".", "-", "=", "+", "*", "#"};

// What a zone's machines did in the time of one column: sums of machines * ns.
struct Cell {
  std::int64_t length = 0;  // ns
  int128 up = 0;
  int128 training = 0;
};

std::vector<Cell> cells_of(const ChartInput& input, std::size_t zone, std::size_t width) {
  std::vector<Cell> cells(width);
  const std::int64_t span = (input.ended - input.began).count();
  const auto edge = [&](std::size_t column) {
    return static_cast<std::int64_t>(int128{span} * static_cast<std::int64_t>(column) /
                                     static_cast<std::int64_t>(width));
  };
  for (std::size_t i = 0; i < width; ++i) cells[i].length = edge(i + 1) - edge(i);
  std::size_t column = 0;
  for (std::size_t i = 0; i < input.sizes.size(); ++i) {
    const SizePoint& point = input.sizes[i];
    std::int64_t from = std::clamp<std::int64_t>((point.at - input.began).count(), 0, span);
    const std::int64_t to =
        i + 1 < input.sizes.size()
            ? std::clamp<std::int64_t>((input.sizes[i + 1].at - input.began).count(), from, span)
            : span;
    while (from < to) {
      while (column + 1 < width && edge(column + 1) <= from) ++column;
      const std::int64_t end = column + 1 < width ? std::min(to, edge(column + 1)) : to;
      if (zone < point.up.size()) cells[column].up += int128{end - from} * point.up[zone];
      if (zone < point.training.size()) {
        cells[column].training += int128{end - from} * point.training[zone];
      }
      from = end;
    }
  }
  return cells;
}

std::string zone_line(const ChartInput& input, std::size_t zone, std::size_t width,
                      const Look& look) {
  const std::vector<Cell> cells = cells_of(input, zone, width);
  std::string line;
  for (const Cell& cell : cells) {
    if (cell.training == 0) {
      line += cell.up == 0 ? " " : (look.utf8 ? "·" : ",");
      continue;
    }
    const int128 full = int128{std::max<std::int64_t>(1, cell.length)} * input.zones[zone].capacity;
    const int128 scaled = (2 * 7 * cell.training + full) / (2 * full);  // to the nearest of 7
    const auto level = static_cast<std::size_t>(std::clamp<int128>(scaled, 1, 7));
    line += look.utf8 ? kBlocks[level] : kAscii[level];
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// The distance of ticks: a round length that leaves room for about one in ten columns.
Duration tick_length(Duration span, std::size_t width) {
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  const std::array<Duration, 17> round{seconds(1), seconds(2), seconds(5), seconds(10), seconds(30),
                                       minutes(1), minutes(2), minutes(5), minutes(10), minutes(30),
                                       hours(1),   hours(2),   hours(4),   hours(8),    hours(24),
                                       hours(72),  hours(240)};
  for (const Duration length : round) {
    if (int128{length.count()} * static_cast<std::int64_t>(width) >= int128{span.count()} * 9) {
      return length;
    }
  }
  return span;
}

std::string tick_text(Duration at, Duration tick) {
  using namespace std::chrono_literals;
  if (tick >= 24h && at % Duration(24h) == Duration::zero()) return fmt::format("{}d", at / 24h);
  if (tick >= 1h) return fmt::format("{}h", at / 1h);
  if (tick >= 1min) {
    return at >= 1h ? fmt::format("{}h{:02}", at / 1h, at / 1min % 60)
                    : fmt::format("{}m", at / 1min);
  }
  return at >= 1min ? fmt::format("{}m{:02}", at / 1min, at / 1s % 60)
                    : fmt::format("{}s", at / 1s);
}

std::string axis(Duration span, std::size_t width) {
  std::string line;
  const Duration tick = tick_length(span, width);
  for (Duration at{}; at < span; at += tick) {
    const auto column = static_cast<std::size_t>(int128{at.count()} *
                                                 static_cast<std::int64_t>(width) / span.count());
    const std::string text = tick_text(at, tick);
    if (column < line.size() || column + text.size() > width) continue;
    line.append(column - line.size(), ' ');
    line += text + " ";
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

std::vector<std::string> mark_lines(const std::vector<PlannedMark>& marks, Time began, Time ended,
                                    std::size_t width, std::size_t rows, const Look& look) {
  const std::int64_t span = (ended - began).count();
  if (span <= 0 || width == 0) return {};
  std::map<sim::FaultKind, std::size_t> how_many;
  for (const PlannedMark& mark : marks) ++how_many[mark.kind];
  std::vector<const PlannedMark*> order;
  for (const PlannedMark& mark : marks) {
    if (mark.at >= began && mark.at <= ended) order.push_back(&mark);
  }
  std::stable_sort(order.begin(), order.end(), [&](const PlannedMark* a, const PlannedMark* b) {
    return how_many[a->kind] < how_many[b->kind];
  });

  std::vector<std::vector<std::string>> grid(rows, std::vector<std::string>(width, " "));
  const auto free_from = [&](std::size_t row, std::size_t column, std::size_t length) {
    if (column + length > width) return false;
    const std::size_t before = column > 0 ? column - 1 : 0;
    const std::size_t after = std::min(width, column + length + 1);
    return std::all_of(grid[row].begin() + static_cast<std::ptrdiff_t>(before),
                       grid[row].begin() + static_cast<std::ptrdiff_t>(after),
                       [](const std::string& cell) { return cell == " "; });
  };
  const std::string arrow = look.utf8 ? "↑" : "^";
  for (const PlannedMark* mark : order) {
    const auto column = std::min<std::size_t>(
        width - 1, static_cast<std::size_t>(int128{(mark->at - began).count()} *
                                            static_cast<std::int64_t>(width) / span));
    const std::string label = " " + mark->label;
    for (std::size_t row = 0; row < rows; ++row) {
      if (!free_from(row, column, 1 + label.size())) continue;
      grid[row][column] = arrow;
      for (std::size_t i = 0; i < label.size(); ++i) grid[row][column + 1 + i] = label[i];
      break;
    }
  }
  std::vector<std::string> lines;
  for (const auto& cells : grid) {
    std::string line;
    for (const std::string& cell : cells) line += cell;
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

std::string chart(const ChartInput& input, const Look& look) {
  const Duration span = input.ended - input.began;
  if (span <= Duration::zero() || input.zones.empty()) return {};
  std::vector<std::string> labels;
  std::size_t label_width = kLabelColumns - 3;
  for (const ZoneInfo& zone : input.zones) {
    labels.push_back(fmt::format("zone {} 0-{}", zone.name, zone.capacity));
    label_width = std::max(label_width, columns(labels.back()));
  }
  label_width = std::min<std::size_t>(label_width, 30);
  const std::size_t width = look.width - label_width - 3;
  const auto line = [&](const std::string& label, const std::string& content) {
    std::string text = "  " + padded(label, label_width) + " " + content;
    while (text.back() == ' ') text.pop_back();
    return text + "\n";
  };
  std::string text = line("world size", axis(span, width));
  for (std::size_t zone = 0; zone < input.zones.size(); ++zone) {
    if (input.zones[zone].capacity == 0) continue;
    text += line(labels[zone], zone_line(input, zone, width, look));
  }
  bool first = true;
  for (const std::string& marks :
       mark_lines(input.marks, input.began, input.ended, width, 2, look)) {
    text += line(first ? "events" : "", marks);
    first = false;
  }
  return text;
}

}  // namespace elastic::chaos
