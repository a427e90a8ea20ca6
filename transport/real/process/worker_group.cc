#include "transport/real/process/worker_group.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/assert.h"
#include "transport/real/process/leftovers.h"
#include "transport/real/process/orphans.h"
#include "transport/real/process/supervisor_link.h"
#include "transport/real/process/worker_start.h"

namespace elastic::real {
namespace {

using boost::system::error_code;

constexpr Duration kLookAgain = std::chrono::milliseconds(5);
constexpr Duration kSupervisorAnswers = std::chrono::seconds(2);  // beyond unkillable_after

Descriptor memory_file(const std::string& bytes) {
  Descriptor file(::memfd_create("elastic-workers", MFD_CLOEXEC));
  std::size_t done = 0;
  while (file && done < bytes.size()) {
    const ssize_t wrote = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (wrote <= 0) return {};
    done += static_cast<std::size_t>(wrote);
  }
  return file;
}

WorkerProgram program_of(const WorkerSpec& spec, const std::string& mark) {
  WorkerProgram program{spec.argv, spec.env, spec.cwd};
  if (!mark.empty()) program.env.push_back(std::string(kAgentMark) + "=" + mark);
  return program;
}

}  // namespace

std::string describe_end(const ExitStatus& status, bool core_dumped) {
  if (status.signal == 0) return "exit code " + std::to_string(status.code);
  std::string text = "signal " + std::to_string(status.signal);
  if (const char* name = ::sigabbrev_np(status.signal)) text += std::string(" (SIG") + name + ")";
  return core_dumped ? text + ", core dumped" : text;
}

class WorkerGroup::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::io_context& loop, Options options, Handlers handlers)
      : loop_(loop),
        options_(std::move(options)),
        handlers_(std::move(handlers)),
        look_again_(loop),
        silence_(loop) {}

  void start(RoundId round, Time lease_from, const std::vector<WorkerSpec>& specs);
  void renew(Time from, RoundId running) {
    send(RenewTree{from.time_since_epoch().count(), running.journal.value, running.number});
  }
  void stop(bool kill);
  void send(const SupervisorMessage& message) {
    if (tree_ && tree_->link) tree_->link->send(message);
  }
  bool alive() const { return tree_.has_value(); }
  void prepare();
  void shut_down();

 private:
  struct Worker {
    WorkerProgram program;  // argv and cwd, to name it; no environment
    pid_t pid = 0;
    bool ended = false;
  };
  struct Tree {
    std::vector<Worker> workers;
    std::uint32_t left = 0;         // not ended
    std::uint32_t not_running = 0;  // neither running nor failed yet
    std::shared_ptr<SupervisorLink> link;
    std::optional<WorkerEnd> last;  // the last exit, until the tree is empty
    Time supervisor_gone_at{};
  };
  using Link = std::shared_ptr<SupervisorLink>;

  Link make_supervisor(std::string& error);
  int hand_over(SupervisorLink& link, RoundId round, Time lease_from,
                const std::vector<WorkerSpec>& specs);
  void could_not_start(const std::string& why);
  void on_message(const SupervisorMessage& message);
  void on_not_started(const ToldNotStarted& told);
  void on_exited(const ToldExited& told);
  void on_unkillable(const ToldUnkillable& told);
  void name_unkillable(const std::vector<pid_t>& pids);
  void on_supervisor_gone();
  void kill_orphans();
  void over();
  void settled();
  void write_down();
  void warn(const std::string& text) {
    if (handlers_.warning) handlers_.warning(text);
  }
  void later(void (Impl::*call)()) {
    boost::asio::post(loop_, [weak = weak_from_this(), call] {
      if (const auto self = weak.lock()) ((*self).*call)();
    });
  }

  boost::asio::io_context& loop_;
  Options options_;
  Handlers handlers_;
  boost::asio::steady_timer look_again_, silence_;
  std::optional<Tree> tree_;
  Link spare_;
  std::vector<Link> behind_;  // with unkillable processes, or not quite ended yet
};

