#include "chaos/report/batch_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "chaos/report/figures.h"
#include "chaos/report/progress.h"
#include "core/math/quantiles.h"

namespace elastic::chaos {
namespace {

bool judged(const Row& row) {
  return row.verdict == VerdictClass::kHolds || row.verdict == VerdictClass::kMissed;
}

std::uint64_t count_of(const BatchResult& batch, VerdictClass verdict) {
  return static_cast<std::uint64_t>(
      std::count_if(batch.rows.begin(), batch.rows.end(),
                    [verdict](const Row& row) { return row.verdict == verdict; }));
}

std::string verdict_words(const BatchResult& batch) {
  const std::uint64_t total = batch.rows.size();
  const auto of = [&](VerdictClass verdict, const char* one, const char* many) {
    const std::uint64_t count = count_of(batch, verdict);
    return fmt::format("{} of {} {}", count_text(count), plural(total, "seed", "seeds"),
                       count == 1 ? one : many);
  };
  switch (verdict_of(batch)) {
    case VerdictClass::kHolds:
      return "holds";
    case VerdictClass::kMissed:
      return "missed: " + of(VerdictClass::kMissed, "misses an expectation", "miss an expectation");
    case VerdictClass::kLiveness:
      return "LIVENESS: " + of(VerdictClass::kLiveness, "does not come back", "do not come back");
    case VerdictClass::kSafety:
      return "SAFETY: " + of(VerdictClass::kSafety, "breaks a promise", "break a promise");
    case VerdictClass::kCrash:
      return "CRASH: " + of(VerdictClass::kCrash, "crashes", "crash");
    case VerdictClass::kInterrupted:
      return "interrupted";
  }
  return "";
}

std::string first_line(const BatchResult& batch, const Look& look) {
  const std::string left =
      fmt::format("{}  seeds {}..{}   ", batch.scenario, batch.seeds.first, batch.seeds.last);
  const std::string words = verdict_words(batch);
  const std::string right = fmt::format("{} in {} on {}", plural(batch.rows.size(), "run", "runs"),
                                        span_text(std::chrono::milliseconds(batch.wall_ms)),
                                        plural(batch.jobs, "process", "processes"));
  std::string text = inked(left, Ink::kBold, look) + inked(words, ink_of(verdict_of(batch)), look);
  const std::size_t taken = columns(left) + columns(words);
  if (taken + 2 + columns(right) > look.width) {
    return text + "\n" + right_aligned(right, look.width) + "\n";
  }
  return text + std::string(look.width - taken - columns(right), ' ') + right + "\n";
}

std::string table_line(std::string_view label, const std::vector<std::string>& cells) {
  std::string text = padded(std::string("  ").append(label), kLabelColumns + 4);
  for (const std::string& cell : cells) text += right_aligned(cell, 13);
  return text + "\n";
}

std::string spread_line(const BatchResult& batch, std::string_view label,
                        const std::function<std::int64_t(const Row&)>& field,
                        const std::function<std::string(std::int64_t)>& text) {
  const Spread spread = spread_of(values_of(batch, field));
  return table_line(label, {text(spread.p5), text(spread.p50), text(spread.p95)});
}

std::string spreads_section(const BatchResult& batch) {
  const auto span = [](std::int64_t ns) { return span_text(Duration(ns)); };
  const auto count = [](std::int64_t n) { return count_text(static_cast<std::uint64_t>(n)); };
  const auto number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  const std::uint64_t of = values_of(batch, [](const Row&) { return 0; }).size();
  if (of == 0) return {};
  std::string text = table_line("", {"p5", "p50", "p95"});
  std::vector<std::int64_t> finishes;
  for (const Row& row : batch.rows) {
    if (judged(row) && row.finished) finishes.push_back(row.finish_ns);
  }
  const Spread finish = spread_of(finishes);
  std::string line =
      finishes.empty()
          ? table_line("finish", {"never", "never", "never"})
          : table_line("finish", {span(finish.p5), span(finish.p50), span(finish.p95)});
  if (!finishes.empty() && finishes.size() < of) {
    line.back() = ' ';
    line += fmt::format(" ({} never)", count_text(of - finishes.size())) + "\n";
  }
  text += line;
  text += spread_line(
      batch, "goodput", [](const Row& r) { return r.goodput_ppm; },
      [](std::int64_t ppm) { return figure_text(Metric::kGoodput, ppm); });
  text += spread_line(
      batch, "cost", [](const Row& r) { return r.cost_microdollars; }, dollars_text);
  text += spread_line(
      batch, "recovery p50", [](const Row& r) { return r.recovery_p50_ns; }, span);
  text += spread_line(
      batch, "recovery p99", [](const Row& r) { return r.recovery_p99_ns; }, span);
  text += spread_line(
      batch, "recovery max", [](const Row& r) { return r.recovery_max_ns; }, span);
  text += spread_line(
      batch, "steps lost", [&](const Row& r) { return number(r.steps_lost); }, count);
  text += spread_line(
      batch, "rounds", [&](const Row& r) { return number(r.rounds); }, count);
  text += spread_line(
      batch, "nodes lost", [&](const Row& r) { return number(r.nodes_lost); }, count);
  return text;
}

std::string expectations_line(const BatchResult& batch, const Look& look) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> met;  // wanted -> (met, judged)
  for (const Row& row : batch.rows) {
    for (const Judged& one : row.expected) {
      const auto [at, fresh] = met.try_emplace(one.wanted);
      if (fresh) order.push_back(one.wanted);
      at->second.first += one.ok ? 1 : 0;
      ++at->second.second;
    }
  }
  std::string text;
  for (const std::string& wanted : order) {
    const auto& [ok, of] = met[wanted];
    const std::string mark =
        ok == of ? inked("ok", Ink::kGood, look) : inked("MISSED", Ink::kBad, look);
    text += section(
        text.empty() ? "expected" : "",
        {padded(wanted, 28) + " " +
         padded(fmt::format("in {} of {}", count_text(ok), count_text(of)), 16) + " " + mark},
        look);
  }
  return text;
}

std::string liveness_lines(const BatchResult& batch, const Look& look) {
  std::map<std::string, std::uint64_t> kinds;
  std::map<std::string, std::uint64_t> voided;
  std::int64_t slowest = 0;
  for (const Row& row : batch.rows) {
    if (row.liveness.empty()) continue;
    ++kinds[row.liveness];
    slowest = std::max(slowest, row.liveness_took_ns);
    if (!row.assumption.empty()) ++voided[row.assumption];
  }
  if (kinds.empty()) return {};
  const auto of = [&](LivenessResult::Kind kind) { return kinds[std::string(name(kind))]; };
  std::vector<std::string> items{
      fmt::format("{} came back (slowest {})", count_text(of(LivenessResult::Kind::kHeld)),
                  span_text(Duration(slowest))),
      count_text(of(LivenessResult::Kind::kJobOver)) + " were over before",
      count_text(of(LivenessResult::Kind::kVoided)) + " void an assumption"};
  if (of(LivenessResult::Kind::kViolation) > 0) {
    items.push_back(count_text(of(LivenessResult::Kind::kViolation)) + " did not");
  }
  std::string text = section("liveness", items, look, ", ");
  for (const auto& [assumption, count] : voided) {
    text += paragraph("", fmt::format("{} x {}", count_text(count), assumption), look);
  }
  return text;
}

std::string failing_section(const BatchResult& batch, const CommandsFor& commands,
                            const Look& look) {
  std::vector<const Row*> failing;
  for (const Row& row : batch.rows) {
    if (row.verdict != VerdictClass::kHolds) failing.push_back(&row);
  }
  if (failing.empty()) return {};
  std::stable_sort(failing.begin(), failing.end(), [](const Row* a, const Row* b) {
    return severity(a->verdict) > severity(b->verdict);
  });
  std::string text = "\n";
  for (std::size_t i = 0; i < std::min(failing.size(), kFailingShown); ++i) {
    const Row& row = *failing[i];
    std::string what = row.title;
    if (row.verdict == VerdictClass::kMissed) {
      for (const Judged& one : row.expected) {
        if (!one.ok) what += (what.empty() ? "" : "; ") + one.wanted + " (" + one.found + ")";
      }
    } else if (!row.oracle.empty()) {
      what = row.oracle + ": " + what;
    }
    text += paragraph(i == 0 ? "failing" : "",
                      fmt::format("seed {}  {}  {}", row.seed, name(row.verdict), what), look);
  }
  if (failing.size() > kFailingShown) {
    text += paragraph(
        "",
        fmt::format("and {} more (--json names all)", count_text(failing.size() - kFailingShown)),
        look);
  }
  const Commands first = commands(failing.front()->seed);
  text += padded("  repeat", kLabelColumns) + first.repeat + "\n";
  if (failing.front()->verdict != VerdictClass::kMissed) {
    text += padded("  shrink", kLabelColumns) + first.shrink + "\n";
  }
  return text;
}

}  // namespace

