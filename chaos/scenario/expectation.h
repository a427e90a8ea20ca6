// What a scenario expects of its run: a metric, a comparison, a figure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/scenario/units.h"

namespace elastic::chaos {

enum class Metric : std::uint8_t {
  kFinishesWithin,  // ns, from the start to the job's success; only <=
  kGoodput,         // ppm of what the same nodes could do undisturbed
  kStepsLost,       // committed steps that no longer are
  kStepsRedone,
  kRecoveryP99,  // ns
  kRecoveryMax,  // ns
  kCost,         // microdollars
  kRounds,
};

enum class Comparison : std::uint8_t { kAtLeast, kAtMost, kEqual, kMore, kLess };

struct Expectation {
  Metric metric = Metric::kFinishesWithin;
  Comparison comparison = Comparison::kAtMost;
  std::int64_t value = 0;  // in the metric's unit
  bool operator==(const Expectation&) const = default;

  [[nodiscard]] bool holds(std::int64_t measured) const;
};

// The key under `expect`: "finishes_within".
std::string_view name(Metric metric);
// All keys; `lost_steps` is another name of steps_lost.
std::vector<std::string_view> metric_names();

// What a key of metric_names() means, and how what stands behind it is spelt: a regular expression
// without ^ and $.
std::string_view metric_words(std::string_view key);
std::string expectation_pattern(std::string_view key);

// Reads what stands behind the key: `9h`, `">= 90%"`, `"== 0"`.
Parsed<Expectation> parse_expectation(std::string_view key, std::string_view text);
// The reverse: `>= 90%`.
std::string expectation_text(const Expectation& expectation);
// A figure of the metric's unit, for people: "1.3 s", "93.1%", "$214.80".
std::string figure_text(Metric metric, std::int64_t value);

}  // namespace elastic::chaos