// ---- Supervisors

WorkerGroup::Impl::Link WorkerGroup::Impl::make_supervisor(std::string& error) {
  Link link =
      SupervisorLink::start(loop_, options_.supervisor_program, options_.supervisor_name, error);
  if (!link) return nullptr;
  link->listen({.message =
                    [this, raw = link.get()](const SupervisorMessage& message) {
                      if (tree_ && tree_->link.get() == raw) on_message(message);
                    },
                .ended =
                    [this, raw = link.get()] {
                      if (spare_.get() == raw) spare_.reset();
                      std::erase_if(behind_, [raw](const Link& l) { return l.get() == raw; });
                      if (tree_ && tree_->link.get() == raw) on_supervisor_gone();
                      write_down();
                    }});
  return link;
}

void WorkerGroup::Impl::prepare() {
  if (spare_) return;
  std::string error;
  spare_ = make_supervisor(error);
  if (!spare_) return warn(error);
  write_down();
}

// Before any worker runs under it: a spare is written down when it is made.
void WorkerGroup::Impl::write_down() {
  if (options_.state_folder.empty()) return;
  std::vector<ProcessName> names;
  if (spare_) names.push_back(spare_->process());
  if (tree_ && tree_->link) names.push_back(tree_->link->process());
  for (const Link& link : behind_) names.push_back(link->process());
  const std::string error = write_supervisors(options_.state_folder, names);
  if (!error.empty()) warn(error);
}

void WorkerGroup::Impl::shut_down() {
  look_again_.cancel();
  silence_.cancel();
  if (tree_ && tree_->link) {
    tree_->link->send(StopTree{1});
    tree_->link->close();
  }
  if (spare_) spare_->close();
  for (const Link& link : behind_) link->close();
}

// ---- Starting

void WorkerGroup::Impl::start(RoundId round, Time lease_from,
                              const std::vector<WorkerSpec>& specs) {
  ELASTIC_ASSERT(!tree_);
  ELASTIC_ASSERT(round);
  ELASTIC_ASSERT(!specs.empty() && specs.size() <= kMaxWorkers);
  Tree& tree = tree_.emplace();
  tree.left = tree.not_running = static_cast<std::uint32_t>(specs.size());
  for (const WorkerSpec& spec : specs) {
    ELASTIC_ASSERT(!spec.argv.empty());
    tree.workers.push_back({{spec.argv, {}, spec.cwd}, 0, false});
  }
  int error = EPIPE;
  if (spare_) {
    tree.link = std::move(spare_);
    spare_.reset();
    error = hand_over(*tree.link, round, lease_from, specs);
  }
  if (error == EPIPE || error == ECONNRESET) {  // no spare, or it has been killed
    if (tree.link) behind_.push_back(std::move(tree.link));
    std::string why;
    tree.link = make_supervisor(why);
    if (!tree.link) return could_not_start(why);
    write_down();
    error = hand_over(*tree.link, round, lease_from, specs);
  }
  if (error != 0) {
    behind_.push_back(std::move(tree.link));
    behind_.back()->kill();
    tree.link.reset();
    could_not_start(errno_text("cannot hand the workers to the supervisor", error));
  }
}

