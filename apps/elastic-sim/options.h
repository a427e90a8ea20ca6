// What the command line of elastic-sim asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "chaos/compare/policy.h"
#include "chaos/run/batch.h"

namespace elastic::app {

enum class Action : std::uint8_t {
  kRun,
  kValidate,
  kExplain,
  kTrace,
  kShrink,
  kCompare,
  kSweep,
  kSchema,
};

struct Options {
  Action action = Action::kRun;
  std::vector<std::string> files;  // exactly one, but for validate (any) and schema (none)

  std::uint64_t seed = 1;
  std::optional<chaos::SeedRange> seeds;
  unsigned jobs = 1;
  std::vector<std::string> changes;  // of --set
  std::string trace;                 // empty: the scenario's
  std::string events;                // empty: none
  bool json = false;
  bool verify = false;
  bool liveness = true;
  bool oracles = false;
  std::string mutant;  // only in the build with planted bugs

  std::vector<std::string> settings;  // sweep: one or two, PATH=V1,V2
  std::string of = "goodput";         // sweep: what is best
  std::string csv;                    // sweep, compare: empty: none

  std::string output;              // shrink: empty: its own choice
  std::uint32_t max_trials = 400;  // shrink

  std::vector<chaos::Policy> policies;  // compare

  // Asked of the second process of --verify.
  bool rows = false;
  std::optional<chaos::SeedRange> window;
};

// What parsing came to instead of options: print `text` and exit with `status`.
struct Ending {
  std::string text;
  int status = 0;
};

std::variant<Options, Ending> parse_options(int argc, char** argv);

// "A..B" or "A"; nothing when it is not that, or empty, or too many.
std::optional<chaos::SeedRange> parse_range(const std::string& text);

// The command line that runs one seed again; `subcommand` may be empty.
std::string command_for(const Options& options, const std::string& subcommand, std::uint64_t seed);
// Arguments that name the same scenario (file, changes, trace, mutant, phases).
std::vector<std::string> scenario_arguments(const Options& options);

}  // namespace elastic::app
