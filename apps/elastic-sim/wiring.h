// What several actions share.
#pragma once

#include <optional>
#include <string>

#include "apps/elastic-sim/options.h"
#include "chaos/report/report.h"
#include "chaos/scenario/scenario.h"

namespace elastic::app {

constexpr int kBadInput = 2;

void out(const std::string& text);  // to stdout, at once
void err(const std::string& text);  // to stderr, at once

// The text of `file` with the changes of the command line, unchecked; or nothing, likewise.
std::optional<chaos::Source> source_of(const Options& options, const std::string& file);
// The scenario in `file` with the changes of the command line, or nothing: its problems are on
// stderr.
std::optional<chaos::Scenario> scenario_of(const Options& options, const std::string& file);

chaos::Commands commands_for(const Options& options, std::uint64_t seed);
chaos::Look look_for(const Options& options);

}  // namespace elastic::app
