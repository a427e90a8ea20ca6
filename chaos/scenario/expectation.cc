#include "chaos/scenario/expectation.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "chaos/scenario/problem.h"

namespace elastic::chaos {
namespace {

enum class Unit : std::uint8_t { kDuration, kShare, kCount, kMoney };

struct MetricInfo {
  std::string_view key;
  Metric metric;
  Unit unit;
  std::string_view words;
};

constexpr std::array<MetricInfo, 9> kMetrics{{
    {"finishes_within", Metric::kFinishesWithin, Unit::kDuration,
     "The job succeeds within this, as in 9h."},
    {"goodput", Metric::kGoodput, Unit::kShare,
     "Steps that count, of those that the same machines could do undisturbed, as in \">= 90%\"."},
    {"steps_lost", Metric::kStepsLost, Unit::kCount,
     "Committed steps that had to be done again, as in \"== 0\"."},
    {"lost_steps", Metric::kStepsLost, Unit::kCount, "Another name of steps_lost."},
    {"steps_redone", Metric::kStepsRedone, Unit::kCount,
     "Steps done again, in whole or in part, as in \"<= 10\"."},
    {"recovery_p99", Metric::kRecoveryP99, Unit::kDuration,
     "From what stops training to the next step begun, at the 99th percentile, as in \"<= 30s\"."},
    {"recovery_max", Metric::kRecoveryMax, Unit::kDuration,
     "The same at its longest, as in \"<= 2min\"."},
    {"cost", Metric::kCost, Unit::kMoney, "Of all machines until the end, as in \"<= $240\"."},
    {"rounds", Metric::kRounds, Unit::kCount, "Memberships that were formed, as in \"<= 20\"."},
}};

struct ComparisonInfo {
  std::string_view sign;
  Comparison comparison;
};
constexpr std::array<ComparisonInfo, 5> kComparisons{{{">=", Comparison::kAtLeast},
                                                      {"<=", Comparison::kAtMost},
                                                      {"==", Comparison::kEqual},
                                                      {">", Comparison::kMore},
                                                      {"<", Comparison::kLess}}};

const MetricInfo& info(Metric metric) {
  for (const MetricInfo& one : kMetrics) {
    if (one.metric == metric) return one;
  }
  return kMetrics[0];
}

Parsed<std::int64_t> parse_value(Unit unit, std::string_view text) {
  switch (unit) {
    case Unit::kDuration: {
      const Parsed<Duration> value = parse_duration(text);
      if (!value) return tl::unexpected(value.error());
      if (*value < Duration{}) return tl::unexpected(fmt::format("\"{}\" is negative", text));
      return value->count();
    }
    case Unit::kShare:
      return parse_share(text, true);
    case Unit::kMoney:
      return parse_money(text);
    case Unit::kCount:
      break;
  }
  const Parsed<std::uint64_t> value = parse_count(text);
  if (!value) return tl::unexpected(value.error());
  if (*value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return tl::unexpected(fmt::format("\"{}\" is too large", text));
  }
  return static_cast<std::int64_t>(*value);
}

std::string value_pattern(Unit unit) {
  switch (unit) {
    case Unit::kDuration:
      return unsigned_duration_pattern();
    case Unit::kShare:
      return share_pattern(true);
    case Unit::kMoney:
      return money_pattern();
    case Unit::kCount:
      break;
  }
  return count_pattern(0, 999'999'999'999'999'999);
}

std::string value_text(Unit unit, std::int64_t value) {
  switch (unit) {
    case Unit::kDuration:
      return duration_text(Duration(value));
    case Unit::kShare:
      return share_text(value);
    case Unit::kMoney:
      return money_text(value);
    case Unit::kCount:
      break;
  }
  return std::to_string(value);
}

}  // namespace

bool Expectation::holds(std::int64_t measured) const {
  switch (comparison) {
    case Comparison::kAtLeast:
      return measured >= value;
    case Comparison::kAtMost:
      return measured <= value;
    case Comparison::kEqual:
      return measured == value;
    case Comparison::kMore:
      return measured > value;
    case Comparison::kLess:
      return measured < value;
  }
  return false;
}

std::string_view name(Metric metric) { return info(metric).key; }

std::vector<std::string_view> metric_names() {
  std::vector<std::string_view> names;
  for (const MetricInfo& one : kMetrics) names.push_back(one.key);
  return names;
}

std::string_view metric_words(std::string_view key) {
  for (const MetricInfo& one : kMetrics) {
    if (one.key == key) return one.words;
  }
  return "";
}

std::string expectation_pattern(std::string_view key) {
  for (const MetricInfo& one : kMetrics) {
    if (one.key != key) continue;
    if (one.metric == Metric::kFinishesWithin) return "(?:<=)? *" + value_pattern(one.unit);
    std::string signs;
    for (const ComparisonInfo& sign : kComparisons) {
      signs += fmt::format("{}{}", signs.empty() ? "" : "|", sign.sign);
    }
    return fmt::format("(?:{}) *{}", signs, value_pattern(one.unit));
  }
  return "";
}

Parsed<Expectation> parse_expectation(std::string_view key, std::string_view text) {
  Expectation out;
  const MetricInfo* metric = nullptr;
  for (const MetricInfo& one : kMetrics) {
    if (one.key == key) metric = &one;
  }
  if (metric == nullptr) {
    return tl::unexpected(fmt::format("unknown metric \"{}\"", printable(key)));
  }
  out.metric = metric->metric;
  const bool bare = out.metric == Metric::kFinishesWithin;
  bool found = false;
  for (const ComparisonInfo& one : kComparisons) {
    if (text.substr(0, one.sign.size()) != one.sign) continue;
    out.comparison = one.comparison;
    text.remove_prefix(one.sign.size());
    found = true;
    break;
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (bare && found && out.comparison != Comparison::kAtMost) {
    return tl::unexpected(
        std::string("finishes_within takes a duration and no other comparison, such as 9h"));
  }
  if (!bare && !found) {
    return tl::unexpected(fmt::format(
        "\"{}\" has no comparison; write one of >= <= == > < before it, in quotes, such "
        "as \">= {}\"",
        printable(text),
        value_text(metric->unit, metric->unit == Unit::kDuration ? 2'000'000'000
                                 : metric->unit == Unit::kShare  ? 900'000
                                                                 : 0)));
  }
  const Parsed<std::int64_t> value = parse_value(metric->unit, text);
  if (!value) return tl::unexpected(value.error());
  out.value = *value;
  return out;
}

std::string expectation_text(const Expectation& expectation) {
  const std::string value = value_text(info(expectation.metric).unit, expectation.value);
  if (expectation.metric == Metric::kFinishesWithin) return value;
  for (const ComparisonInfo& one : kComparisons) {
    if (one.comparison == expectation.comparison) return fmt::format("{} {}", one.sign, value);
  }
  return value;
}

std::string figure_text(Metric metric, std::int64_t value) {
  switch (info(metric).unit) {
    case Unit::kDuration:
      return rough_duration(Duration(value));
    case Unit::kShare:
      return fmt::format("{}.{}%", value / 10'000, value % 10'000 / 1'000);
    case Unit::kMoney:
      return fmt::format("${}.{:02}", value / 1'000'000, value % 1'000'000 / 10'000);
    case Unit::kCount:
      break;
  }
  return std::to_string(value);
}

}  // namespace elastic::chaos
