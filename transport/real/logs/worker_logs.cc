#include "transport/real/logs/worker_logs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "transport/real/logs/pump.h"
#include "transport/real/logs/tail.h"

namespace elastic::real {
namespace {

constexpr int kPipeBytes[] = {1 << 20, 1 << 18};  // the largest that the system grants

using WorkGuard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

// Who waits for a worker's streams; on the loop's thread.
struct Waiter {
  std::function<void()> drained;
  WorkGuard work;  // the loop does not end before
};

// How the pump reaches the loop, until the loop wants no more of it.
struct Door {
  explicit Door(boost::asio::io_context& context) : loop(&context) {}
  std::mutex mutex;
  boost::asio::io_context* loop;          // null once closed
  std::map<WorkerStart, Waiter> waiters;  // of the loop's thread
};

void call_waiter(Door& door, WorkerStart id) {
  auto found = door.waiters.extract(id);
  if (found && found.mapped().drained) found.mapped().drained();
}

struct Pipe {
  int read = -1;
  int write = -1;
};

tl::expected<Pipe, std::string> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return tl::make_unexpected(
        fmt::format("cannot make a pipe for a worker's output: {}", std::strerror(errno)));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // the worker's end stays blocking
  for (const int bytes : kPipeBytes) {
    if (::fcntl(ends[1], F_SETPIPE_SZ, bytes) > 0) break;
  }
  return Pipe{ends[0], ends[1]};
}

struct OneStream {
  int for_worker = -1;
  std::optional<StreamSetup> setup;  // none: the worker writes into the file itself
  std::string path;
};

void close_all(const OneStream& stream) {
  if (stream.for_worker >= 0) ::close(stream.for_worker);
  if (!stream.setup) return;
  for (const int descriptor :
       {stream.setup->pipe, stream.setup->file, stream.setup->filtered_file}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

}  // namespace

struct WorkerLogs::Parts {
  struct Worker {
    WorkerStart start;
    LogPlace placement;
    LogPaths paths;
    std::shared_ptr<Tail> out;  // null: written by the worker itself, see paths
    std::shared_ptr<Tail> err;
  };

  Parts(boost::asio::io_context& loop, LogOptions log_options, Console to, JobFolder made);
  std::string rank_folder(const LogPlace& placement);
  tl::expected<OneStream, std::string> make_stream(const LogPlace& placement, OutputKind which,
                                                   const std::string& folder);
  bool shown(const LogPlace& placement) const;
  void complain(const LogPlace& placement, const std::string& what);

  LogOptions options;
  Console console;
  JobFolder folder;
  std::shared_ptr<Door> door;
  std::shared_ptr<Pump> pump;
  std::map<int, Worker> workers;  // by local rank
  WorkerStart newest;
  bool stopped = false;
};

WorkerLogs::Parts::Parts(boost::asio::io_context& loop, LogOptions log_options, Console to,
                         JobFolder made)
    : options(std::move(log_options)),
      console(std::move(to)),
      folder(std::move(made)),
      door(std::make_shared<Door>(loop)) {
  pump = std::make_shared<Pump>(options.drain_bound, [at = door](WorkerStart id) {
    const std::lock_guard lock(at->mutex);
    if (at->loop != nullptr) boost::asio::post(*at->loop, [at, id] { call_waiter(*at, id); });
  });
}

void WorkerLogs::Parts::complain(const LogPlace& placement, const std::string& what) {
  console.say(Console::Target::kErr,
              fmt::format("[elastic] round {}, rank {}: {}; its output goes to the console",
                          placement.round.number, placement.rank, what));
}

std::string WorkerLogs::Parts::rank_folder(const LogPlace& placement) {
  auto made = folder.make_rank(placement);
  if (made) return *made;
  complain(placement, made.error());
  return {};
}

bool WorkerLogs::Parts::shown(const LogPlace& placement) const {
  const auto allows = [](const std::set<int>& ranks, int rank) {
    return ranks.empty() || ranks.count(rank) > 0;
  };
  return allows(options.local_ranks_shown, placement.local_rank) &&
         allows(options.ranks_shown, placement.rank);
}

tl::expected<OneStream, std::string> WorkerLogs::Parts::make_stream(const LogPlace& placement,
                                                                    OutputKind which,
                                                                    const std::string& at) {
  const bool is_out = which == OutputKind::kOut;
  const auto wanted = [&](const StreamModes& modes) {
    const StreamMode mode = modes.of(placement.local_rank);
    return is_out ? mode.out : mode.err;
  };
  const bool tee = wanted(options.tee);
  const bool redirected = wanted(options.redirects) && !tee;
  const auto& filters = is_out ? options.stdout_filters : options.stderr_filters;
  OneStream made;
  StreamSetup setup;
  bool file_failed = at.empty();
  if (folder.has_logs() && (tee || redirected) && !file_failed) {
    made.path = fmt::format("{}/{}.log", at, is_out ? "stdout" : "stderr");
    if (const auto file = JobFolder::create_file(made.path)) {
      setup.file = *file;
    } else {
      complain(placement, file.error());
      file_failed = true;
      made.path.clear();
    }
  }
  if (folder.has_logs() && !filters.empty() && !at.empty()) {
    const auto name = is_out ? "filtered_stdout.log" : "filtered_stderr.log";
    setup.filtered_file = folder.shared_file(placement.round, name).value_or(-1);
  }
  if (setup.file >= 0 && redirected && setup.filtered_file < 0) {
    made.for_worker = setup.file;
    return made;
  }
  setup.file_path = made.path;
  setup.on_console = shown(placement) && (!redirected || file_failed);
  setup.target = is_out ? Console::Target::kOut : Console::Target::kErr;
  setup.prefix =
      expand_prefix(options.prefix, {options.role_name, options.folder.node, placement.local_rank,
                                     placement.rank, placement.round});
  setup.name = fmt::format("{} of rank {}", is_out ? "stdout" : "stderr", placement.rank);
  setup.filters = filters;
  setup.limits = options.limits;
  setup.tail = std::make_shared<Tail>();
  const auto pipe = make_pipe();
  if (pipe) {
    setup.pipe = pipe->read;
    made.for_worker = pipe->write;
  }
  made.setup = std::move(setup);
  if (pipe) return made;
  close_all(made);
  return tl::make_unexpected(pipe.error());
}

tl::expected<std::unique_ptr<WorkerLogs>, std::string> WorkerLogs::make(
    boost::asio::io_context& loop, LogOptions options, Console console) {
  auto folder = JobFolder::make(options.folder);
  if (!folder) return tl::make_unexpected(folder.error());
  auto parts = std::make_unique<Parts>(loop, std::move(options), std::move(console), *folder);
  return std::unique_ptr<WorkerLogs>(new WorkerLogs(std::move(parts)));
}

WorkerLogs::WorkerLogs(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

WorkerLogs::~WorkerLogs() { stop(); }

tl::expected<Streams, std::string> WorkerLogs::open(const LogPlace& placement) {
  Parts& p = *parts_;
  if (p.stopped) return tl::make_unexpected(std::string("the logs were stopped"));
  const std::string at = p.rank_folder(placement);
  auto out = p.make_stream(placement, OutputKind::kOut, at);
  if (!out) return tl::make_unexpected(out.error());
  auto err = p.make_stream(placement, OutputKind::kErr, at);
  if (!err) {
    close_all(*out);
    return tl::make_unexpected(err.error());
  }
  const auto before = p.workers.find(placement.local_rank);
  if (before != p.workers.end()) p.pump->superseded(before->second.start);

  Parts::Worker worker;
  worker.start = WorkerStart{++p.newest.value};
  worker.placement = placement;
  worker.paths = {at, out->path, err->path, at.empty() ? "" : at + "/error.json"};
  std::vector<StreamSetup> setups;
  if (out->setup) {
    worker.out = out->setup->tail;
    setups.push_back(std::move(*out->setup));
  }
  if (err->setup) {
    worker.err = err->setup->tail;
    setups.push_back(std::move(*err->setup));
  }
  p.pump->add(worker.start, p.console, std::move(setups));
  if (!at.empty()) {
    p.pump->run(
        [folder = p.folder, at, placement] { folder.write_where(at, placement, std::nullopt); });
  }
  const std::string error_file = worker.paths.error_file;
  p.workers.insert_or_assign(placement.local_rank, std::move(worker));
  return Streams{out->for_worker, err->for_worker, error_file};
}

void WorkerLogs::started(int local_rank, pid_t pid) {
  Parts& p = *parts_;
  const auto found = p.workers.find(local_rank);
  if (p.stopped || found == p.workers.end() || found->second.paths.folder.empty()) return;
  p.pump->run([folder = p.folder, at = found->second.paths.folder,
               placement = found->second.placement,
               pid] { folder.write_where(at, placement, pid); });
}

void WorkerLogs::exited(int local_rank, std::function<void()> drained) {
  Parts& p = *parts_;
  const auto found = p.workers.find(local_rank);
  if (p.stopped) return;
  if (found == p.workers.end()) {
    boost::asio::post(*p.door->loop, std::move(drained));
    return;
  }
  const WorkerStart id = found->second.start;
  Waiter waiter{std::move(drained), boost::asio::make_work_guard(*p.door->loop)};
  if (p.door->waiters.emplace(id, std::move(waiter)).second) p.pump->exited(id);
}

std::vector<std::string> WorkerLogs::tail(int local_rank, OutputKind which) const {
  const auto found = parts_->workers.find(local_rank);
  if (found == parts_->workers.end()) return {};
  const Parts::Worker& worker = found->second;
  const bool is_out = which == OutputKind::kOut;
  if (const auto& kept = is_out ? worker.out : worker.err) return kept->lines();
  return last_lines_of_file(is_out ? worker.paths.out : worker.paths.err);
}

std::vector<std::string> WorkerLogs::tail(int local_rank) const {
  auto lines = tail(local_rank, OutputKind::kErr);
  return lines.empty() ? tail(local_rank, OutputKind::kOut) : lines;
}

LogPaths WorkerLogs::paths(int local_rank) const {
  const auto found = parts_->workers.find(local_rank);
  return found == parts_->workers.end() ? LogPaths{} : found->second.paths;
}

const std::string& WorkerLogs::folder() const { return parts_->folder.path(); }

void WorkerLogs::stop() {
  Parts& p = *parts_;
  if (std::exchange(p.stopped, true)) return;
  p.pump->stop(p.options.stop_bound);
  {
    const std::lock_guard lock(p.door->mutex);
    p.door->loop = nullptr;
  }
  p.door->waiters.clear();
  p.folder.remove_if_temporary();
}

}  // namespace elastic::real
