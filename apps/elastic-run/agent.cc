#include "apps/elastic-run/agent.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <memory>
#include <optional>

#include "apps/elastic-run/exit_codes.h"
#include "apps/elastic-run/job.h"
#include "apps/elastic-run/machine.h"
#include "apps/elastic-run/reporter.h"
#include "apps/elastic-run/worker_environment.h"
#include "core/assert.h"
#include "transport/real/process/own_children.h"
#include "transport/real/runtime/foreign_workers.h"
#include "transport/real/runtime/runtime.h"

namespace elastic::launch {
namespace {

namespace asio = boost::asio;

constexpr Duration kRemind = std::chrono::seconds(1);
constexpr std::uint16_t kUnordered = 0x8000;  // order key of a node without --node-rank
constexpr std::uint16_t kHostFirst = 0x0001;

// Where this agent stands among those of this machine.
struct Seat {
  unsigned index = 0;                      // of --nodes-on-this-machine; 0: the first
  std::optional<real::Endpoint> endpoint;  // where agents meet; empty: in this process
  std::string token;                       // empty: none
  std::vector<pid_t> others;               // of index 0: the processes of the other agents
};

[[noreturn]] void give_up(int status, const std::string& text) {
  fmt::print(stderr, "elastic-run: {}\n", text);
  std::fflush(stderr);
  std::_Exit(status);
}

std::string token_of(const Options& options, bool several_machines) {
  if (!options.token_file.empty()) {
    auto token = read_token(options.token_file);
    if (!token) give_up(kExitUsage, token.error());
    return *token;
  }
  if (several_machines) {
    fmt::print(stderr,
               "[elastic] without --token-file whoever reaches the endpoint and knows the job's id "
               "can join, read or stop this job\n");
    return {};
  }
  std::string token;
  for (const char byte : real::random_bytes(24))
    token += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  if (const auto stored = store_token(options.job_id, token); !stored)
    give_up(kExitInfrastructure, stored.error());
  return token;
}

// The other agents of this machine are processes that go on from here.
Seat take_seat(const Options& options) {
  const bool several_machines = options.max_nodes + options.spares > options.nodes_on_this_machine;
  Seat seat;
  seat.token = token_of(options, several_machines);
  if (options.endpoint)
    seat.endpoint = real::Endpoint{options.endpoint->host, options.endpoint->port};
  if (options.nodes_on_this_machine <= 1) return seat;
  std::optional<real::Endpoint> meet = seat.endpoint;
  if (!meet) {
    const auto port = real::free_port({});
    if (!port) give_up(kExitInfrastructure, "no free port was found for the agents to meet at");
    meet = real::Endpoint{"127.0.0.1", *port};
    seat.endpoint = meet;
  }
  const pid_t first = ::getpid();
  for (unsigned index = 1; index < options.nodes_on_this_machine; ++index) {
    const pid_t pid = ::fork();
    if (pid < 0)
      give_up(kExitInfrastructure,
              fmt::format("an agent cannot be started: {}", std::strerror(errno)));
    if (pid == 0) {
      // Whoever tries Elastic out on one machine ends all of it by ending the first.
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != first) std::_Exit(kExitInfrastructure);
      seat.index = index;
      seat.others.clear();
      return seat;
    }
    real::declare_own_child(pid);
    seat.others.push_back(pid);
  }
  return seat;
}

class AgentProgram {
 public:
  AgentProgram(const Options& options, const Machine& machine, const Environment& environment,
               Seat seat)
      : options_(options),
        machine_(machine),
        environment_(environment),
        seat_(std::move(seat)),
        signals_(loop_),
        forwarded_(loop_),
        reminder_(loop_) {}

  int run();

 private:
  bool hosts() const;
  std::string host_name() const;
  void make_logs();
  void make_workers();
  void make_runtime(bool host);
  void await_signal();
  void await_forwarded();
  void remind();
  void on_stop_signal(int signal);
  int wait_for_others();

