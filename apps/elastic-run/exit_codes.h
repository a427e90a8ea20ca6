// How an agent's end becomes an exit status, and a sentence.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/elastic-run/options.h"
#include "core/agent/io.h"
#include "core/membership/messages.h"
#include "core/membership/records.h"

namespace elastic::launch {

enum ExitStatusOfJob : int {
  kExitDone = 0,
  kExitProgramFailed = 1,
  kExitUsage = 2,
  kExitInfrastructure = 10,
  kExitPreempted = 11,
  kExitBelowMinimum = 12,
  kExitJournalLost = 13,
};

struct ExitLine {
  int status;
  std::string_view meaning;
};
// For --help and docs.
std::span<const ExitLine> exit_table();

struct End {
  ExitReason reason = ExitReason::kSucceeded;
  WaitReason waited_for = WaitReason::kNone;  // kJoinTimeout: what this node was told last
  std::optional<ExitStatus> first_failure;    // kProgramFailed, kNoProgress: of the verdict
};

// 0 to 255. With ExitCodes::kProgram a failed program's own code (128 + N for signal N) instead of
// 1, where it is known and not 0.
int exit_status(const End& end, ExitCodes whose);

// One sentence without a full stop, for a line such as "[elastic] job failed: ...".
std::string explain(const End& end);

}  // namespace elastic::launch
