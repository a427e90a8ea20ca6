// The three formats of availability traces, and the dirt in them.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "chaos/availability/availability.h"

namespace elastic::chaos {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Availability read(const std::string& text) {
  const auto trace = parse_availability(text, "dir/t.csv");
  EXPECT_TRUE(trace) << trace.error().text();
  return trace.value_or(Availability());
}

std::string error_of(const std::string& text) {
  const auto trace = parse_availability(text, "t.csv");
  return trace ? "no error" : trace.error().text();
}

TEST(TraceReaders, an_event_list_with_all_its_dirt_is_repaired_and_reported) {
  const Availability trace = read(
      "0,add,n1\r\n"
      "0,add,n2\r\n"
      "2000,remove,n1\n"
      "1000,add,n3\n"     // time runs backwards
      "2000,add,n3\n"     // is there already
      "3000,remove,n9\n"  // never was
      "4000,add,n4\n"
      "4000,remove,n4\n");  // no length
  EXPECT_EQ(trace.format, TraceFormat::kEvents);
  const std::vector<AvailabilityEvent> expected = {
      {Duration{}, true, 0}, {Duration{}, true, 1}, {seconds(1), true, 2}, {seconds(2), false, 0}};
  EXPECT_EQ(trace.events, expected);
  const std::vector<Repair> repairs = {
      {"lines end in CR LF", 2, 1},
      {"time runs backwards: sorted", 1, 4},
      {"a node is added that is there: ignored", 1, 5},
      {"a node is removed that is not there: ignored", 1, 6},
      {"a node is added and removed at one instant: ignored", 1, 8}};
  EXPECT_EQ(trace.repairs, repairs);
  EXPECT_EQ(trace.span, seconds(4));
  EXPECT_EQ(trace.name, "t.csv");
}

TEST(TraceReaders, a_last_line_that_is_cut_off_is_ignored) {
  const Availability trace = read("0,add,n1\n60000,remo");
  EXPECT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.repairs.at(0).what, "the last line is cut off: ignored");
}

TEST(TraceReaders, polled_counts_become_comers_and_leavers_that_the_seed_picks) {
  const Availability trace = read(
      "2021-12-11, 23:59:30, 3\n"
      "2021-12-12, 00:01:30, 1\n"
      "2021-12-12, 00:00:30, 4\n"    // another poller
      "2021-12-12, 06:01:30, 2\n");  // a gap
  EXPECT_EQ(trace.format, TraceFormat::kCounts);
  const std::vector<Availability::Count> counts = {
      {Duration{}, 3}, {seconds(60), 4}, {seconds(120), 1}, {seconds(120) + hours(6), 2}};
  EXPECT_EQ(trace.counts, counts);
  ASSERT_EQ(trace.repairs.size(), 2U);
  EXPECT_EQ(trace.repairs[0].what, "time runs backwards: sorted");
  EXPECT_EQ(trace.repairs[1].what, "gap of more than an hour: the last count holds");
  const auto events = events_of(trace, math::Seed{1});
  EXPECT_EQ(events.size(), 8U);
  EXPECT_EQ(events, events_of(trace, math::Seed{1}));
  bool another = false;
  for (std::uint64_t seed = 2; seed < 10; ++seed) {
    another = another || events != events_of(trace, math::Seed{seed});
  }
  EXPECT_TRUE(another);
}

std::string fault(const std::string& node, const std::string& day, const std::string& type) {
  return R"({"node_id": ")" + node + R"(", "event_time": )" + day + R"(, "event_type": ")" + type +
         R"(", "fault_type": {"Level": "Hardware Failure"}})";
}

TEST(TraceReaders, a_fault_list_merges_overlapping_faults_and_drops_those_without_length) {
  const Availability trace =
      read("[" + fault("x", "1.5", "fault_start") + ",\n" + fault("x", "1.75", "fault_start") +
           ",\n" + fault("x", "2", "fault_end") + ",\n" + fault("x", "2.5", "fault_end") + ",\n" +
           fault("y", "3", "fault_start") + ",\n" + fault("y", "3", "fault_end") + ",\n" +
           fault("y", "4", "fault_end") + "]");
  const std::vector<AvailabilityEvent> expected = {
      {Duration{}, true, 0}, {Duration{}, true, 1}, {hours(36), false, 0}, {hours(60), true, 0}};
  EXPECT_EQ(trace.events, expected);
  ASSERT_EQ(trace.repairs.size(), 3U);
  EXPECT_EQ(trace.repairs[0].first_line, 2U);
  EXPECT_EQ(trace.repairs[1].what, "a fault of length zero: ignored");
  EXPECT_EQ(trace.repairs[2].what, "a fault ends on a node that is up: ignored");
}