Spread spread_of(std::vector<std::int64_t> values) {
  return {.p5 = math::quantile(values, 50'000),
          .p50 = math::quantile(values, 500'000),
          .p95 = math::quantile(values, 950'000)};
}

std::vector<std::int64_t> values_of(const BatchResult& batch,
                                    const std::function<std::int64_t(const Row&)>& field) {
  std::vector<std::int64_t> values;
  for (const Row& row : batch.rows) {
    if (judged(row)) values.push_back(field(row));
  }
  return values;
}

std::string progress_line(const BatchProgress& progress) {
  std::string line =
      fmt::format("{} of {} seeds", count_text(progress.done), count_text(progress.total));
  if (progress.failed > 0) line += fmt::format(", {} failed", count_text(progress.failed));
  if (progress.missed > 0) {
    line += fmt::format(", {} missed an expectation", count_text(progress.missed));
  }
  const std::string left = time_left(progress.done, progress.total, progress.wall_ms);
  if (!left.empty()) line += ", " + left + " left";
  return line;
}

std::string batch_report(const BatchResult& batch, const CommandsFor& commands, const Look& look) {
  std::string text = first_line(batch, look) + "\n";
  if (batch.interrupted) {
    text += paragraph("so far",
                      fmt::format("{} of {} seeds were run", count_text(batch.rows.size()),
                                  count_text(batch.seeds.count())),
                      look);
  }
  text += spreads_section(batch);
  text += failing_section(batch, commands, look) + "\n";
  text += expectations_line(batch, look);
  text += liveness_lines(batch, look);
  const bool silent =
      count_of(batch, VerdictClass::kSafety) == 0 && count_of(batch, VerdictClass::kLiveness) == 0;
  text += oracles_section(batch.oracles, silent, look);
  return text;
}

}  // namespace elastic::chaos
