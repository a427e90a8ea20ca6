// Any program as the workers of a node: started anew for each round, with its output taken care of.
//
// A round's programs start when the place where they meet is known (meeting.h). Which command and
// environment each has is asked of the owner. Every end is told to core at once; what the program
// printed last is known a moment later, when its pipes were read to their end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "transport/real/logs/worker_logs.h"
#include "transport/real/process/leftovers.h"
#include "transport/real/process/worker_group.h"
#include "transport/real/runtime/runtime.h"
#include "transport/real/runtime/workers.h"

namespace elastic::real {

struct ForeignOptions {
  std::uint32_t workers = 1;
  WorkerGroupOptions group;
  LeftoversOptions leftovers;
  // The command and environment of one worker (`out` and `err` are set here).
  std::function<WorkerSpec(const Placement&, std::uint32_t local_rank,
                           const wire::PeerAddress& master, const std::string& error_file)>
      command;
};

// A worker's end with what is known of it once its output is complete.
struct WorkerRemains {
  RoundId round;
  std::uint32_t local_rank = 0;
  std::uint32_t rank = 0;
  pid_t pid = 0;
  ExitStatus status;
  bool core_dumped = false;
  bool asked_to_end = false;  // it was told to stop, or killed, before
  std::int64_t at_unix_ns = 0;
  std::vector<std::string> tail;
  LogPaths paths;
};

class ForeignWorkers final : public Workers {
 public:
  struct Handlers {
    std::function<void(const WorkerRemains&)> remains;  // of each worker, once
    std::function<void(const std::string&)> line;       // for people
    std::function<void()> started;                      // all programs of a round run
  };
  // `logs` outlives this.
  ForeignWorkers(asio::io_context& loop, ForeignOptions options, WorkerLogs& logs,
                 Handlers handlers);
  // Before the first effect.
  void attach(Runtime& runtime) { runtime_ = &runtime; }

  void kill_leftovers() override;
  void prepare() override;
  void enter(const Placement& placement) override;
  void leave(const LeaveRound& order) override;
  void stop(bool kill) override;
  void kill_worker(std::uint32_t local_rank) override;
  void renew(const RenewLease& renewal) override;
  void poll() override {}
  void finish(std::function<void()> done) override;

  // A signal that the agent hands on.
  void forward(int signal) {
    if (group_) group_->forward(signal);
  }
  bool alive() const { return state_ != State::kNone; }

 private:
  enum class State : std::uint8_t { kNone, kMeeting, kRunning };

  void make_group();
  void start(const wire::PeerAddress& master);
  void on_started(std::uint32_t local_rank, pid_t pid);
  void on_exited(const WorkerEnd& end);
  void fail_all(ExitStatus status);
  void drained();
  void finished();

  asio::io_context& loop_;
  ForeignOptions options_;
  WorkerLogs& logs_;
  Handlers handlers_;
  Runtime* runtime_ = nullptr;
  // Made once nothing of an earlier life is left: what it keeps ready would be taken for that.
  std::unique_ptr<WorkerGroup> group_;
  State state_ = State::kNone;
  Placement placement_;
  Time lease_from_{};
  std::uint32_t started_ = 0;
  bool stopping_ = false;
  std::size_t draining_ = 0;  // workers whose output is not complete
  std::function<void()> done_;
};

}  // namespace elastic::real
