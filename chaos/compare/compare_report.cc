#include "chaos/compare/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chaos/report/figures.h"
#include "chaos/report/report.h"

namespace elastic::chaos {
namespace {

const char* at_least(const Look& look) { return look.utf8 ? "≥" : ">="; }
const char* at_most(const Look& look) { return look.utf8 ? "≤" : "<="; }
const char* give_or_take(const Look& look) { return look.utf8 ? "±" : "+-"; }

std::int64_t rounded(double value) { return std::llround(value); }

std::string percent_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{}%", (part * 100 + whole / 2) / whole);
}

// "98.9 ± 0.1%"
std::string share_text(const Interval& ppm, const Look& look) {
  if (ppm.count < 2) return percent_text(rounded(ppm.mean));
  return fmt::format("{:.1f} {} {:.1f}%", ppm.mean / 1e4, give_or_take(look), ppm.half / 1e4);
}

constexpr std::array<std::size_t, 7> kTable{11, 6, 9, 14, 13, 11, 7};
constexpr std::array<std::size_t, 4> kPairs{22, 14, 21, 14};
constexpr std::size_t kNames = 9;

template <std::size_t N>
std::string line(std::string_view label, const std::array<std::string, N>& cells,
                 const std::array<std::size_t, N>& widths, std::size_t label_width) {
  std::string text = padded(std::string("  ").append(label), label_width);
  for (std::size_t i = 0; i < N; ++i) text += right_aligned(cells.at(i), widths.at(i));
  return text + "\n";
}

std::string figures_line(const PolicyFigures& f, const Look& look) {
  // The median is known although some runs are censored, if those that finished are more than half.
  const bool open = f.finished * 2 <= f.runs && f.censored() > 0;
  const std::string finish = span_text(Duration(f.median_finish_ns));
  const std::string cost = dollars_text(rounded(f.cost_microdollars.mean));
  const std::string mark = fmt::format("{} ", at_least(look));
  return line<7>(std::string(f.name),
                 {(open ? mark : "") + finish, percent_of(f.finished, f.runs),
                  percent_of(f.in_time, f.runs), share_text(f.of_bound_ppm, look),
                  share_text(f.goodput_ppm, look), (f.censored() > 0 ? mark : "") + cost,
                  count_text(static_cast<std::uint64_t>(rounded(f.steps_redone.mean)))},
                 kTable, kNames);
}

std::string table(const PolicyComparison& comparison, const Look& look) {
  std::string text = line<7>(
      "", {"finish", "ended", "in time", "of bound", "goodput", "cost", "redone"}, kTable, kNames);
  for (std::size_t p = 0; p < comparison.policies.size(); ++p) {
    text += figures_line(figures_of(comparison, p), look);
  }
  return text + figures_line(figures_of_bound(comparison), look);
}

// "+$82.10 ± 1.30", after `mark`.
std::string signed_text(const std::string& mark, const std::string& size, double mean,
                        const std::string& half, const Look& look) {
  return fmt::format("{}{}{} {} {}", mark, mean < 0 ? "-" : "+", size, give_or_take(look), half);
}

std::string pair_line(const PolicyDifference& d, const Look& look) {
  std::string mark;
  if (d.censored > d.censored_elastic) mark = fmt::format("{} ", at_least(look));
  if (d.censored < d.censored_elastic) mark = fmt::format("{} ", at_most(look));
  const auto span = [](double ns) { return span_text(Duration(rounded(std::abs(ns)))); };
  const auto dollars = [](double micro) { return dollars_text(rounded(std::abs(micro))); };
  const auto count = [](double n) {
    return count_text(static_cast<std::uint64_t>(rounded(std::abs(n))));
  };
  const auto points = [](double ppm) { return fmt::format("{:.1f}", std::abs(ppm) / 1e4); };
  return line<4>(
      std::string(d.name),
      {signed_text(mark, span(d.finish_ns.mean), d.finish_ns.mean, span(d.finish_ns.half), look),
       signed_text("", points(d.goodput_ppm.mean), d.goodput_ppm.mean, points(d.goodput_ppm.half),
                   look),
       signed_text(mark, dollars(d.cost_microdollars.mean), d.cost_microdollars.mean,
                   dollars(d.cost_microdollars.half), look),
       signed_text("", count(d.steps_redone.mean), d.steps_redone.mean, count(d.steps_redone.half),
                   look)},
      kPairs, kNames);
}

std::string pairs(const PolicyComparison& comparison, const Look& look) {
  const std::vector<PolicyDifference> found = differences(comparison);
  if (found.empty()) return {};
  const bool spread = comparison.complete().size() >= 2;
  std::string text = spread ? "\n  minus elastic, seed by seed: mean, and its 95 % confidence "
                              "interval\n"
                            : "\n  minus elastic, of one seed: nothing is known of the spread\n";
  text += line<4>("", {"finish", "goodput", "cost", "redone"}, kPairs, kNames);
  for (const PolicyDifference& one : found) text += pair_line(one, look);
  return text;
}

std::string notes(const PolicyComparison& comparison, const Look& look) {
  std::string open;
  std::uint64_t all = 0;
  const auto tell = [&](const PolicyFigures& f) {
    if (f.censored() == 0) return;
    all += f.censored();
    open += fmt::format("{}{} {} of {}", open.empty() ? "" : ", ", f.name, count_text(f.censored()),
                        count_text(f.runs));
  };
  for (std::size_t p = 0; p < comparison.policies.size(); ++p) tell(figures_of(comparison, p));
  tell(figures_of_bound(comparison));
  std::string text;
  if (all > 0) {
    text += paragraph("censored",
                      fmt::format("{}: not finished, and counted as if at the horizon of {}; {} "
                                  "marks what would be more",
                                  open, span_text(comparison.horizon), at_least(look)),
                      look);
  }
  text += paragraph(
      "columns",
      fmt::format("finish: median. ended: share of runs that finished. in time: within {}. of "
                  "bound: steps done over those of an oracle that loses nothing and reconfigures "
                  "for free, in the same time. goodput, cost, redone: means; redone in steps, "
                  "differences of goodput in points.",
                  span_text(comparison.deadline.value_or(comparison.horizon))),
      look);
  return text;
}

std::string failing(const PolicyComparison& comparison, const RepeatPolicy& repeat,
                    const Look& look) {
  struct Failure {
    Policy policy;
    const PolicyRun* run;
  };
  std::vector<Failure> found;
  for (std::size_t p = 0; p < comparison.policies.size(); ++p) {
    for (const auto& run : comparison.runs[p]) {
      if (run && !counts(*run)) found.push_back({comparison.policies[p], &*run});
    }
  }
  if (found.empty()) return {};
  std::stable_sort(found.begin(), found.end(), [](const Failure& a, const Failure& b) {
    return severity(a.run->row.verdict) > severity(b.run->row.verdict);
  });
  constexpr std::size_t kShown = 10;
  std::string text = "\n";
  for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i) {
    const Row& row = found[i].run->row;
    text += paragraph(i == 0 ? "failing" : "",
                      fmt::format("{} seed {}  {}  {}: {}", name(found[i].policy), row.seed,
                                  name(row.verdict), row.oracle, row.title),
                      look);
  }
  if (found.size() > kShown) {
    text += paragraph(
        "", fmt::format("and {} more (--json names all)", count_text(found.size() - kShown)), look);
  }
  text += paragraph("", "their seeds are left out of the table under every policy", look);
  text += padded("  repeat", kLabelColumns) +
          repeat(found.front().policy, found.front().run->row.seed) + "\n";
  return text;
}

