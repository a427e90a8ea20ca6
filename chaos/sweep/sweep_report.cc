#include "chaos/sweep/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chaos/report/figures.h"

namespace elastic::chaos {
namespace {

constexpr std::size_t kValueColumns = 14;
constexpr std::size_t kFailuresShown = 5;

// Values are mostly ASCII; where not, no character is cut in two.
std::string cut(const std::string& text, std::size_t width) {
  if (columns(text) <= width) return text;
  std::size_t end = std::min(text.size(), width - 1);
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "~";
}

Duration from_seconds(double seconds) {
  return Duration(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
}

// At most five characters, from a hundred on without decimals: "9.87", "98.7", "987", "12k".
std::string number_text(double value, int decimals) {
  if (value >= 999'500) return fmt::format("{:.1f}M", value / 1e6);
  if (value >= 9'999.5) return fmt::format("{:.0f}k", value / 1e3);
  if (value >= 99.95) decimals = std::min(decimals, value >= 999.5 ? 0 : decimals - 1);
  return fmt::format("{:.{}f}", value, std::max(0, decimals));
}

std::string mean_text(Measure measure, double value) {
  switch (measure) {
    case Measure::kGoodput:
    case Measure::kInTime:
      return fmt::format("{:.{}f}%", value, value >= 99.95 ? 0 : 1);
    case Measure::kCost:
      return "$" + number_text(value, 2);
    case Measure::kFinish:
    case Measure::kRecoveryP99:
    case Measure::kRecoveryMax:
      return span_text(from_seconds(value));
    case Measure::kRedone:
    case Measure::kLost:
    case Measure::kRounds:
      break;
  }
  return number_text(value, 1);
}

// Half of an interval is shown with fewer digits than its mean, and without its unit.
std::string half_number(double half, int decimals) {
  return half < 9.995 ? fmt::format("{:.{}f}", half, decimals) : number_text(half, 0);
}

std::string half_text(Measure measure, double half) {
  switch (measure) {
    case Measure::kFinish:
    case Measure::kRecoveryP99:
    case Measure::kRecoveryMax:
      if (half >= 360'000) return fmt::format("{:.1f}d", half / 86'400);
      if (half >= 36'000) return fmt::format("{:.1f}h", half / 3'600);
      if (half >= 600 && half < 3'600) return fmt::format("{:.1f}m", half / 60);
      return span_text(from_seconds(half));
    case Measure::kCost:
      return half_number(half, 2);
    case Measure::kGoodput:
    case Measure::kInTime:
    case Measure::kRedone:
    case Measure::kLost:
    case Measure::kRounds:
      break;
  }
  return half_number(half, 1);
}

std::string point_words(const SweepResult& sweep, std::size_t point) {
  std::string text;
  for (std::size_t i = 0; i < sweep.settings.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", sweep.settings[i].path,
                        sweep.points[point].values[i]);
  }
  return text;
}

std::string mark_of(Measure of, const SweepResult& sweep, std::optional<std::size_t> best,
                    std::size_t point) {
  if (!best) return " ";
  if (point == *best) return "*";
  return as_good(of, sweep, *best, point) ? "=" : " ";
}

std::string trimmed(std::string line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line + "\n";
}

// The values of a point in the first column; of two, the second takes what it needs, up to half.
std::string label_of(const SweepResult& sweep, std::size_t point) {
  const std::vector<std::string>& values = sweep.points[point].values;
  if (values.size() == 1) return cut(values[0], kValueColumns);
  std::size_t longest = 0;
  for (const std::string& value : sweep.settings[1].values) {
    longest = std::max(longest, columns(value));
  }
  const std::size_t right = std::min(longest, kValueColumns / 2);
  const std::size_t left = kValueColumns - 1 - right;
  return padded(cut(values[0], left), left) + " " + cut(values[1], right);
}

std::string axis_lines(const std::string& low, const std::string& high, std::size_t indent,
                       std::size_t width) {
  const std::size_t gap = width > low.size() + high.size() ? width - low.size() - high.size() : 1;
  return std::string(indent, ' ') + low + std::string(gap, ' ') + high + "\n";
}

std::string interval_chart(const SweepResult& sweep, Measure of, const Look& look) {
  constexpr std::size_t kIndent = 2 + kValueColumns + 3;
  const std::size_t width = look.width - kIndent - 1;
  const auto best = best_point(of, sweep);
  double low = 0, high = 0;
  bool any = false;
  std::vector<Interval> figures;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    figures.push_back(figure_of(of, sweep, i));
    if (figures.back().count == 0) continue;
    low = any ? std::min(low, figures.back().low()) : figures.back().low();
    high = any ? std::max(high, figures.back().high()) : figures.back().high();
    any = true;
  }
  if (!any) return {};
  const double span = high > low ? high - low : 1;
  const auto column = [&](double value) {
    return static_cast<std::size_t>(
        std::clamp(std::lround((value - low) / span * static_cast<double>(width - 1)), 0L,
                   static_cast<long>(width - 1)));
  };
  std::string text;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    std::string line = "  " +
                       padded(cut(sweep.points[i].values.front(), kValueColumns), kValueColumns) +
                       " " + mark_of(of, sweep, best, i) + " ";
    if (figures[i].count > 0) {
      const std::size_t from = column(figures[i].low());
      const std::size_t to = column(figures[i].high());
      const std::size_t at = column(figures[i].mean);
      line += std::string(from, ' ');
      for (std::size_t c = from; c <= to; ++c) {
        line += c == at ? (look.utf8 ? "●" : "o") : (look.utf8 ? "─" : "-");
      }
    }
    line = trimmed(line);
    text += best && i == *best ? inked(line, Ink::kGood, look) : line;
  }
  return text + axis_lines(mean_text(of, low), mean_text(of, high), kIndent, width);
}

// A share of the way from the worst mean to the best, in five shades.
std::string shade_of(double share, const Look& look) {
  constexpr std::array<const char*, 5> kShades{"·", "░", "▒", "▓", "█"};
  constexpr std::array<const char*, 5> kAscii{".", ":", "+", "*", "#"};
  const auto level = static_cast<std::size_t>(std::clamp(std::lround(share * 4), 0L, 4L));
  return look.utf8 ? kShades[level] : kAscii[level];
}

std::string grid_chart(const SweepResult& sweep, Measure of, const Look& look) {
  const std::vector<std::string>& down = sweep.settings[0].values;
  const std::vector<std::string>& across = sweep.settings[1].values;
  const auto best = best_point(of, sweep);
  if (!best) return {};
  std::vector<Interval> figures;
  std::size_t cell = 0;
  double low = 0, high = 0;
  bool any = false;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    figures.push_back(figure_of(of, sweep, i));
    if (figures[i].count == 0) continue;
    cell = std::max(cell, columns(mean_text(of, figures[i].mean)) + 5);
    low = any ? std::min(low, figures[i].mean) : figures[i].mean;
    high = any ? std::max(high, figures[i].mean) : figures[i].mean;
    any = true;
  }
  for (const std::string& value : across)
    cell = std::max(cell, std::min(value.size(), std::size_t{9}) + 2);
  const std::size_t room = look.width - 2 - kValueColumns;
  const bool shades = cell * across.size() > room;
  if (shades && 1 * across.size() > room) return {};
  const auto share = [&](double mean) {
    if (high <= low) return 1.0;
    const double up = (mean - low) / (high - low);
    return more_is_better(of) ? up : 1 - up;
  };
  std::string text = "  " + std::string(kValueColumns, ' ');
  if (shades) {
    text = paragraph(
        "across",
        fmt::format("{}: {} .. {}", sweep.settings[1].path, across.front(), across.back()), look);
  } else {
    for (const std::string& value : across) text += right_aligned(cut(value, 9), cell);
    text += "\n";
  }
  for (std::size_t row = 0; row < down.size(); ++row) {
    std::string line = "  " + padded(cut(down[row], kValueColumns), kValueColumns);
    for (std::size_t col = 0; col < across.size(); ++col) {
      const std::size_t point = row * across.size() + col;
      const Interval& figure = figures[point];
      const std::string shade = figure.count == 0 ? " " : shade_of(share(figure.mean), look);
      if (shades) {
        line += shade;
      } else {
        line += right_aligned(figure.count == 0 ? "-"
                                                : mean_text(of, figure.mean) + " " + shade +
                                                      mark_of(of, sweep, best, point),
                              cell);
      }
    }
    text += trimmed(line);
  }
  return text;
}

std::string head_line(const SweepResult& sweep, const Look& look) {
  std::uint64_t runs = 0;
  for (const auto& rows : sweep.rows) runs += rows.size();
  const std::string left =
      fmt::format("{}  seeds {}..{}", sweep.scenario, sweep.seeds.first, sweep.seeds.last);
  const std::string right = fmt::format("{} in {} on {}", plural(runs, "run", "runs"),
                                        span_text(std::chrono::milliseconds(sweep.wall_ms)),
                                        plural(sweep.jobs, "process", "processes"));
  const std::size_t taken = columns(left) + columns(right);
  return inked(left, Ink::kBold, look) +
         (taken + 2 > look.width ? "\n" + right_aligned(right, look.width)
                                 : std::string(look.width - taken, ' ') + right) +
         "\n\n";
}

std::string failures(const SweepResult& sweep, const SweepCommands& commands, const Look& look) {
  std::string text;
  std::size_t count = 0;
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    for (const Row& row : sweep.rows[point]) {
      if (counts(row) || ++count > kFailuresShown) continue;
      text += paragraph(count == 1 ? "failing" : "",
                        fmt::format("{} seed {}: {}: {}: {}", point_words(sweep, point), row.seed,
                                    name(row.verdict), row.oracle, row.title),
                        look);
      text += padded("  repeat", kLabelColumns) + commands(point, row.seed).repeat + "\n";
    }
  }
  if (count == 0) return {};
  if (count > kFailuresShown) {
    text +=
        paragraph("", fmt::format("and {} more (--json names all)", count - kFailuresShown), look);
  }
  return "\n" + text + paragraph("", "Failed runs are in no figure above.", look);
}

std::string reading(const SweepResult& sweep, Measure of, const Look& look) {
  const auto best = best_point(of, sweep);
  if (!best) return paragraph("best", "nothing is known yet: no run came to its end", look);
  std::string text = paragraph("best",
                               fmt::format("{}  ({} {})", point_words(sweep, *best), name(of),
                                           interval_text(of, figure_of(of, sweep, *best), look)),
                               look);
  std::size_t like = 0;
  std::size_t ended = 0;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    if (i != *best && as_good(of, sweep, *best, i)) ++like;
    if (censored(sweep, i) > 0) ++ended;
  }
  if (figure_of(of, sweep, *best).count < 2) {
    text += paragraph("", "one seed says nothing of the spread: take more, such as --seeds 1..10",
                      look);
  } else if (sweep.points.size() > 1) {
    text +=
        paragraph("",
                  like == 0 ? "* best by " + std::string(name(of)) +
                                  "; every other point differs from it, seed by seed (95%)"
                            : "* best by " + std::string(name(of)) +
                                  "; = does not differ from it significantly, seed by seed (95%)",
                  look);
  }
  if (ended > 0) {
    text += paragraph("",
                      "> some runs did not finish: they count up to the horizon, so that the true "
                      "figures are worse",
                      look);
  }
  return text;
}

}  // namespace

