// Tables and charts of sweeps that were made up.
#include "chaos/sweep/sweep_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace elastic::chaos {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000;
const Look kPlain{.colour = false, .utf8 = false, .width = 80};
const Look kUtf8{.colour = false, .utf8 = true, .width = 80};

Row row(std::uint64_t seed, std::int64_t goodput_ppm, std::int64_t minutes, bool finished = true) {
  Row one;
  one.seed = seed;
  one.finished = finished;
  one.goodput_ppm = goodput_ppm;
  one.finish_ns = minutes * kMinute;
  one.cost_microdollars = minutes * 1'000'000;
  one.steps_redone = static_cast<std::uint64_t>(minutes);
  return one;
}

// Three values of one setting: the second is best, the third as good, the first never ends.
SweepResult one_setting() {
  SweepResult sweep;
  sweep.scenario = "made_up";
  sweep.settings = {{.path = "job.checkpoint.every", .values = {"1min", "4min", "16min"}}};
  sweep.seeds = {.first = 1, .last = 3};
  for (const std::string& value : sweep.settings[0].values) {
    SweepPoint point{.values = {value}, .scenario = {}};
    point.scenario.horizon = std::chrono::hours(2);
    sweep.points.push_back(std::move(point));
  }
  sweep.rows = {{row(1, 500'000, 60), row(2, 510'000, 61), row(3, 480'000, 60, false)},
                {row(1, 800'000, 40), row(2, 820'000, 41), row(3, 780'000, 42)},
                {row(1, 790'000, 40), row(2, 825'000, 42), row(3, 775'000, 42)}};
  return sweep;
}

SweepResult two_settings(std::size_t across) {
  SweepResult sweep;
  sweep.scenario = "made_up";
  sweep.settings = {{.path = "job.nodes.min", .values = {"4", "8"}},
                    {.path = "job.nodes.max", .values = {}}};
  for (std::size_t i = 0; i < across; ++i) {
    sweep.settings[1].values.push_back(std::to_string(16 + i));
  }
  sweep.seeds = {.first = 1, .last = 2};
  std::int64_t goodput = 500'000;
  for (const std::string& down : sweep.settings[0].values) {
    for (const std::string& right : sweep.settings[1].values) {
      sweep.points.push_back({.values = {down, right}, .scenario = {}});
      sweep.rows.push_back({row(1, goodput, 30), row(2, goodput + 2'000, 30)});
      goodput += 5'000;
    }
  }
  return sweep;
}

SweepCommands commands() {
  return [](std::size_t point, std::uint64_t seed) {
    return Commands{.repeat = "repeat " + std::to_string(point) + " " + std::to_string(seed),
                    .shrink = {}};
  };
}

void expect_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80U) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "colour without a terminal";
}

TEST(SweepReport, a_table_has_means_intervals_and_marks) {
  EXPECT_EQ(sweep_table(one_setting(), Measure::kGoodput, kPlain),
            R"(  setting     job.checkpoint.every

                     goodput          cost            finish      redone in time
  1min            41.7% +-38   $80.33 +-85  >1h 20m +-1h 25m  60.3 +-1.4     67%
* 4min           80.0% +-5.0 $41.00 +-2.48  41m 00s +-2m 29s  41.0 +-2.5    100%
= 16min          79.7% +-6.4 $41.33 +-2.87  41m 20s +-2m 52s  41.3 +-2.9    100%
)");
}

TEST(SweepReport, one_setting_is_charted_on_a_common_scale) {
  EXPECT_EQ(sweep_chart(one_setting(), Measure::kGoodput, kPlain),
            R"(  goodput (mean and 95% interval)
  1min             ---------------------------o---------------------------
  4min           *                                                    ----o---
  16min          =                                                   ----o-----
                   3.6%                                                   86.0%
)");
}

TEST(SweepReport, two_settings_are_a_grid_of_figures) {
  EXPECT_EQ(sweep_chart(two_settings(3), Measure::kGoodput, kPlain),
            R"(  goodput; down job.nodes.min,
  across job.nodes.max
                        16        17        18
  4               50.1% .   50.6% :   51.1% +
  8               51.6% +   52.1% *   52.6% #*
)");
}

TEST(SweepReport, a_grid_that_is_too_wide_for_figures_has_shades) {
  const std::string text = sweep_chart(two_settings(40), Measure::kGoodput, kUtf8);
  EXPECT_NE(text.find("16 .. 55"), std::string::npos) << text;
  EXPECT_NE(text.find("█"), std::string::npos) << text;
  expect_narrow(text);
}

TEST(SweepReport, reports_keep_to_80_columns_without_colour) {
  for (const Look& look : {kPlain, kUtf8}) {
    for (const std::string_view measure : measure_names()) {
      const Measure of = *find_measure(measure);
      expect_narrow(sweep_report(one_setting(), of, commands(), look));
      expect_narrow(sweep_report(two_settings(3), of, commands(), look));
      expect_narrow(sweep_report(two_settings(64), of, commands(), look));
    }
  }
}

TEST(SweepReport, a_run_without_success_counts_up_to_the_horizon) {
  const SweepResult sweep = one_setting();
  const Row& failed = sweep.rows[0][2];  // gave up after half of the horizon
  const Scenario& scenario = sweep.points[0].scenario;
  EXPECT_DOUBLE_EQ(value_of(Measure::kFinish, failed, scenario), 7200);
  EXPECT_DOUBLE_EQ(value_of(Measure::kCost, failed, scenario), 120);
  EXPECT_DOUBLE_EQ(value_of(Measure::kGoodput, failed, scenario), 24);
  EXPECT_DOUBLE_EQ(value_of(Measure::kInTime, failed, scenario), 0);
  EXPECT_EQ(censored(sweep, 0), 1U);
  EXPECT_EQ(figure_of(Measure::kFinish, sweep, 0).count, 3U) << "censored, not dropped";
}

TEST(SweepReport, a_failure_is_told_with_its_command_and_is_in_no_figure) {
  SweepResult sweep = one_setting();
  sweep.rows[1][0].verdict = VerdictClass::kSafety;
  sweep.rows[1][0].oracle = "samples";
  EXPECT_EQ(verdict_of(sweep), VerdictClass::kSafety);
  EXPECT_EQ(figure_of(Measure::kGoodput, sweep, 1).count, 2U);
  EXPECT_EQ(difference(Measure::kGoodput, sweep, 2, 1).count, 2U) << "the pairs that are left";
  const std::string text = sweep_report(sweep, Measure::kGoodput, commands(), kPlain);
  EXPECT_NE(text.find("repeat      repeat 1 1"), std::string::npos) << text;
  EXPECT_NE(text.find("job.checkpoint.every=4min seed 1: safety: samples"), std::string::npos)
      << text;
}

TEST(SweepReport, a_missed_expectation_is_a_result_and_no_failure) {
  SweepResult sweep = one_setting();
  sweep.rows[0][0].verdict = VerdictClass::kMissed;
  EXPECT_EQ(verdict_of(sweep), VerdictClass::kHolds);
  sweep.interrupted = true;
  EXPECT_EQ(verdict_of(sweep), VerdictClass::kInterrupted);
}

TEST(SweepReport, points_that_nobody_ran_are_shown_as_unknown) {
  SweepResult sweep = one_setting();
  sweep.interrupted = true;
  sweep.rows[0].clear();
  EXPECT_EQ(best_point(Measure::kGoodput, sweep), 1U);
  EXPECT_FALSE(as_good(Measure::kGoodput, sweep, 1, 0));
  for (auto& rows : sweep.rows) rows.clear();
  EXPECT_EQ(best_point(Measure::kGoodput, sweep), std::nullopt);
  expect_narrow(sweep_report(sweep, Measure::kGoodput, commands(), kPlain));
}

TEST(SweepReport, one_seed_is_said_to_show_no_spread) {
  SweepResult sweep = one_setting();
  for (auto& rows : sweep.rows) rows.resize(1);
  const std::string text = sweep_report(sweep, Measure::kGoodput, commands(), kPlain);
  EXPECT_NE(text.find("one seed says nothing of the spread"), std::string::npos) << text;
  EXPECT_EQ(text.find("+-"), std::string::npos) << text;
}

TEST(SweepReport, json_and_csv_have_every_run) {
  const SweepResult sweep = one_setting();
  const auto json = nlohmann::json::parse(sweep_json(sweep, Measure::kGoodput, commands()));
  EXPECT_EQ(json.at("points").at(1).at("best"), true);
  EXPECT_EQ(json.at("points").at(2).at("as_good_as_best"), true);
  EXPECT_EQ(json.at("points").at(0).at("as_good_as_best"), false);
  EXPECT_EQ(json.at("points").at(0).at("unfinished"), 1);
  EXPECT_EQ(json.at("points").at(0).at("rows").size(), 3U);
  EXPECT_DOUBLE_EQ(json.at("points").at(1).at("figures").at("goodput_percent").at("mean"), 80);
  const std::string csv = sweep_csv(sweep);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 10);
  EXPECT_NE(csv.find("\n1min,3,holds,0,0,3600000000000,480000,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace elastic::chaos
