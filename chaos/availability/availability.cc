#include "chaos/availability/availability.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "chaos/availability/dirt.h"
#include "chaos/scenario/tree.h"

namespace elastic::chaos {
namespace {

constexpr math::Stream kLeavers{0x6c656176657273};  // "leavers"

std::string_view first_line(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_first_of("\r\n", start) - start);
}

bool looks_like_counts(std::string_view line) {
  return line.size() > 10 && line[4] == '-' && line[7] == '-' && line[0] >= '0' && line[0] <= '9';
}

// Takes `count` nodes out of `alive` as the seed says; `next_draw` counts the draws of this trace.
void take_leavers(std::vector<std::uint32_t>& alive, std::size_t count, Duration at,
                  math::Seed seed, std::uint64_t& next_draw,
                  std::vector<AvailabilityEvent>& events) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t drawn = math::draw(seed, kLeavers, next_draw++);
    const std::size_t index = math::below(drawn, alive.size());
    events.push_back({at, false, alive[index]});
    alive[index] = alive.back();
    alive.pop_back();
  }
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

tl::expected<Availability, Errors> load_availability(const std::string& path) {
  const tl::expected<std::string, Errors> text = read_regular_file(path, kMaxTraceBytes);
  if (!text) return tl::unexpected(text.error());
  return parse_availability(*text, path);
}

tl::expected<Availability, Errors> parse_availability(std::string_view text,
                                                      const std::string& file) {
  Errors errors;
  Repairs repairs;
  if (text.size() > kMaxTraceBytes) {
    errors.add({file, 0, 0}, fmt::format("is larger than {} MiB", kMaxTraceBytes >> 20U));
    return tl::unexpected(errors);
  }
  if (text.substr(0, 3) == "\xef\xbb\xbf") {
    repairs.note("a byte order mark at the start: ignored", 1);
    text.remove_prefix(3);
  }
  const std::string_view line = first_line(text);
  tl::expected<Availability, Errors> trace;
  if (line.empty()) {
    errors.add({file, 1, 1}, "the file is empty");
    return tl::unexpected(errors);
  }
  if (line[0] == '[' || line[0] == '{') {
    trace = read_fault_list(text, file, repairs);
  } else if (looks_like_counts(line)) {
    trace = read_polled_counts(text, file, repairs);
  } else if (line[0] >= '0' && line[0] <= '9' && line.find(',') != std::string_view::npos) {
    trace = read_event_list(text, file, repairs);
  } else {
    errors.add(
        {file, 1, 1},
        "not an availability trace; known are event lists (ms,add|remove,node), polled counts "
        "(YYYY-MM-DD, HH:MM:SS, count) and fault lists (JSON with node_id, event_time, "
        "event_type)");
    return tl::unexpected(errors);
  }
  if (!trace) return trace;
  trace->name = base_name(file);
  trace->repairs = repairs.list();
  return trace;
}

std::vector<AvailabilityEvent> events_of(const Availability& trace, math::Seed seed) {
  if (trace.format != TraceFormat::kCounts) return trace.events;
  std::vector<AvailabilityEvent> events;
  std::vector<std::uint32_t> alive;
  std::uint32_t next_node = 0;
  std::uint64_t next_draw = 0;
  for (const Availability::Count& count : trace.counts) {
    if (count.alive < alive.size()) {
      take_leavers(alive, alive.size() - count.alive, count.at, seed, next_draw, events);
    }
    while (alive.size() < count.alive) {
      events.push_back({count.at, true, next_node});
      alive.push_back(next_node++);
    }
  }
  return events;
}

SlotTimeline to_slots(const std::vector<AvailabilityEvent>& events, Duration from,
                      std::uint32_t max_slots) {
  constexpr std::uint32_t kNoSlot = UINT32_MAX;
  SlotTimeline timeline;
  std::vector<std::uint32_t> slot_of;
  std::set<std::uint32_t> free;
  std::size_t next = 0;
  const auto place = [&](std::uint32_t node) {
    if (node >= slot_of.size()) slot_of.resize(node + std::size_t{1}, kNoSlot);
    if (free.empty() && timeline.slots < max_slots) free.insert(timeline.slots++);
    if (free.empty()) return ++timeline.left_out, kNoSlot;
    slot_of[node] = *free.begin();
    free.erase(free.begin());
    return slot_of[node];
  };
  // What is alive at `from`, in the order of the nodes, takes the first slots.
  std::set<std::uint32_t> alive;
  for (; next < events.size() && events[next].at <= from; ++next) {
    if (events[next].add) {
      alive.insert(events[next].node);
    } else {
      alive.erase(events[next].node);
    }
  }
  for (const std::uint32_t node : alive) place(node);
  timeline.at_start = timeline.slots;
  for (; next < events.size(); ++next) {
    const AvailabilityEvent& event = events[next];
    if (event.add) {
      const std::uint32_t slot = place(event.node);
      if (slot != kNoSlot) timeline.events.push_back({event.at - from, true, slot});
    } else if (event.node < slot_of.size() && slot_of[event.node] != kNoSlot) {
      timeline.events.push_back({event.at - from, false, slot_of[event.node]});
      free.insert(slot_of[event.node]);
      slot_of[event.node] = kNoSlot;
    }
  }
  return timeline;
}

}  // namespace elastic::chaos
