// What /proc says of processes.
//
// Alternative rejected: /proc/PID/task/TID/children. Not every kernel has it
// (CONFIG_PROC_CHILDREN), and it costs one file per thread where the table costs one per process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/real/process/descriptor.h"

namespace elastic::real {

struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';         // R S D T Z ... as in proc(5)
  std::uint64_t start = 0;  // clock ticks since boot: with the pid, names the process
  std::string name;         // "comm", at most 15 bytes
  bool zombie() const { return state == 'Z' || state == 'X'; }
};

// Names a process for good: a pid alone is used again.
struct ProcessName {
  pid_t pid = 0;
  std::uint64_t start = 0;
  auto operator<=>(const ProcessName&) const = default;
};

// The text of /proc/PID/stat. Nothing: it is not one.
std::optional<ProcessStat> parse_stat(std::string_view text);
std::optional<ProcessStat> read_stat(pid_t pid);

// Every process that was there during the whole call is in it.
std::vector<ProcessStat> all_processes();

// Those of `table` below `root`, children first found first, without `root`.
std::vector<ProcessStat> descendants(const std::vector<ProcessStat>& table, pid_t root);
std::vector<ProcessStat> descendants(pid_t root);

// This process and all above it.
std::vector<pid_t> self_and_ancestors();

// Drawn by the kernel at each boot.
std::string boot_id();

// Names the agent that a process works for: in the environment of every worker, so that what
// escaped its tree is found nevertheless.
inline constexpr std::string_view kAgentMark = "ELASTIC_AGENT_MARK";
// All processes that were started with "variable=value" in their environment and that we may look
// into.
std::vector<ProcessStat> carriers(std::string_view variable, std::string_view value);

// A pidfd of exactly this process: nothing if it is gone, whoever has its pid now.
Descriptor open_process(ProcessName name);
// Signals exactly this process. False: it is gone, or we may not.
bool signal_process(ProcessName name, int signal);
// For people: "4711 (python3, state D)".
std::string describe_process(const ProcessStat& process);

}  // namespace elastic::real
