// What happens when there is much, or when somebody does not keep up.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <fstream>
#include <memory>

#include "tests/real/logs_support.h"
#include "transport/real/logs/worker_logs.h"

namespace elastic::real {
namespace {

using namespace std::chrono_literals;

struct Flow {
  Flow(LogOptions options, bool console_is_read, std::size_t console_bytes = 1U << 20)
      : reader(console_is_read, console_bytes) {
    if (options.folder.log_dir.empty()) options.folder.log_dir = scratch.path();
    options.folder.node = "gpu-3";
    auto made = WorkerLogs::make(loop, options, reader.console());
    EXPECT_TRUE(made) << made.error();
    logs = std::move(*made);
  }
  Streams open() {
    auto streams = logs->open({.round = {{}, 1}, .local_rank = 0, .rank = 0});
    EXPECT_TRUE(streams) << streams.error();
    return *streams;
  }
  test::Writer start(std::uint64_t bytes, std::size_t largest_write) {
    const Streams streams = open();
    const auto writer = test::start_writer(streams.out, streams.err, bytes, largest_write, 1);
    ::close(streams.out);
    ::close(streams.err);
    return writer;
  }
  void finish(const test::Writer& writer) {
    test::wait_for(writer.pid);
    drain();
  }
  void drain() {
    bool done = false;
    logs->exited(0, [&] { done = true; });
    EXPECT_TRUE(test::run_until(loop, done));
  }
  test::ScratchFolder scratch;
  test::ConsoleReader reader;
  boost::asio::io_context loop;
  std::unique_ptr<WorkerLogs> logs;
};

LogOptions teed() {
  LogOptions options;
  options.tee.every = {true, true};
  return options;
}

// A figure of /proc/self/status, in bytes.
std::uint64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

TEST(LogsFlow, ATeedWorkerOfAHundredMegabytesTakesLittleMemory) {
  Flow flow(teed(), /*console_is_read=*/false);  // the console takes next to nothing
  const std::uint64_t before = status_bytes("VmRSS");
  const auto writer = flow.start(50'000'000, 65'536);
  flow.finish(writer);
  const std::uint64_t after = status_bytes("VmRSS");
  EXPECT_LT(after, before + 16'000'000);
  struct stat found {};
  ASSERT_EQ(::stat(flow.logs->paths(0).out.c_str(), &found), 0);
  EXPECT_EQ(found.st_size, 50'000'000);
  EXPECT_TRUE(test::is_written_text(test::read_file(flow.logs->paths(0).out), 0));
  EXPECT_TRUE(test::is_written_text(test::read_file(flow.logs->paths(0).err), 1));
}

TEST(LogsFlow, AGigabyteDoesNotStarveTheTimersOfTheLoop) {
  LogOptions options;
  options.local_ranks_shown = {1};  // read and kept as last lines, but not shown
  Flow flow(options, true);
  const auto writer = flow.start(500'000'000, 65'536);
  int turns = 0;
  int turns_while_flowing = 0;
  boost::asio::steady_timer timer(flow.loop);
  std::function<void()> again = [&] {
    timer.expires_after(1ms);
    timer.async_wait([&](const boost::system::error_code& error) {
      if (error) return;
      ++turns;
      if (writer.shared->written[0] < 500'000'000) turns_while_flowing = turns;
      again();
    });
  };
  again();
  bool written = false;
  const auto until = std::chrono::steady_clock::now() + test::kLong;
  while (!written && std::chrono::steady_clock::now() < until) {
    flow.loop.run_for(10ms);
    written = writer.shared->written[0] >= 500'000'000 && writer.shared->written[1] >= 500'000'000;
  }
  EXPECT_TRUE(written);
  timer.cancel();
  flow.finish(writer);
  EXPECT_GE(turns_while_flowing, 20) << "of some hundreds that there is time for";
  EXPECT_EQ(flow.logs->tail(0, OutputKind::kOut).size(), kTailLines);
}

TEST(LogsFlow, FilesGoOnWhenTheConsoleIsStuckAndItCatchesUpLater) {
  Flow flow(teed(), /*console_is_read=*/false);
  const auto writer = flow.start(3'000'000, 5000);
  flow.finish(writer);  // the worker came to its end
  EXPECT_EQ(test::read_file(flow.logs->paths(0).out).size(), 3'000'000U);
  flow.reader.read();
  flow.logs.reset();
  const std::string console = flow.reader.all();
  EXPECT_EQ(console.find("left out"), std::string::npos);
  std::uint64_t next[2] = {0, 0};
  for (const std::string& line : test::lines_of(console)) {
    const int stream = line.find("]: o") != std::string::npos ? 0 : 1;
    const std::string expected = "[gpu-3 0]: " + test::line_number(next[stream]++, stream);
    ASSERT_EQ(expected.rfind(line, 0), 0U) << line;  // the last may be part of a line
  }
  EXPECT_GT(next[0], 40'000U);
  EXPECT_GT(next[1], 40'000U);
}

TEST(LogsFlow, AConsoleTooFarBehindGoesOnWithTheNewestLinesAndSaysSo) {
  LogOptions options;
  options.tee.every = {true, false};
  options.redirects.every = {false, true};
  options.limits.console_lag = 100'000;
  Flow flow(options, /*console_is_read=*/false, /*bound_bytes=*/10'000);
  const auto writer = flow.start(3'000'000, 5000);
  flow.finish(writer);
  const std::string text = test::read_file(flow.logs->paths(0).out);
  EXPECT_EQ(text.size(), 3'000'000U);
  const std::string path = flow.logs->paths(0).out;
  flow.reader.read();
  flow.logs.reset();
  std::uint64_t next = 0;
  std::uint64_t left_out = 0;
  for (const std::string& line : test::lines_of(flow.reader.all())) {
    if (line.rfind("[elastic] ", 0) == 0) {
      const std::uint64_t lines = std::stoull(line.substr(10));
      EXPECT_EQ(line, "[elastic] " + std::to_string(lines) +
                          " lines left out here (stdout of rank 0): the console is slower than the "
                          "worker; all are in " +
                          path);
      left_out += lines;
      next += lines;
    } else {
      const std::string expected = "[gpu-3 0]: " + test::line_number(next++, 0);
      ASSERT_EQ(expected.rfind(line, 0), 0U) << line << " instead of " << expected;
    }
  }
  EXPECT_GT(left_out, 1000U);
  EXPECT_EQ(next, test::lines_of(text).size()) << "shown, or counted";
}

TEST(LogsFlow, WithoutAFileTheWorkerWaitsForTheConsole) {
  LogOptions options;
  Flow flow(options, /*console_is_read=*/false, /*bound_bytes=*/10'000);
  const auto writer = flow.start(5'000'000, 5000);
  flow.loop.run_for(300ms);
  EXPECT_LT(writer.shared->written[0].load(), 4'000'000U) << "pipes, queue and no more";
  flow.reader.read();
  flow.finish(writer);
  flow.logs.reset();
  std::size_t bytes = 0;
  for (const std::string& line : test::lines_of(flow.reader.all())) {
    EXPECT_EQ(line.find("left out"), std::string::npos);
    bytes += line.size() + 1 - std::string("[gpu-3 0]: ").size();
  }
  EXPECT_GE(bytes, 10'000'000U);
  EXPECT_LE(bytes, 10'000'002U) << "and a newline after each last line";
}

TEST(LogsFlow, AfterItsPatienceTheWorkerGoesOnAndLinesAreCounted) {
  LogOptions options;
  options.limits.console_patience = 200ms;
  Flow flow(options, /*console_is_read=*/false, /*bound_bytes=*/10'000);
  const auto writer = flow.start(5'000'000, 5000);
  flow.finish(writer);  // with nobody reading
  flow.reader.read();
  flow.logs.reset();
  std::uint64_t left_out = 0;
  for (const std::string& line : test::lines_of(flow.reader.all())) {
    if (line.rfind("[elastic] ", 0) == 0) left_out += std::stoull(line.substr(10));
  }
  EXPECT_GT(left_out, 100'000U);
}

TEST(LogsFlow, StoppingWithAStuckConsoleIsBoundedAndSaysWhatIsMissing) {
  LogOptions options = teed();
  options.stop_bound = 50ms;
  Flow flow(options, /*console_is_read=*/false, /*bound_bytes=*/10'000);
  const auto writer = flow.start(1'000'000, 5000);
  flow.finish(writer);
  flow.logs->stop();  // returns
  flow.logs.reset();
  flow.reader.read();
  const std::string console = flow.reader.all();
  EXPECT_NE(
      console.find("lines left out here (stdout of rank 0): the console is stuck; all are in "),
      std::string::npos);
}

TEST(LogsFlow, AProgressBarIsShownNowAndThenAndAtItsEnd) {
  LogOptions options = teed();
  options.limits.progress_every = std::chrono::hours(1);
  Flow flow(options, true);
  const Streams streams = flow.open();
  std::string bar;
  for (int percent = 0; percent <= 100; ++percent) bar += "\r" + std::to_string(percent) + "%";
  bar += "\n";
  ASSERT_EQ(::write(streams.err, bar.data(), bar.size()), static_cast<ssize_t>(bar.size()));
  ::close(streams.out);
  ::close(streams.err);
  flow.drain();
  EXPECT_EQ(test::read_file(flow.logs->paths(0).err), bar);
  EXPECT_EQ(flow.logs->tail(0), (std::vector<std::string>{"100%"}));
  flow.logs.reset();
  EXPECT_EQ(flow.reader.all(), "[gpu-3 0]: 0%\n[gpu-3 0]: 100%\n");
}

TEST(LogsFlow, ALineWithoutEndIsCutOnTheConsoleAndWholeInTheFile) {
  Flow flow(teed(), true);
  const Streams streams = flow.open();
  const std::string line(200'000, 'y');
  std::thread writer([&] {
    EXPECT_EQ(::write(streams.out, line.data(), line.size()), 200'000);
    ::close(streams.out);
  });
  writer.join();
  ::close(streams.err);
  flow.drain();
  EXPECT_TRUE(test::read_file(flow.logs->paths(0).out) == line);
  flow.logs.reset();
  const auto shown = test::lines_of(flow.reader.all());
  ASSERT_EQ(shown.size(), 4U);
  EXPECT_EQ(shown[0], "[gpu-3 0]: " + std::string(kLongestConsoleLine, 'y'));
  EXPECT_EQ(shown[3], "[gpu-3 0]: " + std::string(200'000 - 3 * kLongestConsoleLine, 'y'));
}

TEST(LogsFlow, AFullDiskKeepsTheBeginningAndTheConsoleHasTheRest) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  LogOptions options;
  options.tee.every = {true, false};
  Flow flow(options, true);
  const Streams streams = flow.open();
  const struct rlimit small { 10'000, before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string text;
  for (std::uint64_t i = 0; i < 1000; ++i) text += test::line_number(i, 0) + "\n";
  ASSERT_EQ(::write(streams.out, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(streams.out);
  ::close(streams.err);
  flow.drain();
  const std::string path = flow.logs->paths(0).out;
  flow.logs.reset();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(test::read_file(path) == text.substr(0, 10'000));
  std::uint64_t next = 0;
  int complaints = 0;
  for (const std::string& line : test::lines_of(flow.reader.all())) {
    if (line.rfind("[elastic] ", 0) == 0) {
      EXPECT_EQ(line, "[elastic] " + path +
                          " holds stdout of rank 0 only up to byte 10000: File too large");
      ++complaints;
    } else {
      EXPECT_EQ(line, "[gpu-3 0]: " + test::line_number(next++, 0));
    }
  }
  EXPECT_EQ(next, 1000U);
  EXPECT_EQ(complaints, 1);
}

}  // namespace
}  // namespace elastic::real
