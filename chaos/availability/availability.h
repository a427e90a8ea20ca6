// Availability traces: which machines a real cluster had, and when. Three formats are read and told
// apart by content:
//   event lists     ms,add|remove,node                  one change of one node per line
//   polled counts   YYYY-MM-DD, HH:MM:SS, count         how many are alive; a seed picks who leaves
//   fault lists     JSON [{node_id, event_time (days), event_type: fault_start | fault_end}, ...]
// Real traces are dirty. What can be understood is repaired and reported; the rest is an error.
// After the end of a trace the last state holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "chaos/scenario/problem.h"
#include "core/math/random.h"
#include "core/types.h"

namespace elastic::chaos {

constexpr std::size_t kMaxTraceBytes = std::size_t{64} << 20;
constexpr std::uint32_t kMaxTraceNodes = 100'000;      // alive at once, and in a list of names
constexpr std::uint64_t kMaxTraceChanges = 5'000'000;  // arrivals and departures
constexpr Duration kMaxTraceSpan = std::chrono::hours(24 * 3660);  // ten years

// At `at` from the start of the trace, a node appears or is gone.
struct AvailabilityEvent {
  Duration at{};
  bool add = false;
  std::uint32_t node = 0;  // index, in the order of first appearance
  bool operator==(const AvailabilityEvent&) const = default;
};

// `count` lines were put right in the same way; the first of them is `first_line`.
struct Repair {
  std::string what;  // "lines end in CR LF"
  std::uint64_t count = 0;
  std::uint32_t first_line = 0;
  bool operator==(const Repair&) const = default;
};

enum class TraceFormat : std::uint8_t { kEvents, kCounts, kFaults };

// Invariants of `events`: sorted by `at`, at one instant removals before additions; a node is added
// only when it is gone, and removed only when it is there. `counts` is sorted by `at`, each later
// than the one before.
struct Availability {
  struct Count {
    Duration at{};
    std::uint32_t alive = 0;
    bool operator==(const Count&) const = default;
  };

  std::string name;  // of the file, without its folder
  TraceFormat format = TraceFormat::kEvents;
  std::vector<std::string> nodes;         // names; none for polled counts
  std::vector<AvailabilityEvent> events;  // kEvents, kFaults
  std::vector<Count> counts;              // kCounts
  std::vector<Repair> repairs;
  Duration span{};  // to the last line
  bool operator==(const Availability&) const = default;
};

// Reads a regular file of at most kMaxTraceBytes.
tl::expected<Availability, Errors> load_availability(const std::string& path);
// The same from memory. `file` stands in the messages.
tl::expected<Availability, Errors> parse_availability(std::string_view text,
                                                      const std::string& file);

// The events of a trace; of polled counts, with the leavers that `seed` picks (each comer is a new
// node).
std::vector<AvailabilityEvent> events_of(const Availability& trace, math::Seed seed);

// What a user wants to know about a trace: span, nodes, events per hour, quantiles of the life
// time, biggest drop, repairs. Several lines.
std::string describe(const Availability& trace);

// A trace on a limited number of machine slots: each node that comes takes the lowest free slot,
// and while there is none it stays away.
struct SlotEvent {
  Duration at{};
  bool add = false;
  std::uint32_t slot = 0;
  bool operator==(const SlotEvent&) const = default;
};

// Slots 0..at_start-1 are taken at the start. `events` hold what comes after, in the order of `at`.
struct SlotTimeline {
  std::uint32_t slots = 0;  // ever used
  std::uint32_t at_start = 0;
  std::vector<SlotEvent> events;
  std::uint64_t left_out = 0;  // additions that found no free slot
};

// Starts at `from` in the trace: what is alive then is there at the start.
SlotTimeline to_slots(const std::vector<AvailabilityEvent>& events, Duration from,
                      std::uint32_t max_slots);

}  // namespace elastic::chaos
