#include "transport/real/process/orphans.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "transport/real/process/own_children.h"

namespace elastic::real {
namespace {

bool is_one_of(pid_t pid, std::span<const pid_t> pids) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

bool to_be_killed(const ProcessStat& process, const std::string& mark,
                  std::span<const pid_t> groups) {
  if (process.parent != ::getpid() || is_own_child(process.pid)) return false;
  if (::getpid() != 1) return true;
  if (is_one_of(process.group, groups) || is_one_of(process.session, groups)) return true;
  const std::string environment =
      read_small_file("/proc/" + std::to_string(process.pid) + "/environ", 8 << 20);
  const std::string marked = std::string(kAgentMark) + "=" + mark;
  return !mark.empty() && environment.find(marked) != std::string::npos;
}

}  // namespace

std::vector<ProcessStat> kill_adopted(const std::string& mark, std::span<const pid_t> groups) {
  const std::vector<ProcessStat> table = all_processes();
  std::vector<ProcessStat> left;
  for (const ProcessStat& child : table) {
    if (!to_be_killed(child, mark, groups)) continue;
    for (const ProcessStat& below : descendants(table, child.pid)) {
      if (below.zombie()) continue;
      signal_process({below.pid, below.start}, SIGKILL);
      left.push_back(below);
    }
    ::kill(child.pid, SIGKILL);  // a child that was not reaped: the pid is its own
    if (::waitpid(child.pid, nullptr, WNOHANG | __WALL) == 0) left.push_back(child);
  }
  return left;
}

}  // namespace elastic::real
