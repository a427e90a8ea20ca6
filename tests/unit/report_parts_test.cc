#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "chaos/report/batch_report.h"
#include "chaos/report/chart.h"
#include "chaos/report/figures.h"
#include "chaos/report/json.h"
#include "chaos/report/progress.h"

namespace elastic::chaos {
namespace {

using namespace std::chrono_literals;

TEST(Figures, keep_three_digits_and_a_unit) {
  EXPECT_EQ(span_text(0ns), "0 s");
  EXPECT_EQ(span_text(41ms), "41 ms");
  EXPECT_EQ(span_text(1320ms), "1.32 s");
  EXPECT_EQ(span_text(41900ms), "41.9 s");
  EXPECT_EQ(span_text(123s), "2m 03s");
  EXPECT_EQ(span_text(8h + 12min + 59s), "8h 12m");
  EXPECT_EQ(span_text(234h), "9d 18h");
  EXPECT_EQ(span_text(Duration::max()), "106751d 23h");
  EXPECT_EQ(span_text(-1500ms), "-1.50 s");
  EXPECT_FALSE(span_text(Duration::min()).empty());
  EXPECT_EQ(percent_text(931'000), "93.1%");
  EXPECT_EQ(percent_text(999'999), "99.9%") << "all but a millionth is not all";
  EXPECT_EQ(percent_text(1'000'000), "100.0%");
  EXPECT_EQ(dollars_text(1'214'804'999), "$1,214.80");
  EXPECT_EQ(dollars_text(-10'000), "-$0.01");
  EXPECT_EQ(short_count_text(9'999), "9,999");
  EXPECT_EQ(short_count_text(41'894), "41.8k");
  EXPECT_EQ(short_count_text(4'182'004), "4.18M");
  EXPECT_EQ(short_count_text(std::numeric_limits<std::uint64_t>::max()), "18.4E");
  EXPECT_EQ(moment_text(Time(3h + 7min + 12400ms)), "3h 07m 12.4s");
  EXPECT_EQ(share_ppm(Duration::max(), Duration::max()), 1'000'000);
  EXPECT_EQ(share_ppm(1s, 0s), 0);
}

TEST(Layout, sections_break_between_items_and_keep_their_indent) {
  const Look narrow{.width = 30};
  EXPECT_EQ(section("time", {"aaaaaaa", "bbbbbbb", "cccc"}, narrow),
            "  time        aaaaaaa  bbbbbbb\n              cccc\n");
  EXPECT_EQ(section("none", {}, narrow), "");
  EXPECT_EQ(paragraph("text", "one two  three four", Look{.width = 24}),
            "  text        one two\n              three four\n");
  EXPECT_EQ(columns("▇▇ é"), 4U);
  EXPECT_EQ(columns(inked("red", Ink::kBad, Look{.colour = true})), 3U);
}

TEST(Chart, shows_the_mean_of_each_column) {
  const std::vector<ZoneInfo> zones{{.name = "a", .capacity = 8}};
  const std::vector<SizePoint> sizes{{.at = Time(0s), .up = {8}, .training = {8}},
                                     {.at = Time(50s), .up = {0}, .training = {0}},
                                     {.at = Time(75s), .up = {4}, .training = {4}}};
  const std::vector<PlannedMark> marks;
  const std::string text = chart(
      {.zones = zones, .sizes = sizes, .marks = marks, .began = Time(0s), .ended = Time(100s)},
      Look{.width = 34});
  EXPECT_EQ(text,
            "  world size  0m          1m\n"
            "  zone a 0-8  ▇▇▇▇▇▇▇▇▇▇     ▄▄▄▄▄\n");
}

TEST(Chart, of_no_time_is_empty) {
  const std::vector<ZoneInfo> zones{{.name = "a", .capacity = 8}};
  EXPECT_EQ(chart({.zones = zones, .sizes = {}, .marks = {}}, Look{}), "");
}

TEST(Marks, rare_ones_come_first_and_none_overlap) {
  std::vector<PlannedMark> marks;
  for (int i = 0; i < 50; ++i) {
    marks.push_back({.at = Time(std::chrono::seconds(i * 2)),
                     .kind = sim::FaultKind::kKillWorker,
                     .label = "kill worker"});
  }
  marks.push_back({.at = Time(50s), .kind = sim::FaultKind::kPartition, .label = "partition"});
  const auto lines = mark_lines(marks, Time(0s), Time(100s), 60, 2, Look{.utf8 = false});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].find("^ partition"), 30U);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 60U);
}

Row row(std::uint64_t seed, VerdictClass verdict, std::int64_t goodput) {
  Row made;
  made.seed = seed;
  made.verdict = verdict;
  made.finished = true;
  made.finish_ns = Duration(8h + std::chrono::minutes(seed)).count();
  made.goodput_ppm = goodput;
  made.cost_microdollars = 200'000'000 + static_cast<std::int64_t>(seed) * 1'000'000;
  made.recovery_p50_ns = 400'000'000;
  made.recovery_p99_ns = 1'300'000'000;
  made.recovery_max_ns = 1'900'000'000;
  made.rounds = 60 + seed;
  made.liveness = "held";
  made.liveness_took_ns = 1'000'000'000 * static_cast<std::int64_t>(seed);
  made.expected = {{.wanted = "goodput >= 90%", .found = "x", .ok = goodput >= 900'000}};
  return made;
}

BatchResult batch() {
  BatchResult made;
  made.scenario = "spot_churn";
  made.seeds = {.first = 1, .last = 20};
  made.jobs = 2;
  made.wall_ms = 12'340;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    made.rows.push_back(row(seed, VerdictClass::kHolds, 920'000 + static_cast<std::int64_t>(seed)));
  }
  made.oracles = {{.name = "ranks", .promise = "p", .checks = 610},
                  {.name = "budgets", .promise = "q", .checks = 0}};
  return made;
}

Commands commands(std::uint64_t seed) {
  return {.repeat = "elastic-sim s.yaml --seed " + std::to_string(seed),
          .shrink = "elastic-sim shrink s.yaml --seed " + std::to_string(seed)};
}

TEST(BatchReport, tells_spread_and_failing_seeds) {
  BatchResult made = batch();
  made.rows[4].verdict = VerdictClass::kMissed;
  made.rows[4].expected[0] = {.wanted = "goodput >= 90%", .found = "89.9%", .ok = false};
  made.rows[7].verdict = VerdictClass::kSafety;
  made.rows[7].oracle = "ranks";
  made.rows[7].title = "two members hold one rank";
  const std::string text = batch_report(made, commands, Look{});
  EXPECT_EQ(text,
            R"(spot_churn  seeds 1..20   SAFETY: 1 of 20 seeds breaks a promise
                                                20 runs in 12.3 s on 2 processes

                             p5          p50          p95
  finish                 8h 01m       8h 11m       8h 20m
  goodput                 92.0%        92.0%        92.0%
  cost                  $201.00      $211.00      $220.00
  recovery p50           400 ms       400 ms       400 ms
  recovery p99           1.30 s       1.30 s       1.30 s
  recovery max           1.90 s       1.90 s       1.90 s
  steps lost                  0            0            0
  rounds                     61           71           80
  nodes lost                  0            0            0

  failing     seed 8 safety ranks: two members hold one rank
              seed 5 missed goodput >= 90% (89.9%)
  repeat      elastic-sim s.yaml --seed 8
  shrink      elastic-sim shrink s.yaml --seed 8

  expected    goodput >= 90%               in 19 of 20      MISSED
  liveness    20 came back (slowest 20.0 s), 0 were over before,
              0 void an assumption
  oracles     2 watched in 610 checks
              ranks 610
              nothing to check for: budgets
)");
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = text.find('\n', from);
    EXPECT_LE(columns(text.substr(from, to - from)), 80U);
    from = to + 1;
  }
  const auto json = nlohmann::json::parse(batch_json(made, commands));
  EXPECT_EQ(json.at("exit_status"), 5);
  EXPECT_EQ(json.at("failing").size(), 2U);
  EXPECT_EQ(json.at("rows").size(), 20U);
  EXPECT_EQ(json.at("spread").at("goodput_ppm").at("p5"), 920'001);
}

TEST(BatchReport, an_interrupted_batch_shows_what_is_known) {
  BatchResult made = batch();
  made.rows.resize(3);
  made.interrupted = true;
  const std::string text = batch_report(made, commands, Look{});
  EXPECT_NE(text.find("interrupted"), std::string::npos);
  EXPECT_NE(text.find("3 of 20 seeds were run"), std::string::npos);
  made.rows.clear();
  EXPECT_NE(batch_report(made, commands, Look{}).find("0 of 20"), std::string::npos);
}

TEST(Progress, says_how_long_it_will_take) {
  EXPECT_EQ(progress_line({.done = 100, .total = 500, .failed = 1, .missed = 0, .wall_ms = 60'000}),
            "100 of 500 seeds, 1 failed, 4m 01s left");
  EXPECT_EQ(time_left(0, 5, 1000), "");
  EXPECT_EQ(time_left(5, 5, 1000), "");
}

}  // namespace
}  // namespace elastic::chaos