  const Options& options_;
  const Machine& machine_;
  const Environment& environment_;
  Seat seat_;
  asio::io_context loop_;
  asio::signal_set signals_, forwarded_;
  asio::steady_timer reminder_;
  std::optional<real::Slot> slot_;
  AgentId self_;
  real::Console console_;
  std::unique_ptr<real::WorkerLogs> logs_;
  std::unique_ptr<Reporter> reporter_;
  std::unique_ptr<real::ForeignWorkers> workers_;
  std::unique_ptr<real::Runtime> runtime_;
  int stop_signals_ = 0;
  std::optional<int> status_;
};

bool AgentProgram::hosts() const {
  if (!seat_.endpoint) return true;
  if (seat_.index > 0) return false;
  if (options_.is_host) return *options_.is_host;
  if (options_.nodes_on_this_machine > 1 && !options_.endpoint) return true;
  return is_this_machine(seat_.endpoint->host) && port_is_free(seat_.endpoint->port);
}

std::string AgentProgram::host_name() const {
  if (options_.nodes_on_this_machine <= 1) return machine_.hostname;
  return fmt::format("{}-{}", machine_.hostname, seat_.index);
}

void AgentProgram::make_logs() {
  real::LogOptions logs;
  logs.folder.log_dir = options_.log_dir;
  logs.folder.job = options_.job_id;
  logs.folder.node = host_name();
  logs.folder.host = machine_.hostname;
  logs.role_name = options_.role;
  logs.prefix = options_.log_line_prefix_template;
  logs.redirects = options_.redirects;
  logs.tee = options_.tee;
  for (const std::uint32_t rank : options_.local_ranks_filter)
    logs.local_ranks_shown.insert(static_cast<int>(rank));
  for (const std::uint32_t rank : options_.ranks_filter)
    logs.ranks_shown.insert(static_cast<int>(rank));
  logs.stdout_filters = options_.duplicate_stdout_filters;
  logs.stderr_filters = options_.duplicate_stderr_filters;
  auto made = real::WorkerLogs::make(loop_, std::move(logs), console_);
  if (!made) give_up(kExitInfrastructure, made.error());
  logs_ = *std::move(made);
}

void AgentProgram::make_workers() {
  real::ForeignOptions foreign;
  const std::string mark = fmt::format("{:016x}", self_.node.value);
  foreign.workers = options_.workers_per_node;
  JobConfig job = job_config(options_, NodeId{1});
  const auto timeouts = derive_timeouts(job);
  ELASTIC_ASSERT(std::holds_alternative<Timeouts>(timeouts));  // the command line was checked
  foreign.group.timeouts = std::get<Timeouts>(timeouts);
  foreign.group.mark = mark;
  foreign.group.state_folder = slot_->folder;
  foreign.leftovers.state_folder = slot_->folder;
  foreign.leftovers.mark = mark;
  foreign.command = [this, mark](const Placement& placement, std::uint32_t local_rank,
                                 const wire::PeerAddress& master, const std::string& error_file) {
    const WorkerPlace place{
        placement, local_rank, {master.ip, static_cast<std::uint16_t>(master.port)}, error_file};
    const WorkerStart start =
        worker_start(options_, place, {host_name(), self_.node, mark}, environment_);
    real::WorkerSpec spec;
    spec.argv = start.argv;
    for (const auto& [name, value] : start.env) spec.env.push_back(name + "=" + value);
    return spec;
  };
  workers_ = std::make_unique<real::ForeignWorkers>(
      loop_, std::move(foreign), *logs_,
      real::ForeignWorkers::Handlers{
          .remains = [this](const real::WorkerRemains& remains) { reporter_->on_remains(remains); },
          .line = [this](const std::string& text) { reporter_->say(text); },
          .started = [this] { reporter_->on_started(); }});
}

void AgentProgram::make_runtime(bool host) {
  real::RuntimeOptions runtime;
  runtime.job = job_config(options_, host ? self_.node : NodeId{1});
  runtime.timeouts = std::get<Timeouts>(derive_timeouts(runtime.job));
  if (!host) runtime.job.journal_host = {};
  runtime.links.job = options_.job_id;
  runtime.links.key = real::key_of_job(options_.job_id, seat_.token);
  runtime.links.self = self_;
  runtime.links.host_name = host_name();
  runtime.links.publish = options_.local_addr;
  runtime.links.limits.unacknowledged =
      std::max<Duration>(2 * runtime.timeouts.lost_after, std::chrono::milliseconds(500));
  if (!host) runtime.links.endpoint = seat_.endpoint;
  runtime.listen_port = host && seat_.endpoint ? seat_.endpoint->port : 0;
  const std::string folder = slot_->folder;
  runtime.journal_file = folder + "/journal";
  const std::string drawn = real::random_bytes(sizeof runtime.seed);
  std::memcpy(&runtime.seed, drawn.data(), sizeof runtime.seed);
  runtime.record = options_.record;
  if (!runtime.record.empty() && seat_.index > 0) runtime.record += fmt::format(".{}", seat_.index);
  runtime.reach_within = runtime.job.join_timeout;
  runtime_ = std::make_unique<real::Runtime>(loop_, std::move(runtime), *workers_, *reporter_);
  workers_->attach(*runtime_);
  reporter_->attach(*runtime_);
}

int AgentProgram::run() {
  ::signal(SIGPIPE, SIG_IGN);
  reporter_ = std::make_unique<Reporter>(options_, console_, seat_.index > 0);
  bool host = hosts();
  auto slot = slot_for(options_.job_id, host);
  if (!slot) give_up(kExitInfrastructure, slot.error());
  slot_ = std::move(*slot);
  const std::uint16_t order =
      options_.node_rank ? static_cast<std::uint16_t>(std::min(*options_.node_rank + 2, 0x7fffU))
      : host             ? kHostFirst
                         : static_cast<std::uint16_t>(kUnordered + std::min(seat_.index, 0x7000U));
  auto self = real::next_life(*slot_, order);
  if (!self) give_up(kExitInfrastructure, self.error());
  self_ = *self;
  make_logs();
  make_workers();
  make_runtime(host);
  if (const auto problem = runtime_->listen()) {
    give_up(
        kExitInfrastructure,
        host ? fmt::format("the endpoint cannot be listened at: {}; another program has the port, "
                           "or an agent of this job that started at the same time",
                           *problem)
             : fmt::format("no port can be listened at: {}", *problem));
  }
  // Signals that were ignored when this program started (nohup) stay ignored.
  for (const int signal : options_.stop_signals) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    signals_.add(signal);
  }
  for (const int signal : options_.forwarded_signals) forwarded_.add(signal);
  await_signal();
  await_forwarded();
  remind();
  runtime_->start([this](const real::RuntimeEnd& end) {
    status_ = reporter_->conclude(end);
    loop_.stop();
  });
  loop_.run();
  ELASTIC_ASSERT(status_.has_value());
  logs_->stop();
  const int others = wait_for_others();
  (void)console_.flush(real::Console::kEndBound);
  return *status_ == kExitDone ? others : *status_;
}

