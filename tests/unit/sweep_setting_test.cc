#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chaos/sweep/setting.h"

namespace elastic::chaos {
namespace {

using Values = std::vector<std::string>;

Values values(std::string_view text) {
  const Parsed<Setting> setting = parse_setting(text);
  EXPECT_TRUE(setting) << (setting ? "" : setting.error());
  return setting ? setting->values : Values{};
}

std::string problem(std::string_view text) {
  const Parsed<Setting> setting = parse_setting(text);
  EXPECT_FALSE(setting) << text;
  return setting ? "" : setting.error();
}

TEST(SweepSetting, values_are_taken_as_they_are_written) {
  EXPECT_EQ(values("job.nodes.min=4,8,16"), (Values{"4", "8", "16"}));
  EXPECT_EQ(parse_setting("job.nodes.min=4")->path, "job.nodes.min");
  EXPECT_EQ(values("job.checkpoint.every=auto,never,90s"), (Values{"auto", "never", "90s"}));
}

TEST(SweepSetting, brackets_and_quotes_hold_a_value_together) {
  EXPECT_EQ(values("job.nodes={min: 2, max: 4},{min: 4, max: 4}"),
            (Values{"{min: 2, max: 4}", "{min: 4, max: 4}"}));
  EXPECT_EQ(values("faults.0.cut=[zone a, zone b]"), (Values{"[zone a, zone b]"}));
  EXPECT_EQ(values("expect.goodput=\">= 90%, or so\""), (Values{"\">= 90%, or so\""}));
}

TEST(SweepSetting, ranges_step_by_sums_and_by_factors) {
  EXPECT_EQ(values("job.nodes.max=8..32:+8"), (Values{"8", "16", "24", "32"}));
  EXPECT_EQ(values("job.checkpoint.every=1min..10min:x2"),
            (Values{"1min", "2min", "4min", "8min"}));
  EXPECT_EQ(values("job.checkpoint.bandwidth=1GB/s..4GB/s:x2").size(), 3U);
  EXPECT_EQ(values("network.loss=1%..3%:+1%").size(), 3U);
  EXPECT_EQ(values("job.nodes.max=4,8..16:+8"), (Values{"4", "8", "16"}));
  EXPECT_EQ(values("job.nodes.max=7..7:+1"), (Values{"7"}));
  EXPECT_EQ(values("faults.0.for=5s..20s"), (Values{"5s..20s"})) << "a range of scenarios";
}

TEST(SweepSetting, the_largest_numbers_end_a_range) {
  EXPECT_EQ(values("job.steps=999999999999999998..999999999999999999:+1").size(), 2U);
  EXPECT_EQ(values("job.steps=600000000000000000..999999999999999999:x2").size(), 1U);
}

TEST(SweepSetting, what_is_no_setting_is_refused_with_what_to_write) {
  EXPECT_NE(problem("job.nodes.min").find("PATH=V1,V2"), std::string::npos);
  EXPECT_NE(problem("=3").find("PATH=V1,V2"), std::string::npos);
  EXPECT_NE(problem("job.steps=").find("empty"), std::string::npos);
  EXPECT_NE(problem("job.steps=1,,2").find("empty"), std::string::npos);
  EXPECT_NE(problem("job.steps=2,1,2").find("comes twice"), std::string::npos);
  EXPECT_NE(problem("a=32..8:+8").find("ends before"), std::string::npos);
  EXPECT_NE(problem("a=8..32:+0").find("not above zero"), std::string::npos);
  EXPECT_NE(problem("a=8..32:x1").find("at least 2"), std::string::npos);
  EXPECT_NE(problem("a=0..32:x2").find("not zero"), std::string::npos);
  EXPECT_NE(problem("a=1min..32:x2").find("one kind"), std::string::npos);
  EXPECT_NE(problem("a=1min..2min:+3").find("its step"), std::string::npos);
  EXPECT_NE(problem("a=1..1000:+1").find("more than 64"), std::string::npos);
}

}  // namespace
}  // namespace elastic::chaos
