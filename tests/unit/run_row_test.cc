#include <gtest/gtest.h>

#include "chaos/run/batch.h"
#include "chaos/run/row.h"
#include "chaos/run/run.h"
#include "chaos/run/verify.h"
#include "chaos/shrink/shrink.h"

namespace elastic::chaos {
namespace {

Row sample_row() {
  Row row;
  row.seed = 18'446'744'073'709'551'615U;
  row.verdict = VerdictClass::kSafety;
  row.oracle = "committed_steps";
  row.title = "a committed step fell";
  row.at_ns = 11'232'400'000'000;
  row.event = 1'204'118;
  row.finish_ns = -1;
  row.goodput_ppm = 931'000;
  row.checks = {1, 0, 18'446'744'073'709'551'615U};
  row.expected = {{.wanted = "goodput >= 90%", .found = "93.1%", .ok = true}};
  row.trace_hash = 0xFEDCBA9876543210U;
  row.digests = {1, 2, 3};
  return row;
}

TEST(Row, crosses_a_pipe_unchanged) {
  const Row row = sample_row();
  const std::string text = to_text(row);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(row_from_text(text), row);
}

TEST(Row, refuses_what_is_not_a_row) {
  for (const char* text : {"", "{}", "null", "[1]", "{\"verdict\":\"fine\"}", "\xFF"}) {
    EXPECT_ANY_THROW(row_from_text(text)) << text;
  }
}

TEST(Row, two_rows_differ_in_the_fields_that_are_named) {
  const Row one = sample_row();
  Row two = one;
  two.wall_ms = 99;
  EXPECT_EQ(differing_fields(one, two), "");
  two.goodput_ppm = 930'999;
  two.digests[1] = 7;
  EXPECT_EQ(differing_fields(one, two), "goodput_ppm, digests");
}

TEST(Row, the_window_that_differs_is_the_first) {
  Row one = sample_row();
  Row two = one;
  EXPECT_EQ(differing_window(one, two), 0U);
  two.digests = {1, 9, 9};
  EXPECT_EQ(differing_window(one, two), 4097U);
  two.digests = {1, 2};
  EXPECT_EQ(differing_window(one, two), 8193U);
  two.digests = one.digests;
  two.trace_hash += 1;
  EXPECT_EQ(differing_window(one, two), 3U * 4096 + 1) << "after the last running digest";
}

TEST(Verdict, the_worst_class_of_a_batch_counts) {
  BatchResult batch;
  const auto worst = [&](std::vector<VerdictClass> verdicts) {
    batch.rows.clear();
    for (const VerdictClass verdict : verdicts) {
      batch.rows.emplace_back();
      batch.rows.back().verdict = verdict;
    }
    return exit_status(verdict_of(batch));
  };
  using enum VerdictClass;
  EXPECT_EQ(worst({}), 0);
  EXPECT_EQ(worst({kHolds, kHolds}), 0);
  EXPECT_EQ(worst({kHolds, kMissed}), 1);
  EXPECT_EQ(worst({kMissed, kLiveness, kHolds}), 4);
  EXPECT_EQ(worst({kLiveness, kSafety}), 5);
  EXPECT_EQ(worst({kSafety, kCrash, kLiveness}), 3);
  batch.interrupted = true;
  EXPECT_EQ(worst({kHolds, kMissed}), 130);
  EXPECT_EQ(worst({kHolds, kSafety}), 5) << "a broken promise stays one";
}

TEST(Judge, compares_each_metric_with_its_figure) {
  Summary summary;
  summary.ended = Time(std::chrono::hours(8));
  summary.finished = true;
  summary.goodput_ppm = 899'999;
  summary.steps_redone_in_part = 2;
  summary.steps_redone_in_whole = 3;
  const auto of = [&](const char* key, const char* text) {
    return judge({parse_expectation(key, text).value()}, summary).front();
  };
  EXPECT_TRUE(of("finishes_within", "8h").ok);
  EXPECT_FALSE(of("finishes_within", "7h59min").ok);
  EXPECT_FALSE(of("goodput", ">= 90%").ok);
  EXPECT_TRUE(of("steps_lost", "== 0").ok);
  EXPECT_TRUE(of("steps_redone", "== 5").ok);
  summary.finished = false;
  const Judged never = of("finishes_within", "9h");
  EXPECT_FALSE(never.ok);
  EXPECT_EQ(never.found, "never");
  EXPECT_EQ(never.wanted, "finishes within 9h");
}

TEST(Shrink, two_failures_are_the_same_when_the_same_oracle_speaks) {
  Row one = sample_row();
  Row two = one;
  two.at_ns = 5;
  two.event = 7;
  EXPECT_EQ(signature(one), signature(two));
  two.oracle = "ranks";
  EXPECT_NE(signature(one), signature(two));
  one.verdict = two.verdict = VerdictClass::kCrash;
  one.oracle = two.oracle = "assertion";
  two.title = "rank < size (core/x.cc:10)";
  EXPECT_NE(signature(one), signature(two)) << "another assertion is another bug";
  EXPECT_EQ(regression_path("spot_churn", 8123, sample_row()),
            "scenarios/regressions/committed_steps-spot_churn-8123.yaml");
}

}  // namespace
}  // namespace elastic::chaos
