// Models of scenarios: measured presets, and tables of a user's own.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "chaos/scenario/scenario.h"
#include "chaos/timing/measured.h"

namespace elastic::chaos {
namespace {

using std::chrono::milliseconds;

std::string with_model(const std::string& model, const std::string& nodes = "min: 2, max: 4") {
  return "job:\n  nodes: {" + nodes + "}\n  model: " + model +
         "\n  steps: 100\n  global_batch: 120\ncluster:\n  zones:\n    a: {nodes: 4}\n";
}

// A folder with a scenario and its table, gone at the end.
class ScenarioModel : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "elastic-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void table(const std::string& text) const { std::ofstream(folder_ + "/t.csv") << text; }
  [[nodiscard]] std::string scenario_file() const { return folder_ + "/mine.yaml"; }
  [[nodiscard]] std::string error_of(const std::string& text) const {
    const auto scenario = parse_scenario(text, scenario_file());
    std::string error = scenario ? "no error" : scenario.error().text();
    for (std::size_t at = error.find(folder_); at != std::string::npos; at = error.find(folder_)) {
      error.erase(at, folder_.size() + 1);
    }
    return error;
  }

  std::string folder_;
};

constexpr const char* kGood =
    "nodes,workers,batch,seconds\n"
    "2,2,20,0.2\n2,2,80,0.8\n4,4,20,0.3\n4,4,80,0.9\n";

TEST_F(ScenarioModel, a_table_gives_the_step_of_each_size_and_reads_back) {
  table(kGood);
  const auto scenario = parse_scenario(with_model("{table: t.csv, state: 1GB}"), scenario_file());
  ASSERT_TRUE(scenario) << scenario.error().text();
  const auto points = step_points(*scenario);
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 3U);
  EXPECT_EQ(points->at(0).share, 60U);
  EXPECT_EQ(points->at(0).time, milliseconds(600));
  EXPECT_EQ(points->at(1).time, milliseconds(450));  // 40 samples: halfway from 400 to 500
  EXPECT_EQ(points->at(2).time, milliseconds(400));
  const sim::WorldConfig world = to_world(*scenario, 1);
  EXPECT_EQ(world.training.state_bytes, 1'000'000'000);
  EXPECT_LT(worst_difference_ppm(*points, world.training, world.network), 30'000);
  const auto again = parse_scenario(scenario_to_yaml(*scenario), scenario_file());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->model, scenario->model);
  EXPECT_EQ(again->model.times->rows(), scenario->model.times->rows());
}

TEST_F(ScenarioModel, with_a_plan_the_file_no_longer_needs_the_table) {
  table(kGood);
  const auto scenario = parse_scenario(with_model("{table: t.csv, state: 1GB}"), scenario_file());
  ASSERT_TRUE(scenario) << scenario.error().text();
  const sim::Plan plan;
  const auto again = parse_scenario(scenario_to_yaml(*scenario, &plan), "elsewhere.yaml");
  ASSERT_TRUE(again) << again.error().text();
  const sim::TrainingModel before = to_world(*scenario, 1).training;
  const sim::TrainingModel after = to_world(*again, 1).training;
  EXPECT_EQ(after.compute_per_sample, before.compute_per_sample);
  EXPECT_EQ(after.step_overhead, before.step_overhead);
  EXPECT_EQ(after.gradient_bytes, before.gradient_bytes);
  EXPECT_EQ(after.state_bytes, before.state_bytes);
}

TEST_F(ScenarioModel, what_is_wrong_in_a_table_is_said_with_the_place_in_it) {
  table("nodes,workers,batch,seconds\n2,2,20,fast\n");
  EXPECT_EQ(error_of(with_model("{table: t.csv, state: 1GB}")),
            "t.csv:2:8: \"fast\" is not a time in seconds, such as 0.125 (above 0, at most 86400, "
            "nine places)\nnothing was run\n");
  EXPECT_EQ(error_of(with_model("{table: u.csv, state: 1GB}")),
            "mine.yaml:3:18: u.csv: cannot be read: No such file or directory\nnothing was run\n");
  EXPECT_EQ(error_of(with_model("{table: t.csv}")),
            "mine.yaml:3:10: \"state\" is missing in job.model\nnothing was run\n");
}

TEST_F(ScenarioModel, every_size_of_the_job_must_be_covered) {
  table(kGood);
  EXPECT_EQ(error_of(with_model("{table: t.csv, state: 1GB}", "min: 1, max: 4")),
            "mine.yaml:3:10: the table covers 2 to 4 nodes with 1 worker each, not 1\n"
            "nothing was run\n");
  EXPECT_EQ(error_of(with_model("yolov3-voc", "min: 2, max: 17")),
            "mine.yaml:3:10: yolov3-voc covers 1 to 16 nodes with 1 worker each, not 17\n"
            "nothing was run\n");
}

TEST_F(ScenarioModel, measured_presets_are_met_within_a_fifth_and_exactly_at_one_size) {
  for (const MeasuredName& name : kMeasuredNames) {
    SCOPED_TRACE(name.name);
    const std::uint64_t batch = std::uint64_t{4} * measured_models().at(0).batches.at(0);
    for (const std::string nodes : {"min: 1, max: 4", "min: 2, max: 4", "min: 4, max: 4"}) {
      std::string text = with_model(std::string(name.name), nodes);
      text.replace(text.find("120"), 3, std::to_string(name.folder == "ncf" ? 512 : 2 * batch));
      if (name.folder == "bert" || name.folder == "yolov3") {
        text.replace(text.find("160"), 3, "48");
      }
      const auto scenario = parse_scenario(text, "m.yaml");
      ASSERT_TRUE(scenario) << scenario.error().text();
      const auto points = step_points(*scenario);
      ASSERT_TRUE(points);
      const sim::WorldConfig world = to_world(*scenario, 1);
      const std::int64_t off = worst_difference_ppm(*points, world.training, world.network);
      EXPECT_LE(off, points->size() == 1 ? 100 : 200'000) << nodes;
    }
  }
}

}  // namespace
}  // namespace elastic::chaos
