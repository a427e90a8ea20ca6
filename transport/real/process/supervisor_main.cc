#include "transport/real/process/supervisor_main.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "core/agent/supervisor.h"
#include "transport/real/process/descriptor.h"
#include "transport/real/process/protocol.h"
#include "transport/real/process/worker_start.h"

namespace elastic::real {
namespace {

constexpr Duration kFirstKillAgain = std::chrono::milliseconds(5);
constexpr Duration kLastKillAgain = std::chrono::milliseconds(200);
constexpr int kMaxSweeps = 64;  // a tree that forks faster than this is swept again by the timer

struct Worker {
  PackedProgram program;
  Descriptor out, err;  // closed once the worker has its own
  ProcessName process;
  Descriptor exec_result;
  bool ended = false;
};

class SupervisorProcess {
 public:
  SupervisorProcess(int socket, SignalFunction signal) : socket_(socket), signal_(signal) {}

  bool open();
  int run();

 private:
  // Messages.
  void read_messages();
  void on_packet(ReceivedPacket& packet, std::span<const std::byte> bytes);
  bool add(const AddWorkers& add, std::vector<Descriptor>& fds);
  bool start(const StartTree& start);
  bool on_message(const SupervisorMessage& message, std::vector<Descriptor>& fds);
  void agent_gone();
  void tell(const SupervisorMessage& message);
  void flush();

  // The machine and its tree.
  void step(const SupervisorInput& input);
  void carry_out(TreeSignal signal);
  void signal_workers(int signal);
  void sweep(int signal);
  void kill_one(std::uint64_t rank);

  // What happens to processes.
  void read_exec_results();
  void read_exec_result_of(std::uint32_t rank);
  void reap();
  void ended(pid_t pid, int status);
  void look_at_tree(bool no_child_left);
  void tell_unkillable();

  void on_time(Time now);
  void arm_timer();
  void wait();
  bool finished() const;

