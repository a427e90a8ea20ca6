// What a comparison of policies says: a table of 80 columns, JSON, CSV.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/compare/compare.h"
#include "chaos/report/interval.h"
#include "chaos/report/look.h"

namespace elastic::chaos {

// One policy over the seeds that count under all of them. A run that the horizon ended, or that
// gave up, is censored: it counts as if it ended at the horizon, and is never left out.
struct PolicyFigures {
  std::string_view name;
  std::uint64_t runs = 0;
  std::uint64_t finished = 0;
  std::uint64_t in_time = 0;  // within the deadline of the scenario, or the horizon
  std::uint64_t censored() const { return runs - finished; }
  std::int64_t median_finish_ns = 0;  // censored ones at the horizon
  Interval finish_ns, goodput_ppm, cost_microdollars, steps_redone;
  // Steps done over those that the oracle does in the same time.
  Interval of_bound_ppm;
};
PolicyFigures figures_of(const PolicyComparison& comparison, std::size_t policy);
PolicyFigures figures_of_bound(const PolicyComparison& comparison);

// A policy minus elastic, seed by seed.
struct PolicyDifference {
  std::string_view name;
  Interval finish_ns, goodput_ppm, cost_microdollars, steps_redone;
  // Either side has censored runs: what is said of finish and cost is a bound, in the direction of
  // the one that has more of them.
  std::uint64_t censored = 0;
  std::uint64_t censored_elastic = 0;
};
// Empty without elastic, or without seeds that count.
std::vector<PolicyDifference> differences(const PolicyComparison& comparison);

// `repeat` gives the command that runs one seed under one policy again.
using RepeatPolicy = std::function<std::string(Policy, std::uint64_t seed)>;
std::string compare_report(const PolicyComparison& comparison, const RepeatPolicy& repeat,
                           const Look& look);
std::string compare_json(const PolicyComparison& comparison, const RepeatPolicy& repeat);
// A line for each seed and policy, after a header; the bound of the seed in each.
std::string compare_csv(const PolicyComparison& comparison);

// What each policy sets, and why: for --help.
std::string policies_text();

}  // namespace elastic::chaos
