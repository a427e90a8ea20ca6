#include "chaos/scenario/section.h"

#include <fmt/format.h>

#include <algorithm>

namespace elastic::chaos {
namespace {

std::string_view kind_name(const Tree& tree) {
  if (tree.is_null()) return "nothing";
  switch (tree.kind) {
    case Tree::Kind::kScalar:
      return "a single value";
    case Tree::Kind::kList:
      return "a list";
    case Tree::Kind::kMap:
      return "a mapping";
  }
  return "";
}

Parsed<std::int64_t> read_duration(std::string_view text) {
  const Parsed<Duration> value = parse_duration(text);
  if (!value) return tl::unexpected(value.error());
  return value->count();
}

std::string write_duration(std::int64_t ns) { return duration_text(Duration(ns)); }

Parsed<std::int64_t> read_count(std::string_view text) {
  const Parsed<std::uint64_t> value = parse_count(text);
  if (!value) return tl::unexpected(value.error());
  return static_cast<std::int64_t>(*value);  // of at most 18 digits
}

std::string write_count(std::int64_t value) { return std::to_string(value); }

Parsed<std::int64_t> read_share(std::string_view text) { return parse_share(text); }

}  // namespace

Section::Section(const Tree* in, std::string name, Errors& errors)
    : in_(in), name_(std::move(name)), errors_(&errors) {
  if (in_ != nullptr && in_->kind != Tree::Kind::kMap) {
    errors.add(in_->place, fmt::format("{} is {}; expected a mapping of keys to values",
                                       name_.empty() ? "the file" : name_, kind_name(*in_)));
    in_ = nullptr;
  }
}

const Tree* Section::take(std::string_view key) {
  known_.emplace_back(key);
  return in_ == nullptr ? nullptr : in_->find(key);
}

const Tree* Section::need(std::string_view key) {
  const Tree* value = take(key);
  if (value == nullptr && in_ != nullptr) {
    errors_->add(in_->place, fmt::format("\"{}\" is missing{}", key,
                                         name_.empty() ? "" : fmt::format(" in {}", name_)));
  }
  return value;
}

void Section::wrong(const Tree& tree, std::string message) {
  errors_->add(tree.place, std::move(message));
}

std::optional<std::string_view> Section::text_of(const Tree& tree, std::string_view expected) {
  if (tree.kind == Tree::Kind::kScalar && !tree.is_null()) return tree.text;
  wrong(tree, fmt::format("{} where {} is expected", kind_name(tree), expected));
  return std::nullopt;
}

Place Section::place_of(std::string_view key) const {
  if (in_ == nullptr) return {};
  const Tree* value = in_->find(key);
  return value == nullptr ? in_->place : value->place;
}

Section Section::open(std::string_view key) {
  if (!reading()) return Section(out_->add(std::string(key), Tree::map()));
  const std::string path = name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
  return {take(key), path, *errors_};
}

void Section::finish() {
  if (in_ == nullptr) return;
  std::vector<std::string_view> known;
  for (const std::string& key : known_) {
    if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
  }
  for (const Tree::Entry& entry : in_->entries) {
    if (errors_->full()) return;
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const std::string hint = did_you_mean(entry.key, known);
    errors_->add(entry.key_place,
                 fmt::format("unknown key \"{}\"{}{}", printable(entry.key),
                             name_.empty() ? "" : fmt::format(" in {}", name_),
                             hint.empty() ? fmt::format("; known are {}", either(known)) : hint));
  }
}

void Section::quantity(std::string_view key, std::optional<std::int64_t>& value, Bounds bounds,
                       const Read& read, const Write& write) {
  if (!reading()) {
    if (value) out_->add(std::string(key), Tree::scalar(write(*value)));
    return;
  }
  const Tree* found = take(key);
  if (found == nullptr) return;
  const std::optional<std::string_view> text = text_of(*found, "a value");
  if (!text) return;
  const Parsed<std::int64_t> parsed = read(*text);
  if (!parsed) {
    wrong(*found, parsed.error());
  } else if (*parsed < bounds.low) {
    const bool zero = *parsed == 0;
    wrong(*found, fmt::format("\"{}\" {}; at least {}", printable(*text),
                              zero ? "is impossible" : "is too small", write(bounds.low)));
  } else if (*parsed > bounds.high) {
    wrong(*found,
          fmt::format("\"{}\" is too large; at most {}", printable(*text), write(bounds.high)));
  } else {
    value = *parsed;
  }
}

void Section::duration(std::string_view key, Duration& value, Bounds bounds) {
  std::optional<std::int64_t> ns = value.count();
  quantity(key, ns, bounds, read_duration, write_duration);
  value = Duration(*ns);
}

void Section::duration(std::string_view key, std::optional<Duration>& value, Bounds bounds) {
  std::optional<std::int64_t> ns;
  if (value) ns = value->count();
  quantity(key, ns, bounds, read_duration, write_duration);
  if (ns) value = Duration(*ns);
}

void Section::size(std::string_view key, std::int64_t& bytes, Bounds bounds) {
  std::optional<std::int64_t> value = bytes;
  size(key, value, bounds);
  bytes = *value;
}

void Section::size(std::string_view key, std::optional<std::int64_t>& bytes, Bounds bounds) {
  quantity(key, bytes, bounds, parse_size, size_text);
}

void Section::rate(std::string_view key, std::int64_t& bytes_per_second) {
  std::optional<std::int64_t> value = bytes_per_second;
  quantity(key, value, kPositive, parse_rate, rate_text);
  bytes_per_second = *value;
}

void Section::share(std::string_view key, std::int64_t& ppm) {
  std::optional<std::int64_t> value = ppm;
  quantity(key, value, {0, 1'000'000}, read_share, share_text);
  ppm = *value;
}

void Section::price(std::string_view key, std::int64_t& microdollars_per_hour) {
  constexpr std::int64_t kHighest = 1'000'000'000'000;  // a million dollars
  std::optional<std::int64_t> value = microdollars_per_hour;
  quantity(key, value, {0, kHighest}, parse_price, price_text);
  microdollars_per_hour = *value;
}

void Section::count(std::string_view key, std::uint64_t& value, Bounds bounds) {
  std::optional<std::int64_t> number = static_cast<std::int64_t>(value);
  quantity(key, number, bounds, read_count, write_count);
  value = static_cast<std::uint64_t>(*number);
}

void Section::count(std::string_view key, std::optional<std::uint64_t>& value, Bounds bounds) {
  std::optional<std::int64_t> number;
  if (value) number = static_cast<std::int64_t>(*value);
  quantity(key, number, bounds, read_count, write_count);
  if (number) value = static_cast<std::uint64_t>(*number);
}

void Section::count(std::string_view key, std::uint32_t& value, Bounds bounds) {
  std::uint64_t wide = value;
  count(key, wide, {bounds.low, std::min<std::int64_t>(bounds.high, UINT32_MAX)});
  value = static_cast<std::uint32_t>(wide);
}

void Section::count(std::string_view key, std::optional<std::uint32_t>& value, Bounds bounds) {
  std::optional<std::uint64_t> wide;
  if (value) wide = *value;
  count(key, wide, {bounds.low, std::min<std::int64_t>(bounds.high, UINT32_MAX)});
  if (wide) value = static_cast<std::uint32_t>(*wide);
}

void Section::choose(std::string_view key, std::size_t& index,
                     const std::vector<std::string_view>& names) {
  if (!reading()) {
    out_->add(std::string(key), Tree::scalar(std::string(names[index])));
    return;
  }
  const Tree* found = take(key);
  if (found == nullptr) return;
  const std::optional<std::string_view> text = text_of(*found, either(names));
  if (!text) return;
  const auto at = std::find(names.begin(), names.end(), *text);
  if (at != names.end()) {
    index = static_cast<std::size_t>(at - names.begin());
    return;
  }
  const std::string hint = did_you_mean(*text, names);
  wrong(*found, fmt::format("{}: \"{}\" is unknown{}", key, printable(*text),
                            hint.empty() ? fmt::format("; expected {}", either(names)) : hint));
}

}  // namespace elastic::chaos
