#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/math/digest.h"
#include "tests/real/logs_support.h"
#include "transport/real/logs/worker_logs.h"

namespace elastic::real {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

StreamModes all_ranks(bool out, bool err) { return {.every = {out, err}, .by_rank = {}}; }

// A job's logs in a scratch folder, with a console that is read or not.
struct Stage {
  explicit Stage(LogOptions options, bool console_is_read = true) : reader(console_is_read) {
    options.folder.log_dir =
        options.folder.log_dir.empty() ? scratch.path() : options.folder.log_dir;
    options.folder.job = "llama/a";
    options.folder.node = options.folder.host = "gpu-3";
    auto made = WorkerLogs::make(loop, options, reader.console());
    EXPECT_TRUE(made) << made.error();
    logs = std::move(*made);
  }
  // A round's worker with rank = local_rank + 8.
  test::Writer start(int local_rank, std::uint64_t bytes, std::size_t largest_write = 5000,
                     std::uint64_t round = 1) {
    const auto streams =
        logs->open({.round = {{}, round}, .local_rank = local_rank, .rank = local_rank + 8});
    EXPECT_TRUE(streams) << streams.error();
    const auto writer = test::start_writer(streams->out, streams->err, bytes, largest_write,
                                           round * 100 + static_cast<std::uint64_t>(local_rank));
    ::close(streams->out);
    ::close(streams->err);
    logs->started(local_rank, writer.pid);
    return writer;
  }
  void write_and_exit(int local_rank, const std::string& out, const std::string& err,
                      std::uint64_t round = 1) {
    const auto streams =
        logs->open({.round = {{}, round}, .local_rank = local_rank, .rank = local_rank + 8});
    ASSERT_TRUE(streams) << streams.error();
    ASSERT_EQ(::write(streams->out, out.data(), out.size()), static_cast<ssize_t>(out.size()));
    ASSERT_EQ(::write(streams->err, err.data(), err.size()), static_cast<ssize_t>(err.size()));
    ::close(streams->out);
    ::close(streams->err);
    EXPECT_TRUE(drain(local_rank));
  }
  bool drain(int local_rank) {
    bool done = false;
    logs->exited(local_rank, [&] { done = true; });
    return test::run_until(loop, done);
  }
  std::string console_text() {
    logs.reset();
    return reader.all();
  }