int WorkerGroup::Impl::hand_over(SupervisorLink& link, RoundId round, Time lease_from,
                                 const std::vector<WorkerSpec>& specs) {
  for (std::size_t first = 0; first < specs.size(); first += kWorkersPerMessage) {
    const std::size_t count = std::min<std::size_t>(kWorkersPerMessage, specs.size() - first);
    std::vector<WorkerProgram> programs;
    for (std::size_t i = 0; i < count; ++i) {
      programs.push_back(program_of(specs[first + i], options_.mark));
    }
    const std::string bytes = pack_programs(programs);
    if (bytes.size() > kMaxSpecBytes) return E2BIG;
    const Descriptor memory = memory_file(bytes);
    if (!memory) return errno;
    std::vector<int> fds = {memory.get()};
    for (std::size_t i = 0; i < count; ++i) {
      fds.push_back(specs[first + i].out);
      fds.push_back(specs[first + i].err);
    }
    const AddWorkers add{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count),
                         bytes.size()};
    if (const int error = link.send(add, fds); error != 0) return error;
  }
  StartTree start;
  start.journal = round.journal.value;
  start.round = round.number;
  start.lease_from = lease_from.time_since_epoch().count();
  start.lease = options_.timeouts.lease.count();
  start.orphan = options_.timeouts.orphan.count();
  start.unkillable_after = options_.unkillable_after.count();
  start.straggler_grace = options_.straggler_grace.count();
  return link.send(start);
}

void WorkerGroup::Impl::could_not_start(const std::string& why) {
  boost::asio::post(loop_, [weak = weak_from_this(), why] {
    const auto self = weak.lock();
    if (!self || !self->tree_) return;
    for (std::uint32_t rank = 0; rank < self->tree_->workers.size(); ++rank) {
      if (self->handlers_.start_failed) self->handlers_.start_failed(rank, why);
    }
    self->over();
  });
}

// ---- Stopping

void WorkerGroup::Impl::stop(bool kill) {
  send(StopTree{kill ? 1U : 0U});
  if (!kill || !tree_ || !tree_->link) return;
  // A supervisor that is frozen carries out nothing.
  silence_.expires_after(options_.unkillable_after + kSupervisorAnswers);
  silence_.async_wait(
      [weak = weak_from_this(), link = std::weak_ptr(tree_->link)](const error_code& failed) {
        const auto self = weak.lock();
        const auto silent = link.lock();
        if (failed || !self || !silent || !self->tree_ || self->tree_->link != silent) return;
        self->warn("the supervisor " + std::to_string(silent->process().pid) +
                   " does not answer and is killed");
        silent->kill();
      });
}

// ---- What the supervisor tells

void WorkerGroup::Impl::on_message(const SupervisorMessage& message) {
  if (const auto* started = std::get_if<ToldStarted>(&message)) {
    if (started->rank >= tree_->workers.size()) return;
    tree_->workers[started->rank].pid = started->pid;
    if (handlers_.started) handlers_.started(started->rank, started->pid);
    settled();
  } else if (const auto* failed = std::get_if<ToldNotStarted>(&message)) {
    on_not_started(*failed);
  } else if (const auto* exited = std::get_if<ToldExited>(&message)) {
    on_exited(*exited);
  } else if (std::get_if<ToldEmpty>(&message) != nullptr) {
    behind_.push_back(std::move(tree_->link));
    over();
  } else if (const auto* unkillable = std::get_if<ToldUnkillable>(&message)) {
    on_unkillable(*unkillable);
  }
}

// When all programs run, there is time to make the next supervisor ready.
void WorkerGroup::Impl::settled() {
  if (tree_ && tree_->not_running > 0 && --tree_->not_running == 0) later(&Impl::prepare);
}

void WorkerGroup::Impl::on_not_started(const ToldNotStarted& told) {
  if (told.rank >= tree_->workers.size()) return;
  const StartFailure failure{static_cast<StartStage>(told.stage), told.error};
  const std::string why = describe_failure(failure, tree_->workers[told.rank].program);
  if (handlers_.start_failed) handlers_.start_failed(told.rank, why);
  settled();
}

void WorkerGroup::Impl::on_exited(const ToldExited& told) {
  if (told.rank >= tree_->workers.size() || tree_->workers[told.rank].ended) return;
  WorkerEnd end;
  end.local_rank = told.rank;
  end.pid = told.pid;
  end.status = {told.code, told.signal};
  end.core_dumped = told.core_dumped != 0;
  tree_->workers[told.rank].ended = true;
  if (--tree_->left == 0) {
    tree_->last = end;
  } else if (handlers_.exited) {
    handlers_.exited(end);
  }
}