std::string head(const PolicyComparison& comparison, const Look& look) {
  const std::string left = fmt::format("{}  seeds {}..{}   ", comparison.scenario,
                                       comparison.seeds.first, comparison.seeds.last);
  const VerdictClass verdict = verdict_of(comparison);
  const bool grave = severity(verdict) > severity(VerdictClass::kMissed);
  const std::string middle = grave ? std::string(name(verdict)) : "policies compared";
  const std::string right = fmt::format("{} in {} on {}", plural(comparison.done(), "run", "runs"),
                                        span_text(std::chrono::milliseconds(comparison.wall_ms)),
                                        plural(comparison.jobs, "process", "processes"));
  std::string text = inked(left, Ink::kBold, look) + inked(middle, ink_of(verdict), look);
  const std::size_t taken = columns(left) + columns(middle);
  if (taken + 2 + columns(right) > look.width) {
    return text + "\n" + right_aligned(right, look.width) + "\n";
  }
  return text + std::string(look.width - taken - columns(right), ' ') + right + "\n";
}

}  // namespace

std::string compare_report(const PolicyComparison& comparison, const RepeatPolicy& repeat,
                           const Look& look) {
  std::string text = head(comparison, look) + "\n";
  const std::size_t complete = comparison.complete().size();
  if (comparison.interrupted || complete < comparison.seeds.count()) {
    text += paragraph(
        "so far",
        fmt::format("{} of {} have a run to compare under every policy", count_text(complete),
                    plural(comparison.seeds.count(), "seed", "seeds")),
        look);
  }
  if (complete > 0) {
    text += table(comparison, look) + pairs(comparison, look) + "\n" + notes(comparison, look);
  }
  for (std::size_t p = 0; p < comparison.policies.size(); ++p) {
    const Policy policy = comparison.policies[p];
    std::vector<std::string> items = comparison.changes[p];
    if (items.empty()) items.emplace_back(words(policy));
    text += section(name(policy), items, look);
  }
  return text + failing(comparison, repeat, look);
}

std::string policies_text() {
  std::string text;
  for (const std::string_view one : policy_names()) {
    const Policy policy = *policy_named(one);
    text += fmt::format("  {:<9}{}\n", one, words(policy));
    for (const PolicySetting& setting : settings(policy, 0)) {
      std::string assignment = setting.assignment;
      if (assignment.ends_with("=0") && assignment.find("nodes") != std::string::npos) {
        assignment.replace(assignment.size() - 1, 1, "MOST");
      }
      text += fmt::format("    {:<27}{}\n", assignment, setting.why);
    }
  }
  return text;
}

}  // namespace elastic::chaos
