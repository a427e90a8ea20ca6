#include "transport/real/process/process_table.h"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace elastic::real {
namespace {

template <class Number>
bool take_number(std::string_view& text, Number& out) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool skip_numbers(std::string_view& text, int count) {
  for (int i = 0; i < count; ++i) {
    std::int64_t ignored = 0;
    if (!take_number(text, ignored)) return false;
  }
  return true;
}

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return pids;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && end == name.data() + name.size()) pids.push_back(pid);
  }
  ::closedir(folder);
  return pids;
}

}  // namespace

// Fields are counted as in proc(5): 1 pid, 2 (comm), 3 state, 4 ppid, 5 pgrp, 6 session, 22 start.
std::optional<ProcessStat> parse_stat(std::string_view text) {
  ProcessStat stat;
  std::string_view head = text;
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');  // the name itself may hold parentheses
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  if (!take_number(head, stat.pid)) return std::nullopt;
  stat.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  if (rest.size() < 2) return std::nullopt;
  stat.state = rest[1];
  rest.remove_prefix(2);
  const bool whole = take_number(rest, stat.parent) && take_number(rest, stat.group) &&
                     take_number(rest, stat.session) && skip_numbers(rest, 15) &&
                     take_number(rest, stat.start);
  if (!whole) return std::nullopt;
  return stat;
}

std::optional<ProcessStat> read_stat(pid_t pid) {
  return parse_stat(read_small_file("/proc/" + std::to_string(pid) + "/stat"));
}

// A process whose parent died between the two looks at /proc hangs in the air: a second look finds
// whom it was given to.
std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> table;
  for (const pid_t pid : all_pids()) {
    if (auto stat = read_stat(pid)) table.push_back(std::move(*stat));
  }
  const auto by_pid = [](const ProcessStat& a, const ProcessStat& b) { return a.pid < b.pid; };
  std::sort(table.begin(), table.end(), by_pid);
  const auto known = [&](pid_t pid) {
    ProcessStat key;
    key.pid = pid;
    return pid == 0 || std::binary_search(table.begin(), table.end(), key, by_pid);
  };
  for (ProcessStat& process : table) {
    for (int look = 0; look < 3 && !known(process.parent); ++look) {
      if (auto again = read_stat(process.pid)) process = std::move(*again);
    }
  }
  return table;
}

std::vector<ProcessStat> descendants(const std::vector<ProcessStat>& table, pid_t root) {
  std::multimap<pid_t, const ProcessStat*> children;
  for (const ProcessStat& process : table) children.emplace(process.parent, &process);
  std::vector<ProcessStat> found;
  std::vector<pid_t> pending = {root};
  // A table that was read while processes came and went could hold a cycle; none is followed twice.
  while (!pending.empty() && found.size() <= table.size()) {
    const pid_t parent = pending.back();
    pending.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      found.push_back(*child->second);
      pending.push_back(child->second->pid);
    }
    children.erase(first, last);
  }
  return found;
}

std::vector<ProcessStat> descendants(pid_t root) { return descendants(all_processes(), root); }

std::vector<pid_t> self_and_ancestors() {
  std::vector<pid_t> pids = {::getpid()};
  for (int depth = 0; depth < 256 && pids.back() > 1; ++depth) {
    const auto stat = read_stat(pids.back());
    if (!stat || stat->parent == 0) break;
    pids.push_back(stat->parent);
  }
  return pids;
}

std::string boot_id() {
  std::string id = read_small_file("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && (id.back() == '\n' || id.back() == ' ')) id.pop_back();
  return id;
}

std::vector<ProcessStat> carriers(std::string_view variable, std::string_view value) {
  std::string wanted(1, '\0');
  wanted.append(variable).append("=").append(value).push_back('\0');
  std::vector<ProcessStat> found;
  for (const pid_t pid : all_pids()) {
    std::string environment(1, '\0');
    environment += read_small_file("/proc/" + std::to_string(pid) + "/environ", 8 << 20);
    environment.push_back('\0');
    if (environment.find(wanted) == std::string::npos) continue;
    if (auto stat = read_stat(pid); stat && !stat->zombie()) found.push_back(std::move(*stat));
  }
  return found;
}

Descriptor open_process(ProcessName name) {
  if (name.pid <= 0) return {};
  Descriptor opened(static_cast<int>(::syscall(SYS_pidfd_open, name.pid, 0)));
  if (!opened) return {};
  // Opened first, looked at afterwards: if it is the right one now, it was when it was opened.
  const auto stat = read_stat(name.pid);
  if (!stat || stat->start != name.start) return {};
  return opened;
}

bool signal_process(ProcessName name, int signal) {
  const Descriptor process = open_process(name);
  return process && ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

std::string describe_process(const ProcessStat& process) {
  return std::to_string(process.pid) + " (" + process.name + ", state " + process.state + ")";
}

}  // namespace elastic::real
