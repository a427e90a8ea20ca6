// The local workers of one agent: started for a round, supervised, and every end told once.
//
// The workers run under a supervisor process (supervisor_main.h) that is made anew for each start;
// a spare one is kept ready, so that a restart costs one message and as many forks as there are
// workers. Every exit is told as soon as it happens, but for the last one: that comes when no
// process of the tree is left (those that the workers left behind are killed after a short grace),
// so that a round whose last exit was told runs nowhere on this machine.
//
// Should the supervisor itself be killed, its workers die with it, and this kills what else it
// leaves (the agent is made a sub-reaper): the workers are told as ended by signal 9.
//
// A process that SIGKILL does not end (it hangs in the kernel) is named, and does not block: its
// worker is told as ended by signal 9, and its supervisor stays behind to wait for it.
//
// Threads: all calls and handlers in the loop's one thread. Handlers are never called from within a
// call to this class; a handler may call anything here but the destructor.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/membership/config.h"
#include "core/membership/records.h"
#include "core/types.h"
#include "transport/real/process/supervisor_main.h"

namespace elastic::real {

struct WorkerSpec {
  std::vector<std::string> argv;  // without a '/', argv[0] is looked for in the PATH of `env`
  std::vector<std::string> env;   // the whole of it, KEY=VALUE; no string holds a zero byte
  std::string cwd;                // empty: that of the agent
  // Standard output and error. Owned by the caller, who may close them when start() has returned.
  int out = 1;
  int err = 2;
};

// The end of one worker.
struct WorkerEnd {
  std::uint32_t local_rank = 0;
  pid_t pid = 0;  // 0: there never was a process
  ExitStatus status;
  bool core_dumped = false;
  bool last_of_group = false;  // no process of this group is left (unless named as unkillable)
};

// "exit code 3", "signal 11 (SIGSEGV), core dumped".
std::string describe_end(const ExitStatus& status, bool core_dumped = false);

struct WorkerGroupOptions {
  Timeouts timeouts;  // lease and orphan
  // A process that is still there this long after SIGKILL is named, and no longer waited for.
  Duration unkillable_after{std::chrono::seconds(10)};
  // What the last worker leaves behind may end by itself within this. (Helpers of Python's
  // multiprocessing and of torch remove shared memory once their worker is gone.)
  Duration straggler_grace{std::chrono::milliseconds(250)};
  std::string mark;          // value of kAgentMark in the workers' environment; empty: none
  std::string state_folder;  // where the supervisors are written down (leftovers.h); empty: nowhere
  std::string supervisor_program = "/proc/self/exe";
  std::string supervisor_name{kSupervisorName};
};

struct WorkerGroupHandlers {
  // The program runs. (A worker that ends before its program runs is told by `exited` alone.)
  std::function<void(std::uint32_t local_rank, pid_t pid)> started;
  // Once for every worker that start() was given. A program that was not found ends with code 127,
  // one that could not be run with 126, as in a shell; one for which there was no process, by
  // signal 9.
  std::function<void(const WorkerEnd& end)> exited;
  // Says why, before exited().
  std::function<void(std::uint32_t local_rank, const std::string& why)> start_failed;
  // For people: "4711 (python3, state D)". What remains to be told by exited() follows at once.
  std::function<void(const std::vector<std::string>& processes)> unkillable;
  // Something is wrong that stops nothing, such as a full disk.
  std::function<void(const std::string& text)> warning;
};

class WorkerGroup {
 public:
  using Options = WorkerGroupOptions;
  using Handlers = WorkerGroupHandlers;

  // Makes this process a sub-reaper: see own_children.h.
  WorkerGroup(boost::asio::io_context& loop, Options options, Handlers handlers);
  // To the supervisors, as if the agent had died; but a tree that still runs is killed first.
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  // Starts workers[local_rank] for this round; the lease counts from `lease_from`
  // (CLOCK_MONOTONIC). REQUIRES: !alive(), a round, at least one worker and at most kMaxWorkers.
  void start(RoundId round, Time lease_from, const std::vector<WorkerSpec>& workers);
  // Effect RenewLease: input TreeRenewed of the supervisor.
  void renew(Time from, RoundId running);
  // Effect StopWorkers: SIGTERM to the workers, or SIGKILL to the whole tree.
  void stop(bool kill);
  // Effect KillWorker: SIGKILL to that worker and what descends from it.
  void kill_worker(std::uint32_t local_rank);
  // A signal that is no stop order (SIGUSR1 from a scheduler), to the workers themselves.
  void forward(int signal);

  // The last exit was not told yet.
  bool alive() const;
  // Makes a spare supervisor ready, if there is none. Done by itself at construction, and whenever
  // the workers of a start are running.
  void prepare();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace elastic::real