  test::ScratchFolder scratch;
  test::ConsoleReader reader;
  boost::asio::io_context loop;
  std::unique_ptr<WorkerLogs> logs;
};

LogOptions with(StreamModes redirects, StreamModes tee) {
  LogOptions options;
  options.redirects = std::move(redirects);
  options.tee = std::move(tee);
  return options;
}

// The file holds the beginning of what was written, at least all that write() had confirmed.
void expect_whole(const std::string& path, const test::Writer& writer, int stream) {
  const std::string text = test::read_file(path);
  EXPECT_TRUE(test::is_written_text(text, stream)) << path;
  EXPECT_GE(text.size(), writer.shared->written[stream].load()) << path;
  EXPECT_LE(text.size(), writer.shared->trying[stream].load()) << path;
}

// Console lines are whole, prefixed, and each stream's are its lines 0, 1, 2 ... without a gap;
// only the last of a stream may be torn, because its worker was killed. Returns lines per (rank,
// stream).
std::map<std::string, std::uint64_t> count_lines(const std::string& console) {
  std::map<std::string, std::uint64_t> next;
  std::map<std::string, bool> torn;
  for (const std::string& line : test::lines_of(console)) {
    const std::size_t end = line.find("]: ");
    if (line.rfind("[gpu-3 ", 0) != 0 || end == std::string::npos || line.size() < end + 4) {
      ADD_FAILURE() << "no prefix: " << line;
      return next;
    }
    const std::string text = line.substr(end + 3);
    const std::string key = line.substr(0, end) + text[0];
    const std::string expected = test::line_number(next[key]++, text[0] == 'o' ? 0 : 1);
    EXPECT_FALSE(torn[key]) << "after a torn line: " << line;
    if (text != expected) {
      torn[key] = true;
      EXPECT_EQ(expected.rfind(text, 0), 0U) << line << " instead of " << expected;
    }
  }
  return next;
}

void kill_at_random(std::vector<test::Writer>& writers, Stage& stage) {
  for (std::size_t i = 0; i < writers.size(); ++i) {
    stage.loop.restart();
    stage.loop.run_for(std::chrono::milliseconds(math::mix(i) % 40));
    ::kill(writers[i].pid, SIGKILL);
    test::wait_for(writers[i].pid);
    EXPECT_TRUE(stage.drain(static_cast<int>(i)));
  }
}

TEST(WorkerLogsTest, EightWorkersKilledAtFullSpeedLeaveWholeFilesAndWholeLines) {
  Stage stage(with({}, all_ranks(true, true)));
  std::vector<test::Writer> writers;
  for (int i = 0; i < 8; ++i) writers.push_back(stage.start(i, 0));
  kill_at_random(writers, stage);
  std::uint64_t lines = 0;
  for (int i = 0; i < 8; ++i) {
    const LogPaths paths = stage.logs->paths(i);
    EXPECT_NE(paths.out.find("/round-1/rank-" + std::to_string(i + 8) + "/stdout.log"),
              std::string::npos);
    expect_whole(paths.out, writers[static_cast<std::size_t>(i)], 0);
    expect_whole(paths.err, writers[static_cast<std::size_t>(i)], 1);
    lines += test::lines_of(test::read_file(paths.out)).size();
    lines += test::lines_of(test::read_file(paths.err)).size();
  }
  std::uint64_t shown = 0;
  for (const auto& [key, count] : count_lines(stage.console_text())) shown += count;
  EXPECT_EQ(shown, lines) << "every line is on the console, too";
  EXPECT_GT(lines, 800U);
}

TEST(WorkerLogsTest, WithoutFilesTheConsoleHasEveryLine) {
  Stage stage(LogOptions{});
  std::vector<test::Writer> writers;
  for (int i = 0; i < 4; ++i) writers.push_back(stage.start(i, 2'000'000));
  for (int i = 0; i < 4; ++i) {
    test::wait_for(writers[static_cast<std::size_t>(i)].pid);
    EXPECT_TRUE(stage.drain(i));
  }
  std::uint64_t expected = 0;  // lines in the first 2,000,000 bytes
  for (std::uint64_t bytes = 0; bytes < 2'000'000; ++expected) {
    bytes += test::line_number(expected, 0).size() + 1;
  }
  const auto counts = count_lines(stage.console_text());
  ASSERT_EQ(counts.size(), 8U);
  for (const auto& [key, count] : counts) EXPECT_EQ(count, expected) << key;
}

TEST(WorkerLogsTest, ARedirectedStreamGoesStraightIntoItsFile) {
  Stage stage(with(all_ranks(true, false), {}));
  const auto streams = stage.logs->open({.round = {{}, 4}, .local_rank = 0, .rank = 0});
  ASSERT_TRUE(streams);
  const std::string link = fs::read_symlink("/proc/self/fd/" + std::to_string(streams->out));
  EXPECT_EQ(link, fs::canonical(stage.logs->paths(0).out).string());
  EXPECT_TRUE(stage.logs->paths(0).err.empty());
  ASSERT_EQ(::write(streams->out, "bytes \xFF\xFE as they are", 20), 20);
  EXPECT_EQ(test::read_file(stage.logs->paths(0).out), "bytes \xFF\xFE as they are");
  EXPECT_EQ(stage.logs->tail(0, OutputKind::kOut).size(), 1U);
  ::close(streams->out);
  ::close(streams->err);
  EXPECT_TRUE(stage.drain(0));
  EXPECT_EQ(stage.console_text(), "");
}

TEST(WorkerLogsTest, ModesFollowTheLocalRank) {
  LogOptions options = with(*parse_stream_modes("10:3"), *parse_stream_modes("0:1"));
  Stage stage(options);
  stage.write_and_exit(0, "tee\n", "console only\n");
  stage.write_and_exit(10, "file\n", "file, too\n");
  EXPECT_EQ(test::read_file(stage.logs->paths(0).out), "tee\n");
  EXPECT_TRUE(stage.logs->paths(0).err.empty());
  EXPECT_EQ(test::read_file(stage.logs->paths(10).err), "file, too\n");
  EXPECT_EQ(stage.logs->tail(10), (std::vector<std::string>{"file, too"}));
  EXPECT_EQ(stage.logs->tail(0, OutputKind::kOut), (std::vector<std::string>{"tee"}));
  const std::string console = stage.console_text();
  EXPECT_NE(console.find("[gpu-3 8]: tee\n"), std::string::npos);
  EXPECT_NE(console.find("[gpu-3 8]: console only\n"), std::string::npos);
  EXPECT_EQ(test::lines_of(console).size(), 2U);
}

TEST(WorkerLogsTest, TheRankFilterHidesLinesFromTheConsoleAlone) {
  LogOptions options = with({}, all_ranks(true, false));
  options.local_ranks_shown = {1};
  Stage stage(options);
  stage.write_and_exit(0, "zero\n", "zero fails\n");
  stage.write_and_exit(1, "one\n", "one fails\n");
  EXPECT_EQ(test::read_file(stage.logs->paths(0).out), "zero\n");
  EXPECT_EQ(stage.logs->tail(0), (std::vector<std::string>{"zero fails"}))
      << "the failure report has what nobody saw";
  const auto lines = test::lines_of(stage.console_text());
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()),
            (std::set<std::string>{"[gpu-3 9]: one", "[gpu-3 9]: one fails"}));
}

TEST(WorkerLogsTest, LinesThatMatchAFilterAreCopied) {
  LogOptions options = with(all_ranks(true, true), {});
  options.stdout_filters = {"loss", "step 2"};
  Stage stage(options);
  stage.write_and_exit(0, "step 1\nloss 0.5\nstep 2\nthe last loss", "loss on stderr\n");
  const std::string round = fs::path(stage.logs->paths(0).folder).parent_path();
  EXPECT_EQ(test::read_file(round + "/filtered_stdout.log"),
            "[gpu-3 8]: loss 0.5\n[gpu-3 8]: step 2\n[gpu-3 8]: the last loss\n");
  EXPECT_FALSE(fs::exists(round + "/filtered_stderr.log"));
  EXPECT_EQ(test::read_file(stage.logs->paths(0).out), "step 1\nloss 0.5\nstep 2\nthe last loss");
  EXPECT_EQ(stage.console_text(), "");
}

