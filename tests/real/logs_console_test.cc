#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "tests/real/logs_support.h"
#include "transport/real/logs/console.h"

namespace elastic::real {
namespace {

using Target = Console::Target;
using namespace std::chrono_literals;

// Offers until the console refuses; returns how many bytes it took.
std::size_t fill(Console& console, std::size_t most) {
  const std::string line(999, 'x');
  std::size_t taken = 0;
  while (taken < most && console.offer(Target::kOut, line + "\n")) taken += 1000;
  return taken;
}

bool within_long(const std::function<bool()>& holds) {
  for (const auto until = std::chrono::steady_clock::now() + test::kLong;
       std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(1ms)) {
    if (holds()) return true;
  }
  return false;
}

TEST(LogsConsole, WritesWhatWasOfferedInOrder) {
  test::ConsoleReader reader;
  std::string expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string line = test::line_number(static_cast<std::uint64_t>(i), i % 2) + "\n";
    const Target target = i % 3 == 0 ? Target::kErr : Target::kOut;  // one pipe: one order
    while (!reader.console().offer(target, line)) std::this_thread::yield();
    expected += line;
  }
  EXPECT_TRUE(reader.all() == expected);
}

TEST(LogsConsole, AStuckConsoleTakesUpToItsBoundAndBlocksNobody) {
  test::ConsoleReader reader(/*reading=*/false, /*bound_bytes=*/200'000);
  const std::size_t taken = fill(reader.console(), 10'000'000);
  EXPECT_LE(taken, 200'000U + (1U << 20) + 1000U) << "the bound, and what fits into the pipe";
  EXPECT_FALSE(reader.console().flush(10ms));
  EXPECT_TRUE(within_long([&] { return reader.console().stuck_for(Target::kOut) > 10ms; }));

  std::atomic<bool> room = false;
  reader.console().on_room(Target::kOut, [&] { room = true; });
  EXPECT_FALSE(room);
  reader.read();
  EXPECT_TRUE(within_long([&] { return room.load(); }));
  EXPECT_EQ(reader.all().size(), taken) << "nothing that was taken is lost";
}

TEST(LogsConsole, TheAgentsOwnLinesPassAFullQueueUpToAReserve) {
  test::ConsoleReader reader(/*reading=*/false, /*bound_bytes=*/10'000);
  fill(reader.console(), 10'000'000);
  for (int i = 0; i < 2000; ++i) reader.console().say(Target::kErr, std::string(1000, 'a'));
  reader.read();
  EXPECT_TRUE(reader.console().flush(test::kLong));
  reader.console().say(Target::kErr, "the end");
  const auto lines = test::lines_of(reader.all());
  std::size_t said = 0;
  for (const std::string& line : lines) said += line == std::string(1000, 'a') ? 1 : 0;
  EXPECT_GE(said, 100U);
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[lines.size() - 2], "[elastic] " + std::to_string(2000 - said) +
                                         " lines of the agent left out: the console was stuck");
  EXPECT_EQ(lines.back(), "the end");
}

TEST(LogsConsole, AReaderThatIsGoneTurnsTheConsoleOffAndEndsNothing) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);  // it would end this test
  test::ConsoleReader reader(/*reading=*/false);
  reader.hang_up();
  EXPECT_TRUE(reader.console().offer(Target::kOut, "nobody reads this\n"));
  EXPECT_TRUE(within_long([&] { return reader.console().off(Target::kOut); }));
  EXPECT_EQ(fill(reader.console(), 5'000'000), 5'000'000U) << "taken, and forgotten";
  EXPECT_TRUE(reader.console().flush(test::kLong));
  bool called = false;
  reader.console().on_room(Target::kOut, [&] { called = true; });
  EXPECT_TRUE(called);
  std::signal(SIGPIPE, before);
}

TEST(LogsConsole, AStuckOutputDoesNotHoldUpErrors) {
  int out[2];
  int err[2];
  ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(err, O_CLOEXEC), 0);
  {
    Console console({.out = out[1], .err = err[1], .bound_bytes = 1000});
    fill(console, 10'000'000);
    console.say(Target::kErr, "job failed");
    char text[64];
    EXPECT_EQ(::read(err[0], text, sizeof text), 11);
    EXPECT_EQ(std::string(text, 11), "job failed\n");
    EXPECT_EQ(::fcntl(out[1], F_GETFL) & O_NONBLOCK, 0) << "others write there, too";
  }
  for (const int end : {out[0], out[1], err[0], err[1]}) ::close(end);
}

TEST(LogsConsole, LinesOfTwoProcessesOnOnePipeStayWhole) {
  // Two consoles stand for two agents.
  test::ConsoleReader reader;
  Console& one = reader.console();
  std::thread other([console = reader.console()]() mutable {
    for (int i = 0; i < 3000; ++i) {
      while (!console.offer(Target::kOut, std::string(1500, 'b') + "\n")) std::this_thread::yield();
    }
  });
  for (int i = 0; i < 3000; ++i) {
    while (!one.offer(Target::kOut, std::string(1400, 'a') + "\n")) std::this_thread::yield();
  }
  other.join();
  for (const std::string& line : test::lines_of(reader.all())) {
    ASSERT_TRUE(line == std::string(1400, 'a') || line == std::string(1500, 'b')) << line;
  }
}

}  // namespace
}  // namespace elastic::real