std::string interval_text(Measure measure, const Interval& interval, const Look& look) {
  if (interval.count == 0) return "-";
  std::string mean = mean_text(measure, interval.mean);
  if (interval.count < 2) return mean;
  return fmt::format("{} {}{}", mean, look.utf8 ? "±" : "+-", half_text(measure, interval.half));
}

std::string sweep_table(const SweepResult& sweep, Measure of, const Look& look) {
  // The fourth figure is what was asked for, where the others do not have it.
  const bool extra = of == Measure::kLost || of == Measure::kRecoveryP99 ||
                     of == Measure::kRecoveryMax || of == Measure::kRounds;
  const Measure last = extra ? of : Measure::kRedone;
  const auto cells = [](const std::array<std::string, 5>& texts) {
    constexpr std::array<std::size_t, 5> kWidths{11, 13, 17, 11, 7};
    std::string line;
    for (std::size_t i = 0; i < texts.size(); ++i)
      line += " " + right_aligned(texts[i], kWidths[i]);
    return line;
  };
  std::string text;
  for (std::size_t i = 0; i < sweep.settings.size(); ++i) {
    text += paragraph(i == 0 ? "setting" : "and", sweep.settings[i].path, look);
  }
  // Lengths of time in seconds: there is little room.
  const bool length = last == Measure::kRecoveryP99 || last == Measure::kRecoveryMax;
  const std::string heading = last == Measure::kRecoveryP99   ? "p99, s"
                              : last == Measure::kRecoveryMax ? "max, s"
                                                              : std::string(name(last));
  const auto last_text = [&](const Interval& interval) {
    if (!length || interval.count == 0) return interval_text(last, interval, look);
    const int decimals = interval.mean < 9.995 ? 2 : 1;
    const std::string mean = number_text(interval.mean, decimals);
    if (interval.count < 2) return mean;
    return fmt::format("{} {}{}", mean, look.utf8 ? "±" : "+-",
                       half_number(interval.half, decimals));
  };
  text += "\n" + std::string(2 + kValueColumns, ' ') +
          cells({"goodput", "cost", "finish", heading, "in time"}) + "\n";
  const auto best = best_point(of, sweep);
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const auto figure = [&](Measure measure) {
      return interval_text(measure, figure_of(measure, sweep, i), look);
    };
    const Interval in_time = figure_of(Measure::kInTime, sweep, i);
    const std::string line =
        trimmed(mark_of(of, sweep, best, i) + " " + padded(label_of(sweep, i), kValueColumns) +
                cells({figure(Measure::kGoodput), figure(Measure::kCost),
                       (censored(sweep, i) > 0 ? ">" : "") + figure(Measure::kFinish),
                       last_text(figure_of(last, sweep, i)),
                       in_time.count == 0 ? "-" : fmt::format("{:.0f}%", in_time.mean)}));
    text += best && i == *best ? inked(line, Ink::kGood, look) : line;
  }
  return text;
}

std::string sweep_chart(const SweepResult& sweep, Measure of, const Look& look) {
  const std::string body =
      sweep.settings.size() == 1 ? interval_chart(sweep, of, look) : grid_chart(sweep, of, look);
  if (body.empty()) return {};
  const std::string head = sweep.settings.size() == 1
                               ? fmt::format("  {} (mean and 95% interval)\n", name(of))
                               : fmt::format("  {}; down {},\n  across {}\n", name(of),
                                             sweep.settings[0].path, sweep.settings[1].path);
  return head + body;
}

std::string sweep_report(const SweepResult& sweep, Measure of, const SweepCommands& commands,
                         const Look& look) {
  std::string text = head_line(sweep, look);
  if (sweep.interrupted) {
    text += paragraph("interrupted", "the figures are of the runs that were done", look);
  }
  text += sweep_table(sweep, of, look) + "\n";
  text += sweep_chart(sweep, of, look) + "\n";
  text += reading(sweep, of, look);
  return text + failures(sweep, commands, look);
}

}  // namespace elastic::chaos
