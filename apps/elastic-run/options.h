// What the command line of elastic-run asks for: torchrun's options with torchrun's meaning, and
// ours. Reading it is pure: arguments, environment and facts of the machine come in, and nothing is
// opened, resolved or printed. Start with `parse`; the options themselves are in option_table.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "apps/elastic-run/endpoint.h"
#include "core/membership/config.h"
#include "core/types.h"
#include "transport/real/logs/stream_modes.h"

namespace elastic::launch {

using Environment = std::map<std::string, std::string>;

enum class FileKind : std::uint8_t {
  kUnknown,  // nobody has looked
  kAbsent,
  kPlain,       // there, and not executable; a directory, too
  kExecutable,  // a file that may be executed
};

// What defaults follow from.
struct Machine {
  std::uint32_t cpus = 1;  // that this process may use
  std::uint32_t gpus = 0;
  std::string hostname;
  std::uint64_t nonce = 0;  // drawn: tells jobs apart that were not given an id
  std::function<FileKind(const std::string& path)> file;  // empty: kUnknown for all
};

enum class Action : std::uint8_t { kRun, kStatus, kLeave, kStop, kPreempt };

enum class Backend : std::uint8_t {
  kHosted,  // "c10d": the agent at the endpoint keeps the journal; workers' port fresh each round
  kStatic,  // the same, but workers are told the address and port that the user gave
};

enum class ProgramKind : std::uint8_t {
  kScript,      // python -u NAME ARGS
  kModule,      // python -u -m NAME ARGS
  kRunPath,     // python -u, runpy.run_path(NAME)
  kExecutable,  // NAME ARGS; without a slash it is looked for in PATH
};

struct Program {
  ProgramKind kind = ProgramKind::kScript;
  std::string name;
  std::vector<std::string> args;  // verbatim
  bool operator==(const Program&) const = default;
};

enum class ExitCodes : std::uint8_t {
  kOwn,      // see exit_codes.h
  kProgram,  // a failed program's own code instead of 1; 128+N for signal N
};

enum class NumaBinding : std::uint8_t { kNode, kSocket, kExclusive, kCoreComplex };

// Of --rdzv-conf: what rarely needs a change. Defaults are JobConfig's, except where stated.
struct Tuning {
  // torchrun's is 30 s, counted from the joiner that reached MIN. Ours counts from the last joiner,
  // and is not waited for when every node that has been heard is in, or when there are MAX.
  Duration last_call{std::chrono::seconds(3)};
  Duration last_call_cap{std::chrono::seconds(60)};  // raised to last_call where that is longer
  // As torchrun's; `never` where there are --spares.
  std::optional<Duration> join_timeout{std::chrono::minutes(10)};
  // Declared bounds; those not given follow from the detection target (job.h).
  std::optional<Duration> round_trip, journal, pause, start_up;
  std::optional<Duration> orphan_bound;
  Duration journal_lost_after{std::chrono::minutes(10)};
  Duration cool_down{std::chrono::seconds(60)};
  Duration resize_deadline{std::chrono::seconds(60)};
  Duration budget_reset{std::chrono::hours(1)};
  Duration restart_back_off{std::chrono::seconds(1)};       // doubles from here
  Duration restart_back_off_cap{std::chrono::seconds(10)};  // to here
  Duration min_healthy_grace{std::chrono::minutes(10)};
  std::optional<std::uint32_t> max_churn;
  std::uint32_t node_unit = 1;
  bool operator==(const Tuning&) const = default;
};

// Of the subcommands.
struct Control {
  Endpoint endpoint;
  std::string node;  // leave, preempt: whom, as `status` names it; empty: this machine's
  std::optional<Duration> deadline;  // preempt
  bool json = false;                 // status
  bool operator==(const Control&) const = default;
};

struct Options {
  Action action = Action::kRun;
  Control control;

  // Nodes and workers.
  std::uint32_t min_nodes = 1, max_nodes = 1;
  std::uint32_t spares = 0;  // nodes beyond max_nodes that are expected to wait
  std::uint32_t nodes_on_this_machine = 1;
  std::uint32_t workers_per_node = 1;  // of this node; `auto` and its kin are resolved
  std::string role = "default";
  std::optional<std::uint32_t> node_rank;  // the order key: ranks of the first round follow it
  bool virtual_local_rank = false;
  std::optional<NumaBinding> numa_binding;

  // Rendezvous.
  Backend backend = Backend::kHosted;
  std::optional<Endpoint> endpoint;    // where agents meet; empty: they all are in this process
  std::optional<Endpoint> workers_at;  // kStatic only, and always: MASTER_ADDR and MASTER_PORT
  std::string job_id;                  // never empty for kRun; any printable text
  std::optional<bool> is_host;         // this node keeps the journal; empty: whoever can bind
  std::string local_addr;              // that others reach this node at; empty: found out
  std::string token_file;              // empty: no token
  Tuning tuning;

  // Failures.
  Duration detection_target{std::chrono::seconds(1)};
  std::uint32_t max_restarts = 0;  // of the whole job
  RestartPolicy restart_policy = RestartPolicy::kAnyFailure;
  Growth growth = Growth::kAlways;  // kAlways or kNever
  std::uint32_t min_healthy = 0;    // zero: off
  Duration shutdown_timeout{std::chrono::seconds(30)};
  std::vector<int> stop_signals;       // this node leaves on them; ascending
  std::vector<int> forwarded_signals;  // handed on to the workers, and nothing else; ascending
  ExitCodes exit_code = ExitCodes::kOwn;

  Program program;

  // Logs.
  std::string log_dir;  // empty: a new directory in the system's place for temporary files
  real::StreamModes redirects, tee;
  std::set<int> local_ranks_filter;  // console; empty: all
  std::set<int> ranks_filter;        // the same, by global rank
  std::vector<std::string> duplicate_stdout_filters, duplicate_stderr_filters;
  std::string log_line_prefix_template;  // never empty unless asked for; see logs/prefix.h
  std::string record, events;            // files; empty: none

  // What the user should know of the options, one line each, for stderr: those that are accepted
  // and have no meaning here, among others.
  std::vector<std::string> notices;

  // Two options that say the same are equal; notices do not count.
  [[nodiscard]] bool same(const Options& other) const;
};

// --log-dir: no files at all are wanted.
constexpr std::string_view kNoLogFiles = "/dev/null";

// Instead of options: print `text` and exit with `status`. A mistake is one line.
struct Ended {
  int status = 0;
  std::string text;
  bool to_stderr = false;
};

// `argv` is without the name of the command. Options of the launcher come first; the first word
// that is no option is the program, and all that follows belongs to it. A command line goes before
// the environment (an empty variable counts as none), and that before the default.
tl::expected<Options, Ended> parse(const std::vector<std::string>& argv, const Environment& env,
                                   const Machine& machine);

// A command line (without the name of the command) that `parse`, with no environment, makes the
// same options of.
std::vector<std::string> render(const Options& options);

}  // namespace elastic::launch
