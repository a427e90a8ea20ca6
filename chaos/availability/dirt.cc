#include "chaos/availability/dirt.h"

#include <algorithm>
#include <charconv>

namespace elastic::chaos {
namespace {

constexpr std::size_t kMaxFields = 8;  // more are counted, not kept

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

void split(std::string_view text, std::vector<Field>& fields) {
  fields.clear();
  std::size_t start = 0;
  while (fields.size() < kMaxFields) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view raw = text.substr(start, comma - start);
    const std::string_view field = trimmed(raw);
    const std::size_t blanks =
        field.empty() ? 0 : static_cast<std::size_t>(field.data() - raw.data());
    fields.push_back({field, static_cast<std::uint32_t>(start + blanks + 1)});
    if (comma == text.size()) return;
    start = comma + 1;
  }
}

}  // namespace

void Repairs::note(std::string_view what, std::uint32_t line) {
  auto found = by_kind_.find(what);
  if (found == by_kind_.end()) {
    found = by_kind_.emplace(what, Repair{std::string(what), 0, line}).first;
  }
  ++found->second.count;
  found->second.first_line = std::min(found->second.first_line, line);
}

std::vector<Repair> Repairs::list() const {
  std::vector<Repair> out;
  for (const auto& [what, repair] : by_kind_) out.push_back(repair);
  std::stable_sort(out.begin(), out.end(),
                   [](const Repair& a, const Repair& b) { return a.first_line < b.first_line; });
  return out;
}

std::uint32_t NodeNames::number(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  numbers_.emplace(name, number);
  names_.emplace_back(name);
  return number;
}

std::vector<AvailabilityEvent> settle(std::vector<RawChange> raw, std::size_t nodes,
                                      const StateRules& rules, Repairs& repairs) {
  Duration latest{};
  for (const RawChange& change : raw) {
    if (change.at < latest) repairs.note("time runs backwards: sorted", change.line);
    latest = std::max(latest, change.at);
  }
  std::stable_sort(raw.begin(), raw.end(),
                   [](const RawChange& a, const RawChange& b) { return a.at < b.at; });
  // Per node: how often it was taken away (0: alive), and the event by which it came to be so.
  struct State {
    std::uint32_t gone = 0;
    std::size_t since = SIZE_MAX;  // index into `kept`
  };
  std::vector<State> states(nodes);
  for (State& state : states) state.gone = rules.alive_at_start ? 0 : 1;
  struct Kept {
    AvailabilityEvent event;
    bool dropped = false;
  };
  std::vector<Kept> kept;
  for (const RawChange& change : raw) {
    State& state = states[change.node];
    if (change.add ? state.gone == 0 : state.gone > 0) {
      repairs.note(change.add ? rules.added_twice : rules.removed_twice, change.line);
      if (!change.add && rules.nested) ++state.gone;
      continue;
    }
    if (change.add && --state.gone > 0) continue;
    if (!change.add) ++state.gone;
    // The reverse of what happened at the same instant: neither is kept. A node that is replaced at
    // once (removed, then added) did lose its state, unless the file speaks of faults without
    // length.
    const bool cancels = change.add == rules.nested && state.since != SIZE_MAX &&
                         kept[state.since].event.at == change.at;
    if (cancels) {
      repairs.note(rules.zero_length, change.line);
      kept[state.since].dropped = true;
      state.since = SIZE_MAX;
      continue;
    }
    state.since = kept.size();
    kept.push_back({{change.at, change.add, change.node}, false});
  }
  std::vector<AvailabilityEvent> events;
  for (const Kept& one : kept) {
    if (!one.dropped) events.push_back(one.event);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const AvailabilityEvent& a, const AvailabilityEvent& b) {
                     return a.at != b.at ? a.at < b.at : a.add < b.add;
                   });
  return events;
}

bool Lines::next(Line& line) {
  while (!text_.empty()) {
    const std::size_t end = text_.find('\n');
    line.last_and_open = end == std::string_view::npos;
    std::string_view content = text_.substr(0, end);
    text_.remove_prefix(line.last_and_open ? text_.size() : end + 1);
    line.number = ++number_;
    if (!content.empty() && content.back() == '\r') {
      content.remove_suffix(1);
      repairs_.note("lines end in CR LF", line.number);
    }
    if (trimmed(content).empty()) continue;
    split(content, line.fields);
    return true;
  }
  return false;
}

bool read_number(std::string_view text, std::uint64_t max, std::uint64_t& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return !text.empty() && error == std::errc() && stop == end && value <= max;
}

}  // namespace elastic::chaos
