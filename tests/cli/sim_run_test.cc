// elastic-sim as a user runs it: output, JSON, exit status, interruption.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace elastic::test {
namespace {

using nlohmann::json;

// A small job that is over quickly, with a little of everything.
std::string small_scenario(const std::string& name, const std::string& expect) {
  return scratch_file(name, R"(# A small job with some trouble, for tests.
job:
  nodes: {min: 2, max: 4}
  model: resnet50
  steps: 400
  global_batch: 1024
  checkpoint: {every: 2min, size: 300MiB}
  journal: external
  detection_target: 1s
cluster:
  zones:
    a: {nodes: 3, price: $0.918/h}
    b: {nodes: 1, price: $0.990/h}
  horizon: 2h
faults:
  - {at: 2min, kind: crash, node: a1, for: 30s}
  - {at: 4min, kind: kill_worker, node: b0}
expect:
)" + expect);
}

std::string holding() { return small_scenario("holding.yaml", "  steps_lost: \"== 0\"\n"); }

TEST(SimRun, a_seed_is_reported_on_one_screen) {
  const ProgramResult result = elastic_sim({holding()});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  for (const char* part :
       {"holding  seed 1   holds", "productive", "goodput", "per 1,000 steps", "400 committed",
        "recovery", "zone a 0-3", "zone b 0-1", "steps lost == 0", "oracles"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << "colour without a terminal";
  EXPECT_EQ(result.err, "");
}

TEST(SimRun, in_an_ascii_locale_the_report_is_ascii) {
  const ProgramResult result =
      run_program("elastic-sim", {.arguments = {holding()}, .environment = {"LC_ALL=C", "LANG=C"}});
  EXPECT_EQ(result.status, 0);
  for (const char c : result.out) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(SimRun, json_parses_and_its_time_adds_up) {
  const ProgramResult result = elastic_sim({holding(), "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report.at("verdict"), "holds");
  std::int64_t sum = 0;
  const json& time = report.at("summary").at("time");
  for (const auto& [key, value] : time.items()) {
    if (key != "whole_ns") sum += value.get<std::int64_t>();
  }
  EXPECT_EQ(sum, time.at("whole_ns"));
}

TEST(SimRun, a_missed_expectation_is_status_1) {
  const ProgramResult result =
      elastic_sim({small_scenario("missed.yaml", "  finishes_within: 1min\n")});
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  EXPECT_NE(result.out.find("MISSED"), std::string::npos);
}

TEST(SimRun, a_batch_gives_the_same_rows_whatever_the_number_of_processes) {
  const auto rows = [](const char* jobs) {
    const ProgramResult result =
        elastic_sim({holding(), "--seeds", "1..12", "--jobs", jobs, "--json"});
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    json all = json::parse(result.out).at("rows");
    for (json& row : all) row.erase("wall_ms");
    return all;
  };
  const json one = rows("1");
  ASSERT_EQ(one.size(), 12U);
  EXPECT_EQ(one, rows("5"));
  EXPECT_EQ(one[3].at("seed"), 4);
}

TEST(SimRun, a_seed_of_a_batch_is_the_seed_alone) {
  const json batch = json::parse(elastic_sim({holding(), "--seeds", "3..5", "--json"}).out);
  const json alone = json::parse(elastic_sim({holding(), "--seed", "4", "--json"}).out);
  EXPECT_EQ(batch.at("rows").at(1).at("trace_hash"), alone.at("trace_hash"));
}

TEST(SimRun, another_process_and_allocator_change_nothing) {
  const ProgramResult one = elastic_sim({holding(), "--verify"});
  EXPECT_EQ(one.status, 0) << one.out << one.err;
  EXPECT_NE(one.out.find("verified"), std::string::npos);
  const ProgramResult many =
      elastic_sim({holding(), "--verify", "--seeds", "1..6", "--jobs", "2", "--json"});
  EXPECT_EQ(many.status, 0) << many.out << many.err;
  const json verify = json::parse(many.out).at("verify");
  EXPECT_EQ(verify.at("seeds_compared"), 6);
  EXPECT_EQ(verify.at("differences").size(), 0U);
}

TEST(SimRun, events_are_json_lines_in_order) {
  const std::string path = scratch_file("events.jsonl", "");
  ASSERT_EQ(elastic_sim({holding(), "--events", path}).status, 0);
  std::ifstream file(path);
  std::int64_t last = 0;
  std::size_t count = 0;
  bool record = false;
  for (std::string line; std::getline(file, line); ++count) {
    const json event = json::parse(line);
    EXPECT_GE(event.at("t_ns").get<std::int64_t>(), last);
    last = event.at("t_ns").get<std::int64_t>();
    record = record || event.at("type") == "record";
  }
  EXPECT_GT(count, 400U);
  EXPECT_TRUE(record);
}

TEST(SimRun, changes_on_the_command_line_take_effect) {
  const ProgramResult result = elastic_sim({holding(), "--set", "job.steps=100", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json::parse(result.out).at("summary").at("steps_committed"), 100);
}

TEST(SimRun, explain_tells_the_plan) {
  const ProgramResult result = elastic_sim({"explain", holding()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("a1"), std::string::npos) << result.out;
}

TEST(SimRun, interrupted_it_prints_what_is_known) {
  const std::string file = small_scenario("endless.yaml", "  steps_lost: \"== 0\"\n");
  const ProgramResult one = run_program(
      "elastic-sim", {.arguments = {file, "--set", "job.steps=50000000", "--set",
                                    "cluster.horizon=9000h", "--set", "job.checkpoint.every=10min"},
                      .interrupt_after_ms = 1500});
  EXPECT_EQ(one.status, 130) << one.out << one.err;
  EXPECT_NE(one.out.find("interrupted"), std::string::npos) << one.out;
  const ProgramResult many = run_program(
      "elastic-sim",
      {.arguments = {file, "--seeds", "1..1000000", "--jobs", "2"}, .interrupt_after_ms = 3000});
  EXPECT_EQ(many.status, 130) << many.out << many.err;
  EXPECT_NE(many.out.find("of 1,000,000 seeds were run"), std::string::npos) << many.out;
}

TEST(SimRun, a_reader_that_goes_away_is_no_error_to_shout_about) {
  const ProgramResult result =
      run_program("elastic-sim", {.arguments = {holding()}, .close_stdout = true});
  EXPECT_EQ(result.err, "");
}

TEST(SimRun, shrink_of_a_seed_that_holds_says_so) {
  const ProgramResult result = elastic_sim({"shrink", holding()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("nothing to shrink"), std::string::npos);
}

TEST(SimRun, shrink_writes_a_scenario_that_fails_in_the_same_way) {
  const std::string path = scratch_file("small.yaml", "");
  const ProgramResult result =
      elastic_sim({"shrink", small_scenario("rounds.yaml", "  rounds: \"== 1\"\n"), "-o", path});
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("2 -> 1 faults"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("does not fail in the same way"), std::string::npos) << result.out;
  EXPECT_EQ(elastic_sim({path}).status, 1);
}

}  // namespace
}  // namespace elastic::test
