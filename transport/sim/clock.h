// The clocks of simulated machines, and timers that run on them.
#pragma once

#include <cstdint>

#include "core/types.h"
#include "transport/sim/event_queue.h"

namespace elastic::sim {

// A machine's monotonic clock as a piecewise linear function of true time: it never runs backwards
// and never jumps; between two changes of rate it runs (1 + rate_ppm / 1,000,000) times as fast as
// true time.
class LocalClock {
 public:
  // Shows `local` at true time `now`.
  void start(Time now, Time local);
  // From `now` on, runs `rate_ppm` fast (negative: slow; at least -999,999).
  void set_rate(Time now, std::int64_t rate_ppm);

  Time local(Time now) const;
  // The earliest true time, not before `now`, at which the clock shows at least `local`.
  Time when(Time now, Time local_time) const;

 private:
  Time anchor_{};
  Time anchor_local_{};
  std::int64_t rate_ppm_ = 0;
};

// A timer on a local clock that is re-armed far more often than it fires. Re-arming to a later time
// costs no queue operation: the entry that waits in the queue is moved when it comes up. The order
// of events is the same as if every arming had pushed an entry of its own.
class LazyTimer {
 public:
  enum class Popped : std::uint8_t { kStale, kDue };

  // `event` is pushed with its field b set to a generation of the timer.
  void arm(EventQueue& queue, const LocalClock& clock, Time now, Time due_local,
           const Event& event);
  void cancel() { armed_ = false; }
  // Forgets everything; entries that still wait in the queue become stale.
  void reset();
  // To be called with every entry of this timer that leaves the queue. kDue: it fires now (and is
  // no longer armed).
  Popped popped(EventQueue& queue, const EventQueue::Due& due);
  // As popped(), for a process that stands still: a due timer stays armed, and overdue.
  void popped_while_frozen(EventQueue& queue, const EventQueue::Due& due);
  // The process goes on: an overdue timer fires at `now`.
  void thaw(EventQueue& queue, Time now, const Event& event);
  // The clock has changed its rate at `now`.
  void clock_changed(EventQueue& queue, const LocalClock& clock, Time now, const Event& event);

  bool armed() const { return armed_; }
  Time due_local() const { return due_local_; }

 private:
  void push(EventQueue& queue, Event event);

  bool armed_ = false;
  bool queued_ = false;
  Time due_local_{};
  Time due_{};        // true time
  Time queued_at_{};  // of the live entry, if queued_
  std::uint64_t sequence_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace elastic::sim
