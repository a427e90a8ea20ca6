// Many simulated runs over processes, under all oracles, and the few figures of each that closed
// forms speak of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chaos/scenario/scenario.h"

namespace elastic::closed_forms {

struct Item {
  chaos::Scenario scenario;
  std::uint64_t seed = 1;
  std::optional<sim::Plan> plan;  // instead of the one that the seed generates
};

// A failure of a machine, and the time from it to the next step begun, without time below the
// minimum.
struct Recovery {
  double seconds = 0;
  bool coordinator = false;  // whose machine it was
};

struct Figures {
  std::string trouble;  // what an oracle said, or how the process ended; empty: the run counts
  bool finished = false;
  double whole = 0;                  // seconds, of the run
  double below_minimum = 0;          // seconds
  double goodput = 0;                // share, as in every report
  std::optional<double> first_step;  // seconds from the start
  std::uint64_t steps = 0;           // committed
  std::uint64_t lost = 0;            // machines that went down
  std::uint64_t events = 0;
  std::vector<Recovery> recoveries;  // only where each loss was over before the next one
};

// Is told how many of how many are done.
using Tell = std::function<void(std::size_t done, std::size_t total)>;

// Figures of items 0 .. count - 1, which `item` makes in a worker process. Nothing where the user
// has interrupted.
std::vector<std::optional<Figures>> run_items(std::size_t count,
                                              const std::function<Item(std::size_t)>& item,
                                              unsigned processes, const Tell& tell);

// A scenario that is written by the program itself.
chaos::Scenario scenario_from(const std::string& yaml);
// The same under the policy rigid: all nodes or nothing.
chaos::Scenario rigid_scenario_from(const std::string& yaml);

// As a scenario has it, and in seconds.
std::string text_of(Duration length);
inline double in_seconds(Duration length) { return static_cast<double>(length.count()) / 1e9; }
inline Duration from_seconds(double s) { return Duration(static_cast<std::int64_t>(s * 1e9)); }

}  // namespace elastic::closed_forms
