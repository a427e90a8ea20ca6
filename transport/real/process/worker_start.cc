#include "transport/real/process/worker_start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

namespace elastic::real {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

void reset_signals() {
  // The kernel's own call: the C library hides two signals, and its posix_spawn, by which this
  // process was made, leaves them ignored. All zeros is SIG_DFL.
  constexpr std::size_t kMaskBytes = 8;
  const std::uint64_t plain[8] = {};
  for (int signal = 1; signal < NSIG; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, plain, nullptr, kMaskBytes);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Puts `fd` at `place`, open across exec.
bool put(int fd, int place) {
  if (fd == place) return ::fcntl(fd, F_SETFD, 0) == 0;
  return ::dup2(fd, place) == place;
}

[[noreturn]] void fail(int pipe, StartStage stage, int error) {
  const StartFailure failure{stage, error};
  [[maybe_unused]] const ssize_t told = ::write(pipe, &failure, sizeof failure);
  ::_exit(stage == StartStage::kProgram && error == ENOENT ? kNotFound : kNotExecutable);
}

// In the child.
[[noreturn]] void become(PackedProgram& program, int out, int err, int pipe, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotExecutable);  // it died before this
  ::setpgid(0, 0);
  if (program.cwd[0] != '\0' && ::chdir(program.cwd) != 0) fail(pipe, StartStage::kFolder, errno);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // `out` and `err` came over a socket: above 2, because 0, 1 and 2 were taken when they did.
  if (in < 0 || !put(in, 0) || !put(out, 1) || !put(err, 2)) {
    fail(pipe, StartStage::kProgram, errno);
  }
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  reset_signals();  // a signal that came since the fork, when all were blocked, takes effect here
  ::environ = program.env.data();  // PATH is the worker's
  ::execvp(program.argv[0], program.argv.data());
  fail(pipe, StartStage::kProgram, errno);
}

}  // namespace

StartedProcess start_worker(PackedProgram& program, int out, int err) {
  StartedProcess started;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    started.failure = {StartStage::kFork, errno};
    return started;
  }
  started.exec_result = Descriptor(ends[0]);
  const Descriptor write_end(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(program, out, err, write_end.get(), parent);
  if (pid < 0) {
    started.failure = {StartStage::kFork, errno};
    return started;
  }
  ::setpgid(pid, pid);  // whoever of the two comes first
  started.pid = pid;
  return started;
}

ExecResult read_exec_result(const Descriptor& pipe) {
  ExecResult result;
  StartFailure failure;
  const ssize_t got = ::read(pipe.get(), &failure, sizeof failure);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return result;
  result.closed = true;
  if (got == static_cast<ssize_t>(sizeof failure)) result.failure = failure;
  return result;
}

std::string describe_failure(const StartFailure& failure, const WorkerProgram& program) {
  switch (failure.stage) {
    case StartStage::kFork:
      return errno_text("cannot start a process", failure.error);
    case StartStage::kFolder:
      return errno_text("cannot enter the folder " + program.cwd, failure.error);
    case StartStage::kProgram:
      break;
  }
  const std::string name = program.argv.empty() ? "" : program.argv.front();
  std::string text = errno_text("cannot run " + name, failure.error);
  if (failure.error == EACCES) text += "; is it executable (chmod +x)?";
  return text;
}

}  // namespace elastic::real
