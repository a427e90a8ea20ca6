#include "chaos/run/pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <system_error>
#include <vector>

#include "chaos/run/interrupt.h"

namespace elastic::chaos {
namespace {

// On the way there: the number of the item, 8 bytes. A frame on the way back: this head, then
// `size` bytes.
struct FrameHead {
  std::uint64_t size = 0;
  std::uint64_t last_words = 0;
};

bool write_all(int fd, const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int fd, void* data, std::size_t size) {
  char* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = read(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

struct Worker {
  pid_t pid = -1;
  int to = -1;    // items
  int from = -1;  // frames
  std::optional<std::size_t> item;
  std::string buffer;
};

class Pool {
 public:
  Pool(const PoolOptions& options, const PoolWork& work) : options_(options), work_(work) {}
  ~Pool() {
    for (Worker& worker : workers_) end(worker, true);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  bool run(const std::function<bool(const PoolResult&)>& done, const std::function<void()>& tick) {
    const std::size_t jobs = std::min<std::size_t>(std::max(1U, options_.jobs),
                                                   std::max<std::size_t>(1, options_.items));
    while (workers_.size() < jobs && next_ < options_.items) {
      workers_.emplace_back();
      start(workers_.back());
      feed(workers_.back());
    }
    std::size_t finished = 0;
    while (finished < options_.items) {
      if (interrupted()) return false;
      std::vector<pollfd> polls;
      for (const Worker& worker : workers_) polls.push_back({worker.from, POLLIN, 0});
      const int ready = poll(polls.data(), polls.size(), 200);
      if (tick) tick();
      if (ready <= 0) continue;
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (polls[i].revents == 0 || workers_[i].pid < 0) continue;
        if (const std::optional<PoolResult> result = receive(workers_[i])) {
          ++finished;
          if (!done(*result)) return false;
          feed(workers_[i]);
        }
      }
    }
    return true;
  }

 private:
  void start(Worker& worker) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (pipe2(to.data(), O_CLOEXEC) != 0) throw_errno("pipe");
    if (pipe2(from.data(), O_CLOEXEC) != 0) throw_errno("pipe");
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) throw_errno("fork");
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(0);
      ignore_interrupts();
      for (const Worker& other : workers_) {
        if (other.pid > 0) close(other.to), close(other.from);
      }
      close(to[1]);
      close(from[0]);
      serve(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    worker = Worker{};
    worker.pid = pid;
    worker.to = to[1];
    worker.from = from[0];
  }

  [[noreturn]] void serve(int items, int frames) const {
    std::uint64_t item = 0;
    while (read_all(items, &item, sizeof item)) {
      bool emitted = false;
      work_(static_cast<std::size_t>(item), [&](const std::string& payload, bool last_words) {
        const FrameHead head{payload.size(), last_words ? 1U : 0U};
        if (emitted || !write_all(frames, &head, sizeof head) ||
            !write_all(frames, payload.data(), payload.size())) {
          _exit(1);
        }
        emitted = true;
      });
      if (!emitted) _exit(1);
    }
    std::fflush(nullptr);
    _exit(0);
  }

  void feed(Worker& worker) {
    if (next_ >= options_.items) return;
    if (worker.pid < 0) start(worker);
    const std::uint64_t item = next_;
    worker.item = next_++;
    worker.buffer.clear();
    // A worker that has just died is noticed when its pipe is read.
    static_cast<void>(write_all(worker.to, &item, sizeof item));
  }

  std::optional<PoolResult> receive(Worker& worker) {
    std::array<char, 65536> chunk{};
    const ssize_t n = read(worker.from, chunk.data(), chunk.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
    if (n <= 0) {
      const std::optional<std::size_t> item = worker.item;
      const int status = end(worker, false);
      if (!item.has_value()) return std::nullopt;
      return PoolResult{.item = *item, .payload = {}, .crashed = true, .status = status};
    }
    worker.buffer.append(chunk.data(), static_cast<std::size_t>(n));
    FrameHead head;
    if (worker.buffer.size() < sizeof head || !worker.item) return std::nullopt;
    std::memcpy(&head, worker.buffer.data(), sizeof head);
    if (worker.buffer.size() - sizeof head < head.size) return std::nullopt;
    PoolResult result{.item = *worker.item,
                      .payload = worker.buffer.substr(sizeof head, head.size),
                      .crashed = head.last_words != 0,
                      .status = 0};
    worker.item.reset();
    worker.buffer.clear();
    if (result.crashed) result.status = end(worker, false);
    return result;
  }

  // Ends the process (killed, or already ending) and returns its status in a shell's terms.
  static int end(Worker& worker, bool kill_it) {
    if (worker.pid < 0) return 0;
    close(worker.to);
    if (kill_it) kill(worker.pid, SIGKILL);
    int status = 0;
    while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    close(worker.from);
    worker = Worker{};
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  [[noreturn]] static void throw_errno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
  }

  const PoolOptions& options_;
  const PoolWork& work_;
  std::vector<Worker> workers_;
  std::size_t next_ = 0;
};

}  // namespace

bool run_pool(const PoolOptions& options, const PoolWork& work,
              const std::function<bool(const PoolResult&)>& done,
              const std::function<void()>& tick) {
  // A worker that dies between two items must not end this process.
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  sigemptyset(&ignore.sa_mask);
  sigaction(SIGPIPE, &ignore, &before);
  bool all = false;
  try {
    all = Pool(options, work).run(done, tick);
  } catch (...) {
    sigaction(SIGPIPE, &before, nullptr);
    throw;
  }
  sigaction(SIGPIPE, &before, nullptr);
  return all;
}

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace elastic::chaos
