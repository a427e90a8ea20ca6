// libFuzzer target: whatever the text, the trace readers end in a trace that keeps its invariants,
// or in errors.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "chaos/availability/availability.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace elastic::chaos;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto trace = parse_availability(text, "fuzz.csv");
  if (!trace) {
    require(!trace.error().empty());
    return 0;
  }
  std::uint64_t changes = 0;
  for (const auto& count : trace->counts) changes += count.alive;
  if (changes > 1'000'000) return 0;
  const auto events = events_of(*trace, elastic::math::Seed{1});
  std::vector<bool> alive;
  elastic::Duration last{};
  for (const AvailabilityEvent& event : events) {
    require(event.at >= last && event.at <= trace->span);
    last = event.at;
    if (event.node >= alive.size()) alive.resize(event.node + std::size_t{1});
    require(alive[event.node] != event.add);
    alive[event.node] = event.add;
  }
  const SlotTimeline slots = to_slots(events, trace->span / 2, 8);
  require(slots.slots <= 8 && slots.at_start <= slots.slots);
  require(!describe(*trace).empty());
  return 0;
}
