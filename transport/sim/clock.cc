#include "transport/sim/clock.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::sim {
namespace {
constexpr std::int64_t kMillion = 1'000'000;
}  // namespace

void LocalClock::start(Time now, Time local) {
  anchor_ = now;
  anchor_local_ = local;
  rate_ppm_ = 0;
}

void LocalClock::set_rate(Time now, std::int64_t rate_ppm) {
  anchor_local_ = local(now);
  anchor_ = now;
  rate_ppm_ = std::max(rate_ppm, -kMillion + 1);
}

Time LocalClock::local(Time now) const {
  const Duration passed = now - anchor_;
  if (rate_ppm_ == 0) return anchor_local_ + passed;
  return anchor_local_ + Duration(math::mul_div(passed.count(), kMillion + rate_ppm_, kMillion));
}

Time LocalClock::when(Time now, Time local_time) const {
  const Duration wanted = local_time - anchor_local_;
  if (rate_ppm_ == 0) return std::max(now, anchor_ + wanted);
  const std::int64_t estimate = math::mul_div(wanted.count(), kMillion, kMillion + rate_ppm_);
  Time at = std::max(now, anchor_ + Duration(estimate));
  while (at > now && local(at - Duration(1)) >= local_time) at -= Duration(1);
  while (local(at) < local_time) at += Duration(1);
  return at;
}

void LazyTimer::push(EventQueue& queue, Event event) {
  event.b = ++generation_;
  queue.push_at(due_, sequence_, event);
  queued_ = true;
  queued_at_ = due_;
}

void LazyTimer::arm(EventQueue& queue, const LocalClock& clock, Time now, Time due_local,
                    const Event& event) {
  due_local_ = due_local;
  due_ = clock.when(now, due_local);
  sequence_ = queue.take_sequence();
  armed_ = true;
  if (!queued_ || due_ < queued_at_) push(queue, event);
}

void LazyTimer::reset() {
  armed_ = false;
  queued_ = false;
  ++generation_;
}

LazyTimer::Popped LazyTimer::popped(EventQueue& queue, const EventQueue::Due& due) {
  if (due.event.b != generation_ || !queued_) return Popped::kStale;
  queued_ = false;
  if (!armed_) return Popped::kStale;
  if (due_ > due.at || sequence_ != due.sequence) {
    ELASTIC_ASSERT(due_ >= due.at);
    push(queue, due.event);
    return Popped::kStale;
  }
  armed_ = false;
  return Popped::kDue;
}

void LazyTimer::popped_while_frozen(EventQueue& queue, const EventQueue::Due& due) {
  if (popped(queue, due) == Popped::kDue) armed_ = true;
}

void LazyTimer::thaw(EventQueue& queue, Time now, const Event& event) {
  if (!armed_ || queued_) return;
  due_ = std::max(due_, now);
  sequence_ = queue.take_sequence();
  push(queue, event);
}

void LazyTimer::clock_changed(EventQueue& queue, const LocalClock& clock, Time now,
                              const Event& event) {
  if (!armed_ || !queued_) return;
  due_ = clock.when(now, due_local_);
  if (due_ < queued_at_) push(queue, event);
}

}  // namespace elastic::sim