TEST(WorkerLogsTest, NoRoundAndNoLifeOverwritesAnother) {
  test::ScratchFolder base;
  LogOptions options = with({}, all_ranks(true, true));
  options.folder.log_dir = base.path() + "/deep/er";
  std::set<std::string> files;
  for (int life = 0; life < 3; ++life) {
    Stage stage(options);
    for (const std::uint64_t round : {1, 2, 2}) {
      stage.write_and_exit(3, "life " + std::to_string(life) + "\n", "", round);
      files.insert(stage.logs->paths(3).out);
    }
    EXPECT_EQ(fs::path(stage.logs->folder()).filename().string().rfind("llama_a_2", 0), 0U);
  }
  ASSERT_EQ(files.size(), 9U);
  std::map<std::string, int> texts;
  for (const std::string& file : files) ++texts[test::read_file(file)];
  EXPECT_EQ(texts, (std::map<std::string, int>{{"life 0\n", 3}, {"life 1\n", 3}, {"life 2\n", 3}}));
}

TEST(WorkerLogsTest, WhereTellsWhoseFolderItIs) {
  Stage stage(with({}, {}));
  stage.write_and_exit(5, "", "");
  stage.logs->started(5, 4711);
  const std::string folder = stage.logs->paths(5).folder;
  stage.logs->stop();
  const auto where = nlohmann::json::parse(test::read_file(folder + "/where.json"));
  EXPECT_EQ(where, (nlohmann::json{{"job", "llama/a"},
                                   {"node", "gpu-3"},
                                   {"host", "gpu-3"},
                                   {"round", 1},
                                   {"rank", 13},
                                   {"local_rank", 5},
                                   {"pid", 4711}}));
}

TEST(WorkerLogsTest, NoFilesWithDevNullButErrorFilesUntilTheEnd) {
  LogOptions options = with(all_ranks(true, false), all_ranks(false, true));
  options.folder.log_dir = "/dev/null";
  Stage stage(options);
  stage.write_and_exit(0, "out\n", "err\n");
  const LogPaths paths = stage.logs->paths(0);
  EXPECT_TRUE(paths.out.empty() && paths.err.empty());
  EXPECT_TRUE(fs::is_directory(fs::path(paths.error_file).parent_path()));
  EXPECT_EQ(stage.logs->tail(0, OutputKind::kOut), (std::vector<std::string>{"out"}));
  EXPECT_EQ(stage.console_text(), "[gpu-3 8]: err\n");
  EXPECT_FALSE(fs::exists(paths.folder));
}

TEST(WorkerLogsTest, AFolderThatCannotBeMadeIsAnErrorThatNamesIt) {
  boost::asio::io_context loop;
  LogOptions options;
  options.folder.log_dir = "/proc/nothing/here";
  const auto made = WorkerLogs::make(loop, options, Console({.out = -1, .err = -1}));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().find("cannot make log folder /proc/nothing/here: "), std::string::npos)
      << made.error();
}

TEST(WorkerLogsTest, AWorkerWhoseFolderIsGoneWritesToTheConsole) {
  Stage stage(with(all_ranks(true, true), {}));
  fs::remove_all(stage.logs->folder());
  stage.write_and_exit(0, "important\n", "");
  const std::string console = stage.console_text();
  EXPECT_NE(console.find("[gpu-3 8]: important\n"), std::string::npos) << console;
  EXPECT_NE(console.find("[elastic] round 1, rank 8: cannot make folder"), std::string::npos)
      << console;
}

TEST(WorkerLogsTest, AGrandchildThatKeepsThePipeOpenDelaysNobodyForLong) {
  LogOptions options = with({}, all_ranks(true, true));
  options.drain_bound = 50ms;
  Stage stage(options);
  const auto streams = stage.logs->open({.round = {{}, 1}, .local_rank = 0, .rank = 8});
  ASSERT_TRUE(streams);
  ASSERT_EQ(::write(streams->out, "one\n", 4), 4);
  EXPECT_TRUE(stage.drain(0)) << "though the descriptors are still open";
  ASSERT_EQ(::write(streams->out, "two\n", 4), 4);  // late, and not lost
  const std::string path = stage.logs->paths(0).out;
  const auto next = stage.logs->open({.round = {{}, 2}, .local_rank = 0, .rank = 8});
  ASSERT_TRUE(next);
  for (const int fd : {next->out, next->err}) ::close(fd);
  EXPECT_TRUE(stage.drain(0));
  EXPECT_EQ(test::read_file(path), "one\ntwo\n");
  for (const int fd : {streams->out, streams->err}) ::close(fd);
}

}  // namespace
}  // namespace elastic::real