void WorkerGroup::Impl::on_unkillable(const ToldUnkillable& told) {
  const std::size_t count = std::min<std::size_t>(told.count, told.pids.size());
  name_unkillable({told.pids.begin(), told.pids.begin() + static_cast<std::ptrdiff_t>(count)});
  if (!tree_) return;
  behind_.push_back(std::move(tree_->link));
  over();
}

void WorkerGroup::Impl::name_unkillable(const std::vector<pid_t>& pids) {
  std::vector<std::string> names;
  for (const pid_t pid : pids) {
    const auto stat = read_stat(pid);
    names.push_back(stat ? describe_process(*stat) : std::to_string(pid));
  }
  if (handlers_.unkillable) handlers_.unkillable(names);
}

// ---- The end

// The supervisor was killed. Its workers die with it; what they left is ours now.
void WorkerGroup::Impl::on_supervisor_gone() {
  tree_->link.reset();
  tree_->supervisor_gone_at = monotonic_now();
  warn("the supervisor was killed from outside; its workers are ended");
  kill_orphans();
}

void WorkerGroup::Impl::kill_orphans() {
  if (!tree_) return;
  std::vector<pid_t> groups;
  for (const Worker& worker : tree_->workers) {
    if (worker.pid != 0) groups.push_back(worker.pid);
  }
  const std::vector<ProcessStat> left = kill_adopted(options_.mark, groups);
  if (left.empty()) return over();
  if (monotonic_now() >= tree_->supervisor_gone_at + options_.unkillable_after) {
    std::vector<pid_t> pids;
    for (const ProcessStat& process : left) pids.push_back(process.pid);
    name_unkillable(pids);
    return over();
  }
  look_again_.expires_after(kLookAgain);
  look_again_.async_wait([weak = weak_from_this()](const error_code& failed) {
    const auto self = weak.lock();
    if (self && !failed) self->kill_orphans();
  });
}

// Nothing is left of the tree, or nothing that can be waited for: tells what was not told yet.
void WorkerGroup::Impl::over() {
  silence_.cancel();
  std::vector<WorkerEnd> ends;
  for (std::uint32_t rank = 0; rank < tree_->workers.size(); ++rank) {
    const Worker& worker = tree_->workers[rank];
    if (worker.ended) continue;
    WorkerEnd end;
    end.local_rank = rank;
    end.pid = worker.pid;
    end.status = {0, SIGKILL};
    ends.push_back(end);
  }
  if (tree_->last) ends.push_back(*tree_->last);
  ELASTIC_ASSERT(!ends.empty());
  ends.back().last_of_group = true;
  const std::uint32_t not_running = tree_->not_running;
  tree_.reset();
  if (not_running > 0) later(&Impl::prepare);
  if (!handlers_.exited) return;
  for (const WorkerEnd& end : ends) handlers_.exited(end);
}

// ---- The front

WorkerGroup::WorkerGroup(boost::asio::io_context& loop, Options options, Handlers handlers)
    : impl_(std::make_shared<Impl>(loop, std::move(options), std::move(handlers))) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  impl_->prepare();
}

WorkerGroup::~WorkerGroup() { impl_->shut_down(); }

void WorkerGroup::start(RoundId round, Time lease_from, const std::vector<WorkerSpec>& workers) {
  impl_->start(round, lease_from, workers);
}
void WorkerGroup::renew(Time from, RoundId running) { impl_->renew(from, running); }
void WorkerGroup::stop(bool kill) { impl_->stop(kill); }
void WorkerGroup::kill_worker(std::uint32_t local_rank) { impl_->send(KillOne{local_rank}); }
void WorkerGroup::forward(int signal) { impl_->send(ForwardSignal{signal}); }
bool WorkerGroup::alive() const { return impl_->alive(); }
void WorkerGroup::prepare() { impl_->prepare(); }

}  // namespace elastic::real
