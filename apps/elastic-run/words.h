// First stage of reading a command line: which option was given which text, by whom, and where the
// program begins. What the texts mean is the second stage (options.cc).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "apps/elastic-run/option_table.h"

namespace elastic::launch {

struct Setting {
  std::string value;  // of a flag: "1" or "0"
  std::string by;     // as the user wrote it: "--nnodes", "-r", "PET_NNODES"
  bool from_environment = false;
};

struct Words {
  Action action = Action::kRun;
  std::array<std::optional<Setting>, static_cast<std::size_t>(OptionId::kCount)> settings;
  std::vector<std::string> rest;  // the program and its arguments; of a subcommand: its operands
  std::vector<std::string> notices;
  // Asked for on the command line, in place of doing anything.
  bool help = false, version = false;

  [[nodiscard]] const std::optional<Setting>& of(OptionId id) const {
    return settings[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] bool flag(OptionId id) const { return of(id) && of(id)->value == "1"; }
};

// The error is a clause without the name of the command.
tl::expected<Words, std::string> read_words(const std::vector<std::string>& argv,
                                            const Environment& env);

// `; did you mean "--nnodes"?` for a mistyped, shortened or merely imagined option; may be empty.
std::string meant_option(std::string_view found, Action action);

}  // namespace elastic::launch
