// One table of options: the parser, --help, shell completion and the check of
// docs/from-torchrun.md all read it.
//
// CLI11, which elastic-sim uses, is not used here: it stops at the first unknown word with
// `prefix_command`, but takes a mistyped option for the program then; it reads a `--` among the
// program's own arguments; and what it knows of an option (no groups of environment names, no
// choices) is too little to make completion and help of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/elastic-run/options.h"

namespace elastic::launch {

enum class OptionId : std::uint8_t {
  kNnodes,
  kNprocPerNode,
  kStandalone,
  kNodesOnThisMachine,
  kSpares,
  kNodeRank,
  kRole,
  kVirtualLocalRank,
  kNumaBinding,
  kRdzvBackend,
  kRdzvEndpoint,
  kRdzvId,
  kRdzvConf,
  kLocalAddr,
  kTokenFile,
  kMasterAddr,
  kMasterPort,
  kMaxRestarts,
  kRestartPolicy,
  kDetectionTarget,
  kGrow,
  kMinHealthy,
  kShutdownTimeout,
  kSignalsToHandle,
  kExitCode,
  kModule,
  kNoPython,
  kRunPath,
  kLogDir,
  kRedirects,
  kTee,
  kLocalRanksFilter,
  kRanksFilter,
  kDuplicateStdoutFilters,
  kDuplicateStderrFilters,
  kLogLinePrefixTemplate,
  kRecord,
  kEvents,
  kMonitorInterval,
  kStartMethod,
  kEventLogHandler,
  kLogsSpecs,
  kExitBarrierTimeout,
  kDeadline,
  kNode,
  kJson,
  kHelp,
  kVersion,
  kPrintCompletion,
  kCount,
};

enum class Group : std::uint8_t {
  kNodes,
  kRendezvous,
  kFailures,
  kProgram,
  kLogs,
  kAccepted,
  kControl,  // of subcommands only
  kOther,
};

// What a shell offers as an argument.
enum class Completes : std::uint8_t { kNothing, kFiles, kFolders };

struct OptionSpec {
  OptionId id;
  std::string_view name;         // `--nproc-per-node`; `--nproc_per_node` is the same
  char letter = 0;               // `r` for -r
  std::string_view argument{};   // as shown in --help; empty: a flag
  std::string_view env{};        // empty: none
  std::string_view other_env{};  // read where `env` is not set
  Group group;
  std::string_view help;                    // one paragraph; wrapped where it is shown
  std::vector<std::string_view> choices{};  // for completion, and for flags' arguments
  Completes completes = Completes::kNothing;
  bool torchruns = true;  // false: ours

  [[nodiscard]] bool is_flag() const { return argument.empty(); }
  [[nodiscard]] bool for_action(Action action) const;
};

// In the order of OptionId.
std::span<const OptionSpec> option_table();
const OptionSpec& spec_of(OptionId id);
std::string_view title_of(Group group);

struct ActionSpec {
  Action action;
  std::string_view name;  // empty for kRun
  std::string_view help;
};
std::span<const ActionSpec> action_table();

// "--nproc_per_node" for "--nproc-per-node".
std::string underscored(std::string_view name);

}  // namespace elastic::launch
