// elastic-sim compare as a user runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"

namespace elastic::test {
namespace {

using nlohmann::json;

std::string scenario(const std::string& name) {
  return scratch_file(name, R"(# A small job that loses machines, for tests.
job:
  nodes: {min: 2, max: 4}
  model: resnet50
  steps: 300
  global_batch: 1024
  checkpoint: {every: 30s, size: 300MiB}
  journal: external
  detection_target: 1s
  start_up: 5s
cluster:
  zones:
    a: {nodes: 4, price: $0.918/h}
  horizon: 30min
faults:
  - {kind: crash, every: 2min, chance: random, for: 30s}
expect:
  finishes_within: 10min
)");
}

TEST(SimCompare, the_table_shows_every_policy_and_the_bound_in_80_ascii_columns) {
  const ProgramResult result =
      run_program("elastic-sim", {.arguments = {"compare", scenario("cmp.yaml"), "--seeds", "3"},
                                  .environment = {"LC_ALL=C", "LANG=C"}});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  for (const char* part : {"cmp  seeds 1..3", "9 runs", "\n  rigid ", "\n  restart ",
                           "\n  elastic ", "\n  bound ", "minus elastic", "job.last_call=30s"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
  }
}

TEST(SimCompare, json_has_every_run_and_is_the_same_for_any_number_of_processes) {
  const std::string file = scenario("cmp.yaml");
  const auto report = [&](const char* jobs) {
    const ProgramResult result = elastic_sim({"compare", file, "--seeds", "5..8", "--policy",
                                              "elastic,rigid", "--jobs", jobs, "--json"});
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    json found = json::parse(result.out);
    found.erase("wall_ms");
    found.erase("processes");
    return found;
  };
  const json one = report("1");
  EXPECT_EQ(one, report("3"));
  ASSERT_EQ(one.at("runs").size(), 8U);
  EXPECT_EQ(one.at("runs").at(0).at("seed"), 5);
  EXPECT_EQ(one.at("policies").at(0).at("name"), "elastic");
  EXPECT_EQ(one.at("policies").at(0).at("runs"), 4);
  EXPECT_EQ(one.at("against_elastic").size(), 1U);
  EXPECT_EQ(one.at("bound").at("finished"), 4);
}

TEST(SimCompare, the_elastic_row_is_the_run_of_the_scenario_itself) {
  const std::string file = scenario("cmp.yaml");
  const json all = json::parse(
      elastic_sim({"compare", file, "--seeds", "4..4", "--policy", "elastic", "--json"}).out);
  const json alone = json::parse(elastic_sim({file, "--seed", "4", "--json"}).out);
  EXPECT_EQ(all.at("runs").at(0).at("cost_microdollars"),
            alone.at("summary").at("cost_microdollars"));
}

TEST(SimCompare, csv_has_a_header_and_a_line_for_each_run) {
  const std::string path = scratch_file("out.csv", "");
  ASSERT_EQ(elastic_sim({"compare", scenario("cmp.yaml"), "--seeds", "2", "--csv", path}).status,
            0);
  std::ifstream file(path);
  std::size_t lines = 0;
  std::size_t commas = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto here = static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
    if (lines == 0) commas = here;
    EXPECT_EQ(here, commas) << line;
  }
  EXPECT_EQ(lines, 7U);
}

TEST(SimCompare, bad_input_is_named_and_nothing_is_run) {
  const std::string file = scenario("cmp.yaml");
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const std::vector<Case> cases{
      {{"compare", file, "--policy", "rigd"}, "did you mean \"rigid\"?"},
      {{"compare", file, "--policy", "rigid,rigid"}, "is there twice"},
      {{"compare", file, "--seeds", "0"}, "neither a number of seeds nor a range"},
      {{"compare", file, "--seeds", "9..3"}, "neither a number of seeds nor a range"},
      {{"compare", file, "--set", "job.batch_mode=linear"}, "job.batch_mode: constant"},
      {{"compare", file, "--set", "job.nodes.mn=1"}, "did you mean \"min\"?"},
      {{"compare", file, "--csv", "/nonexistent/x.csv"}, "cannot write"},
  };
  for (const Case& one : cases) {
    const ProgramResult result = elastic_sim(one.arguments);
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_NE(result.err.find(one.says), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("nothing was run"), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(SimCompare, help_teaches_what_each_policy_sets) {
  const ProgramResult result = elastic_sim({"compare", "--help"});
  EXPECT_EQ(result.status, 0);
  for (const char* part : {"rigid", "job.nodes.min=MOST", "job.detection_target=15s", "bound"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
  }
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(SimCompare, interrupted_it_compares_the_seeds_that_are_done) {
  const ProgramResult result = run_program(
      "elastic-sim", {.arguments = {"compare", scenario("cmp.yaml"), "--seeds", "100000"},
                      .interrupt_after_ms = 3000});
  EXPECT_EQ(result.status, 130) << result.out << result.err;
  EXPECT_NE(result.out.find("of 100,000 seeds have a run"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("bound"), std::string::npos) << result.out;
}

TEST(SimCompare, a_safety_failure_of_any_run_is_shown_and_is_status_5) {
  const ProgramResult result = run_program(
      "elastic-sim-mutants",
      {.arguments = {"compare", std::string(ELASTIC_SOURCE_DIR) + "/scenarios/short/churn.yaml",
                     "--seeds", "12", "--policy", "elastic", "--mutant", "remainder_dropped"}});
  EXPECT_EQ(result.status, 5) << result.out << result.err;
  EXPECT_NE(result.out.find("elastic seed 1 safety weights"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("safety"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace elastic::test
