#include <gtest/gtest.h>

#include "chaos/scenario/units.h"

namespace elastic::chaos {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(ScenarioUnits, durations_are_read_in_all_units_and_compounds) {
  EXPECT_EQ(parse_duration("90s").value(), seconds(90));
  EXPECT_EQ(parse_duration("1.5h").value(), minutes(90));
  EXPECT_EQ(parse_duration("1h30m").value(), minutes(90));
  EXPECT_EQ(parse_duration("1d2h3min4s5ms6us7ns").value(),
            hours(26) + minutes(3) + seconds(4) + milliseconds(5) + microseconds(6) + Duration(7));
  EXPECT_EQ(parse_duration("-200ms").value(), -milliseconds(200));
  EXPECT_EQ(parse_duration("0.000000001s").value(), Duration(1));
  EXPECT_EQ(parse_duration("2 h").value(), hours(2));
}

TEST(ScenarioUnits, a_number_without_a_unit_is_no_duration) {
  EXPECT_EQ(parse_duration("90").error(),
            "\"90\" is not a duration; write a unit, such as 90s or 2h");
  EXPECT_EQ(parse_duration("soon").error(),
            "\"soon\" is not a duration; write a number and a unit, such as 90s or 2h");
}

TEST(ScenarioUnits, what_does_not_fit_into_an_integer_is_refused) {
  EXPECT_EQ(parse_duration("1.5ns").error(), "\"1.5ns\" is finer than a nanosecond");
  EXPECT_EQ(parse_duration("300000d").error(), "\"300000d\" is too large");
  EXPECT_EQ(parse_duration("99999999999999999999s").error(),
            "\"99999999999999999999s\" is too large");
  EXPECT_FALSE(parse_duration("nan"));
  EXPECT_FALSE(parse_duration(".inf"));
  EXPECT_FALSE(parse_duration("1e3s"));
  EXPECT_FALSE(parse_duration("0x10s"));
  EXPECT_FALSE(parse_duration("-"));
  EXPECT_FALSE(parse_duration(""));
  EXPECT_FALSE(parse_duration("1s1h"));
  EXPECT_FALSE(parse_duration("1m1min"));
  EXPECT_EQ(parse_size("0.5B").error(), "\"0.5B\" is finer than a byte");
  EXPECT_EQ(parse_rate("1bit/s").error(), "\"1bit/s\" is finer than a byte per second");
  EXPECT_EQ(parse_share("0.00001%").error(), "\"0.00001%\" is finer than a millionth");
}

TEST(ScenarioUnits, sizes_rates_prices_and_shares_are_exact) {
  EXPECT_EQ(parse_size("300MiB").value(), 314'572'800);
  EXPECT_EQ(parse_size("1.5GB").value(), 1'500'000'000);
  EXPECT_EQ(parse_rate("25Gbit/s").value(), 3'125'000'000);
  EXPECT_EQ(parse_rate("1GB/s").value(), 1'000'000'000);
  EXPECT_EQ(parse_price("$0.918/h").value(), 918'000);
  EXPECT_EQ(parse_money("$240").value(), 240'000'000);
  EXPECT_EQ(parse_share("10ppm").value(), 10);
  EXPECT_EQ(parse_share("5%").value(), 50'000);
  EXPECT_EQ(parse_share("0.9", true).value(), 900'000);
  EXPECT_FALSE(parse_share("0.9"));
  EXPECT_EQ(parse_count("1_281_167").value(), 1'281'167U);
  EXPECT_EQ(parse_count("-3").error(), "\"-3\" is negative");
  EXPECT_FALSE(parse_count("1.5"));
}

TEST(ScenarioUnits, a_wrong_unit_is_named_with_the_right_ones) {
  EXPECT_EQ(
      parse_size("3MB/s").error(),
      "\"3MB/s\" is not a size; \"MB/s\" is none of the units TiB, TB, GiB, GB, MiB, MB, KiB, KB "
      "or B");
}

TEST(ScenarioUnits, texts_are_short_and_read_back) {
  EXPECT_EQ(duration_text(minutes(90)), "1h30min");
  EXPECT_EQ(duration_text(-milliseconds(1500)), "-1s500ms");
  EXPECT_EQ(duration_text(Duration{}), "0s");
  EXPECT_EQ(rate_text(3'125'000'000), "25Gbit/s");
  EXPECT_EQ(price_text(1'200'000), "$1.20/h");
  EXPECT_EQ(money_text(240'000'000), "$240");
  EXPECT_EQ(share_text(50'000), "5%");
  EXPECT_EQ(rough_duration(hours(8) + minutes(12)), "8h 12m");
  EXPECT_EQ(rough_duration(milliseconds(1320)), "1.3 s");
  EXPECT_EQ(rough_duration(microseconds(120)), "120 us");
}

}  // namespace
}  // namespace elastic::chaos
