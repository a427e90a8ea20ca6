// The event loop alone: what is due next, and what follows from it.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "core/math/random.h"
#include "transport/sim/timeline.h"

namespace elastic::sim {
namespace {

// The hold model: `waiting` events are due; each that leaves puts one back, up to two seconds
// later.
void EventQueue_hold(benchmark::State& state) {
  const auto waiting = static_cast<std::uint64_t>(state.range(0));
  constexpr math::Stream kStream{1};
  Timeline timeline;
  std::uint64_t draws = 0;
  const auto later = [&] {
    return Duration(math::between(math::draw(math::Seed{1}, kStream, draws++), 0, 2'000'000'000));
  };
  for (std::uint64_t i = 0; i < waiting; ++i) timeline.in(later(), Event{});
  for (auto _ : state) {
    const EventQueue::Due due = timeline.queue.pop();
    timeline.now = due.at;
    timeline.in(later(), due.event);
  }
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(EventQueue_hold)->Arg(8)->Arg(64)->Arg(1'000)->Arg(10'000)->Arg(100'000);

// As in a run: events come a few at a time, each a short while after the one that caused it.
void EventQueue_chains(benchmark::State& state) {
  const auto chains = static_cast<std::uint64_t>(state.range(0));
  constexpr math::Stream kStream{2};
  Timeline timeline;
  std::uint64_t draws = 0;
  for (std::uint64_t i = 0; i < chains; ++i) {
    Event event;
    event.a = i;
    timeline.in(
        Duration(1'000'000'000 / static_cast<std::int64_t>(chains) * static_cast<std::int64_t>(i)),
        event);
  }
  for (auto _ : state) {
    const EventQueue::Due due = timeline.queue.pop();
    timeline.now = due.at;
    Event event = due.event;
    ++event.b;
    const bool beat = event.b % 4 == 0;  // three events follow at once, then a second passes
    const std::int64_t jitter =
        math::between(math::draw(math::Seed{1}, kStream, draws++), 0, 60'000);
    timeline.in(beat ? Duration(1'000'000'000) : Duration(120'000 + jitter), event);
  }
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(EventQueue_chains)->Arg(64)->Arg(1'000);

}  // namespace
}  // namespace elastic::sim
