#include "chaos/sweep/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "chaos/scenario/problem.h"

namespace elastic::chaos {
namespace {

// A kind of quantity, read and written without loss.
struct Quantity {
  std::optional<std::int64_t> (*read)(std::string_view);
  std::string (*write)(std::int64_t);
};

template <class T>
std::optional<std::int64_t> number_of(const Parsed<T>& parsed) {
  if (!parsed) return std::nullopt;
  if constexpr (std::is_same_v<T, Duration>) {
    return parsed->count();
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (*parsed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(*parsed);
  } else {
    return *parsed;
  }
}

const std::array<Quantity, 7>& quantities() {
  using View = std::string_view;
  static const std::array<Quantity, 7> all{{
      {[](View t) { return number_of(parse_count(t)); },
       [](std::int64_t v) { return std::to_string(v); }},
      {[](View t) { return number_of(parse_duration(t)); },
       [](std::int64_t v) { return duration_text(Duration(v)); }},
      {[](View t) { return number_of(parse_size(t)); }, size_text},
      {[](View t) { return number_of(parse_rate(t)); }, rate_text},
      {[](View t) { return number_of(parse_price(t)); }, price_text},
      {[](View t) { return number_of(parse_money(t)); }, money_text},
      {[](View t) { return number_of(parse_share(t)); }, share_text},
  }};
  return all;
}

struct RangeText {
  std::string_view first, last, step;
  char kind = '+';  // or 'x'
};

std::optional<RangeText> split_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::size_t colon = text.find(':', dots);
  if (colon == std::string_view::npos || colon + 1 >= text.size()) return std::nullopt;
  const char kind = text[colon + 1];
  if (kind != '+' && kind != 'x') return std::nullopt;
  return RangeText{.first = text.substr(0, dots),
                   .last = text.substr(dots + 2, colon - dots - 2),
                   .step = text.substr(colon + 2),
                   .kind = kind};
}

tl::unexpected<std::string> no_range(std::string_view text, std::string_view why) {
  return tl::unexpected(
      fmt::format("\"{}\" is not a range: {}; write one such as 8..32:+8 or 1min..64min:x2",
                  printable(text), why));
}

Parsed<std::vector<std::string>> expand(std::string_view text, const RangeText& range) {
  for (const Quantity& quantity : quantities()) {
    const auto first = quantity.read(range.first);
    const auto last = quantity.read(range.last);
    const auto step =
        range.kind == '+' ? quantity.read(range.step) : number_of(parse_count(range.step));
    if (!first || !last) continue;
    if (!step) return no_range(text, "its step is not a quantity of its kind");
    if (*last < *first) return no_range(text, "it ends before it begins");
    if (range.kind == '+' && *step < 1) return no_range(text, "its step is not above zero");
    if (range.kind == 'x' && (*step < 2 || *first < 1)) {
      return no_range(text, "a factor is at least 2, and what it multiplies not zero");
    }
    std::vector<std::string> values;
    for (std::int64_t value = *first;;) {
      if (values.size() == kMaxValues) {
        return no_range(text, fmt::format("it has more than {} values", kMaxValues));
      }
      values.push_back(quantity.write(value));
      if (range.kind == '+' ? value > *last - *step : value > *last / *step) return values;
      value = range.kind == '+' ? value + *step : value * *step;
    }
  }
  return no_range(text, "its ends are not two quantities of one kind");
}

// At commas outside brackets, braces and quotes.
std::vector<std::string_view> split_values(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(text.substr(from, i - from));
      from = i + 1;
    }
  }
  parts.push_back(text.substr(from));
  return parts;
}

}  // namespace

Parsed<Setting> parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return tl::unexpected(fmt::format(
        "\"{}\" is not a setting with values; write PATH=V1,V2 such as job.nodes.min=4,8,16",
        printable(text)));
  }
  Setting setting;
  setting.path = text.substr(0, equals);
  for (const std::string_view part : split_values(text.substr(equals + 1))) {
    if (part.empty()) {
      return tl::unexpected(
          fmt::format("{}: a value is empty; write PATH=V1,V2", printable(setting.path)));
    }
    std::vector<std::string> more{std::string(part)};
    if (const auto range = split_range(part)) {
      Parsed<std::vector<std::string>> expanded = expand(part, *range);
      if (!expanded) return tl::unexpected(setting.path + ": " + expanded.error());
      more = *std::move(expanded);
    }
    for (std::string& value : more) {
      if (std::find(setting.values.begin(), setting.values.end(), value) != setting.values.end()) {
        return tl::unexpected(
            fmt::format("{}: the value \"{}\" comes twice", setting.path, printable(value)));
      }
      setting.values.push_back(std::move(value));
    }
  }
  if (setting.values.size() > kMaxValues) {
    return tl::unexpected(
        fmt::format("{}: {} values; at most {}", setting.path, setting.values.size(), kMaxValues));
  }
  return setting;
}

}  // namespace elastic::chaos
