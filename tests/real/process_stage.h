// A worker group with what it has told, for tests.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/real/process/descriptor.h"
#include "transport/real/process/process_table.h"
#include "transport/real/process/worker_group.h"

namespace elastic::real::test {

// Within this something must have happened: far more than it takes.
inline constexpr std::chrono::seconds kPatience{30};

inline Timeouts long_lease() {
  Timeouts timeouts;
  timeouts.lease = std::chrono::hours(1);
  timeouts.orphan = std::chrono::hours(2);
  return timeouts;
}

inline RoundId round_of(std::uint64_t number) { return {JournalLife{1}, number}; }

// Until `holds()`, looking often. False: it did not come to that.
template <class Condition>
bool eventually(Condition holds) {
  const Time end = monotonic_now() + kPatience;
  while (!holds()) {
    if (monotonic_now() > end) return false;
    ::usleep(1000);
  }
  return true;
}

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "elastic-real-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A pipe whose write end is given to workers: what descends from them holds it, too, so that the
// read end says when the last of them is gone.
class Lifeline {
 public:
  Lifeline() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
      read_ = Descriptor(ends[0]);
      write_ = Descriptor(ends[1]);
    }
  }
  int write_end() const { return write_.get(); }
  void let_go() { write_.close(); }
  // Also takes in what was written.
  bool all_gone() {
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::read(read_.get(), buffer, sizeof buffer);
      if (got == 0) return true;
      if (got < 0) return false;
      text_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  const std::string& text() {
    all_gone();
    return text_;
  }

 private:
  Descriptor read_, write_;
  std::string text_;
};

inline std::vector<std::string> environment(std::vector<std::string> more = {}) {
  more.push_back("PATH=/usr/local/bin:/usr/bin:/bin");
  return more;
}

inline WorkerSpec shell(const std::string& script, int out) {
  return {{"/bin/sh", "-c", script}, environment(), "/", out, out};
}

struct Stage {
  explicit Stage(WorkerGroupOptions given = {}) : options(std::move(given)) {
    if (options.timeouts.lease == Duration{}) options.timeouts = long_lease();
    if (options.mark.empty()) options.mark = new_mark();
    group = std::make_unique<WorkerGroup>(loop, options, handlers());
  }
  ~Stage() {
    group.reset();
    line.let_go();
  }

  static std::string new_mark() {
    static int count = 0;
    return "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  }

  WorkerGroupHandlers handlers() {
    WorkerGroupHandlers h;
    h.started = [this](std::uint32_t rank, pid_t pid) { started[rank] = pid; };
    h.exited = [this](const WorkerEnd& end) { ends.push_back(end); };
    h.start_failed = [this](std::uint32_t rank, const std::string& why) { failed[rank] = why; };
    h.unkillable = [this](const std::vector<std::string>& names) { unkillable = names; };
    h.warning = [this](const std::string& text) { warnings.push_back(text); };
    return h;
  }

  void start(const std::vector<std::string>& scripts, std::optional<Time> from = {},
             std::uint64_t round = 1) {
    std::vector<WorkerSpec> specs;
    for (const std::string& script : scripts) specs.push_back(shell(script, line.write_end()));
    group->start(round_of(round), from.value_or(monotonic_now()), specs);
  }

  template <class Condition>
  bool until(Condition holds) {
    const Time end = monotonic_now() + kPatience;
    while (!holds()) {
      if (monotonic_now() > end) return false;
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  bool until_over() {
    return until([&] { return !ends.empty() && ends.back().last_of_group; });
  }
  bool until_said(const std::string& text, std::size_t times = 1) {
    return until([&] {
      std::size_t found = 0;
      const std::string& said = line.text();
      for (std::size_t at = said.find(text); at != std::string::npos; at = said.find(text, at + 1))
        ++found;
      return found >= times;
    });
  }
  // Nothing that descends from the workers is left, whatever it has done.
  bool nothing_left() {
    line.let_go();
    return until([&] { return line.all_gone(); });
  }

  boost::asio::io_context loop;
  WorkerGroupOptions options;
  Lifeline line;
  std::map<std::uint32_t, pid_t> started;
  std::map<std::uint32_t, std::string> failed;
  std::vector<WorkerEnd> ends;  // in the order told
  std::vector<std::string> unkillable;
  std::vector<std::string> warnings;
  std::unique_ptr<WorkerGroup> group;
};

// 'R', 'S', 'T' ...; 'X' where there is no such process.
inline char state_of(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? stat->state : 'X';
}
inline bool stopped(pid_t pid) { return state_of(pid) == 'T'; }
inline bool runs(pid_t pid) { return state_of(pid) == 'S' || state_of(pid) == 'R'; }
inline bool gone(pid_t pid) { return state_of(pid) == 'X' || state_of(pid) == 'Z'; }

// Pids that scripts have printed as "NAME=PID".
inline pid_t pid_in(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name + "=");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + name.size() + 1);
}

}  // namespace elastic::real::test
