// Runs a program as a user does, and keeps what it says.
#pragma once

#include <string>
#include <vector>

namespace elastic::test {

struct ProgramResult {
  int status = -1;  // exit status; 128 + signal where it died of one
  std::string out;
  std::string err;
};

struct ProgramOptions {
  std::vector<std::string> arguments{};
  std::vector<std::string> environment{};  // NAME=value, on top of the own
  int interrupt_after_ms = -1;             // sends SIGINT then; -1: never
  bool close_stdout = false;               // reads nothing and closes its end at once
  int limit_s = 120;                       // killed after this: status 128 + 9
};

// Runs ELASTIC_BINARY_DIR/`name`.
ProgramResult run_program(const std::string& name, const ProgramOptions& options);

// elastic-sim with these arguments.
ProgramResult elastic_sim(const std::vector<std::string>& arguments);

// A file with this content in a folder that is removed at the end of the test program; its path.
std::string scratch_file(const std::string& name, const std::string& content);

}  // namespace elastic::test