  Descriptor socket_, signals_, timer_;
  SignalFunction signal_;
  std::deque<std::vector<std::byte>> outbox_;
  std::vector<std::vector<char>> memory_;  // what the programs point into
  std::vector<Worker> workers_;            // by local rank
  std::size_t running_ = 0;                // workers that have not ended
  std::optional<Supervisor> machine_;
  Duration unkillable_after_{}, straggler_grace_{};
  bool agent_gone_ = false;
  bool stopped_ = false;
  bool killed_ = false;
  bool empty_ = false;
  bool unkillable_told_ = false;
  Time machine_at_ = kEndOfTime;
  Time kill_again_at_ = kEndOfTime;
  Duration kill_again_after_ = kFirstKillAgain;
  Time unkillable_at_ = kEndOfTime;
  Time stragglers_at_ = kEndOfTime;
};

bool SupervisorProcess::open() {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0) return false;
  if (type != SOCK_SEQPACKET) return false;
  ::fcntl(socket_.get(), F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_NAME, "elastic-super");
  // Every signal waits: those that mean the agent (Ctrl-C) do not end this process, and none is
  // lost between the fork and the exec of a worker.
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  signals_ = Descriptor(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  timer_ = Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  return signals_ && timer_ && ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

int SupervisorProcess::run() {
  while (!finished()) {
    arm_timer();
    wait();
    read_exec_results();
    reap();
    read_messages();
    on_time(monotonic_now());
    flush();
  }
  return 0;
}

bool SupervisorProcess::finished() const {
  if (machine_ && !empty_) return false;
  return agent_gone_ || (empty_ && outbox_.empty());
}

void SupervisorProcess::wait() {
  std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}};
  if (!agent_gone_) {
    const short wanted = outbox_.empty() ? POLLIN : POLLIN | POLLOUT;
    fds.push_back({socket_.get(), wanted, 0});
  }
  for (const Worker& worker : workers_) {
    if (worker.exec_result) fds.push_back({worker.exec_result.get(), POLLIN, 0});
  }
  ::poll(fds.data(), fds.size(), -1);
  std::array<char, 1024> rest;
  for (const int fd : {signals_.get(), timer_.get()}) {
    while (::read(fd, rest.data(), rest.size()) > 0) {
    }
  }
}

// Absolute times: a timer that was set before the machine froze is due right after it.
void SupervisorProcess::arm_timer() {
  const Time at = std::min({machine_at_, kill_again_at_, unkillable_at_, stragglers_at_});
  itimerspec spec{};
  if (at != kEndOfTime) {
    const std::int64_t ns = std::max<std::int64_t>(at.time_since_epoch().count(), 1);
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void SupervisorProcess::on_time(Time now) {
  if (now >= machine_at_) {
    machine_at_ = kEndOfTime;
    step(TreeTimer{});
  }
  if (now >= stragglers_at_) {
    stragglers_at_ = kEndOfTime;
    step(TreeSignalled{true});
  }
  if (now >= kill_again_at_) {
    kill_again_after_ = std::min(kill_again_after_ * 2, kLastKillAgain);
    kill_again_at_ = now + kill_again_after_;
    sweep(SIGKILL);
    reap();
  }
  if (now >= unkillable_at_) {
    unkillable_at_ = kEndOfTime;
    tell_unkillable();
  }
}

// ---- Messages

void SupervisorProcess::read_messages() {
  std::array<std::byte, kMaxMessageBytes> buffer;
  while (!agent_gone_) {
    ReceivedPacket packet = receive_packet(socket_.get(), buffer.data(), buffer.size());
    if (packet.kind == ReceivedPacket::Kind::kNothing) return;
    if (packet.kind == ReceivedPacket::Kind::kClosed) return agent_gone();
    on_packet(packet, std::span(buffer).first(packet.size));
  }
}

void SupervisorProcess::on_packet(ReceivedPacket& packet, std::span<const std::byte> bytes) {
  const auto message = packet.truncated ? std::nullopt : decode(bytes);
  // Whoever sends this is no agent of ours: without one the tree stops, and the agent, if there is
  // one, sees the socket close.
  if (!message || !on_message(*message, packet.fds)) agent_gone();
}

bool SupervisorProcess::on_message(const SupervisorMessage& message, std::vector<Descriptor>& fds) {
  if (const auto* adding = std::get_if<AddWorkers>(&message)) return add(*adding, fds);
  if (!fds.empty()) return false;
  if (const auto* starting = std::get_if<StartTree>(&message)) return start(*starting);
  if (const auto* renew = std::get_if<RenewTree>(&message)) {
    step(TreeRenewed{Time(Duration(renew->from)), {{renew->journal}, renew->round}});
  } else if (const auto* stop = std::get_if<StopTree>(&message)) {
    step(TreeSignalled{stop->kill != 0});
  } else if (const auto* one = std::get_if<KillOne>(&message)) {
    kill_one(one->rank);
  } else if (const auto* forward = std::get_if<ForwardSignal>(&message)) {
    signal_workers(static_cast<int>(forward->signal));
  } else {
    return false;
  }
  return true;
}

bool SupervisorProcess::add(const AddWorkers& add, std::vector<Descriptor>& fds) {
  if (machine_ || add.first_rank != workers_.size()) return false;
  if (fds.size() != std::size_t{add.count} * 2 + 1) return false;
  std::vector<char>& bytes = memory_.emplace_back(add.bytes);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(fds[0].get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  auto programs = unpack_programs(bytes, add.count);
  if (!programs) return false;
  for (std::size_t i = 0; i < programs->size(); ++i) {
    Worker worker;
    worker.program = std::move((*programs)[i]);
    worker.out = std::move(fds[1 + 2 * i]);
    worker.err = std::move(fds[2 + 2 * i]);
    workers_.push_back(std::move(worker));
  }
  return true;
}

bool SupervisorProcess::start(const StartTree& start) {
  if (machine_ || workers_.empty()) return false;
  Timeouts timeouts;
  timeouts.lease = Duration(start.lease);
  timeouts.orphan = Duration(start.orphan);
  unkillable_after_ = Duration(start.unkillable_after);
  straggler_grace_ = Duration(start.straggler_grace);
  machine_.emplace(timeouts);
  for (std::uint32_t rank = 0; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    StartedProcess started = start_worker(worker.program, worker.out.get(), worker.err.get());
    worker.out.close();
    worker.err.close();
    if (started.pid == 0) {
      worker.ended = true;
      const auto stage = static_cast<std::uint64_t>(started.failure.stage);
      tell(ToldNotStarted{rank, started.failure.error, stage});
      tell(ToldExited{rank, 0, 0, SIGKILL, 0});
      continue;
    }
    const auto stat = read_stat(started.pid);
    worker.process = {started.pid, stat ? stat->start : 0};
    worker.exec_result = std::move(started.exec_result);
    ++running_;
  }
  step(TreeStarted{{{start.journal}, start.round}, Time(Duration(start.lease_from))});
  reap();
  return true;
}

void SupervisorProcess::agent_gone() {
  if (agent_gone_) return;
  agent_gone_ = true;
  outbox_.clear();
  ::shutdown(socket_.get(), SHUT_RDWR);
  step(AgentGone{});
}

void SupervisorProcess::tell(const SupervisorMessage& message) {
  if (!agent_gone_) outbox_.push_back(encode(message));
}

void SupervisorProcess::flush() {
  while (!outbox_.empty() && !agent_gone_) {
    const int error =
        send_packet(socket_.get(), outbox_.front().data(), outbox_.front().size(), {});
    if (error == EAGAIN || error == ENOBUFS) return;
    if (error != 0) {
      // What the agent has sent before it left does not count any more.
      agent_gone();
      return;
    }
    outbox_.pop_front();
  }
}

// ---- The machine and its tree

void SupervisorProcess::step(const SupervisorInput& input) {
  if (!machine_) return;
  SupervisorEffects effects;
  machine_->step(monotonic_now(), input, effects);
  machine_->check();
  for (const SupervisorEffect& effect : effects) {
    if (const auto* signal = std::get_if<SignalTree>(&effect)) {
      carry_out(signal->signal);
    } else if (const auto* arm = std::get_if<ArmTreeTimer>(&effect)) {
      machine_at_ = arm->at;
    }
  }
}

void SupervisorProcess::carry_out(TreeSignal signal) {
  switch (signal) {
    case TreeSignal::kStop:
      stopped_ = true;
      return sweep(SIGSTOP);
    case TreeSignal::kContinue:
      stopped_ = false;
      return sweep(SIGCONT);
    case TreeSignal::kTerminate:
      return signal_workers(SIGTERM);
    case TreeSignal::kKill:
      break;
  }
  stopped_ = false;
  killed_ = true;
  machine_at_ = stragglers_at_ = kEndOfTime;
  kill_again_at_ = monotonic_now() + kill_again_after_;
  unkillable_at_ = monotonic_now() + unkillable_after_;
  sweep(SIGKILL);
}

void SupervisorProcess::signal_workers(int signal) {
  for (const Worker& worker : workers_) {
    if (!worker.ended) signal_(worker.process, signal);
  }
}

// Until a look at the table finds no process that was not signalled yet. A process that was about
// to fork while it was signalled has done so before the next look, or does not do so any more.
void SupervisorProcess::sweep(int signal) {
  std::set<ProcessName> signalled;
  for (int look = 0; look < kMaxSweeps; ++look) {
    bool found = false;
    for (const ProcessStat& process : descendants(::getpid())) {
      if (process.zombie()) continue;
      const bool halted = process.state == 'T' || process.state == 't';
      if (signal == SIGSTOP && halted) continue;
      if (!signalled.insert({process.pid, process.start}).second) continue;
      signal_({process.pid, process.start}, signal);
      found = true;
    }
    if (!found) return;
  }
}

// A worker and what descends from it, or has stayed in its process group when its parent died.
void SupervisorProcess::kill_one(std::uint64_t rank) {
  if (rank >= workers_.size() || workers_[rank].ended) return;
  const ProcessName worker = workers_[rank].process;
  std::set<ProcessName> signalled;
  for (int look = 0; look < kMaxSweeps; ++look) {
    const std::vector<ProcessStat> table = all_processes();
    std::vector<ProcessStat> targets = descendants(table, worker.pid);
    for (const ProcessStat& process : descendants(table, ::getpid())) {
      if (process.pid == worker.pid || process.group == worker.pid) targets.push_back(process);
    }
    bool found = false;
    for (const ProcessStat& process : targets) {
      if (process.zombie()) continue;
      if (!signalled.insert({process.pid, process.start}).second) continue;
      signal_({process.pid, process.start}, SIGKILL);
      found = true;
    }
    if (!found) return;
  }
}

// ---- What happens to processes

void SupervisorProcess::read_exec_results() {
  for (std::uint32_t rank = 0; rank < workers_.size(); ++rank) read_exec_result_of(rank);
}

void SupervisorProcess::read_exec_result_of(std::uint32_t rank) {
  Worker& worker = workers_[rank];
  if (!worker.exec_result) return;
  const ExecResult result = read_exec_result(worker.exec_result);
  if (!result.closed) return;
  worker.exec_result.close();
  if (result.failure) {
    const auto stage = static_cast<std::uint64_t>(result.failure->stage);
    tell(ToldNotStarted{rank, result.failure->error, stage});
  } else {
    tell(ToldStarted{rank, worker.process.pid});
  }
}

void SupervisorProcess::reap() {
  if (!machine_ || empty_) return;
  bool no_child_left = false;
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | __WALL);
    if (pid > 0) {
      ended(pid, status);
      continue;
    }
    no_child_left = pid < 0 && errno == ECHILD;
    break;
  }
  look_at_tree(no_child_left);
}

void SupervisorProcess::ended(pid_t pid, int status) {
  for (std::uint32_t rank = 0; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    if (worker.ended || worker.process.pid != pid) continue;
    read_exec_result_of(rank);
    worker.ended = true;
    --running_;
    ToldExited told{rank, pid, 0, 0, 0};
    if (WIFSIGNALED(status)) {
      told.signal = WTERMSIG(status);
      told.core_dumped = WCOREDUMP(status) ? 1 : 0;
    } else {
      told.code = WEXITSTATUS(status);
    }
    tell(told);
    return;
  }
}

// After every look at what has ended. No child left means no descendant left: an orphan becomes a
// child of this process.
void SupervisorProcess::look_at_tree(bool no_child_left) {
  if (running_ == 0 && no_child_left) {
    empty_ = true;
    machine_at_ = kill_again_at_ = unkillable_at_ = stragglers_at_ = kEndOfTime;
    step(TreeEmpty{});
    tell(ToldEmpty{});
    return;
  }
  if (killed_) return;
  if (running_ == 0 && stragglers_at_ == kEndOfTime) {
    stragglers_at_ = monotonic_now() + straggler_grace_;
  }
  // The kernel lets a stopped process group continue when it loses its last parent outside.
  if (stopped_) sweep(SIGSTOP);
}

void SupervisorProcess::tell_unkillable() {
  if (unkillable_told_) return;
  unkillable_told_ = true;
  ToldUnkillable told;
  for (const ProcessStat& process : descendants(::getpid())) {
    if (process.zombie()) continue;
    if (told.count < kNamedPids) told.pids[told.count] = process.pid;
    ++told.count;
  }
  // A process that looks dead and cannot be reaped has a thread that hangs.
  for (const Worker& worker : workers_) {
    if (worker.ended || told.count > 0) continue;
    told.pids[told.count++] = worker.process.pid;
  }
  tell(told);
}

}  // namespace

int supervisor_main(int socket, SignalFunction signal) {
  SupervisorProcess process(socket, signal);
  if (!process.open()) return 2;
  return process.run();
}

}  // namespace elastic::real
