#include "chaos/report/figures.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "core/math/integer.h"

namespace elastic::chaos {

std::string count_text(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string short_count_text(std::uint64_t number) {
  if (number < 10'000) return count_text(number);
  constexpr std::array kUnits{'k', 'M', 'G', 'T', 'P', 'E'};
  std::uint64_t unit = 1000;
  std::size_t index = 0;
  while (index + 1 < kUnits.size() && number / unit >= 1000) {
    unit *= 1000;
    ++index;
  }
  const std::uint64_t whole = number / unit;
  const std::uint64_t rest = number % unit / (unit / 1000);  // thousandths, cut
  if (whole >= 100) return fmt::format("{}{}", whole, kUnits[index]);
  if (whole >= 10) return fmt::format("{}.{}{}", whole, rest / 100, kUnits[index]);
  return fmt::format("{}.{:02}{}", whole, rest / 10, kUnits[index]);
}

std::string plural(std::uint64_t number, const char* one, const char* many) {
  return count_text(number) + " " + (number == 1 ? one : many);
}

std::string percent_text(std::int64_t ppm) {
  const bool negative = ppm < 0;
  const std::uint64_t size =
      negative ? 0U - static_cast<std::uint64_t>(ppm) : static_cast<std::uint64_t>(ppm);
  // Rounded to tenths, but nothing short of all of it is 100.0%, and nothing above none of it 0.0%.
  std::uint64_t tenths = (size + 500) / 1000;
  if (size < 1'000'000 && tenths >= 1000) tenths = 999;
  return fmt::format("{}{}.{}%", negative ? "-" : "", tenths / 10, tenths % 10);
}

std::string dollars_text(std::int64_t microdollars) {
  const bool negative = microdollars < 0;
  const std::uint64_t size = negative ? 0U - static_cast<std::uint64_t>(microdollars)
                                      : static_cast<std::uint64_t>(microdollars);
  const std::uint64_t cents = (size + 5000) / 10'000;
  return fmt::format("{}${}.{:02}", negative ? "-" : "", count_text(cents / 100), cents % 100);
}

std::string span_text(Duration length) {
  const std::int64_t ns = length.count();
  if (ns < 0)
    return "-" + span_text(Duration(ns == std::numeric_limits<std::int64_t>::min()
                                        ? std::numeric_limits<std::int64_t>::max()
                                        : -ns));
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (ns == 0) return "0 s";
  if (ns < 1'000'000) return fmt::format("{} us", (ns + 500) / 1000);
  if (ns < kSecond) return fmt::format("{} ms", (ns + 500'000) / 1'000'000);
  if (ns < 10 * kSecond) {
    const std::int64_t hundredths = ns / 10'000'000;
    return fmt::format("{}.{:02} s", hundredths / 100, hundredths % 100);
  }
  if (ns < 60 * kSecond) {
    const std::int64_t tenths = ns / 100'000'000;
    return fmt::format("{}.{} s", tenths / 10, tenths % 10);
  }
  const std::int64_t seconds = ns / kSecond;
  if (seconds < 3600) return fmt::format("{}m {:02}s", seconds / 60, seconds % 60);
  const std::int64_t minutes = seconds / 60;
  if (minutes < 48 * 60) return fmt::format("{}h {:02}m", minutes / 60, minutes % 60);
  return fmt::format("{}d {:02}h", minutes / 1440, minutes % 1440 / 60);
}

std::string moment_text(Time at) {
  const std::int64_t tenths = at.time_since_epoch().count() / 100'000'000;
  const std::int64_t seconds = tenths / 10;
  const std::string last = fmt::format("{:02}.{}s", seconds % 60, tenths % 10);
  if (seconds < 60) return fmt::format("{}.{}s", seconds, tenths % 10);
  if (seconds < 3600) return fmt::format("{}m {}", seconds / 60, last);
  return fmt::format("{}h {:02}m {}", seconds / 3600, seconds / 60 % 60, last);
}

std::int64_t share_ppm(Duration part, Duration whole) {
  if (whole.count() <= 0) return 0;
  const math::int128 scaled = math::int128{part.count()} * 1'000'000 + whole.count() / 2;
  return static_cast<std::int64_t>(scaled / whole.count());
}

}  // namespace elastic::chaos
