// A scenario: what a user writes to ask "what happens to my job when nodes come and go like this?".
// It is read strictly: everything that is not understood is an error with its place, and nothing is
// run. All quantities are integers once read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "chaos/availability/availability.h"
#include "chaos/scenario/expectation.h"
#include "chaos/scenario/faults.h"
#include "chaos/scenario/problem.h"
#include "chaos/scenario/tree.h"
#include "chaos/timing/equivalent.h"
#include "chaos/timing/step_times.h"
#include "core/types.h"
#include "transport/sim/config.h"
#include "transport/sim/plan.h"

namespace elastic::chaos {

// Bounds on what one scenario may ask for, so that reading it and making its plan stay cheap.
constexpr std::uint32_t kMaxMachines = 20'000;
constexpr std::size_t kMaxZones = 64;
constexpr std::size_t kMaxFaultEntries = 50'000;
constexpr std::int64_t kMaxOccurrences = 10'000;  // that one random entry may stand for on average
constexpr std::int64_t kMaxRandomFaults = 200'000;  // and all of them together
constexpr Duration kMaxHorizon = std::chrono::hours(24 * 400);
constexpr std::int64_t kMaxMachineHours = 5'000'000;  // machines under a market times the horizon

struct Zone {
  std::string name;
  std::uint32_t nodes = 0;
  std::optional<std::uint32_t>
      at_start;  // machines there at the start, the first ones; default: all
  std::int64_t price_microdollars_per_hour = 0;
  std::string market;  // whose hazards take machines and bring them back; empty: none do
  bool operator==(const Zone&) const = default;
};

// What one step costs on one worker, and how large things are.
struct Model {
  std::string preset;  // empty: the numbers were given
  Duration compute_per_sample{};
  Duration step_overhead{};
  std::int64_t gradient_bytes = 0;
  std::int64_t state_bytes = 0;
  std::string table;  // of a user's own, as written; relative to the folder of the scenario
  // With a measured preset or a table: in the place of the first three numbers.
  std::shared_ptr<const StepTimes> times;
  // Of what is written in a file; `times` follows from it.
  bool operator==(const Model& other) const {
    return preset == other.preset && compute_per_sample == other.compute_per_sample &&
           step_overhead == other.step_overhead && gradient_bytes == other.gradient_bytes &&
           state_bytes == other.state_bytes && table == other.table;
  }
};

enum class SaveInterval : std::uint8_t { kFixed, kAuto, kNever };

struct CheckpointOptions {
  SaveInterval interval = SaveInterval::kFixed;
  Duration every{std::chrono::minutes(10)};  // kFixed
  std::optional<std::int64_t> size_bytes;    // of the state; default: the model's
  bool operator==(const CheckpointOptions&) const = default;
};

// A trace in the place of markets.
struct TraceSource {
  std::string path;  // as written; relative to the folder of the scenario
  Duration from{};   // where in the trace the run begins
  std::shared_ptr<const Availability> trace;
  std::uint32_t machines = 0;  // that it fills at most, and
  std::uint32_t at_start = 0;  // at the start; the same for every seed
};

// Invariants (kept by the readers, assumed by everything else): every quantity is within its
// bounds, names are unique, faults name machines and zones that exist, the total of machines is at
// least job.min_nodes, and derive_timeouts accepts the job.
struct Scenario {
  std::string name;          // the file's, without folder and ".yaml"
  std::string sentence;      // the leading comment: why it exists
  JobConfig job;             // journal_host is set by to_world
  std::string journal_host;  // name of a machine; empty: the first one
  Model model;
  std::optional<std::uint64_t> dataset;  // samples per epoch
  std::optional<std::uint64_t> epochs;   // either these (with a dataset)
  std::optional<std::uint64_t> steps;    // or these
  CheckpointOptions checkpoint;
  sim::TrainingModel training;  // what Model and CheckpointOptions do not say
  std::vector<Zone> zones;
  Duration notice{};
  Duration horizon{std::chrono::hours(24)};
  Duration agent_boot{std::chrono::seconds(1)};
  sim::NetworkModel network;
  sim::JournalModel journal;
  std::optional<TraceSource> availability;  // in the place of the zones' markets
  std::vector<FaultEntry> faults;
  std::vector<Expectation> expect;
};

// The text of a scenario with changes to it, before anything is checked.
struct Source {
  std::string file;
  std::string text;
  Tree tree;
  std::vector<std::string> changes;  // the paths set by apply_override
};

// Reads and parses a file (a regular one, at most 4 MiB), or a text that stands for it.
tl::expected<Source, Errors> load_source(const std::string& path);
tl::expected<Source, Errors> parse_source(std::string_view text, const std::string& file);

// Applies "path=value" of --set, as in `job.nodes.min=8`, `cluster.zones.a.price=$1/h`,
// `faults.0.at=2h`. Missing mappings on the way are made. What follows from the change is only seen
// by check_source, whose messages then name `--set job.nodes.min`.
std::optional<Errors> apply_override(Source& source, std::string_view assignment);
// Takes `path` (relative to the working directory) as the availability trace: --trace.
void use_trace(Source& source, const std::string& path);

// Checks everything, reads the trace that is named, and resolves presets.
tl::expected<Scenario, Errors> check_source(const Source& source);

// load_source and check_source; parse_source and check_source.
tl::expected<Scenario, Errors> load_scenario(const std::string& path,
                                             const std::vector<std::string>& overrides = {});
tl::expected<Scenario, Errors> parse_scenario(std::string_view text, const std::string& file);

// A scenario that reads back to the same one. With a plan: to one that has this plan under every
// seed; markets, traces and random faults give way to the plan, written as timed faults of named
// machines (at most kMaxFaultEntries of them can be read back).
std::string scenario_to_yaml(const Scenario& scenario, const sim::Plan* plan = nullptr);

// The machines of the world, in the order of their NodeIds (from 1): by zone, then by number. With
// a trace there are as many as its peak, but no more than job.max_nodes, and the zones share them
// in proportion to their nodes. The trace's peak depends on nothing but the trace, hence not on a
// seed.
std::vector<sim::NodeSpec> machines(const Scenario& scenario);

// The world that the simulator executes. The same for every seed but for WorldConfig::seed.
sim::WorldConfig to_world(const Scenario& scenario, std::uint64_t seed);
// The model that to_world simulates, as numbers that need no table.
Model simulated_model(const Scenario& scenario);
// What the table of the model says of each size that the job may have, in rising order; or what it
// does not cover ("covers 1 to 16 nodes ..."). Requires model.times.
tl::expected<std::vector<StepPoint>, std::string> step_points(const Scenario& scenario);

// The plan of a seed: what markets or the trace do, the timed faults, and the random ones. Sorted
// by time, at most up to the horizon. Draws are keyed by (seed, what they are for, how many came
// before).
sim::Plan make_plan(const Scenario& scenario, std::uint64_t seed);

// The scenario and the plan in words, several lines.
std::string explain(const Scenario& scenario, std::uint64_t seed);

}  // namespace elastic::chaos
