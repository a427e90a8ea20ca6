#include "chaos/run/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "chaos/run/interrupt.h"

extern char** environ;

namespace elastic::chaos {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> all = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const std::string& change : changes) {
      replaced = replaced || text.substr(0, text.find('=')) == change.substr(0, change.find('='));
    }
    if (!replaced) all.emplace_back(text);
  }
  return all;
}

[[noreturn]] void become(int output, std::vector<std::string> arguments,
                         std::vector<std::string> environment) {
  dup2(output, STDOUT_FILENO);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  execve("/proc/self/exe", argv.data(), envp.data());
  _exit(127);
}

// Cuts whole lines off the front of `text`.
void hand_over(std::string& text, const std::function<void(std::string_view)>& line) {
  std::size_t from = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
    line(std::string_view(text).substr(from, end - from));
    from = end + 1;
  }
  text.erase(0, from);
}

}  // namespace

int run_self(const ChildOptions& options, const std::function<void(std::string_view)>& line) {
  std::array<int, 2> output{};
  if (pipe2(output.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  std::vector<std::string> arguments{"elastic-sim"};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = merged_environment(options.environment);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    become(output[1], std::move(arguments), std::move(environment));
  }
  close(output[1]);
  std::string text;
  std::array<char, 65536> chunk{};
  while (true) {
    pollfd waiting{output[0], POLLIN, 0};
    const int ready = poll(&waiting, 1, 200);
    if (interrupted()) {
      kill(pid, SIGKILL);
      break;
    }
    if (ready <= 0) continue;
    const ssize_t n = read(output[0], chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(n));
    hand_over(text, line);
  }
  close(output[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace elastic::chaos
