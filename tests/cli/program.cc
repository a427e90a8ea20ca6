#include "tests/cli/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace elastic::test {
namespace {

using Clock = std::chrono::steady_clock;

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "elastic-cli-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

[[noreturn]] void become(const std::string& path, const ProgramOptions& options, int out, int err) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  for (const std::string& entry : options.environment) {
    const std::size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
  std::vector<std::string> words{path};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  signal(SIGPIPE, SIG_DFL);
  execv(path.c_str(), argv.data());
  _exit(127);
}

// One read; false at the end.
bool take(int fd, std::string& text) {
  std::array<char, 65536> chunk{};
  const ssize_t n = read(fd, chunk.data(), chunk.size());
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  text.append(chunk.data(), static_cast<std::size_t>(n));
  return true;
}

}  // namespace

ProgramResult run_program(const std::string& name, const ProgramOptions& options) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  ProgramResult result;
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) return result;
  const pid_t pid = fork();
  if (pid == 0) become(std::string(ELASTIC_BINARY_DIR) + "/" + name, options, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  const Clock::time_point started = Clock::now();
  bool interrupt = options.interrupt_after_ms >= 0;
  bool out_open = !options.close_stdout;
  bool err_open = true;
  if (options.close_stdout) close(out[0]);
  while (out_open || err_open) {
    std::array<pollfd, 2> polls{pollfd{out_open ? out[0] : -1, POLLIN, 0},
                                pollfd{err_open ? err[0] : -1, POLLIN, 0}};
    poll(polls.data(), polls.size(), 20);
    if (polls[0].revents != 0) out_open = take(out[0], result.out);
    if (polls[1].revents != 0) err_open = take(err[0], result.err);
    const auto passed = Clock::now() - started;
    if (interrupt && passed > std::chrono::milliseconds(options.interrupt_after_ms)) {
      kill(pid, SIGINT);
      interrupt = false;
    }
    if (passed > std::chrono::seconds(options.limit_s)) kill(pid, SIGKILL);
  }
  if (!options.close_stdout) close(out[0]);
  close(err[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

ProgramResult elastic_sim(const std::vector<std::string>& arguments) {
  return run_program("elastic-sim", {.arguments = arguments, .environment = {"LC_ALL=C.UTF-8"}});
}

std::string scratch_file(const std::string& name, const std::string& content) {
  static const Scratch scratch;
  const std::string path = scratch.path(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

}  // namespace elastic::test
