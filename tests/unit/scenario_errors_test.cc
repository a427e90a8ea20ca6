// What is wrong with a scenario is said with its place, within a bounded time, and nothing is run.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "chaos/scenario/scenario.h"

namespace elastic::chaos {
namespace {

constexpr const char* kGood =
    "job:\n"
    "  nodes: {min: 2, max: 4}\n"
    "  model: resnet50\n"
    "  steps: 100\n"
    "  journal: external\n"
    "cluster:\n"
    "  zones:\n"
    "    a: {nodes: 4, price: $0.918/h}\n";

std::string errors_of(const std::string& text) {
  const auto scenario = parse_scenario(text, "mine.yaml");
  return scenario ? "no error" : scenario.error().text();
}

// The good scenario with one text in the place of another.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_error(const std::string& text, const std::string& error) {
  EXPECT_EQ(errors_of(text), error + "\nnothing was run\n");
}

TEST(ScenarioErrors, the_good_scenario_has_none) { EXPECT_EQ(errors_of(kGood), "no error"); }

TEST(ScenarioErrors, a_misspelt_key_is_named_with_what_was_meant) {
  expect_error(changed("  steps: 100\n", "  steps: 100\n  workers_pr_node: 8\n"),
               "mine.yaml:5:3: unknown key \"workers_pr_node\" in job; did you mean "
               "\"workers_per_node\"?");
}

TEST(ScenarioErrors, a_policy_is_checked_like_all_else) {
  expect_error(changed("  steps: 100\n", "  steps: 100\n  flaps: {tolerate: 2}\n"),
               "mine.yaml:5:11: unknown key \"tolerate\" in job.flaps; did you mean "
               "\"tolerated\"?");
  expect_error(changed("  steps: 100\n", "  steps: 100\n  max_churn: many\n"),
               "mine.yaml:5:14: \"many\" is not a whole number");
  const std::string text =
      errors_of(changed("  steps: 100\n", "  steps: 100\n  restart_back_off: 1h\n"));
  EXPECT_NE(text.find("a back-off begins with 3600000ms, above its cap of 10000ms"),
            std::string::npos)
      << text;
}

TEST(ScenarioErrors, several_mistakes_come_in_the_order_of_the_file) {
  expect_error(changed("min: 2", "min: two") + "netwrok: {}\n",
               "mine.yaml:2:16: \"two\" is not a whole number\n"
               "mine.yaml:9:1: unknown key \"netwrok\"; did you mean \"network\"?");
}

TEST(ScenarioErrors, impossible_values_are_refused) {
  expect_error(changed("min: 2", "min: 5"), "mine.yaml:2:16: min 5 is more than max 4");
  expect_error(changed("min: 2", "min: 0"), "mine.yaml:2:16: \"0\" is impossible; at least 1");
  expect_error(changed("min: 2", "min: -2"), "mine.yaml:2:16: \"-2\" is negative");
  expect_error(changed("steps: 100", "steps: .nan"),
               "mine.yaml:4:10: \".nan\" is not a whole number");
  expect_error(changed("steps: 100", "steps: .inf"),
               "mine.yaml:4:10: \".inf\" is not a whole number");
  expect_error(changed("steps: 100", "steps: 99999999999999999999999"),
               "mine.yaml:4:10: \"99999999999999999999999\" is too large");
  expect_error(changed("steps: 100", "steps: 2000000000"),
               "mine.yaml:4:10: \"2000000000\" is too large; at most 1000000000");
  expect_error(changed("nodes: 4", "nodes: 1"),
               "mine.yaml:7:3: 1 machines at most, fewer than job.nodes.min (2)");
}

TEST(ScenarioErrors, a_missing_unit_or_key_is_named) {
  expect_error(changed("price: $0.918/h", "price: 0.918"),
               "mine.yaml:8:26: \"0.918\" is not a price; write it as $0.918/h");
  expect_error(changed("  steps: 100\n", "  steps: 100\n  cool_down: 90\n"),
               "mine.yaml:5:14: \"90\" is not a duration; write a unit, such as 90s or 2h");
  expect_error(changed("  model: resnet50\n", ""), "mine.yaml:2:3: \"model\" is missing in job");
  expect_error(changed("  steps: 100\n", ""),
               "mine.yaml:2:3: says not how long to train; write steps, or epochs and dataset");
}

TEST(ScenarioErrors, wrong_types_are_told) {
  expect_error(changed("{min: 2, max: 4}", "4"),
               "mine.yaml:2:10: job.nodes is a single value; expected a mapping of keys to values");
  expect_error(changed("steps: 100", "steps: [100]"),
               "mine.yaml:4:10: a list where a value is expected");
  expect_error(changed("steps: 100", "steps:"), "mine.yaml:4:3: nothing where a value is expected");
}

TEST(ScenarioErrors, a_key_written_twice_is_refused) {
  expect_error(changed("  steps: 100\n", "  steps: 100\n  steps: 200\n"),
               "mine.yaml:5:3: key \"steps\" is written twice; first in line 4");
}

TEST(ScenarioErrors, a_batch_that_follows_the_world_must_divide_by_the_world_it_was_chosen_for) {
  expect_error(
      changed("  steps: 100\n",
              "  steps: 100\n  global_batch: 10\n  batch_mode: linear\n"
              "  reference_world: 4\n"),
      "mine.yaml:6:15: a reference batch of 10 samples on 4 ranks leaves 2 over; use 12, or "
      "batch mode constant");
}

TEST(ScenarioErrors, a_foreign_program_sees_to_its_own_batch) {
  expect_error(
      changed("  steps: 100\n", "  steps: 100\n  workers: foreign\n  batch_mode: sqrt\n"),
      "mine.yaml:6:15: a foreign program sees to its own batch; write constant, or workers: "
      "native");
}

TEST(ScenarioErrors, faults_name_machines_and_kinds_that_exist) {
  const std::string good(kGood);
  expect_error(good + "faults:\n  - {at: 1h, kind: freze, node: a3, for: 4s}\n",
               "mine.yaml:10:20: unknown kind \"freze\"; did you mean \"freeze\"?");
  expect_error(good + "faults:\n  - {at: 1h, kind: freeze, node: a4, for: 4s}\n",
               "mine.yaml:10:34: there is no machine \"a4\"; did you mean \"a0\"?");
  expect_error(good + "faults:\n  - {at: 1h, kind: freeze, node: a3}\n",
               "mine.yaml:10:5: \"for\" is missing in faults.0");
  expect_error(good + "faults:\n  - {at: 30h, kind: crash, node: a3}\n",
               "mine.yaml:10:10: \"30h\" is too large; at most 1d");
  expect_error(good + "faults:\n  - {kind: crash, every: 1ns}\n",
               "mine.yaml:10:5: about 86400000000000 faults; at most 10000 can come from one line");
  expect_error(good + "faults:\n  - {at: 1h, kind: kill_worker, node: a0, worker: 1}\n",
               "mine.yaml:10:51: there is no worker 1; a machine has 1, from 0");
  expect_error(
      good + "faults:\n  - {at: 1h, kind: partition, for: 4s}\n",
      "mine.yaml:10:5: partition needs a cut, such as cut: [zone a, zone b], or cut: [a3] for "
      "one machine against everybody else");
}

TEST(ScenarioErrors, expectations_need_a_comparison) {
  const std::string good(kGood);
  EXPECT_EQ(errors_of(good + "expect: {goodput: \">= 0.90\", lost_steps: \"== 0\"}\n"), "no error");
  expect_error(good + "expect: {goodput: 90%}\n",
               "mine.yaml:9:19: \"90%\" has no comparison; write one of >= <= == > < before it, in "
               "quotes, such as \">= 90%\"");
}

TEST(ScenarioErrors, what_the_model_does_stays_within_the_declared_bounds) {
  expect_error(
      std::string(kGood) + "network: {latency: 20ms}\n",
      "mine.yaml:9:10: a round trip takes up to 40ms120us, more than job.bounds.round_trip "
      "(10ms); raise the bound");
}

TEST(ScenarioErrors, a_configuration_that_cannot_keep_liveness_is_refused) {
  const std::string errors =
      errors_of(changed("  steps: 100\n", "  steps: 100\n  detection_target: 1ms\n"));
  EXPECT_EQ(errors.substr(0, 15), "mine.yaml:2:3: ") << errors;
}

struct Garbage {
  const char* what;
  std::string text;
  std::string error;  // the beginning of it
};

std::string repeated(const std::string& text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::vector<Garbage> garbage() {
  std::string bomb = "a: &a [x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    const char before = static_cast<char>(c - 1);
    bomb +=
        std::string(1, c) + ": &" + c + " [*" + before + ", *" + before + ", *" + before + "]\n";
  }
  const std::size_t million = 1U << 20U;
  return {
      {"empty", "", "mine.yaml:1:1: the file is empty"},
      {"blank", "\n\n   \n", "mine.yaml:1:1: the file is empty"},
      {"only a comment", "# nothing\n", "mine.yaml:1:1: the file is empty"},
      {"binary",
       std::string("\x7f"
                   "ELF\x02\x01\x00\x00",
                   8),
       "mine.yaml:1:1: byte 0x7f is not text"},
      {"not UTF-8", "job: \xff\xfe\n", "mine.yaml:1:6: byte 0xff is not text"},
      {"an alias bomb", bomb, "mine.yaml:1:"},
      {"a cycle", "&a [*a]", "mine.yaml:1:"},
      {"a tag", "!!python/object:os.system x", "mine.yaml:1:"},
      {"a million open lists", repeated("[", million), "mine.yaml:1:"},
      {"a million open mappings", repeated("{a: ", million), "mine.yaml:1:"},
      {"nested block lists", repeated("- ", million), "mine.yaml:1:"},
      {"nested block mappings", repeated("? ", million), "mine.yaml:1:"},
      {"nested lists over lines", repeated("[\n", million), "mine.yaml:"},
      {"a million keys",
       [] {
         std::string text;
         for (int i = 0; i < 190'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
         return text;
       }(),
       "mine.yaml:1:1: \"job\" is missing"},
      {"one key a hundred thousand times", repeated("k: 1\n", 100'000), "mine.yaml:2:1: key \"k\""},
      {"one long line", repeated("x", million), "mine.yaml:1:1: the file is a single value"},
      {"too many values", "[" + repeated("1,", million) + "1]", "mine.yaml:1:"},
      {"an unclosed quote", "job: \"" + repeated("x", million), "mine.yaml:1:"},
      {"a list", "- 1\n- 2\n", "mine.yaml:1:1: the file is a list"},
      {"two documents", std::string(kGood) + "---\n" + kGood, "mine.yaml:10:1: a second document"},
      {"tabs", "job:\n\tnodes: 3\n", "mine.yaml:2:"},
      {"a list as key", "[1, 2]: 3\n", "mine.yaml:1:"},
      {"larger than 4 MiB", repeated("# comment\n", 500'000), "mine.yaml: larger than 4 MiB"},
  };
}

TEST(ScenarioErrors, garbage_ends_in_a_clear_error_in_bounded_time) {
  for (const Garbage& one : garbage()) {
    const auto start = std::chrono::steady_clock::now();
    const std::string errors = errors_of(one.text);
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(errors.substr(0, one.error.size()), one.error) << one.what << ": " << errors;
    EXPECT_LT(took, std::chrono::seconds(10)) << one.what;
    EXPECT_LT(errors.size(), 10'000U) << one.what;
    EXPECT_NE(errors.find("nothing was run\n"), std::string::npos) << one.what;
  }
}

TEST(ScenarioErrors, only_regular_files_of_a_sane_size_are_read) {
  char folder[] = "/tmp/elastic-scenario-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string base = folder;
  const auto error_of = [](const std::string& path) {
    const auto scenario = load_scenario(path);
    return scenario ? "no error" : scenario.error().text();
  };
  EXPECT_EQ(error_of(base + "/none.yaml"),
            base + "/none.yaml: cannot be read: No such file or directory\nnothing was run\n");
  EXPECT_EQ(error_of(base), base + ": is a directory, not a file\nnothing was run\n");
  EXPECT_EQ(error_of("/dev/zero"), "/dev/zero: is not a regular file\nnothing was run\n");
  const std::string pipe = base + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of(pipe), pipe + ": is not a regular file\nnothing was run\n");
  const std::string huge = base + "/huge.yaml";
  std::ofstream(huge).close();
  ASSERT_EQ(::truncate(huge.c_str(), off_t{1} << 30), 0);  // sparse: takes no space
  EXPECT_EQ(error_of(huge), huge + ": is larger than 4 MiB\nnothing was run\n");
  std::filesystem::remove_all(base);
}

TEST(ScenarioErrors, a_trace_that_is_not_there_is_told_at_the_line_that_names_it) {
  expect_error(std::string(kGood) + "availability: {trace: nowhere.csv}\n",
               "mine.yaml:9:23: nowhere.csv: cannot be read: No such file or directory");
}

TEST(ScenarioErrors, a_change_from_the_command_line_is_checked_like_the_file) {
  auto source = parse_source(kGood, "mine.yaml");
  ASSERT_TRUE(source);
  EXPECT_FALSE(apply_override(*source, "job.nodes.min=9"));
  EXPECT_EQ(check_source(*source).error().text(),
            "--set job.nodes.min: min 9 is more than max 4\nnothing was run\n");
  EXPECT_FALSE(apply_override(*source, "job.nodes.min=3"));
  EXPECT_FALSE(apply_override(*source, "cluster.zones.a.price=$2/h"));
  EXPECT_FALSE(apply_override(*source, "job.bounds.pause=50ms"));
  const auto scenario = check_source(*source);
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(scenario->job.min_nodes, 3U);
  EXPECT_EQ(scenario->zones[0].price_microdollars_per_hour, 2'000'000);
  EXPECT_EQ(scenario->job.bounds.pause, std::chrono::milliseconds(50));
  EXPECT_EQ(apply_override(*source, "job.nodes")->text(),
            "--set job.nodes: expected path=value, such as job.nodes.min=8\nnothing was run\n");
  EXPECT_EQ(apply_override(*source, "job.steps.x=1")->text(),
            "--set job.steps.x: \"x\" is below a single value, \"100\"\nnothing was run\n");
}

}  // namespace
}  // namespace elastic::chaos
