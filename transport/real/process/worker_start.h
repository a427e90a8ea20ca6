// From the supervisor's fork to the worker's program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "transport/real/process/descriptor.h"
#include "transport/real/process/protocol.h"

namespace elastic::real {

enum class StartStage : std::uint32_t { kFork, kFolder, kProgram };
struct StartFailure {
  StartStage stage = StartStage::kFork;
  int error = 0;  // errno
};

struct StartedProcess {
  pid_t pid = 0;           // 0: could not be made; `failure` says why
  StartFailure failure;    // only where pid is 0
  Descriptor exec_result;  // a pipe: closes when the program runs, or tells a StartFailure before
};

// Forks a worker: own process group, killed when this process dies, standard input empty, standard
// output and error as given, every signal at its default and none blocked, no other descriptor.
// A program that cannot be run ends with 127 (not found) or 126 (anything else), as a shell has it.
// REQUIRES: this process has one thread, and blocks every signal (so that none is lost between fork
// and exec).
StartedProcess start_worker(PackedProgram& program, int out, int err);

// What the pipe says. Nothing: not known yet (`closed` false), or the program runs (`closed` true).
struct ExecResult {
  bool closed = false;
  std::optional<StartFailure> failure;
};
ExecResult read_exec_result(const Descriptor& pipe);

// For people: "cannot run tarin.py: No such file or directory".
std::string describe_failure(const StartFailure& failure, const WorkerProgram& program);

}  // namespace elastic::real