void AgentProgram::await_signal() {
  signals_.async_wait([this](boost::system::error_code failed, int signal) {
    if (failed) return;
    on_stop_signal(signal);
    await_signal();
  });
}

void AgentProgram::await_forwarded() {
  forwarded_.async_wait([this](boost::system::error_code failed, int signal) {
    if (failed) return;
    workers_->forward(signal);
    await_forwarded();
  });
}

void AgentProgram::on_stop_signal(int signal) {
  ++stop_signals_;
  const char* name = ::sigabbrev_np(signal);
  if (stop_signals_ > 1) {
    // A second Ctrl-C is meant. A scheduler may well repeat SIGTERM, and a terminal that closes
    // sends more than one signal.
    if (signal == SIGINT) runtime_->abort("stopped at once by a second SIGINT");
    return;
  }
  if (runtime_->node() == nullptr)
    return runtime_->abort(fmt::format("stopped by SIG{} before it had a part in the job", name));
  const bool alone = runtime_->links().connected().empty();
  if (alone) {
    reporter_->say(fmt::format("SIG{}: the job is stopped (there is no other node)", name));
    // Without anybody who leads there is nobody to end it.
    if (!runtime_->node()->leading()) return runtime_->abort("stopped while nobody led the job");
    return runtime_->stop_job();
  }
  const bool keeps = runtime_->options().job.journal_host == self_.node;
  reporter_->say(
      fmt::format("SIG{}: this node leaves, the others go on{}", name,
                  keeps ? "; it keeps the journal, so it serves them until the job ends or "
                          "it is killed (Ctrl-C again ends it at once)"
                        : ""));
  runtime_->leave(options_.shutdown_timeout);
}

void AgentProgram::remind() {
  reminder_.expires_after(kRemind);
  reminder_.async_wait([this](boost::system::error_code failed) {
    if (failed) return;
    reporter_->remind();
    remind();
  });
}

// The agents that this one has started. What has not ended soon after the job is asked to.
int AgentProgram::wait_for_others() {
  int worst = kExitDone;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  bool asked = false;
  std::vector<pid_t> left = seat_.others;
  while (!left.empty()) {
    for (auto at = left.begin(); at != left.end();) {
      int how = 0;
      const pid_t done = ::waitpid(*at, &how, WNOHANG);
      if (done == 0) {
        ++at;
        continue;
      }
      if (done > 0 && WIFEXITED(how)) worst = std::max(worst, WEXITSTATUS(how));
      real::forget_own_child(*at);
      at = left.erase(at);
    }
    if (left.empty()) break;
    const auto now = std::chrono::steady_clock::now();
    if (now > end) {
      for (const pid_t pid : left) ::kill(pid, asked ? SIGKILL : SIGTERM);
      if (asked) break;
      asked = true;
    }
    ::usleep(2000);
  }
  // An agent that was killed on purpose (this is where people try that) does not fail a job that
  // has succeeded without it.
  return *status_ == kExitDone ? kExitDone : worst;
}

}  // namespace

int run_job(const Options& options, const Machine& machine, const Environment& environment) {
  Seat seat = take_seat(options);
  return AgentProgram(options, machine, environment, std::move(seat)).run();
}

}  // namespace elastic::launch
