// elastic_closed_forms as a user runs it; what its figures are is tested in tests/unit.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"

namespace elastic::test {
namespace {

using nlohmann::json;

ProgramResult closed_forms(const std::vector<std::string>& arguments) {
  return run_program("elastic_closed_forms", {.arguments = arguments});
}

TEST(ClosedFormsProgram, a_table_fits_a_terminal_and_tells_what_it_holds) {
  const ProgramResult result = closed_forms({"wait", "--short"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("machines  least   formula     found"), std::string::npos);
  EXPECT_NE(result.out.find("all as theory says"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("daly"), std::string::npos) << "only what was asked for";
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
  }
}

TEST(ClosedFormsProgram, figures_come_as_json_and_are_the_same_again) {
  const ProgramResult result = closed_forms({"--json", "--short", "wait"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  const json report = json::parse(result.out);
  ASSERT_EQ(report.size(), 1U);
  const json& wait = report.at("wait");
  EXPECT_EQ(wait.at("waits").size(), 5U);
  EXPECT_NEAR(wait.at("waits").at(1).at("formula"), 1250, 1e-6);
  EXPECT_TRUE(wait.at("wrong").empty());
  EXPECT_EQ(wait.at("interrupted"), false);
  EXPECT_EQ(closed_forms({"--json", "--short", "--jobs", "1", "wait"}).out, result.out);
}

TEST(ClosedFormsProgram, misuse_ends_with_2_and_says_what_to_write) {
  const struct {
    std::vector<std::string> arguments;
    std::string part;
  } cases[] = {{{"dayl"}, "did you mean \"daly\"?"},
               {{"prices"}, "there are daly, interval, availability or wait"},
               {{"wait", "daly", "wait"}, "\"wait\" is there twice"},
               {{"--jobs", "0"}, "--jobs: write a number from 1 to 1024"},
               {{"--jobs", "many"}, "--jobs"},
               {{"--shrot"}, "--shrot"}};
  for (const auto& [arguments, part] : cases) {
    const ProgramResult result = closed_forms(arguments);
    EXPECT_EQ(result.status, 2) << part;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("nothing was run"), std::string::npos) << result.err;
  }
}

TEST(ClosedFormsProgram, help_names_every_check_and_the_statuses) {
  const ProgramResult result = closed_forms({"--help"});
  EXPECT_EQ(result.status, 0);
  for (const char* part :
       {"daly", "interval", "availability", "wait", "--short", "--json", "--jobs", "Exit status"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
  }
}

TEST(ClosedFormsProgram, an_interrupted_run_prints_what_it_knows) {
  const ProgramResult result = run_program(
      "elastic_closed_forms", {.arguments = {"availability"}, .interrupt_after_ms = 1500});
  EXPECT_EQ(result.status, 130) << result.out << result.err;
  EXPECT_NE(result.out.find("interrupted"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("all as theory says"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("WRONG"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace elastic::test
