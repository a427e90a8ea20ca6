#include "chaos/scenario/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "chaos/scenario/schema_texts.h"

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

Parsed<std::int64_t> read_count(std::string_view text) {
  const Parsed<std::uint64_t> value = parse_count(text);
  if (!value) return tl::unexpected(value.error());
  return static_cast<std::int64_t>(*value);  // of at most 18 digits
}

bool required(const Json& schema, std::string_view key) {
  if (!schema.contains("required")) return false;
  const Json& keys = schema["required"];
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

Section::Section(const Tree* in, std::string name, Errors& errors)
    : in_(in), name_(std::move(name)), errors_(&errors) {
  if (in_ != nullptr && in_->kind != Tree::Kind::kMap) {
    errors.add(in_->place, fmt::format("{} is {}; expected a mapping of keys to values",
                                       name_.empty() ? "the file" : name_, kind_name(*in_)));
    in_ = nullptr;
  }
}

Section::Section(Json& schema) : schema_(&schema) {
  schema["type"] = "object";
  schema["properties"] = Json::object();
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

bool Section::require(std::string_view key) {
  if (reading()) return need(key) != nullptr;
  if (describing()) (*schema_)["required"].push_back(key);
  return true;
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

Section Section::open(std::string_view key, std::string_view words) {
  if (writing()) return Section(out_->add(std::string(key), Tree::map()));
  if (describing()) {
    describe(key, words, Json::object());
    return Section((*schema_)["properties"][key]);
  }
  const std::string path = name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
  return {take(key), path, *errors_};
}

void Section::describe(std::string_view key, std::string_view words, const Json& schema) {
  Json described = Json::object();
  described["description"] = words;
  described.update(schema);
  (*schema_)["properties"][std::string(key)] = std::move(described);
}

void Section::describe_rule(const Json& rule) { (*schema_)["allOf"].push_back(rule); }

void Section::finish() {
  if (describing()) (*schema_)["additionalProperties"] = false;
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

const Section::Quantity& Section::a_duration() {
  static const Quantity how{
      read_duration, [](std::int64_t ns) { return duration_text(Duration(ns)); }, "duration"};
  return how;
}

const Section::Quantity& Section::a_size() {
  static const Quantity how{parse_size, size_text, "size"};
  return how;
}

const Section::Quantity& Section::a_count() {
  static const Quantity how{read_count, [](std::int64_t value) { return std::to_string(value); },
                            ""};
  return how;
}

void Section::quantity(std::string_view key, std::optional<std::int64_t>& value,
                       std::string_view words, Bounds bounds, const Quantity& how) {
  if (writing()) {
    if (value) out_->add(std::string(key), Tree::scalar(how.write(*value)));
    return;
  }
  if (describing()) {
    Json schema =
        how.name.empty() ? count_schema(bounds) : quantity_schema(how.name, bounds.low > 0);
    const bool usual =
        value && *value >= bounds.low && *value <= bounds.high && !required(*schema_, key);
    if (usual && how.name.empty()) schema["default"] = *value;
    if (usual && !how.name.empty()) schema["default"] = how.write(*value);
    return describe(key, words, schema);
  }
  const Tree* found = take(key);
  if (found == nullptr) return;
  const std::optional<std::string_view> text = text_of(*found, "a value");
  if (!text) return;
  const Parsed<std::int64_t> parsed = how.read(*text);
  if (!parsed) {
    wrong(*found, parsed.error());
  } else if (*parsed < bounds.low) {
    const bool zero = *parsed == 0;
    wrong(*found, fmt::format("\"{}\" {}; at least {}", printable(*text),
                              zero ? "is impossible" : "is too small", how.write(bounds.low)));
  } else if (*parsed > bounds.high) {
    wrong(*found,
          fmt::format("\"{}\" is too large; at most {}", printable(*text), how.write(bounds.high)));
  } else {
    value = *parsed;
  }
}

void Section::duration(std::string_view key, Duration& value, std::string_view words,
                       Bounds bounds) {
  std::optional<std::int64_t> ns = value.count();
  quantity(key, ns, words, bounds, a_duration());
  value = Duration(*ns);
}

void Section::duration(std::string_view key, std::optional<Duration>& value, std::string_view words,
                       Bounds bounds) {
  std::optional<std::int64_t> ns;
  if (value) ns = value->count();
  quantity(key, ns, words, bounds, a_duration());
  if (ns) value = Duration(*ns);
}

void Section::size(std::string_view key, std::int64_t& bytes, std::string_view words,
                   Bounds bounds) {
  std::optional<std::int64_t> value = bytes;
  size(key, value, words, bounds);
  bytes = *value;
}

void Section::size(std::string_view key, std::optional<std::int64_t>& bytes, std::string_view words,
                   Bounds bounds) {
  quantity(key, bytes, words, bounds, a_size());
}

void Section::rate(std::string_view key, std::int64_t& bytes_per_second, std::string_view words) {
  static const Quantity how{parse_rate, rate_text, "rate"};
  std::optional<std::int64_t> value = bytes_per_second;
  quantity(key, value, words, kPositive, how);
  bytes_per_second = *value;
}

void Section::share(std::string_view key, std::int64_t& ppm, std::string_view words) {
  static const Quantity how{[](std::string_view text) { return parse_share(text); }, share_text,
                            "share"};
  std::optional<std::int64_t> value = ppm;
  quantity(key, value, words, {0, 1'000'000}, how);
  ppm = *value;
}

void Section::price(std::string_view key, std::int64_t& microdollars_per_hour,
                    std::string_view words) {
  constexpr std::int64_t kHighest = 1'000'000'000'000;  // a million dollars
  static const Quantity how{parse_price, price_text, "price"};
  std::optional<std::int64_t> value = microdollars_per_hour;
  quantity(key, value, words, {0, kHighest}, how);
  microdollars_per_hour = *value;
}

void Section::count(std::string_view key, std::uint64_t& value, std::string_view words,
                    Bounds bounds) {
  std::optional<std::int64_t> number = static_cast<std::int64_t>(value);
  quantity(key, number, words, bounds, a_count());
  value = static_cast<std::uint64_t>(*number);
}

void Section::count(std::string_view key, std::optional<std::uint64_t>& value,
                    std::string_view words, Bounds bounds) {
  std::optional<std::int64_t> number;
  if (value) number = static_cast<std::int64_t>(*value);
  quantity(key, number, words, bounds, a_count());
  if (number) value = static_cast<std::uint64_t>(*number);
}

void Section::count(std::string_view key, std::uint32_t& value, std::string_view words,
                    Bounds bounds) {
  std::uint64_t wide = value;
  count(key, wide, words, {bounds.low, std::min<std::int64_t>(bounds.high, UINT32_MAX)});
  value = static_cast<std::uint32_t>(wide);
}

void Section::count(std::string_view key, std::optional<std::uint32_t>& value,
                    std::string_view words, Bounds bounds) {
  std::optional<std::uint64_t> wide;
  if (value) wide = *value;
  count(key, wide, words, {bounds.low, std::min<std::int64_t>(bounds.high, UINT32_MAX)});
  if (wide) value = static_cast<std::uint32_t>(*wide);
}

void Section::choose(std::string_view key, std::size_t& index, std::string_view words,
                     const std::vector<std::string_view>& names) {
  if (writing()) {
    out_->add(std::string(key), Tree::scalar(std::string(names[index])));
    return;
  }
  if (describing()) {
    Json schema = choice_schema(names);
    schema["default"] = names[index];
    return describe(key, words, schema);
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
