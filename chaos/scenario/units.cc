#include "chaos/scenario/units.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>
#include <vector>

#include "chaos/scenario/problem.h"

namespace elastic::chaos {
namespace {

__extension__ using int128 = __int128;

// `one` is how many of the smallest unit it stands for, times 1 / `parts` (bits are eighths of
// bytes).
struct Unit {
  std::string_view name;
  std::int64_t one;
  std::int64_t parts = 1;
};

constexpr std::int64_t kMinute = 60'000'000'000;
constexpr std::array<Unit, 8> kDurations{{{"d", 1440 * kMinute},
                                          {"h", 60 * kMinute},
                                          {"min", kMinute},
                                          {"m", kMinute},
                                          {"s", 1'000'000'000},
                                          {"ms", 1'000'000},
                                          {"us", 1'000},
                                          {"ns", 1}}};
constexpr std::array<Unit, 9> kSizes{{{"TiB", std::int64_t{1} << 40},
                                      {"TB", 1'000'000'000'000},
                                      {"GiB", std::int64_t{1} << 30},
                                      {"GB", 1'000'000'000},
                                      {"MiB", std::int64_t{1} << 20},
                                      {"MB", 1'000'000},
                                      {"KiB", std::int64_t{1} << 10},
                                      {"KB", 1'000},
                                      {"B", 1}}};
constexpr std::array<Unit, 14> kRates{{{"Tbit/s", 1'000'000'000'000, 8},
                                       {"Gbit/s", 1'000'000'000, 8},
                                       {"Mbit/s", 1'000'000, 8},
                                       {"Kbit/s", 1'000, 8},
                                       {"bit/s", 1, 8},
                                       {"TiB/s", std::int64_t{1} << 40},
                                       {"TB/s", 1'000'000'000'000},
                                       {"GiB/s", std::int64_t{1} << 30},
                                       {"GB/s", 1'000'000'000},
                                       {"MiB/s", std::int64_t{1} << 20},
                                       {"MB/s", 1'000'000},
                                       {"KiB/s", std::int64_t{1} << 10},
                                       {"KB/s", 1'000},
                                       {"B/s", 1}}};
constexpr std::array<Unit, 2> kShares{{{"%", 10'000}, {"ppm", 1}}};
constexpr std::array<Unit, 1> kFractions{{{"", 1'000'000}}};
constexpr std::array<Unit, 1> kMoney{{{"", 1'000'000}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What is being read, for messages.
struct Wanted {
  std::string_view what;     // "a duration"
  std::string_view example;  // "90s or 2h"
  std::string_view finest;   // "a nanosecond"
};

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", printable(text)); }

tl::unexpected<std::string> too_large(std::string_view text) {
  return tl::unexpected(fmt::format("{} is too large", quoted(text)));
}

// One decimal: digits [ "." digits ], as digits * 10^-places. At most 18 digits each side; nothing
// when there is no digit to start with, or too many.
struct Decimal {
  std::int64_t whole = 0;
  std::int64_t fraction = 0;  // of 10^places
  std::int64_t scale = 1;     // 10^places
};
enum class Scan : std::uint8_t { kOk, kNone, kTooLarge, kTooFine };

Scan take_digits(std::string_view& text, std::int64_t& value, std::int64_t& scale) {
  if (text.empty() || !is_digit(text[0])) return Scan::kNone;
  bool over = false;
  for (bool digit_before = false; !text.empty(); text.remove_prefix(1)) {
    const bool separator = text[0] == '_' && digit_before && text.size() > 1 && is_digit(text[1]);
    if (separator) {
      digit_before = false;
      continue;
    }
    if (!is_digit(text[0])) break;
    digit_before = true;
    over = over || scale >= 1'000'000'000'000'000'000;
    if (over) continue;
    const bool leading = value == 0 && text[0] == '0';
    if (!leading || scale > 1) scale *= 10;
    value = value * 10 + (text[0] - '0');
  }
  return over ? Scan::kTooLarge : Scan::kOk;
}

Scan take_decimal(std::string_view& text, Decimal& out) {
  std::int64_t ignored = 1;
  const Scan whole = take_digits(text, out.whole, ignored);
  if (whole != Scan::kOk || text.size() < 2 || text[0] != '.' || !is_digit(text[1])) return whole;
  text.remove_prefix(1);
  // Every digit counts here, leading zeros too; trailing ones do not.
  for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1)) {
    if (text[0] == '0') {
      const std::size_t end = text.find_first_not_of('0');
      if (end == std::string_view::npos || !is_digit(text[end])) {
        text.remove_prefix((end == std::string_view::npos ? text.size() : end) - 1);
        continue;
      }
    }
    if (out.scale >= 1'000'000'000'000'000'000) return Scan::kTooFine;
    out.scale *= 10;
    out.fraction = out.fraction * 10 + (text[0] - '0');
  }
  return Scan::kOk;
}

std::string_view take_unit(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && !is_digit(text[end]) && text[end] != '.') ++end;
  const std::string_view unit = text.substr(0, end);
  text.remove_prefix(end);
  return unit;
}

const Unit* find(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// A number and a unit; `rest` keeps what follows.
Parsed<std::int64_t> take_quantity(std::string_view whole, std::string_view& rest,
                                   std::span<const Unit> units, const Wanted& wanted) {
  Decimal decimal;
  const Scan scan = take_decimal(rest, decimal);
  if (scan == Scan::kTooLarge) return too_large(whole);
  const auto too_fine = [&] {
    return tl::unexpected(fmt::format("{} is finer than {}", quoted(whole), wanted.finest));
  };
  if (scan == Scan::kTooFine) return too_fine();
  while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  const std::string_view name = scan == Scan::kOk ? take_unit(rest) : std::string_view();
  const Unit* unit = find(units, name);
  if (scan != Scan::kOk || unit == nullptr) {
    if (scan == Scan::kOk && !name.empty()) {
      std::vector<std::string_view> names;
      for (const Unit& known : units) names.push_back(known.name);
      return tl::unexpected(fmt::format("{} is not {}; \"{}\" is none of the units {}",
                                        quoted(whole), wanted.what, printable(name),
                                        either(names)));
    }
    return tl::unexpected(fmt::format("{} is not {}; write a {}, such as {}", quoted(whole),
                                      wanted.what, scan == Scan::kOk ? "unit" : "number and a unit",
                                      wanted.example));
  }
  const int128 product = int128{decimal.fraction} * unit->one;
  const int128 divisor = int128{decimal.scale} * unit->parts;
  const int128 total = int128{decimal.whole} * unit->one * decimal.scale + product;
  if (total % divisor != 0) return too_fine();
  if (total / divisor > std::numeric_limits<std::int64_t>::max()) return too_large(whole);
  return static_cast<std::int64_t>(total / divisor);
}

Parsed<std::int64_t> parse_one(std::string_view text, std::span<const Unit> units,
                               const Wanted& wanted) {
  std::string_view rest = text;
  if (!text.empty() && text[0] == '-') {
    return tl::unexpected(fmt::format("{} is negative", quoted(text)));
  }
  const Parsed<std::int64_t> value = take_quantity(text, rest, units, wanted);
  if (value && !rest.empty()) {
    return tl::unexpected(fmt::format("{} is not {}; write one number and one unit, such as {}",
                                      quoted(text), wanted.what, wanted.example));
  }
  return value;
}

// `value` in the largest unit that divides it.
std::string in_units(std::int64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value != 0 && unit.parts == 1 && value % unit.one == 0) {
      return fmt::format("{}{}", value / unit.one, unit.name);
    }
  }
  return fmt::format("{}{}", value, units.back().name);
}

std::string dollars(std::int64_t microdollars) {
  std::string text = fmt::format("${}.{:06}", microdollars / 1'000'000, microdollars % 1'000'000);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') {
    text.pop_back();
  } else if (text[text.size() - 2] == '.') {
    text += '0';  // $1.20, as people write it
  }
  return text;
}

// Digits with single _ between them, and decimals, as take_decimal reads them.
constexpr std::string_view kDecimal = "[0-9]+(?:_[0-9]+)*(?:\\.[0-9]+)?";

std::string one_of(std::span<const Unit> units) {
  std::string names;
  for (const Unit& unit : units) names += fmt::format("{}{}", names.empty() ? "" : "|", unit.name);
  return fmt::format("{} *(?:{})", kDecimal, names);
}

// Exactly `digits`, with or without _ between them.
std::string spelt(std::string_view digits) {
  std::string out;
  for (const char digit : digits) out += fmt::format("{}{}", out.empty() ? "" : "_?", digit);
  return out;
}

}  // namespace

Parsed<Duration> parse_duration(std::string_view text) {
  constexpr Wanted kWanted{"a duration", "90s or 2h", "a nanosecond"};
  const bool negative = !text.empty() && text[0] == '-';
  std::string_view rest = text.substr(negative ? 1 : 0);
  std::int64_t total = 0;
  std::int64_t last_unit = std::numeric_limits<std::int64_t>::max();
  do {
    // The unit of this part, looked up once more to see that parts come largest first.
    const std::string_view part = rest;
    const Parsed<std::int64_t> value = take_quantity(text, rest, kDurations, kWanted);
    if (!value) return tl::unexpected(value.error());
    std::string_view name = part.substr(0, part.size() - rest.size());
    name.remove_prefix(name.find_last_of("0123456789 ") + 1);
    const std::int64_t unit = find(kDurations, name)->one;
    if (unit >= last_unit) {
      return tl::unexpected(
          fmt::format("{} is not a duration; write the parts from the largest "
                      "unit to the smallest, each once, such as 1h30min",
                      quoted(text)));
    }
    last_unit = unit;
    if (__builtin_add_overflow(total, *value, &total)) return too_large(text);
  } while (!rest.empty());
  return Duration(negative ? -total : total);
}

Parsed<std::int64_t> parse_size(std::string_view text) {
  return parse_one(text, kSizes, {"a size", "300MiB or 12GB", "a byte"});
}

Parsed<std::int64_t> parse_rate(std::string_view text) {
  return parse_one(text, kRates, {"a rate", "25Gbit/s or 1GB/s", "a byte per second"});
}

Parsed<std::int64_t> parse_money(std::string_view text) {
  if (text.empty() || text[0] != '$') {
    return tl::unexpected(fmt::format("{} is no amount of money; write it as $240", quoted(text)));
  }
  return parse_one(text.substr(1), kMoney,
                   {"an amount of money", "$240", "a millionth of a dollar"});
}

Parsed<std::int64_t> parse_price(std::string_view text) {
  if (text.size() < 4 || text[0] != '$' || text.substr(text.size() - 2) != "/h") {
    return tl::unexpected(fmt::format("{} is not a price; write it as $0.918/h", quoted(text)));
  }
  return parse_one(text.substr(1, text.size() - 3), kMoney,
                   {"a price", "$0.918/h", "a millionth of a dollar"});
}

Parsed<std::int64_t> parse_share(std::string_view text, bool plain) {
  const Wanted wanted{"a share", "5% or 10ppm", "a millionth"};
  const bool unit = text.find_first_of("%pm") != std::string_view::npos;
  return parse_one(text, plain && !unit ? std::span<const Unit>(kFractions) : kShares, wanted);
}

Parsed<std::uint64_t> parse_count(std::string_view text) {
  std::string_view rest = text;
  std::int64_t value = 0;
  std::int64_t scale = 1;
  const Scan scan = take_digits(rest, value, scale);
  if (scan == Scan::kTooLarge) return tl::unexpected(fmt::format("{} is too large", quoted(text)));
  if (scan == Scan::kOk && rest.empty()) return static_cast<std::uint64_t>(value);
  if (!text.empty() && text[0] == '-' && text.size() > 1 && is_digit(text[1])) {
    return tl::unexpected(fmt::format("{} is negative", quoted(text)));
  }
  return tl::unexpected(fmt::format("{} is not a whole number", quoted(text)));
}

std::string duration_pattern() {
  // Parts from the largest unit to the smallest, each at most once; of equal units, one.
  std::string parts;
  for (std::size_t i = 0; i < kDurations.size(); ++i) {
    std::string names(kDurations[i].name);
    for (; i + 1 < kDurations.size() && kDurations[i + 1].one == kDurations[i].one; ++i) {
      names += fmt::format("|{}", kDurations[i + 1].name);
    }
    parts += fmt::format("(?:{} *(?:{}))?", kDecimal, names);
  }
  return "(?=[0-9])" + parts;
}

std::string unsigned_duration_pattern() { return "(?:-(?!.*[1-9]))?" + duration_pattern(); }

std::string size_pattern() { return one_of(kSizes); }
std::string rate_pattern() { return one_of(kRates); }
std::string price_pattern() { return fmt::format("\\$(?:{}) */h", kDecimal); }
std::string money_pattern() { return fmt::format("\\$(?:{}) *", kDecimal); }

std::string share_pattern(bool plain) {
  return plain ? fmt::format("{} *(?:%|ppm)?", kDecimal) : one_of(kShares);
}

std::string count_pattern(std::uint64_t low, std::uint64_t high) {
  const std::string most = std::to_string(high);
  const auto more = [](std::size_t digits) {
    return digits == 0 ? std::string() : fmt::format("(?:_?[0-9]){{{}}}", digits);
  };
  // As long and equal up to a smaller digit; the same; or shorter.
  std::vector<std::string> choices;
  for (std::size_t i = 0; i < most.size(); ++i) {
    if (most[i] == '0') continue;
    const std::string before = i == 0 ? "" : spelt(std::string_view(most).substr(0, i)) + "_?";
    const char smaller = static_cast<char>(most[i] - 1);
    const std::string digit = smaller == '0' ? "0" : fmt::format("[0-{}]", smaller);
    choices.push_back(before + digit + more(most.size() - i - 1));
  }
  choices.push_back(spelt(most));
  if (most.size() > 1) {
    choices.push_back(fmt::format("[0-9](?:_?[0-9]){{0,{}}}", most.size() - 2));
  }
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : "|") + choice;
  return fmt::format("{}(?:0_?)*(?:{})", low > 0 ? "(?=.*[1-9])" : "", all);
}

std::string duration_text(Duration value) {
  if (value == Duration{}) return "0s";
  std::string out = value < Duration{} ? "-" : "";
  // Through unsigned, as the smallest value has no positive counterpart.
  const auto bits = static_cast<std::uint64_t>(value.count());
  std::uint64_t left = value < Duration{} ? std::uint64_t{0} - bits : bits;
  for (const Unit& unit : kDurations) {
    const std::uint64_t count = left / static_cast<std::uint64_t>(unit.one);
    if (count == 0 || unit.name == "m") continue;
    out += fmt::format("{}{}", count, unit.name);
    left -= count * static_cast<std::uint64_t>(unit.one);
  }
  return out;
}

std::string size_text(std::int64_t bytes) { return in_units(bytes, kSizes); }

std::string rate_text(std::int64_t bytes_per_second) {
  // Network rates are written in bits, which divide evenly where bytes do not: 25Gbit/s.
  const std::string in_bytes = in_units(bytes_per_second, kRates);
  for (const Unit& unit : kRates) {
    const bool fits = bytes_per_second != 0 && unit.parts == 8 &&
                      bytes_per_second <= std::numeric_limits<std::int64_t>::max() / 8 &&
                      bytes_per_second * 8 % unit.one == 0;
    if (!fits) continue;
    std::string in_bits = fmt::format("{}{}", bytes_per_second * 8 / unit.one, unit.name);
    return in_bits.size() <= in_bytes.size() ? in_bits : in_bytes;
  }
  return in_bytes;
}

std::string price_text(std::int64_t microdollars_per_hour) {
  return dollars(microdollars_per_hour) + "/h";
}

std::string money_text(std::int64_t microdollars) { return dollars(microdollars); }

std::string share_text(std::int64_t ppm) { return in_units(ppm, kShares); }

std::string rough_duration(Duration value) {
  const std::int64_t ns = value.count();
  if (ns < 0) return "-" + rough_duration(Duration(-(ns + 1)));
  const std::int64_t minutes = ns / kMinute;
  if (minutes >= 48 * 60) return fmt::format("{}d {}h", minutes / 1440, minutes % 1440 / 60);
  if (minutes >= 60) return fmt::format("{}h {:02}m", minutes / 60, minutes % 60);
  for (const Unit& unit : kDurations) {
    if (ns < unit.one || unit.name == "m") continue;
    const std::int64_t tenths = ns / (unit.one / (unit.one >= 10 ? 10 : 1));
    if (unit.one < 10 || tenths >= 1000 || tenths % 10 == 0) {
      return fmt::format("{} {}", ns / unit.one, unit.name);
    }
    return fmt::format("{}.{} {}", tenths / 10, tenths % 10, unit.name);
  }
  return "0 s";
}

}  // namespace elastic::chaos
