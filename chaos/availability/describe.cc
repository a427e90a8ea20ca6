// The text of `elastic-sim trace FILE`.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "chaos/availability/availability.h"
#include "chaos/scenario/units.h"
#include "core/math/quantiles.h"

namespace elastic::chaos {
namespace {

__extension__ using int128 = __int128;

struct Summary {
  std::uint32_t at_start = 0;
  std::uint32_t lowest = 0;
  std::uint32_t highest = 0;
  std::int64_t mean_tenths = 0;
  std::uint64_t removals = 0;
  std::uint64_t batches = 0;
  std::uint64_t biggest = 0;
  Duration biggest_at{};
  std::vector<std::int64_t> lives;  // of the nodes that were seen to come and go
  std::uint64_t still_alive = 0;
};

Summary summarise(const std::vector<AvailabilityEvent>& events, Duration span) {
  Summary out;
  std::map<std::uint32_t, Duration> born;
  int128 area = 0;
  Duration last{};
  for (std::size_t i = 0; i < events.size();) {
    const Duration at = events[i].at;
    area += int128{static_cast<std::int64_t>(born.size())} * (at - last).count();
    last = at;
    std::uint64_t dropped = 0;
    for (; i < events.size() && events[i].at == at; ++i) {
      if (events[i].add) {
        born[events[i].node] = at;
        continue;
      }
      const auto found = born.find(events[i].node);
      out.lives.push_back((at - found->second).count());
      born.erase(found);
      ++dropped;
    }
    const auto alive = static_cast<std::uint32_t>(born.size());
    if (at == Duration{}) out.at_start = out.lowest = alive;
    out.lowest = std::min(out.lowest, alive);
    out.highest = std::max(out.highest, alive);
    out.removals += dropped;
    out.batches += dropped > 0 ? 1 : 0;
    if (dropped > out.biggest) out.biggest_at = at;
    out.biggest = std::max(out.biggest, dropped);
  }
  area += int128{static_cast<std::int64_t>(born.size())} * (span - last).count();
  if (span > Duration{}) out.mean_tenths = static_cast<std::int64_t>(area * 10 / span.count());
  out.still_alive = born.size();
  return out;
}

// "14.7", of events over a span; "–" for a span of zero.
std::string per_hour(std::uint64_t count, Duration span) {
  if (span <= Duration{}) return "–";
  const int128 tenths =
      int128{static_cast<std::int64_t>(count)} * 36'000'000'000'000 / span.count();
  const auto value = static_cast<std::int64_t>(tenths);
  return fmt::format("{}.{}", value / 10, value % 10);
}

std::string_view format_name(TraceFormat format) {
  switch (format) {
    case TraceFormat::kEvents:
      return "event list";
    case TraceFormat::kCounts:
      return "polled counts; who leaves is drawn (here with seed 1)";
    case TraceFormat::kFaults:
      return "fault list; nodes without a fault are not in it";
  }
  return "";
}

std::string lives_text(const Summary& summary) {
  if (summary.lives.empty()) return "no node was seen to leave";
  const auto at = [&](std::uint32_t ppm) {
    return rough_duration(Duration(math::quantile(summary.lives, ppm)));
  };
  return fmt::format("p10 {}  p25 {}  p50 {}  p75 {}  p90 {}", at(100'000), at(250'000),
                     at(500'000), at(750'000), at(900'000));
}

std::string repairs_text(const std::vector<Repair>& repairs) {
  if (repairs.empty()) return "  repaired    nothing\n";
  std::string out;
  for (const Repair& repair : repairs) {
    out += fmt::format("  {:<12}{:>6} × {} (first in line {})\n", out.empty() ? "repaired" : "",
                       repair.count, repair.what, repair.first_line);
  }
  return out;
}

}  // namespace

std::string describe(const Availability& trace) {
  const std::vector<AvailabilityEvent> events = events_of(trace, math::Seed{1});
  const Summary all = summarise(events, trace.span);
  const std::size_t nodes =
      trace.format == TraceFormat::kCounts ? all.removals + all.still_alive : trace.nodes.size();
  std::string out = fmt::format("{}   {}\n\n", printable(trace.name), format_name(trace.format));
  out += fmt::format("  span        {}\n", rough_duration(trace.span));
  out += fmt::format("  nodes       {}; alive {} at the start, {}.{} on average, {} to {}\n", nodes,
                     all.at_start, all.mean_tenths / 10, all.mean_tenths % 10, all.lowest,
                     all.highest);
  out += fmt::format("  events      {} ({} per hour), of them {} removals ({} per hour)\n",
                     events.size(), per_hour(events.size(), trace.span), all.removals,
                     per_hour(all.removals, trace.span));
  out += fmt::format("  life time   {}\n", lives_text(all));
  if (!all.lives.empty()) {
    out += fmt::format("              of {} nodes; {} were alive at the end and do not count\n",
                       all.lives.size(), all.still_alive);
  }
  if (all.biggest > 0) {
    out += fmt::format("  drops       {}, the biggest of {} nodes at {}\n", all.batches,
                       all.biggest, rough_duration(all.biggest_at));
  }
  return out + repairs_text(trace.repairs);
}

}  // namespace elastic::chaos
