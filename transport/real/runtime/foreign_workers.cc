#include "transport/real/runtime/foreign_workers.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "core/assert.h"

namespace elastic::real {
namespace {

std::int64_t unix_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ForeignWorkers::ForeignWorkers(asio::io_context& loop, ForeignOptions options, WorkerLogs& logs,
                               Handlers handlers)
    : loop_(loop), options_(std::move(options)), logs_(logs), handlers_(std::move(handlers)) {
  ELASTIC_ASSERT(options_.workers > 0);
}

void ForeignWorkers::make_group() {
  ELASTIC_ASSERT(group_ == nullptr);
  WorkerGroupHandlers handlers;
  handlers.started = [this](std::uint32_t rank, pid_t pid) { on_started(rank, pid); };
  handlers.exited = [this](const WorkerEnd& end) { on_exited(end); };
  handlers.start_failed = [this](std::uint32_t rank, const std::string& why) {
    handlers_.line(fmt::format("worker {} was not started: {}", rank, why));
  };
  handlers.unkillable = [this](const std::vector<std::string>& processes) {
    handlers_.line(fmt::format(
        "still there after SIGKILL: {}; the kernel holds it (often a hung disk or GPU): "
        "not waited for any longer, but the machine needs a look",
        fmt::join(processes, ", ")));
  };
  handlers.warning = [this](const std::string& text) { handlers_.line(text); };
  group_ = std::make_unique<WorkerGroup>(loop_, options_.group, std::move(handlers));
}

void ForeignWorkers::kill_leftovers() {
  real::kill_leftovers(loop_, options_.leftovers, [this](const LeftoversResult& result) {
    if (result.killed > 0) {
      handlers_.line(fmt::format("killed {} process{} that an earlier agent left on this node",
                                 result.killed, result.killed == 1 ? "" : "es"));
    }
    for (const std::string& process : result.surviving) {
      handlers_.line(fmt::format("left by an earlier agent and not to be killed: {}", process));
    }
    make_group();
    runtime_->feed(LeftoversKilled{});
  });
}

// Core prepares native workers alone.
void ForeignWorkers::prepare() { ELASTIC_ASSERT(runtime_ == nullptr); }
void ForeignWorkers::leave(const LeaveRound& /*order*/) { ELASTIC_ASSERT(runtime_ == nullptr); }

void ForeignWorkers::enter(const Placement& placement) {
  ELASTIC_ASSERT(state_ == State::kNone);
  placement_ = placement;
  started_ = 0;
  stopping_ = false;
  state_ = State::kMeeting;
  group_->prepare();
  runtime_->meeting().find(placement,
                           [this, round = placement.round](const wire::PeerAddress& master) {
                             if (state_ == State::kMeeting && placement_.round == round)
                               start(master);
                           });
}

void ForeignWorkers::start(const wire::PeerAddress& master) {
  if (master.port == 0) {
    handlers_.line("no free port was found for the round's programs to meet at");
    return fail_all({125, 0});
  }
  std::vector<WorkerSpec> workers;
  std::vector<int> opened;
  for (std::uint32_t local = 0; local < options_.workers; ++local) {
    const auto streams = logs_.open({placement_.round, static_cast<int>(local),
                                     static_cast<int>(placement_.first_rank + local)});
    if (!streams) {
      handlers_.line(streams.error());
      break;
    }
    WorkerSpec spec = options_.command(placement_, local, master, streams->error_file);
    spec.out = streams->out;
    spec.err = streams->err;
    opened.push_back(streams->out);
    opened.push_back(streams->err);
    workers.push_back(std::move(spec));
  }
  if (workers.size() == options_.workers) {
    state_ = State::kRunning;
    group_->start(placement_.round, lease_from_, workers);
  }
  for (const int fd : opened) ::close(fd);
  if (workers.size() < options_.workers) fail_all({125, 0});
}

// There never was a process.
void ForeignWorkers::fail_all(ExitStatus status) {
  ELASTIC_ASSERT(state_ == State::kMeeting);
  state_ = State::kNone;
  runtime_->meeting().forget();
  for (std::uint32_t local = 0; local < options_.workers; ++local) {
    const bool last = local + 1 == options_.workers;
    runtime_->feed(WorkerExited{placement_.round, local, status, last, {}});
  }
}

void ForeignWorkers::on_started(std::uint32_t local_rank, pid_t pid) {
  logs_.started(static_cast<int>(local_rank), pid);
  ++started_;
  if (started_ < options_.workers) return;
  runtime_->feed(WorkersEntered{placement_.round, {}});
  handlers_.started();
}

void ForeignWorkers::on_exited(const WorkerEnd& end) {
  ELASTIC_ASSERT(state_ == State::kRunning);
  WorkerRemains remains;
  remains.round = placement_.round;
  remains.local_rank = end.local_rank;
  remains.rank = placement_.first_rank + end.local_rank;
  remains.pid = end.pid;
  remains.status = end.status;
  remains.core_dumped = end.core_dumped;
  remains.asked_to_end = stopping_;
  remains.at_unix_ns = unix_now_ns();
  ++draining_;
  logs_.exited(static_cast<int>(end.local_rank), [this, remains]() mutable {
    remains.tail = logs_.tail(static_cast<int>(remains.local_rank));
    remains.paths = logs_.paths(static_cast<int>(remains.local_rank));
    handlers_.remains(remains);
    drained();
  });
  if (end.last_of_group) state_ = State::kNone;
  runtime_->feed(WorkerExited{placement_.round, end.local_rank, end.status, end.last_of_group, {}});
  finished();
}

void ForeignWorkers::stop(bool kill) {
  stopping_ = true;
  // Told to core from the loop: it has asked within a step.
  if (state_ == State::kMeeting) return fail_all({0, kill ? SIGKILL : SIGTERM});
  if (state_ == State::kRunning) group_->stop(kill);
}

void ForeignWorkers::kill_worker(std::uint32_t local_rank) {
  if (state_ == State::kRunning) group_->kill_worker(local_rank);
}

void ForeignWorkers::renew(const RenewLease& renewal) {
  lease_from_ = renewal.from;
  if (state_ == State::kRunning) group_->renew(renewal.from, renewal.running);
}

void ForeignWorkers::finish(std::function<void()> done) {
  done_ = std::move(done);
  if (state_ == State::kMeeting) {
    state_ = State::kNone;
    runtime_->meeting().forget();
  }
  if (state_ == State::kRunning) group_->stop(true);
  finished();
}

void ForeignWorkers::drained() {
  ELASTIC_ASSERT(draining_ > 0);
  --draining_;
  finished();
}

void ForeignWorkers::finished() {
  if (!done_ || state_ != State::kNone || draining_ > 0) return;
  asio::post(loop_, std::exchange(done_, nullptr));
}

}  // namespace elastic::real
