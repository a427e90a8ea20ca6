// What the tests of transport/real/logs share: folders, a reader of a console, programs that write.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "transport/real/logs/console.h"
#include "transport/real/logs/worker_logs.h"

namespace elastic::test {

// Generous: within it something must have happened; nothing is expected to be faster than that.
constexpr std::chrono::seconds kLong{60};

// A folder that is removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
std::vector<std::string> lines_of(const std::string& text);  // a last line without \n counts

// A console whose two targets end in one pipe (or two), and a thread that reads it. Constructed
// with `reading` false it reads nothing until read() is called: a stuck terminal.
class ConsoleReader {
 public:
  explicit ConsoleReader(bool reading = true, std::size_t bound_bytes = std::size_t{1} << 20);
  ConsoleReader(const ConsoleReader&) = delete;
  ConsoleReader& operator=(const ConsoleReader&) = delete;
  ~ConsoleReader();

  real::Console& console() { return console_; }
  void read();        // from now on
  void hang_up();     // closes the reading end; only where nothing was read yet
  std::string all();  // flushes, ends the console, and returns all that it wrote

 private:
  explicit ConsoleReader(const std::pair<int, int>& ends, bool reading, std::size_t bound_bytes);
  int read_end_;
  int write_end_;
  real::Console console_;
  std::string text_;
  std::thread reader_;
};

// A process that writes numbered lines: line i is "<name> i <i % 97 times 'x'>", as fast as it can,
// in writes that end anywhere. `written` is what write() said, and `trying` what it was called for.
struct WriterShared {
  std::atomic<std::uint64_t> written[2];
  std::atomic<std::uint64_t> trying[2];
};
struct Writer {
  pid_t pid = -1;
  WriterShared* shared = nullptr;
};
// Both descriptors are written in turn, until `bytes` are written to each (0: for ever).
// `largest_write`: bytes. The caller reaps it with wait_for().
Writer start_writer(int out, int err, std::uint64_t bytes, std::size_t largest_write,
                    std::uint64_t seed);
void wait_for(pid_t pid);
// Whether `text` is the beginning of what a writer writes to `stream` (0: out, 1: err).
bool is_written_text(std::string_view text, int stream);
std::string line_number(std::uint64_t number, int stream);

// Runs the loop until `done` is set, at most kLong. False: it was not.
bool run_until(boost::asio::io_context& loop, const bool& done);

}  // namespace elastic::test
