// elastic-sim sweep as a user runs it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"

namespace elastic::test {
namespace {

using nlohmann::json;

std::string small() {
  return scratch_file("sweep.yaml", R"(# A small job with some trouble, for tests.
job:
  nodes: {min: 2, max: 4}
  model: resnet50
  steps: 300
  global_batch: 1024
  checkpoint: {every: 2min, size: 300MiB}
  journal: external
  detection_target: 1s
cluster:
  zones:
    a: {nodes: 4, price: $0.918/h}
  horizon: 1h
faults:
  - {kind: crash, every: 3min, chance: random, for: 20s}
)");
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& part) {
  const ProgramResult result = elastic_sim(arguments);
  EXPECT_EQ(result.status, 2) << result.out << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("nothing was run"), std::string::npos) << result.err;
}

TEST(SimSweep, a_table_and_a_chart_fit_a_terminal) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"job.detection_target=1s..8s:x2"},
        {"job.nodes.max=2..4:+1", "job.workers=native,foreign"}}) {
    std::vector<std::string> arguments{"sweep", small(), "--seeds", "1..3"};
    arguments.insert(arguments.begin() + 2, settings.begin(), settings.end());
    const ProgramResult result =
        run_program("elastic-sim", {.arguments = arguments, .environment = {"LC_ALL=C", "LANG=C"}});
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_NE(result.out.find("best"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("goodput"), std::string::npos) << result.out;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << line;
      for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
    }
    EXPECT_EQ(result.err, "");
  }
}

TEST(SimSweep, json_and_csv_have_each_run_once_whatever_the_number_of_processes) {
  const std::string path = scratch_file("sweep.csv", "");
  const auto points = [&](const char* jobs) {
    const ProgramResult result =
        elastic_sim({"sweep", small(), "job.nodes.max=2,4", "--seeds", "5..7", "--json", "--csv",
                     path, "--jobs", jobs, "--of", "cost"});
    EXPECT_EQ(result.status, 0) << result.err;
    json report = json::parse(result.out);
    EXPECT_EQ(report.at("of"), "cost");
    EXPECT_EQ(report.at("settings").at(0).at("path"), "job.nodes.max");
    for (json& point : report.at("points")) {
      for (json& row : point.at("rows")) row.erase("wall_ms");
    }
    return report.at("points");
  };
  const json alone = points("1");
  ASSERT_EQ(alone.size(), 2U);
  ASSERT_EQ(alone[1].at("rows").size(), 3U);
  EXPECT_EQ(alone[1].at("rows").at(2).at("seed"), 7);
  EXPECT_EQ(alone, points("4"));
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 7U);
}

TEST(SimSweep, what_the_scenario_refuses_is_named_before_anything_runs) {
  expect_refused({"sweep", small(), "job.nodes.max=4,1"}, "job.nodes.max=1");
  expect_refused({"sweep", small(), "job.nodes.mxa=4,8"}, "did you mean \"max\"?");
  expect_refused({"sweep", small(), "job.checkpoint.every=5,10"}, "is not a duration");
  expect_refused({"sweep", small(), "job.checkpoint.every=5min..1min:x2"}, "ends before");
  expect_refused({"sweep", small(), "job.steps"}, "PATH=V1,V2");
  expect_refused({"sweep", small(), "job.steps=10", "job.steps=20"}, "twice");
  expect_refused({"sweep", small(), "job.steps=10", "--of", "goodputt"},
                 "did you mean \"goodput\"?");
  expect_refused({"sweep", small(), "job.steps=10", "--seeds", "9..1"}, "--seeds");
  expect_refused({"sweep", small(), "job.steps=10", "--csv", "/no/such/folder/x.csv"}, "--csv");
  expect_refused({"sweep", small(), "job.steps=10", "--trace", "no/such.csv"}, "such.csv");
  expect_refused({"sweep", small()}, "SETTING");
}

TEST(SimSweep, a_failure_in_any_run_gives_its_status_and_its_command) {
  const ProgramResult result =
      run_program("elastic-sim-mutants",
                  {.arguments = {"sweep", ELASTIC_SOURCE_DIR "/scenarios/short/churn.yaml",
                                 "job.detection_target=1s,2s", "--seeds", "1..5", "--mutant",
                                 "join_counted_twice"},
                   .environment = {"LC_ALL=C.UTF-8"}});
  EXPECT_EQ(result.status, 5) << result.out << result.err;
  EXPECT_NE(result.out.find("failing"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("--set job.detection_target="), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("repeat"), std::string::npos) << result.out;
}

TEST(SimSweep, interrupted_it_prints_what_is_known) {
  const ProgramResult result = run_program(
      "elastic-sim",
      {.arguments = {"sweep", small(), "job.nodes.max=2,4", "--seeds", "1..400000", "--jobs", "2"},
       .interrupt_after_ms = 3000});
  EXPECT_EQ(result.status, 130) << result.out << result.err;
  EXPECT_NE(result.out.find("interrupted"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("best"), std::string::npos) << result.out;
}

TEST(SimSweep, help_teaches_six_questions) {
  const ProgramResult result = elastic_sim({"sweep", "--help"});
  EXPECT_EQ(result.status, 0);
  for (const char* question : {"checkpoint interval?", "minimum and maximum?", "detection target?",
                               "spares?", "growth worth it?", "30 s notice buy?"}) {
    EXPECT_NE(result.out.find(question), std::string::npos) << question;
  }
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 82U) << line;
}

}  // namespace
}  // namespace elastic::test
