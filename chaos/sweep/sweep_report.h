// What people and programs read of a sweep: table and chart, JSON, CSV. Text out, nothing runs.
#pragma once

#include <functional>
#include <string>

#include "chaos/report/look.h"
#include "chaos/report/report.h"
#include "chaos/sweep/sweep.h"

namespace elastic::chaos {

// Commands for one seed at one point.
using SweepCommands = std::function<Commands(std::size_t point, std::uint64_t seed)>;

// The whole: first line, table, chart, how to read it, failures with their commands.
std::string sweep_report(const SweepResult& sweep, Measure of, const SweepCommands& commands,
                         const Look& look);

// One line for each point: means and half widths of their 95 % confidence intervals.
std::string sweep_table(const SweepResult& sweep, Measure of, const Look& look);
// One setting: a line for each value with its interval on a common scale. Two: a grid of figures,
// or of shades where figures would not fit into the columns.
std::string sweep_chart(const SweepResult& sweep, Measure of, const Look& look);

// A figure with its interval: "93.1 ±0.4%".
std::string interval_text(Measure measure, const Interval& interval, const Look& look);

// One JSON object. Means and half widths are in the unit that ends the key (_percent, _dollars,
// _seconds, or a bare count).
std::string sweep_json(const SweepResult& sweep, Measure of, const SweepCommands& commands);
// One line for each run, with a head.
std::string sweep_csv(const SweepResult& sweep);

}  // namespace elastic::chaos
