#include "transport/real/logs/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace elastic::real {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kAtomic = 4096;  // PIPE_BUF: writes of up to so much are not interleaved
constexpr std::chrono::milliseconds kJoinBound{200};

// One descriptor with its queue and its thread. The thread shares it, so that a thread that is
// stuck in the kernel can be left behind.
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  Channel(int descriptor, std::size_t bound);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  bool offer(std::string_view lines);
  void say(std::string_view line);
  void on_room(std::function<void()> call);
  Duration stuck_for() const;
  bool off() const;
  bool flush(Clock::time_point until);
  void end();

 private:
  void queue(std::string_view lines);  // mutex_ is held
  bool roomy() const { return off_ || bytes_ <= bound_ / 2; }
  void run();
  bool write_all(std::string_view lines);
  bool wait_until_writable();
  ssize_t put(std::string_view bytes);

  const std::size_t bound_;
  int descriptor_ = -1;
  int wake_ = -1;  // eventfd: readable once the thread shall end
  bool socket_ = false;

  mutable std::mutex mutex_;
  std::condition_variable work_;  // for the thread
  std::condition_variable idle_;  // for flush() and end()
  std::deque<std::string> queue_;
  std::size_t bytes_ = 0;  // queued, and being written
  std::uint64_t left_out_ = 0;
  bool off_ = false;
  bool ending_ = false;
  bool ended_ = false;  // the thread is about to return
  Clock::time_point progress_{};
  std::vector<std::function<void()>> waiting_;
  std::thread thread_;
};

// A description of our own for pipes and terminals, which may be non-blocking without changing it
// for others; otherwise a duplicate.
int own_descriptor(int descriptor, const struct stat& found) {
  if (S_ISFIFO(found.st_mode) || ::isatty(descriptor) != 0) {
    const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
    const int own = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) return own;
  }
  return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
}

Channel::Channel(int descriptor, std::size_t bound) : bound_(bound) {
  struct stat found {};
  if (descriptor < 0 || ::fstat(descriptor, &found) != 0) {
    off_ = true;
    return;
  }
  socket_ = S_ISSOCK(found.st_mode);
  descriptor_ = own_descriptor(descriptor, found);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  off_ = descriptor_ < 0 || wake_ < 0;
}

Channel::~Channel() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (wake_ >= 0) ::close(wake_);
}

void Channel::queue(std::string_view lines) {
  if (lines.empty()) return;
  if (bytes_ == 0) progress_ = Clock::now();
  queue_.emplace_back(lines);
  bytes_ += lines.size();
  if (!thread_.joinable()) {
    // Signals are for the thread of the loop.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([self = shared_from_this()] { self->run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  work_.notify_one();
}

bool Channel::offer(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  if (off_ || ending_) return true;
  if (bytes_ >= bound_) return false;
  queue(lines);
  return true;
}

void Channel::say(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (off_ || ending_) return;
  if (bytes_ >= bound_ + Console::kReserve) {
    ++left_out_;
    return;
  }
  std::string lines;
  if (left_out_ > 0) {
    lines = fmt::format("[elastic] {} lines of the agent left out: the console was stuck\n",
                        std::exchange(left_out_, 0));
  }
  lines.append(line);
  lines += '\n';
  queue(lines);
}

void Channel::on_room(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!roomy() && !ending_) {
      waiting_.push_back(std::move(call));
      return;
    }
  }
  call();
}

Duration Channel::stuck_for() const {
  const std::lock_guard lock(mutex_);
  return bytes_ == 0 || off_ ? Duration{0} : Duration{Clock::now() - progress_};
}

bool Channel::off() const {
  const std::lock_guard lock(mutex_);
  return off_;
}

bool Channel::flush(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, until, [this] { return bytes_ == 0 || off_; });
}

void Channel::end() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  if (!thread_.joinable()) return;
  work_.notify_one();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(wake_, &one, sizeof one);
  const bool left = idle_.wait_for(lock, kJoinBound, [this] { return ended_; });
  lock.unlock();
  if (left) {
    thread_.join();
  } else {
    thread_.detach();  // blocked in the kernel; it holds nothing but this channel
  }
}

void Channel::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (ending_) break;
    const std::string lines = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const bool written = write_all(lines);
    lock.lock();
    bytes_ -= lines.size();
    if (!written) {
      off_ = true;
      queue_.clear();
      bytes_ = 0;
    }
    if (bytes_ == 0) idle_.notify_all();
    if (roomy() && !waiting_.empty()) {
      const auto calls = std::exchange(waiting_, {});
      lock.unlock();
      for (const auto& call : calls) call();
      lock.lock();
    }
  }
  ended_ = true;
  waiting_.clear();
  idle_.notify_all();
}

// False: the reader is gone, or the channel ends.
bool Channel::write_all(std::string_view lines) {
  while (!lines.empty()) {
    // Whole lines up to kAtomic bytes; a longer line alone.
    std::size_t part = lines.size();
    if (part > kAtomic) {
      const std::size_t last = lines.rfind('\n', kAtomic - 1);
      part = last != std::string_view::npos ? last + 1
                                            : std::min(lines.find('\n'), lines.size() - 1) + 1;
    }
    std::string_view rest = lines.substr(0, part);
    while (!rest.empty()) {
      if (!wait_until_writable()) return false;
      const ssize_t done = put(rest);
      if (done < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (done <= 0) continue;
      rest.remove_prefix(static_cast<std::size_t>(done));
      const std::lock_guard lock(mutex_);
      progress_ = Clock::now();
    }
    lines.remove_prefix(part);
  }
  return true;
}

bool Channel::wait_until_writable() {
  struct pollfd polled[2] = {{descriptor_, POLLOUT, 0}, {wake_, POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(polled, 2, -1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0) return polled[1].revents == 0;
  }
}

ssize_t Channel::put(std::string_view bytes) {
  if (socket_) {
    return ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // No more than surely fits where the descriptor had to stay blocking.
  return ::write(descriptor_, bytes.data(), std::min(bytes.size(), kAtomic));
}

bool same_file(int one, int other) {
  struct stat a {};
  struct stat b {};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino && a.st_rdev == b.st_rdev;
}

}  // namespace

struct Console::Channels {
  explicit Channels(const Options& options)
      : out(std::make_shared<Channel>(options.out, options.bound_bytes)),
        err(same_file(options.out, options.err)
                ? out
                : std::make_shared<Channel>(options.err, options.bound_bytes)) {}
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;
  ~Channels() {
    const auto until = Clock::now() + kEndBound;
    out->flush(until);
    err->flush(until);
    out->end();
    if (err != out) err->end();
  }
  Channel& of(Target target) { return target == Target::kOut ? *out : *err; }

  std::shared_ptr<Channel> out;
  std::shared_ptr<Channel> err;
};

Console::Console(const Options& options) : channels_(std::make_shared<Channels>(options)) {}

bool Console::offer(Target target, std::string_view lines) {
  return channels_->of(target).offer(lines);
}

void Console::say(Target target, std::string_view line) { channels_->of(target).say(line); }

void Console::on_room(Target target, std::function<void()> call) {
  channels_->of(target).on_room(std::move(call));
}

Duration Console::stuck_for(Target target) const { return channels_->of(target).stuck_for(); }

bool Console::off(Target target) const { return channels_->of(target).off(); }

bool Console::flush(Duration bound) {
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(bound);
  const bool out = channels_->out->flush(until);
  return channels_->err->flush(until) && out;
}

}  // namespace elastic::real
