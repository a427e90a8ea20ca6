#include "apps/elastic-run/option_table.h"

#include <algorithm>
#include <array>

#include "core/assert.h"

namespace elastic::launch {
namespace {

using Id = OptionId;

std::vector<OptionSpec> nodes() {
  return {
      {.id = Id::kNnodes,
       .name = "--nnodes",
       .argument = "N|MIN:MAX",
       .env = "PET_NNODES",
       .group = Group::kNodes,
       .help = "Machines of the job. With a range the job starts with MIN, goes on while MIN are "
               "there, and grows to MAX; give the same range on every machine from the start. "
               "Default 1; with --nodes-on-this-machine N: 1:N."},
      {.id = Id::kNprocPerNode,
       .name = "--nproc-per-node",
       .argument = "N|auto|gpu|cpu",
       .env = "PET_NPROC_PER_NODE",
       .group = Group::kNodes,
       .help =
           "Workers on this machine: a number, one per GPU, one per CPU, or auto: GPUs if there "
           "are any, else CPUs (which is said). Default 1.",
       .choices = {"auto", "gpu", "cpu"}},
      {.id = Id::kStandalone,
       .name = "--standalone",
       .env = "PET_STANDALONE",
       .group = Group::kNodes,
       .help = "All on this machine, on a free port of its own: several such jobs do not disturb "
               "each other. Also what happens without --rdzv-endpoint where there is one node."},
      {.id = Id::kNodesOnThisMachine,
       .name = "--nodes-on-this-machine",
       .argument = "N",
       .env = "ELASTIC_RUN_NODES_ON_THIS_MACHINE",
       .group = Group::kNodes,
       .help = "Run N agents here, each as if it were a machine: to try out what happens when "
               "nodes come and go. Default 1.",
       .torchruns = false},
      {.id = Id::kSpares,
       .name = "--spares",
       .argument = "N",
       .env = "ELASTIC_RUN_SPARES",
       .group = Group::kNodes,
       .help = "N machines beyond MAX are expected to wait until a member is lost. More than MAX "
               "never is an error; this says that they may wait for as long as it takes (see "
               "join_timeout). Default 0.",
       .torchruns = false},
      {.id = Id::kNodeRank,
       .name = "--node-rank",
       .argument = "N",
       .env = "PET_NODE_RANK",
       .group = Group::kNodes,
       .help = "Order key: the ranks of the first round follow it. Whoever stays keeps its place, "
               "and who comes later is placed behind, so later it need not be the group rank."},
      {.id = Id::kRole,
       .name = "--role",
       .argument = "NAME",
       .env = "PET_ROLE",
       .group = Group::kNodes,
       .help = "Told to the workers as ROLE_NAME, and for the prefix of lines. Default: default."},
      {.id = Id::kVirtualLocalRank,
       .name = "--virtual-local-rank",
       .env = "PET_VIRTUAL_LOCAL_RANK",
       .group = Group::kNodes,
       .help = "Every worker sees LOCAL_RANK=0 and, as CUDA_VISIBLE_DEVICES, the one GPU of its "
               "place."},
      {.id = Id::kNumaBinding,
       .name = "--numa-binding",
       .argument = "KIND",
       .env = "",
       .group = Group::kNodes,
       .help = "node, socket, exclusive or core-complex: bind worker i to the CPUs near GPU i.",
       .choices = {"node", "socket", "exclusive", "core-complex"}},
  };
}

std::vector<OptionSpec> rendezvous() {
  return {
      {.id = Id::kRdzvBackend,
       .name = "--rdzv-backend",
       .argument = "NAME",
       .env = "PET_RDZV_BACKEND",
       .group = Group::kRendezvous,
       .help = "c10d (the default here; hosted is the same): the agent at the endpoint keeps the "
               "journal, and workers get a fresh MASTER_PORT in every round. static (torchrun's "
               "default): workers get the address and port that you give; a fixed number of nodes. "
               "Without this option, --master-addr or --master-port mean static.",
       .choices = {"c10d", "hosted", "static"}},
      {.id = Id::kRdzvEndpoint,
       .name = "--rdzv-endpoint",
       .argument = "HOST[:PORT]",
       .env = "PET_RDZV_ENDPOINT",
       .group = Group::kRendezvous,
       .help =
           "Where the agents meet: a name, an IPv4 address, or an IPv6 address in brackets; "
           "the same on all machines. Needed where there are several. Port 29400 unless given."},
      {.id = Id::kRdzvId,
       .name = "--rdzv-id",
       .argument = "NAME",
       .env = "PET_RDZV_ID",
       .group = Group::kRendezvous,
       .help = "Id of the job: agents with another one are turned away. Without it: the name of "
               "the program, so that two different programs at one endpoint do not merge."},
      {.id = Id::kRdzvConf,
       .name = "--rdzv-conf",
       .argument = "KEY=VALUE,...",
       .env = "PET_RDZV_CONF",
       .group = Group::kRendezvous,
       .help = "Settings that rarely need a change, below."},
      {.id = Id::kLocalAddr,
       .name = "--local-addr",
       .argument = "HOST",
       .env = "PET_LOCAL_ADDR",
       .group = Group::kRendezvous,
       .help = "Address at which the others reach this machine. Default: the one from which it "
               "reaches the endpoint. A loopback address says that all nodes are on this machine."},
      {.id = Id::kTokenFile,
       .name = "--token-file",
       .argument = "FILE",
       .env = "ELASTIC_RUN_TOKEN_FILE",
       .group = Group::kRendezvous,
       .help = "A secret that all machines of the job share: without it nobody joins, reads or "
               "stops anything.",
       .completes = Completes::kFiles,
       .torchruns = false},
      {.id = Id::kMasterAddr,
       .name = "--master-addr",
       .argument = "HOST",
       .env = "PET_MASTER_ADDR",
       .group = Group::kRendezvous,
       .help = "static: MASTER_ADDR of the workers; the machine with --node-rank 0. Default: the "
               "host of the endpoint, else 127.0.0.1."},
      {.id = Id::kMasterPort,
       .name = "--master-port",
       .argument = "PORT",
       .env = "PET_MASTER_PORT",
       .group = Group::kRendezvous,
       .help = "static: MASTER_PORT of the workers. Default: the port of the endpoint, else 29500. "
               "The agents meet at the port after it, unless --rdzv-endpoint names another one."},
  };
}

std::vector<OptionSpec> failures() {
  return {
      {.id = Id::kMaxRestarts,
       .name = "--max-restarts",
       .argument = "N",
       .env = "PET_MAX_RESTARTS",
       .group = Group::kFailures,
       .help = "Failures of the program that the job survives: one budget for all nodes together, "
               "cleared by an hour without one. Nodes that come and go cost nothing. Default 0."},
      {.id = Id::kRestartPolicy,
       .name = "--restart-policy",
       .argument = "POLICY",
       .env = "ELASTIC_RUN_RESTART_POLICY",
       .group = Group::kFailures,
       .help = "any-failure: every exit that is not 0 spends the budget (default). exit-code: only "
               "1 to 127; 128 to 255 and signals are the machine's doing, and retried.",
       .choices = {"any-failure", "exit-code"},
       .torchruns = false},
      {.id = Id::kDetectionTarget,
       .name = "--detection-target",
       .argument = "TIME",
       .env = "ELASTIC_RUN_DETECTION_TARGET",
       .group = Group::kFailures,
       .help = "A silent node is taken for lost after this. Default 1s; 300ms on a quiet network. "
               "All other times follow from it.",
       .torchruns = false},
      {.id = Id::kGrow,
       .name = "--grow",
       .argument = "WHEN",
       .env = "ELASTIC_RUN_GROW",
       .group = Group::kFailures,
       .help = "always: a node that comes later restarts the workers in a larger round (default). "
               "never: it waits until the round ends for another reason.",
       .choices = {"always", "never"},
       .torchruns = false},
      {.id = Id::kMinHealthy,
       .name = "--min-healthy",
       .argument = "N",
       .env = "ELASTIC_RUN_MIN_HEALTHY",
       .group = Group::kFailures,
       .help = "End the job (exit 12) when fewer than N machines have been alive for longer than "
               "min_healthy_grace. Default: wait for more.",
       .torchruns = false},
      {.id = Id::kShutdownTimeout,
       .name = "--shutdown-timeout",
       .argument = "SECONDS",
       .env = "PET_SHUTDOWN_TIMEOUT",
       .other_env = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
       .group = Group::kFailures,
       .help = "From SIGTERM to SIGKILL of a worker, on every path. Default 30."},
      {.id = Id::kSignalsToHandle,
       .name = "--signals-to-handle",
       .argument = "LIST",
       .env = "PET_SIGNALS_TO_HANDLE",
       .other_env = "TORCHELASTIC_SIGNALS_TO_HANDLE",
       .group = Group::kFailures,
       .help = "On SIGTERM, SIGINT, SIGHUP, SIGQUIT (the default list) this node leaves, and the "
               "others go on. SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH in the list are handed to the "
               "workers and stop nothing."},
      {.id = Id::kExitCode,
       .name = "--exit-code",
       .argument = "WHOSE",
       .env = "ELASTIC_RUN_EXIT_CODE",
       .group = Group::kFailures,
       .help = "own: the table below (default). program: if the program failed, its code, or 128 "
               "and the number of the signal.",
       .choices = {"own", "program"},
       .torchruns = false},
  };
}

std::vector<OptionSpec> program() {
  return {
      {.id = Id::kModule,
       .name = "--module",
       .letter = 'm',
       .env = "PET_MODULE",
       .group = Group::kProgram,
       .help = "The program is a Python module, as for python -m."},
      {.id = Id::kNoPython,
       .name = "--no-python",
       .env = "PET_NO_PYTHON",
       .group = Group::kProgram,
       .help = "Execute the program itself, found in PATH. Not needed for an executable file whose "
               "name does not end in .py. Otherwise it is $PYTHON_EXEC, or python3, with -u."},
      {.id = Id::kRunPath,
       .name = "--run-path",
       .env = "PET_RUN_PATH",
       .group = Group::kProgram,
       .help = "Run it with Python's runpy.run_path. Goes before --no-python."},
  };
}

std::vector<OptionSpec> logs() {
  return {
      {.id = Id::kLogDir,
       .name = "--log-dir",
       .argument = "DIR",
       .env = "PET_LOG_DIR",
       .group = Group::kLogs,
       .help = "Where files go: a directory for each round, never deleted. Default: a new one in "
               "the system's place for temporary files. /dev/null: no files.",
       .completes = Completes::kFolders},
      {.id = Id::kRedirects,
       .name = "--redirects",
       .letter = 'r',
       .argument = "N|MAP",
       .env = "PET_REDIRECTS",
       .group = Group::kLogs,
       .help = "To files instead of the console: 0 nothing (default), 1 stdout, 2 stderr, 3 both; "
               "or a map by local rank: 0:3,12:2.",
       .choices = {"0", "1", "2", "3"}},
      {.id = Id::kTee,
       .name = "--tee",
       .letter = 't',
       .argument = "N|MAP",
       .env = "PET_TEE",
       .group = Group::kLogs,
       .help = "To files and to the console. Written as for -r.",
       .choices = {"0", "1", "2", "3"}},
      {.id = Id::kLocalRanksFilter,
       .name = "--local-ranks-filter",
       .argument = "LIST",
       .env = "PET_LOCAL_RANKS_FILTER",
       .group = Group::kLogs,
       .help = "The console shows only these local ranks: 0,1,12. Files have all."},
      {.id = Id::kRanksFilter,
       .name = "--ranks-filter",
       .argument = "LIST",
       .env = "ELASTIC_RUN_RANKS_FILTER",
       .group = Group::kLogs,
       .help = "The same by global rank, whichever machine they are on.",
       .torchruns = false},
      {.id = Id::kDuplicateStdoutFilters,
       .name = "--duplicate-stdout-filters",
       .argument = "LIST",
       .env = "PET_DUPLICATE_STDOUT_FILTERS",
       .group = Group::kLogs,
       .help = "Lines of stdout with one of these texts are also written to a file of their own: "
               "loss,epoch. Two commas stand for one in a text."},
      {.id = Id::kDuplicateStderrFilters,
       .name = "--duplicate-stderr-filters",
       .argument = "LIST",
       .env = "PET_DUPLICATE_STDERR_FILTERS",
       .group = Group::kLogs,
       .help = "The same for stderr."},
      {.id = Id::kLogLinePrefixTemplate,
       .name = "--log-line-prefix-template",
       .argument = "TEXT",
       .env = "PET_LOG_LINE_PREFIX_TEMPLATE",
       .other_env = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
       .group = Group::kLogs,
       .help = "Default \"[${hostname} ${rank}]: \", before each line on the console; also "
               "${local_rank}, ${role_name}, ${round}."},
      {.id = Id::kRecord,
       .name = "--record",
       .argument = "FILE",
       .env = "ELASTIC_RUN_RECORD",
       .group = Group::kLogs,
       .help = "Record all that this agent was told, for elastic-sim replay FILE.",
       .completes = Completes::kFiles,
       .torchruns = false},
      {.id = Id::kEvents,
       .name = "--events",
       .argument = "FILE",
       .env = "ELASTIC_RUN_EVENTS",
       .group = Group::kLogs,
       .help = "Write what happens as JSON lines.",
       .completes = Completes::kFiles,
       .torchruns = false},
  };
}

std::vector<OptionSpec> others() {
  return {
      {.id = Id::kMonitorInterval,
       .name = "--monitor-interval",
       .argument = "SECONDS",
       .env = "PET_MONITOR_INTERVAL",
       .group = Group::kAccepted,
       .help = "Exits of workers are seen at once."},
      {.id = Id::kStartMethod,
       .name = "--start-method",
       .argument = "NAME",
       .env = "PET_START_METHOD",
       .group = Group::kAccepted,
       .help = "Workers are programs, never forks of the launcher.",
       .choices = {"spawn", "fork", "forkserver"}},
      {.id = Id::kEventLogHandler,
       .name = "--event-log-handler",
       .argument = "NAME",
       .env = "PET_EVENT_LOG_HANDLER",
       .group = Group::kAccepted,
       .help = "A Python plug-in; see --events."},
      {.id = Id::kLogsSpecs,
       .name = "--logs-specs",
       .argument = "NAME",
       .env = "",
       .group = Group::kAccepted,
       .help = "A Python plug-in; see --log-dir, -r and -t."},
      {.id = Id::kExitBarrierTimeout,
       .name = "--exit-barrier-timeout",
       .argument = "SECONDS",
       .env = "TORCH_ELASTIC_EXIT_BARRIER_TIMEOUT",
       .group = Group::kAccepted,
       .help = "There is no such barrier: who has finished waits as long as the slowest needs."},
      {.id = Id::kDeadline,
       .name = "--deadline",
       .argument = "TIME",
       .env = "",
       .group = Group::kControl,
       .help = "The machine is taken back after this: 90s.",
       .torchruns = false},
      {.id = Id::kNode,
       .name = "--node",
       .argument = "NAME",
       .env = "",
       .group = Group::kControl,
       .help = "Which node, as status names it. Default: this machine's.",
       .torchruns = false},
      {.id = Id::kJson,
       .name = "--json",
       .env = "",
       .group = Group::kControl,
       .help = "For programs.",
       .torchruns = false},
      {.id = Id::kHelp,
       .name = "--help",
       .letter = 'h',
       .env = "",
       .group = Group::kOther,
       .help = "This text."},
      {.id = Id::kVersion,
       .name = "--version",
       .env = "",
       .group = Group::kOther,
       .help = "Print the version.",
       .torchruns = false},
      {.id = Id::kPrintCompletion,
       .name = "--print-completion",
       .argument = "SHELL",
       .env = "",
       .group = Group::kOther,
       .help = "A script for bash or zsh: source <(elastic-run --print-completion bash)",
       .choices = {"bash", "zsh"}},
  };
}

std::vector<OptionSpec> make_table() {
  std::vector<OptionSpec> table;
  for (std::vector<OptionSpec>& part :
       std::array{nodes(), rendezvous(), failures(), program(), logs(), others()}) {
    table.insert(table.end(), part.begin(), part.end());
  }
  ELASTIC_ASSERT(table.size() == static_cast<std::size_t>(Id::kCount));
  for (std::size_t i = 0; i < table.size(); ++i) {
    ELASTIC_ASSERT(static_cast<std::size_t>(table[i].id) == i);
  }
  return table;
}

}  // namespace

bool OptionSpec::for_action(Action action) const {
  if (id == OptionId::kHelp) return true;
  if (action == Action::kRun) return group != Group::kControl;
  switch (id) {
    case OptionId::kRdzvEndpoint:
    case OptionId::kRdzvId:
    case OptionId::kTokenFile:
      return true;
    case OptionId::kDeadline:
      return action == Action::kPreempt;
    case OptionId::kNode:
      return action == Action::kPreempt || action == Action::kLeave;
    case OptionId::kJson:
      return action == Action::kStatus;
    default:
      return false;
  }
}

std::span<const OptionSpec> option_table() {
  static const std::vector<OptionSpec> kTable = make_table();
  return kTable;
}

const OptionSpec& spec_of(OptionId id) { return option_table()[static_cast<std::size_t>(id)]; }

std::string_view title_of(Group group) {
  switch (group) {
    case Group::kNodes:
      return "Nodes and workers";
    case Group::kRendezvous:
      return "Where the nodes meet";
    case Group::kFailures:
      return "Failures and ends";
    case Group::kProgram:
      return "The program";
    case Group::kLogs:
      return "Logs";
    case Group::kAccepted:
      return "Accepted, and without meaning here (said in one line)";
    case Group::kControl:
      return "Of subcommands";
    case Group::kOther:
      return "Other";
  }
  return {};
}

std::span<const ActionSpec> action_table() {
  static constexpr std::array<ActionSpec, 5> kActions{{
      {Action::kRun, "", "run a program"},
      {Action::kStatus, "status",
       "rounds, nodes, ranks, beats, budgets; who is waited for, and why"},
      {Action::kLeave, "leave",
       "a node leaves, after its workers had their grace; the others go on"},
      {Action::kStop, "stop", "end the job on all nodes"},
      {Action::kPreempt, "preempt", "a node's machine is taken back after --deadline"},
  }};
  return kActions;
}

std::string underscored(std::string_view name) {
  std::string text(name.substr(0, 2));
  for (const char c : name.substr(2)) text += c == '-' ? '_' : c;
  return text;
}

}  // namespace elastic::launch
