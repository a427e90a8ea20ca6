// Fault lists in JSON, read as a stream: no tree is built, so depth and size cost nothing.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "chaos/availability/dirt.h"

namespace elastic::chaos {
namespace {

constexpr std::size_t kMaxDepth = 8;  // the format needs 3
constexpr std::size_t kMaxName = 200;

// Where the parser stands.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 0;  // of the character read last
};

// Hands out characters and counts lines on the way.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++position_->column;
    if (*at_ == '\n') *position_ = {position_->line + 1, 0};
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  Position* position_;
};

// Days as a decimal, to nanoseconds: nine places (86 us) count, the rest is cut off. Nothing when
// it is no such number or out of range.
std::optional<Duration> read_days(std::string_view text) {
  constexpr std::int64_t kNsPerNanoDay = 86'400;
  std::int64_t nano_days = 0;
  std::size_t places = 0;
  bool point = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    if (point && ++places > 9) continue;
    nano_days = nano_days * 10 + (c - '0');
    if (nano_days > std::int64_t{10'000} * 1'000'000'000) return std::nullopt;
  }
  for (; places < 9; ++places) {
    nano_days *= 10;
    if (nano_days > std::int64_t{10'000} * 1'000'000'000) return std::nullopt;
  }
  const Duration at(nano_days * kNsPerNanoDay);
  return at > kMaxTraceSpan ? std::nullopt : std::optional<Duration>(at);
}

class Handler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(const std::string& file, const Position& position) : file_(file), position_(position) {}

  bool null() override { return value("null", false); }
  bool boolean(bool) override { return value("a truth value", false); }
  bool number_integer(number_integer_t number) override {
    return value(std::to_string(number), true);
  }
  bool number_unsigned(number_unsigned_t number) override {
    return value(std::to_string(number), true);
  }
  bool number_float(number_float_t number, const string_t& text) override {
    // Exponents are rare and small: 1e-05 of a day. Everything else is read digit by digit.
    const bool exponent = text.find_first_of("eE") != std::string::npos;
    return value(exponent && number >= 0 && number < 1e6 ? fmt::format("{:.9f}", number) : text,
                 true);
  }
  bool string(string_t& text) override { return value(text, false); }
  bool binary(binary_t&) override { return value("binary data", false); }

  bool start_object(std::size_t) override {
    if (depth_ == 0) return wrong("expected a list of faults, \"[\"");
    if (depth_ == 1) {
      fault_ = Fault{};
      fault_.line = position_.line;
      fault_.column = position_.column;
    }
    return deeper();
  }
  bool end_object() override {
    --depth_;
    return depth_ != 1 || finish_fault();
  }
  bool start_array(std::size_t) override {
    if (depth_ == 1) return wrong("expected a fault, \"{\"");
    return deeper();
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& text) override {
    if (depth_ == 2) key_ = text;
    return true;
  }
  bool parse_error(std::size_t, const std::string& token,
                   const nlohmann::detail::exception&) override {
    return wrong(fmt::format("not valid JSON near \"{}\"", printable(token, 40)));
  }

  Errors errors;
  std::vector<RawChange> raw;
  NodeNames names;
  Duration span{};

 private:
  struct Fault {
    std::optional<std::string> node;
    std::optional<Duration> at;
    std::optional<bool> end;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
  };

  bool wrong(std::string message) {
    errors.add({file_, position_.line, std::max(position_.column, 1U)}, std::move(message));
    return false;
  }
  bool deeper() {
    return ++depth_ <= kMaxDepth || wrong(fmt::format("nested more than {} deep", kMaxDepth));
  }

  bool value(const std::string& text, bool number) {
    if (depth_ == 0) return wrong("expected a list of faults, \"[\"");
    if (depth_ == 1) return wrong("expected a fault, \"{\"");
    if (depth_ != 2) return true;  // details of the fault
    if (key_ == "node_id") {
      if (text.empty() || text.size() > kMaxName) return wrong("node_id is no name");
      fault_.node = text;
    } else if (key_ == "event_time") {
      fault_.at = number ? read_days(text) : std::nullopt;
      if (!fault_.at) {
        return wrong(fmt::format("event_time \"{}\" is no number of days from 0, within ten years",
                                 printable(text)));
      }
    } else if (key_ == "event_type") {
      if (text != "fault_start" && text != "fault_end") {
        return wrong(fmt::format("event_type \"{}\" is neither fault_start nor fault_end{}",
                                 printable(text),
                                 did_you_mean(text, {"fault_start", "fault_end"})));
      }
      fault_.end = text == "fault_end";
    }
    return true;
  }

  bool finish_fault() {
    if (!fault_.node || !fault_.at || !fault_.end) {
      errors.add({file_, fault_.line, fault_.column},
                 fmt::format("a fault without {}", !fault_.node ? "node_id"
                                                   : !fault_.at ? "event_time"
                                                                : "event_type"));
      return errors.problems.size() < Errors::kMaxProblems;
    }
    raw.push_back({*fault_.at, *fault_.end, names.number(*fault_.node), fault_.line});
    span = std::max(span, *fault_.at);
    return names.size() <= kMaxTraceNodes ||
           wrong(fmt::format("more than {} nodes", kMaxTraceNodes));
  }

  const std::string& file_;
  const Position& position_;
  std::size_t depth_ = 0;
  std::string key_;
  Fault fault_;
};

}  // namespace

tl::expected<Availability, Errors> read_fault_list(std::string_view text, const std::string& file,
                                                   Repairs& repairs) {
  Position position;
  Handler handler(file, position);
  const bool whole =
      nlohmann::json::sax_parse(CountingIterator(text.data(), &position),
                                CountingIterator(text.data() + text.size(), &position), &handler);
  if (!whole && handler.errors.empty()) handler.errors.add({file, 0, 0}, "not valid JSON");
  if (handler.errors.empty() && handler.raw.empty()) {
    handler.errors.add({file, 1, 1}, "a list without faults");
  }
  if (!handler.errors.empty()) return tl::unexpected(handler.errors);
  Availability trace;
  trace.format = TraceFormat::kFaults;
  trace.span = handler.span;
  const std::size_t nodes = handler.names.size();
  std::vector<AvailabilityEvent> events = settle(
      std::move(handler.raw), nodes,
      {.alive_at_start = true,
       .nested = true,
       .added_twice = "a fault ends on a node that is up: ignored",
       .removed_twice = "a fault starts on a node that is down: it stays down until both end",
       .zero_length = "a fault of length zero: ignored"},
      repairs);
  // All nodes are there at the start, but for those that a fault holds from the first instant on.
  const auto later = std::find_if(events.begin(), events.end(), [](const AvailabilityEvent& event) {
    return event.at > Duration{};
  });
  std::vector<bool> down(nodes);
  for (auto event = events.begin(); event != later; ++event) down[event->node] = !event->add;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (!down[node]) trace.events.push_back({Duration{}, true, node});
  }
  trace.events.insert(trace.events.end(), later, events.end());
  trace.nodes = handler.names.take();
  return trace;
}

}  // namespace elastic::chaos
