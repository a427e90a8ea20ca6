// Tables of step times: what lies between rows, what lies outside, and what is no table.
#include "chaos/timing/step_times.h"

#include <gtest/gtest.h>

#include "chaos/timing/measured.h"

namespace elastic::chaos {
namespace {

constexpr const char* kTable =
    "# mine\n"
    "nodes,workers,batch,seconds\n"
    "1,1,10,0.1\n"
    "1, 1, 30, 0.3\n"
    "\n"
    "2,2,10,0.2\n"
    "2,2,20,0.25\n"
    "6,6,10,0.4\r\n"
    "6,6,20,0.65\n"
    "2,8,10,1.000000001\n";

StepTimes table() {
  auto times = parse_step_times(kTable, "t.csv");
  EXPECT_TRUE(times) << times.error().text();
  return *std::move(times);
}

std::int64_t ns(std::uint32_t nodes, std::uint32_t per_node, std::uint64_t batch) {
  const auto time = table().at(nodes, per_node, batch);
  EXPECT_TRUE(time) << time.error();
  return time ? time->count() : -1;
}

std::string why(std::uint32_t nodes, std::uint32_t per_node, std::uint64_t batch) {
  const auto time = table().at(nodes, per_node, batch);
  return time ? "a time" : time.error();
}

std::string error_of(const std::string& text) {
  const auto times = parse_step_times(text, "t.csv");
  return times ? "no error" : times.error().text();
}

void expect_error(const std::string& rows, const std::string& error) {
  EXPECT_EQ(error_of("nodes,workers,batch,seconds\n" + rows), error + "\nnothing was run\n");
}

TEST(StepTimes, rows_are_exact_to_the_nanosecond) {
  EXPECT_EQ(ns(1, 1, 10), 100'000'000);
  EXPECT_EQ(ns(2, 4, 10), 1'000'000'001);
}

TEST(StepTimes, between_rows_times_lie_on_straight_lines) {
  EXPECT_EQ(ns(1, 1, 20), 200'000'000);
  EXPECT_EQ(ns(2, 1, 15), 225'000'000);
  EXPECT_EQ(ns(4, 1, 10), 300'000'000);
  EXPECT_EQ(ns(3, 1, 15), 300'000'000);  // a quarter of the way from 225 to 525
}

TEST(StepTimes, a_batch_above_the_largest_takes_passes_of_one_worker_before) {
  EXPECT_EQ(ns(2, 1, 40), 200'000'000 + 250'000'000);
  EXPECT_EQ(ns(2, 1, 45), 2 * 150'000'000 + 225'000'000);
  EXPECT_EQ(why(2, 4, 25), "covers batches of 10 to 10 samples per worker on 2 nodes, not 25");
}

TEST(StepTimes, outside_of_the_table_nothing_is_assumed) {
  EXPECT_EQ(why(7, 1, 10), "covers 1 to 6 nodes with 1 worker each, not 7");
  EXPECT_EQ(why(1, 4, 10), "covers 2 to 2 nodes with 4 workers each, not 1");
  EXPECT_EQ(why(2, 3, 10), "says nothing of nodes with 3 workers each");
  EXPECT_EQ(why(2, 1, 9), "covers batches of 10 to 20 samples per worker on 2 nodes, not 9");
  EXPECT_EQ(why(2, 1, 0), "covers batches of 10 to 20 samples per worker on 2 nodes, not 0");
}

TEST(StepTimes, what_is_wrong_is_said_with_its_place) {
  EXPECT_EQ(error_of(""),
            "t.csv:1:1: an empty table; expected the header nodes,workers,batch,seconds\n"
            "nothing was run\n");
  EXPECT_EQ(error_of("nodes,workers,seconds\n"),
            "t.csv:1:1: the header \"nodes,workers,seconds\", expected "
            "nodes,workers,batch,seconds\nnothing was run\n");
  EXPECT_EQ(error_of("nodes,workers,batch,seconds\n"),
            "t.csv:1:1: a table without rows\nnothing was run\n");
  expect_error("1,1,10\n", "t.csv:2:1: 3 fields, expected nodes,workers,batch,seconds");
  expect_error("0,1,10,1\n", "t.csv:2:1: \"0\" is not a number of nodes (1 to 1000000)");
  expect_error("2,3,10,1\n",
               "t.csv:2:3: \"3\" is not a multiple of the 2 nodes; each has as many workers");
  expect_error("2, 2, -1,1\n",
               "t.csv:2:7: \"-1\" is not a batch of one worker (1 to 10^12 samples)");
  for (const char* seconds : {"0", "1e3", "nan", "-1", "1.", "0.0000000001", "86400.1", ""}) {
    expect_error("1,1,1," + std::string(seconds) + "\n",
                 "t.csv:2:7: \"" + std::string(seconds) +
                     "\" is not a time in seconds, such as 0.125 (above 0, at most 86400, nine "
                     "places)");
  }
  expect_error("1,1,1,1\n1,1,1,2\n",
               "t.csv:3:7: 1 nodes with 1 workers and batch 1 stand in line 2 already");
  expect_error("1,1,2,1\n1,1,1,2\n", "t.csv:2:7: batch 2 takes less time than batch 1 in line 3");
}

TEST(StepTimes, every_measured_model_has_a_table_of_its_own) {
  for (const MeasuredName& name : kMeasuredNames) {
    const auto times = measured_times(name.name);
    ASSERT_NE(times, nullptr) << name.name;
    const auto alone = times->at(1, 1, times->rows().front().batch);
    ASSERT_TRUE(alone) << alone.error();
    EXPECT_GT(*alone, Duration{});
  }
  EXPECT_EQ(measured_times("resnet51"), nullptr);
}

}  // namespace
}  // namespace elastic::chaos