TEST(TraceReaders, unusable_lines_are_told_with_their_place) {
  EXPECT_EQ(error_of("0,add,n1\n1000,ad,n2\nx,add,n3\n"),
            "t.csv:2:6: \"ad\" is no event; did you mean \"add\"?\n"
            "t.csv:3:1: \"x\" is no time; expected whole milliseconds from 0, within ten years\n"
            "nothing was run\n");
  EXPECT_EQ(error_of("2021-13-11, 23:59:30, 3\n"),
            "t.csv:1:1: \"2021-13-11, 23:59:30\" is no date and time; expected YYYY-MM-DD, "
            "HH:MM:SS\nnothing was run\n");
  EXPECT_EQ(error_of("[" + fault("x", "-1", "fault_start") + "]"),
            "t.csv:1:35: event_time \"-1\" is no number of days from 0, within ten years\n"
            "nothing was run\n");
  EXPECT_EQ(error_of("[" + fault("x", "1", "fault_strat") + "]").substr(0, 50),
            "t.csv:1:62: event_type \"fault_strat\" is neither fa");
}

TEST(TraceReaders, garbage_ends_in_an_error_in_bounded_time) {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += '[';
  std::string deep_objects = "[";
  for (int i = 0; i < 300'000; ++i) deep_objects += "{\"a\":";
  std::string swinging;
  for (int i = 0; i < 300; ++i) {
    const std::string minute = std::to_string(100 + i % 60).substr(1);
    swinging += "2021-12-" + std::to_string(11 + i / 60) + ", 10:" + minute + ":00, " +
                (i % 2 == 0 ? "100000" : "0") + "\n";
  }
  for (const std::string& text :
       {std::string(), std::string("\n\n"), std::string("\0\0\0", 3), std::string("nan,add,x"),
        std::string("-5,add,x\n"), std::string("99999999999999999999,add,x\n"), deep, deep_objects,
        std::string("["), std::string("{}"), std::string("[1]"), std::string("[{}]"),
        std::string("[null"), std::string("hello, world"), swinging}) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_NE(error_of(text).find("nothing was run"), std::string::npos) << text.substr(0, 40);
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5)) << text.substr(0, 40);
  }
}

TEST(TraceReaders, a_node_that_comes_takes_the_lowest_free_slot) {
  const Availability trace =
      read("0,add,a\n0,add,b\n1000,remove,a\n2000,add,c\n3000,add,d\n4000,add,e\n5000,remove,e\n");
  const SlotTimeline slots = to_slots(trace.events, Duration{}, 3);
  EXPECT_EQ(slots.slots, 3U);
  EXPECT_EQ(slots.at_start, 2U);
  const std::vector<SlotEvent> expected = {
      {seconds(1), false, 0}, {seconds(2), true, 0}, {seconds(3), true, 2}};
  EXPECT_EQ(slots.events, expected);
  EXPECT_EQ(slots.left_out, 1U);
  EXPECT_EQ(to_slots(trace.events, milliseconds(2500), 3).at_start, 2U);
}

TEST(TraceReaders, the_real_traces_are_read_with_their_known_figures) {
  const std::string traces = std::string(ELASTIC_SHARED_DIR) + "/traces/";
  // The real traces lie beside the project and are not part of it.
  if (!std::filesystem::exists(traces)) GTEST_SKIP() << "expected skip: no folder " << traces;
  const auto p3 = load_availability(traces + "bamboo/p3-trace.csv");
  ASSERT_TRUE(p3) << p3.error().text();
  EXPECT_EQ(p3->nodes.size(), 177U);
  EXPECT_EQ(p3->events.size(), 344U);
  EXPECT_EQ(to_slots(p3->events, Duration{}, 1000).slots, 32U);
  const std::string text = describe(*p3);
  EXPECT_NE(text.find("p50 59 min"), std::string::npos) << text;
  EXPECT_NE(text.find("biggest of 6 nodes"), std::string::npos) << text;
  EXPECT_NE(text.find("344 × lines end in CR LF (first in line 1)"), std::string::npos) << text;
  const auto a100 = load_availability(traces + "bamboo/a100x1-east1b.txt");
  ASSERT_TRUE(a100) << a100.error().text();
  EXPECT_EQ(to_slots(events_of(*a100, math::Seed{5}), Duration{}, 1000).slots, 64U);
  const auto llm = load_availability(traces + "infinitehbd/fault_trace.json");
  ASSERT_TRUE(llm) << llm.error().text();
  EXPECT_EQ(llm->nodes.size(), 231U);
  ASSERT_EQ(llm->repairs.size(), 2U);
  EXPECT_EQ(llm->repairs[0].count, 14U);
  EXPECT_EQ(llm->repairs[1].count, 2U);
}

}  // namespace
}  // namespace elastic::chaos
