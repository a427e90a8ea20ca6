#include "tests/real/logs_support.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <utility>

#include "core/math/digest.h"

namespace elastic::test {
namespace {

std::pair<int, int> new_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  return {ends[0], ends[1]};
}

// What stream `stream` looks like from byte `at` of line `number` on, without allocation: it runs
// in a process that was forked from one with threads.
class TextSource {
 public:
  explicit TextSource(int stream) : stream_(stream) { make_line(); }
  void fill(char* to, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t part = std::min(bytes, length_ - at_);
      std::copy_n(line_ + at_, part, to);
      to += part;
      bytes -= part;
      at_ += part;
      if (at_ == length_) {
        ++number_;
        make_line();
      }
    }
  }

 private:
  void put(char c) { line_[length_++] = c; }
  void make_line() {
    at_ = length_ = 0;
    for (const char c : {'e', 'o'}) {
      if ((c == 'o') == (stream_ == 0)) put(c);
    }
    put(' ');
    char digits[24];
    std::size_t count = 0;
    for (std::uint64_t rest = number_; rest > 0 || count == 0; rest /= 10) {
      digits[count++] = static_cast<char>('0' + rest % 10);
    }
    while (count > 0) put(digits[--count]);
    put(' ');
    for (std::uint64_t i = 0; i < number_ % 97; ++i) put('x');
    put('\n');
  }
  int stream_;
  std::uint64_t number_ = 0;
  char line_[160] = {};
  std::size_t length_ = 0;
  std::size_t at_ = 0;
};

void write_for_ever(const int (&to)[2], WriterShared& shared, std::uint64_t bytes,
                    std::size_t largest_write, std::uint64_t seed) {
  static char buffer[1 << 16];
  TextSource sources[2] = {TextSource(0), TextSource(1)};
  for (std::uint64_t turn = 0;; ++turn) {
    const int which = static_cast<int>(turn % 2);
    const std::uint64_t so_far = shared.written[which];
    if (bytes > 0 && so_far >= bytes) {
      if (shared.written[1 - which] >= bytes) return;
      continue;
    }
    std::size_t size = 1 + math::mix(seed + turn) % std::min(largest_write, sizeof buffer);
    if (bytes > 0) size = std::min<std::size_t>(size, bytes - so_far);
    sources[which].fill(buffer, size);
    shared.trying[which] = so_far + size;
    for (std::size_t done = 0; done < size;) {
      const ssize_t wrote = ::write(to[which], buffer + done, size - done);
      if (wrote <= 0) _exit(3);
      done += static_cast<std::size_t>(wrote);
      shared.written[which] = so_far + done;
    }
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string path = testing::TempDir() + "/elastic_logs_XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) std::abort();
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

ConsoleReader::ConsoleReader(bool reading, std::size_t bound_bytes)
    : ConsoleReader(new_pipe(), reading, bound_bytes) {}

ConsoleReader::ConsoleReader(const std::pair<int, int>& ends, bool reading, std::size_t bound_bytes)
    : read_end_(ends.first),
      write_end_(ends.second),
      console_({.out = ends.second, .err = ends.second, .bound_bytes = bound_bytes}) {
  if (reading) read();
}

ConsoleReader::~ConsoleReader() {
  read();
  all();
  if (read_end_ >= 0) ::close(read_end_);
}

void ConsoleReader::read() {
  if (reader_.joinable() || read_end_ < 0) return;
  reader_ = std::thread([this] {
    static thread_local char buffer[1 << 16];
    for (;;) {
      const ssize_t got = ::read(read_end_, buffer, sizeof buffer);
      if (got <= 0) return;
      text_.append(buffer, static_cast<std::size_t>(got));
    }
  });
}

void ConsoleReader::hang_up() {
  if (read_end_ >= 0) ::close(read_end_);
  read_end_ = -1;
}

std::string ConsoleReader::all() {
  console_.flush(std::chrono::duration_cast<Duration>(kLong));
  if (write_end_ >= 0) ::close(write_end_);
  write_end_ = -1;
  // The last handle closes the console's own descriptor, and the reader comes to the end.
  console_ = real::Console({.out = -1, .err = -1, .bound_bytes = 1});
  if (reader_.joinable()) reader_.join();
  return text_;
}

Writer start_writer(int out, int err, std::uint64_t bytes, std::size_t largest_write,
                    std::uint64_t seed) {
  void* memory = ::mmap(nullptr, sizeof(WriterShared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  auto* shared = new (memory) WriterShared{};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Nothing else of the test stays open here, so that readers see the end.
    const int low[2] = {200, 201};
    ::dup2(out, low[0]);
    ::dup2(err, low[1]);
    ::close_range(3, 199, 0);
    ::close_range(202, ~0U, 0);
    write_for_ever(low, *shared, bytes, largest_write, seed);
    _exit(0);
  }
  return {pid, shared};
}

void wait_for(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
}

std::string line_number(std::uint64_t number, int stream) {
  return (stream == 0 ? "o " : "e ") + std::to_string(number) + " " + std::string(number % 97, 'x');
}

bool is_written_text(std::string_view text, int stream) {
  TextSource source(stream);
  std::string expected(1 << 16, '\0');
  while (!text.empty()) {
    const std::size_t part = std::min(text.size(), expected.size());
    source.fill(expected.data(), part);
    if (text.substr(0, part) != std::string_view(expected).substr(0, part)) return false;
    text.remove_prefix(part);
  }
  return true;
}

bool run_until(boost::asio::io_context& loop, const bool& done) {
  const auto until = std::chrono::steady_clock::now() + kLong;
  while (!done && std::chrono::steady_clock::now() < until) {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(20));
  }
  return done;
}

}  // namespace elastic::test
