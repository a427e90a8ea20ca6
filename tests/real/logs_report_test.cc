#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/real/logs_support.h"
#include "tests/support/property.h"
#include "transport/real/logs/error_dedup.h"
#include "transport/real/logs/error_file.h"
#include "transport/real/logs/failure_report.h"

namespace elastic::real {
namespace {

std::vector<std::string> traceback(int rank, int line, const std::string& error) {
  const std::string r = std::to_string(rank);
  return {"epoch 3, rank " + r + " started as process " + std::to_string(4000 + rank),
          "[rank" + r + "]: Traceback (most recent call last):",
          "[rank" + r + "]:   File \"train.py\", line " + std::to_string(line) + ", in <module>",
          "[rank" + r + "]: " + error + " at 0x7f00" + std::to_string(1000 + rank)};
}

TEST(ErrorGroups, TheCountsSumToTheRanksAndTheirOrderDoesNotMatter) {
  test::check("groups of errors", {"one group", "several groups", "a rank twice"},
              [] {
                const auto count = *rc::gen::inRange<std::size_t>(1, 20);
                std::vector<RankError> errors;
                for (std::size_t i = 0; i < count; ++i) {
                  const int rank = *rc::gen::inRange(0, 40);
                  const int kind = *rc::gen::inRange(0, 3);
                  const int line = *rc::gen::inRange(10, 12);
                  errors.push_back({rank,
                                    {kind == 2 ? 0 : 1, kind == 2 ? 6 : 0},
                                    traceback(rank, line, kind == 1 ? "KeyError" : "ValueError")});
                }
                const auto group = [](const std::vector<RankError>& in) {
                  ErrorGroups groups;
                  for (const RankError& error : in) groups.add(error);
                  return groups.groups();
                };
                const auto groups = group(errors);
                std::vector<int> found;
                for (const ErrorGroup& one : groups) {
                  RC_ASSERT(std::is_sorted(one.ranks.begin(), one.ranks.end()));
                  RC_ASSERT(one.example.rank == one.ranks.front());
                  found.insert(found.end(), one.ranks.begin(), one.ranks.end());
                }
                std::vector<int> ranks;
                for (const RankError& error : errors) ranks.push_back(error.rank);
                std::sort(found.begin(), found.end());
                std::sort(ranks.begin(), ranks.end());
                RC_ASSERT(found == ranks);

                auto other_order = errors;
                for (std::size_t i = other_order.size(); i > 1; --i) {
                  std::swap(other_order[i - 1], other_order[*rc::gen::inRange<std::size_t>(0, i)]);
                }
                const auto again = group(other_order);
                RC_ASSERT(again.size() == groups.size());
                for (std::size_t i = 0; i < groups.size(); ++i) {
                  RC_ASSERT(again[i].ranks == groups[i].ranks);
                  RC_ASSERT(again[i].example.lines == groups[i].example.lines);
                  RC_ASSERT(again[i].literally == groups[i].literally);
                }
                RC_CLASSIFY(groups.size() == 1, "one group");
                RC_CLASSIFY(groups.size() > 1, "several groups");
                RC_CLASSIFY(std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end(),
                            "a rank twice");
              },
              {.max_success = 300});
}

TEST(ErrorGroups, WhatDiffersFromRankToRankDoesNotCount) {
  EXPECT_EQ(essence(traceback(3, 12, "ValueError")), essence(traceback(11, 12, "ValueError")));
  EXPECT_NE(essence(traceback(3, 12, "ValueError")), essence(traceback(3, 13, "ValueError")))
      << "another line of the program";
  EXPECT_NE(essence(traceback(3, 12, "ValueError")), essence(traceback(3, 12, "KeyError")));
  EXPECT_EQ(essence({"2026-12-07 12:00:01,123 GPU-5c1f2a7d9e failed"}),
            essence({"2026-12-07 12:00:02,456 GPU-0a1f2b3d9c failed"}));
  EXPECT_EQ(essence({"a", "b", "c", "d", "  "}), "b\nc\nd");
  EXPECT_EQ(essence({}), "");
}

TEST(ErrorGroups, RanksAreListedAsRanges) {
  EXPECT_EQ(rank_list({7, 0, 1, 2, 9, 10, 2}), "0-2, 7, 9, 10");
  EXPECT_EQ(rank_list({5}), "5");
  EXPECT_EQ(rank_list({}), "");
}

TEST(ErrorFile, TorchsOwnFormatIsRead) {
  const auto error = parse_error_file(
      R"({"message": {"message": "ValueError: no", "extraInfo": {"py_callstack": "Traceback",
      "timestamp": "1700000000"}, "errorCode": 3}})");
  ASSERT_TRUE(error) << error.error();
  EXPECT_EQ(*error, (ProgramError{"ValueError: no", "Traceback", 1'700'000'000, 3}));
  EXPECT_EQ(parse_error_file(R"({"message": "just words"})")->message, "just words");
  EXPECT_EQ(parse_error_file(R"({"message": {"message": "x", "extraInfo": {"timestamp": 5}}})")
                ->timestamp,
            5);
  EXPECT_EQ(parse_error_file(R"({"message": {"message": "x", "extraInfo": [1], "errorCode": "?"}})")
                ->message,
            "x");
}

TEST(ErrorFile, GarbageIsAnErrorAndNothingWorse) {
  const auto error = [](const std::string& text) {
    const auto parsed = parse_error_file(text);
    return parsed ? "none" : parsed.error();
  };
  EXPECT_EQ(error("{\"message\": \"cut o"), "it is not JSON");
  EXPECT_EQ(error("\xFF\xFE"), "it is not JSON");
  EXPECT_EQ(error("[1, 2]"), "it has no \"message\"");
  EXPECT_EQ(error("{\"message\": 7}"),
            "\"message\" is neither a text nor an object with a text \"message\"");
  EXPECT_EQ(error(std::string(500'000, '[') + std::string(500'000, ']')), "it has no \"message\"");
  EXPECT_EQ(error(std::string(2'000'000, ' ')),
            "an error file of more than 1048576 bytes is not read");
}

TEST(ErrorFile, AnyTextIsReadAsAnErrorOrRefused) {
  test::check("any text is read or refused", {"read", "refused"},
              [] {
                const auto parts = rc::gen::element<std::string>(
                    "{", "}", "\"message\"", ":", "\"x\"", "[", "]", ",", "1", "\"extraInfo\"",
                    "\xFF", "{\"message\":", "\"errorCode\"");
                std::string text;
                if (*rc::gen::arbitrary<bool>()) text = "{\"message\":";
                const auto count = *rc::gen::inRange(0, 8);
                for (int i = 0; i < count; ++i) text += *parts;
                if (*rc::gen::arbitrary<bool>()) text += "\"x\"}";
                const auto parsed = parse_error_file(text);
                RC_CLASSIFY(parsed.has_value(), "read");
                RC_CLASSIFY(!parsed.has_value(), "refused");
                if (!parsed) RC_ASSERT(!parsed.error().empty());
              },
              {.max_success = 2000});
}

TEST(ErrorFile, WhatIsWrittenIsReadAgain) {
  test::ScratchFolder folder;
  const std::string path = folder.path() + "/error.json";
  const auto none = read_error_file(path);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none) << "most programs write none";
  const ProgramError error{"say \"no\"\n", "line 1\nline 2", 1'700'000'000, -9};
  ASSERT_TRUE(write_error_file(path, error));
  ASSERT_TRUE(write_error_file(path, error)) << "replaced";
  EXPECT_EQ(**read_error_file(path), error);
  const auto json = nlohmann::json::parse(test::read_file(path));
  EXPECT_EQ(json["message"]["extraInfo"]["timestamp"], "1700000000") << "a text, like torch's";
  EXPECT_EQ(json["message"]["errorCode"], -9);
  EXPECT_TRUE(write_error_file(path, {"\xFF", "", {}, {}})) << "output need not be UTF-8";
  EXPECT_FALSE(write_error_file(folder.path() + "/no/error.json", error));
}

TEST(ErrorFile, AFifoInItsPlaceBlocksNobody) {
  test::ScratchFolder folder;
  const std::string path = folder.path() + "/error.json";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto read = read_error_file(path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), path + " is no regular file");
}

// Times of day are printed in local time.
struct InUtc {
  InUtc() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  ~InUtc() {
    ::unsetenv("TZ");
    ::tzset();
  }
};

FailedWorker failed(int rank, ExitStatus status, std::vector<std::string> tail) {
  FailedWorker worker;
  worker.node = "gpu-" + std::to_string(rank / 8);
  worker.rank = rank;
  worker.local_rank = rank % 8;
  worker.round = {{}, 6};
  worker.at = 50'527;  // 14:02:07
  worker.status = status;
  worker.tail = std::move(tail);
  worker.log_path = "/runs/llama-a/round-6/rank-" + std::to_string(rank) + "/stderr.log";
  return worker;
}

TEST(FailureReportText, NamesTheFirstFailureAndLabelsTheRest) {
  const InUtc utc;
  EndReport report;
  report.verdict =
      "job failed: the program exits with code 1 on every start (3 of 3 restarts used)";
  report.first =
      failed(11, {1, 0}, {"loading", "RuntimeError: \x1B[31mCUDA error\x1B[0m: no memory"});
  std::vector<int> ranks;
  for (int rank = 0; rank < 24; ++rank) {
    if (rank != 11 && rank != 23) ranks.push_back(rank);
  }
  report.consequences = {{Consequence::Kind::kStoppedByRoundChange, ranks, ""},
                         {Consequence::Kind::kKilled, {23}, ""},
                         {Consequence::Kind::kNodeLost, {}, "gpu-9"}};
  EXPECT_EQ(
      format_report(report, {.folder = "/runs"}),
      R"([elastic] job failed: the program exits with code 1 on every start (3 of 3 restarts used)
  first failure  gpu-1, rank 11 (local 3), 14:02:07, round 6, exit code 1
                 loading
                 RuntimeError: CUDA error: no memory
                 log: llama-a/round-6/rank-11/stderr.log
  consequences   ranks 0-10, 12-22: stopped by round change
                 rank 23: killed, still running after the grace
  exit 1
)");
}

TEST(FailureReportText, OneErrorOfManyRanksIsShownOnce) {
  const InUtc utc;
  EndReport report;
  report.verdict = "job failed: the program exits with code 1 on every start";
  report.first = failed(2, {1, 0}, traceback(2, 12, "ValueError: no"));
  for (const int rank : {0, 1, 4, 3, 7}) {
    report.later.push_back(failed(rank, {1, 0}, traceback(rank, 12, "ValueError: no")));
  }
  for (const int rank : {6, 5}) {
    report.later.push_back(failed(rank, {0, SIGABRT}, {"NCCL watchdog: time-out"}));
  }
  EXPECT_EQ(format_report(report, {.tail_lines = 2, .folder = ""}),
            R"([elastic] job failed: the program exits with code 1 on every start
  first failure  gpu-0, rank 2 (local 2), 14:02:07, round 6, exit code 1
                 [rank2]:   File "train.py", line 12, in <module>
                 [rank2]: ValueError: no at 0x7f001002
                 log: /runs/llama-a/round-6/rank-2/stderr.log
  the same       on 5 more: ranks 0, 1, 3, 4, 7 (numbers aside)
  consequences   ranks 5, 6: signal 6 (SIGABRT), the same error
                 NCCL watchdog: time-out
                 log: /runs/llama-a/round-6/rank-6/stderr.log
  exit 1
)");
}

TEST(FailureReportText, AKillThatNobodyOfUsSentHintsAtTheKernel) {
  const InUtc utc;
  EndReport report;
  report.verdict = "job failed";
  report.first = failed(3, {0, SIGKILL}, {});
  report.first->log_path.clear();
  EXPECT_EQ(format_report(report), R"([elastic] job failed
  first failure  gpu-0, rank 3 (local 3), 14:02:07, round 6, signal 9 (SIGKILL)
                 killed by SIGKILL: perhaps the kernel's out-of-memory killer;
                 see dmesg on gpu-0
  exit 1
)");
  report.first->stopped_by_agent = true;
  EXPECT_EQ(format_report(report), R"([elastic] job failed
  first failure  gpu-0, rank 3 (local 3), 14:02:07, round 6, signal 9 (SIGKILL),
                 sent by the agent
  exit 1
)");
}

TEST(FailureReportText, TheErrorFileSpeaksWhereStderrIsSilent) {
  EndReport report;
  report.verdict = "job failed";
  report.first = failed(0, {3, 0}, {});
  report.first->error =
      ProgramError{"ValueError: bad", "Traceback:\n  line\nValueError: bad", 1, 3};
  EXPECT_NE(format_report(report).find("\n                 ValueError: bad\n"), std::string::npos);
  report.first->tail = {"something else"};
  const std::string text = format_report(report);
  EXPECT_NE(text.find("something else\n                 error file: ValueError: bad\n"),
            std::string::npos)
      << text;
}

TEST(FailureReportText, SaysItWhenNobodyFailed) {
  EXPECT_EQ(format_report({.verdict = "job ended: below the minimum of 2 nodes for 10m",
                           .first = {},
                           .later = {},
                           .consequences = {},
                           .exit_code = 12}),
            "[elastic] job ended: below the minimum of 2 nodes for 10m\n  exit 12\n");
}

TEST(FailureReportText, SignalsAndWrappedSignalsAreNamed) {
  EXPECT_EQ(describe({0, SIGSEGV}), "signal 11 (SIGSEGV)");
  EXPECT_EQ(describe({0, SIGRTMIN + 3}),
            "signal " + std::to_string(SIGRTMIN + 3) + " (SIGRTMIN+3)");
  EXPECT_EQ(describe({137, 0}), "exit code 137 (128 + signal 9, SIGKILL)");
  EXPECT_EQ(describe({255, 0}), "exit code 255");
  EXPECT_EQ(describe({85, 0}), "exit code 85");
}

TEST(FailureReportText, ProgramsReadItAsJson) {
  EndReport report;
  report.verdict = "job failed";
  report.first = failed(11, {0, SIGKILL}, {"bytes \xFF"});
  report.later = {failed(12, {1, 0}, {})};
  report.consequences = {{Consequence::Kind::kNodeLost, {1, 2}, "gpu-9"}};
  const auto json = nlohmann::json::parse(format_report_json(report));
  EXPECT_EQ(json["first_failure"]["signal"], "SIGKILL");
  EXPECT_EQ(json["first_failure"]["exit_code"], nullptr);
  EXPECT_EQ(json["later_failures"][0]["exit_code"], 1);
  EXPECT_EQ(json["consequences"][0]["what"], "ranks 1, 2: lost with node gpu-9");
}

TEST(FailureReportText, TheAgentsOwnErrorFileHasTheWorkersErrorAndCode) {
  FailedWorker worker = failed(3, {0, SIGKILL}, {"last words"});
  worker.pid = 4711;
  EXPECT_EQ(own_error(worker),
            (ProgramError{"Signal 9 (SIGKILL) received by PID 4711", "last words", 50'527, -9}));
  worker.status = {85, 0};
  EXPECT_EQ(own_error(worker).message, "last words");
  worker.error = ProgramError{"ValueError: bad", "Traceback", 7, {}};
  EXPECT_EQ(own_error(worker), (ProgramError{"ValueError: bad", "Traceback", 7, 85}));
}

}  // namespace
}  // namespace elastic::real
