// The heart of the simulation: what is due next. Events leave in the order (time, sequence number).
//
// Alternatives rejected: std::priority_queue over whole events (moves 40 bytes per level); removal
// of cancelled timers (a search per re-arming: LazyTimer lets stale entries run out instead).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "core/types.h"
#include "transport/sim/event.h"

namespace elastic::sim {

// A slot store: put() gives an index, take() or drop() frees it. Slots are reused, newest first, so
// that a running world stops allocating. Owner of what it holds; references stay valid while others
// are put.
template <class T>
class Slab {
 public:
  std::uint32_t put(T&& value) {
    const std::uint32_t slot = reserve();
    slots_[slot] = std::move(value);
    return slot;
  }
  // A slot with whatever it held before, to be filled in place.
  std::uint32_t reserve() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  T& at(std::uint32_t slot) { return slots_[slot]; }
  T take(std::uint32_t slot) {
    free_.push_back(slot);
    return std::move(slots_[slot]);
  }
  void drop(std::uint32_t slot) { free_.push_back(slot); }
  std::size_t in_use() const { return slots_.size() - free_.size(); }

 private:
  std::deque<T> slots_;
  std::vector<std::uint32_t> free_;
};

// Invariants:
//  1. pop() never gives an event that is earlier than one given before, unless it was pushed since.
//  2. Of two events due at the same time, the one with the lower sequence number leaves first.
//  3. At most 2^24 events wait at once, at most 2^40 are pushed in a run.
class EventQueue {
 public:
  struct Due {
    Time at;
    std::uint64_t sequence;
    Event event;
  };

  // A place in the order of events of the same time, to be used by one push_at().
  std::uint64_t take_sequence() { return next_sequence_++; }
  void push(Time at, const Event& event) { push_at(at, take_sequence(), event); }
  void push_at(Time at, std::uint64_t sequence, const Event& event) {
    std::uint32_t slot = static_cast<std::uint32_t>(events_.size());
    if (free_.empty()) {
      events_.push_back(event);
    } else {
      slot = free_.back();
      free_.pop_back();
      events_[slot] = event;
    }
    ELASTIC_ASSERT(slot < kSlots);
    heap_.push_back({at.time_since_epoch().count(), (sequence << kSlotBits) | slot});
    sift_up(heap_.size() - 1);
  }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // REQUIRES: not empty.
  Time next_time() const { return Time(Duration(heap_.front().time)); }
  Due pop() {
    ELASTIC_ASSERT(!heap_.empty());
    const Entry top = heap_.front();
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
    const auto slot = static_cast<std::uint32_t>(top.order & (kSlots - 1));
    free_.push_back(slot);
    return {Time(Duration(top.time)), top.order >> kSlotBits, events_[slot]};
  }

 private:
  struct Entry {
    std::int64_t time;
    std::uint64_t order;  // sequence and slot
  };
  static constexpr unsigned kSlotBits = 24;
  static constexpr std::uint64_t kSlots = std::uint64_t{1} << kSlotBits;
  static constexpr std::size_t kArity = 4;  // a cache line holds all children of an entry

  static bool before(const Entry& x, const Entry& y) {
    return x.time != y.time ? x.time < y.time : x.order < y.order;
  }
  void sift_up(std::size_t at) {
    const Entry entry = heap_[at];
    while (at > 0) {
      const std::size_t parent = (at - 1) / kArity;
      if (!before(entry, heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = entry;
  }
  // Puts `entry` in place of the root.
  void sift_down(const Entry& entry) {
    const std::size_t size = heap_.size();
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = at * kArity + 1;
      if (first >= size) break;
      std::size_t least = first;
      const std::size_t end = first + kArity < size ? first + kArity : size;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (before(heap_[child], heap_[least])) least = child;
      }
      if (!before(heap_[least], entry)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = entry;
  }

  std::vector<Entry> heap_;
  std::vector<Event> events_;  // by slot
  std::vector<std::uint32_t> free_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace elastic::sim
