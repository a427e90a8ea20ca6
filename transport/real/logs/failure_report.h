// The last words of a job that failed: what failed first, where, why, and what only followed. Pure.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "core/membership/records.h"
#include "core/types.h"
#include "transport/real/logs/error_file.h"

namespace elastic::real {

// A worker that ended otherwise than with code 0. Unknown texts are empty.
struct FailedWorker {
  std::string node;
  int rank = 0;
  int local_rank = 0;
  RoundId round;
  std::optional<std::time_t> at;  // by the clock of the coordinator
  ExitStatus status;
  bool stopped_by_agent = false;  // a signal that an agent of ours sent
  std::optional<pid_t> pid;
  std::vector<std::string> tail;  // last lines, oldest first
  std::string log_path;
  std::optional<ProgramError> error;  // of its error file
};

struct Consequence {
  enum class Kind : std::uint8_t {
    kStoppedByRoundChange,
    kKilled,    // did not end in its grace
    kNodeLost,  // with its node
    kUnkillable,
  };
  Kind kind = Kind::kStoppedByRoundChange;
  std::vector<int> ranks;
  std::string node;  // where the kind is about one
};

struct EndReport {
  std::string verdict;                // "job failed: the program exits with code 1 on every start"
  std::optional<FailedWorker> first;  // in the order of the coordinator; none: nobody failed
  std::vector<FailedWorker> later;    // in the same order
  std::vector<Consequence> consequences;
  int exit_code = 1;
};

struct ReportOptions {
  std::size_t tail_lines = 20;    // of the first failure
  std::size_t line_bytes = 1000;  // that are shown of one of these lines
  std::string folder;             // log paths below it are shown relative to it
};

// "exit code 1", "signal 9 (SIGKILL)", "exit code 137 (128 + signal 9, SIGKILL)".
std::string describe(const ExitStatus& status);

// The report as lines, each with \n; our own lines within 80 columns, those of the program not
// wrapped. Errors of several ranks that are the same are shown once (error_dedup.h). Control
// characters of the program are left out.
std::string format_report(const EndReport& report, const ReportOptions& options = {});

// The same for programs; one JSON object, without a newline.
std::string format_report_json(const EndReport& report);

// What the agent leaves in its own TORCHELASTIC_ERROR_FILE: the worker's error, or one made up from
// its last lines, with its exit code (minus the signal, as torchrun has it).
ProgramError own_error(const FailedWorker& first);

}  // namespace elastic::real
