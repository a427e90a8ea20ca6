#include "chaos/run/branch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>

#include "chaos/run/crash.h"
#include "chaos/run/interrupt.h"

namespace elastic::chaos {
namespace {

// The last byte of a text that is whole.
constexpr char kEnd = '\0';

[[noreturn]] void be_the_copy(int to, const std::function<std::string()>& work) {
  ignore_interrupts();
  crash_without_a_word();
  std::string text;
  try {
    text = work();
  } catch (...) {
    _exit(kCrashStatus);
  }
  text += kEnd;
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(to, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);
    at += static_cast<std::size_t>(n);
  }
  _exit(0);
}

}  // namespace

Branch::Branch(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    close(ends[0]);
    be_the_copy(ends[1], work);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return;
  }
  pid_ = pid;
  from_ = ends[0];
}

Branch::~Branch() { end(); }

void Branch::end() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  close(from_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::optional<std::string> Branch::result() {
  if (pid_ < 0) return std::nullopt;
  std::string text;
  std::array<char, 65536> chunk{};
  while (!interrupted()) {
    pollfd waiting{from_, POLLIN, 0};
    if (poll(&waiting, 1, 200) <= 0) continue;
    const ssize_t n = read(from_, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  end();
  if (text.empty() || text.back() != kEnd) return std::nullopt;
  text.pop_back();
  return text;
}

}  // namespace elastic::chaos
