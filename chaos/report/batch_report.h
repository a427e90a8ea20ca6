// The report of many seeds: how the outcomes are spread, which seeds fail and how to see them
// again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chaos/report/look.h"
#include "chaos/report/report.h"
#include "chaos/run/batch.h"

namespace elastic::chaos {

// Commands for one failing seed.
using CommandsFor = std::function<Commands(std::uint64_t seed)>;

std::string batch_report(const BatchResult& batch, const CommandsFor& commands, const Look& look);

// "412 of 500 seeds, 1 failed, 3m 10s left": for progress.
std::string progress_line(const BatchProgress& progress);

// Nearest-rank quantiles of what rows have, in the unit of the field.
struct Spread {
  std::int64_t p5 = 0;
  std::int64_t p50 = 0;
  std::int64_t p95 = 0;
  bool operator==(const Spread&) const = default;
};
Spread spread_of(std::vector<std::int64_t> values);

// Figures of the rows that were judged (neither crashed nor stopped by an oracle), field by field.
std::vector<std::int64_t> values_of(const BatchResult& batch,
                                    const std::function<std::int64_t(const Row&)>& field);

constexpr std::size_t kFailingShown = 10;

}  // namespace elastic::chaos
