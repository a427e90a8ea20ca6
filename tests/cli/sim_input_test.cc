// What elastic-sim says to input that is wrong: exit 2, a clear line, and nothing is run.
#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace elastic::test {
namespace {

testing::AssertionResult refused(const ProgramResult& result, const std::string& part) {
  if (result.status != 2) {
    return testing::AssertionFailure() << "status " << result.status << "\n" << result.err;
  }
  if (!result.out.empty()) return testing::AssertionFailure() << "on stdout: " << result.out;
  if (result.err.find(part) == std::string::npos) {
    return testing::AssertionFailure() << "no \"" << part << "\" in:\n" << result.err;
  }
  return testing::AssertionSuccess();
}

const char* const kSpotChurn = ELASTIC_SOURCE_DIR "/scenarios/spot_churn.yaml";

TEST(SimInput, an_unknown_option_is_named_with_the_one_that_was_meant) {
  EXPECT_TRUE(refused(elastic_sim({"--sed", "3", kSpotChurn}), "did you mean \"--seed\"?"));
  EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--verfy"}), "did you mean \"--verify\"?"));
  EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--qqqqqqq"}), "unknown option \"--qqqqqqq\""));
}

TEST(SimInput, options_with_impossible_values_are_refused) {
  EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--seed", "one"}), "--seed"));
  EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--seed", "-1"}), "--seed"));
  for (const char* range : {"9..1", "a..b", "1..", "..", "1..99999999999", ""}) {
    EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--seeds", range}), "nothing was run")) << range;
  }
  EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--seeds", "1..2", "--jobs", "0"}), "--jobs"));
  EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--set", "job.nodes.mim=3"}), "min"));
  EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--set", "nonsense"}), "nothing was run"));
}

TEST(SimInput, the_schema_is_printed_without_a_file) {
  const ProgramResult result = elastic_sim({"schema"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.substr(0, 1), "{");
  EXPECT_NE(result.out.find("workers_per_node"), std::string::npos);
  EXPECT_TRUE(refused(elastic_sim({"schema", kSpotChurn}), "nothing was run"));
}

TEST(SimInput, files_that_are_none_are_refused) {
  EXPECT_TRUE(refused(elastic_sim({"no/such/file.yaml"}), "no/such/file.yaml"));
  EXPECT_TRUE(refused(elastic_sim({"/"}), "/"));
  EXPECT_TRUE(refused(elastic_sim({scratch_file("empty.yaml", "")}), "empty.yaml"));
  EXPECT_TRUE(refused(elastic_sim({scratch_file("binary.yaml", std::string("\0\xFF\x01", 3))}),
                      "binary.yaml"));
  EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--trace", "no/such/trace.csv"}), "trace.csv"));
  EXPECT_TRUE(refused(elastic_sim({"trace", "no/such/trace.csv"}), "trace.csv"));
  EXPECT_TRUE(refused(elastic_sim({"explain", "no/such/file.yaml"}), "file.yaml"));
  EXPECT_TRUE(refused(elastic_sim({"shrink", "no/such/file.yaml"}), "file.yaml"));
}

TEST(SimInput, a_misspelt_key_is_shown_with_its_place) {
  const std::string file =
      scratch_file("mine.yaml", "job:\n  nodes: {min: 2, max: 4}\n  modle: x\n");
  const ProgramResult result = elastic_sim({file});
  EXPECT_TRUE(refused(result, "mine.yaml:3:3"));
  EXPECT_TRUE(refused(result, "did you mean \"model\"?"));
}

TEST(SimInput, an_events_file_that_cannot_be_written_is_refused_before_the_run) {
  EXPECT_TRUE(
      refused(elastic_sim({kSpotChurn, "--events", "/no/such/folder/e.jsonl"}), "--events"));
  EXPECT_TRUE(refused(elastic_sim({kSpotChurn, "--seeds", "1..2", "--events", "x"}), "--events"));
}

TEST(SimInput, without_arguments_it_teaches) {
  const ProgramResult none = elastic_sim({});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("elastic-sim scenarios/spot_churn.yaml"), std::string::npos);
  const ProgramResult help = elastic_sim({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("exit status"), std::string::npos);
  EXPECT_NE(help.out.find("shrink"), std::string::npos);
  EXPECT_EQ(help.out.find("--rows"), std::string::npos) << "hidden";
  EXPECT_EQ(elastic_sim({"shrink", "--help"}).status, 0);
  EXPECT_EQ(elastic_sim({"--version"}).out.substr(0, 12), "elastic-sim ");
}

TEST(SimInput, validate_tells_of_each_file) {
  const std::string bad = scratch_file("bad.yaml", "job: 3\n");
  const ProgramResult result = elastic_sim({"validate", kSpotChurn, bad});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.out.find("spot_churn.yaml: ok"), std::string::npos);
  EXPECT_NE(result.err.find("bad.yaml:1:"), std::string::npos);
  EXPECT_EQ(elastic_sim({"validate", kSpotChurn}).status, 0);
}

}  // namespace
}  // namespace elastic::test
