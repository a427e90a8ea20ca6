// The vocabulary of core/: time, identities and order. Everything here is a value type, compares by
// value, and means the same in the simulator and in the real runtime.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace elastic {

// Lengths of time and points on one machine's monotonic clock, in nanoseconds. Points of two
// machines are never compared: every decision that involves another machine uses lengths that the
// own clock measured.
using Duration = std::chrono::nanoseconds;
struct MonotonicClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<MonotonicClock, Duration>;
  static constexpr bool is_steady = true;
};
using Time = MonotonicClock::time_point;

constexpr Time kEndOfTime = Time::max();

// A number that cannot be mistaken for another kind of number.
template <class Tag, class Rep = std::uint64_t>
struct Id {
  Rep value{};
  constexpr auto operator<=>(const Id&) const = default;
  constexpr explicit operator bool() const { return value != Rep{}; }
};

// A machine, for as long as the job knows it. Zero means "none".
using NodeId = Id<struct NodeTag>;
// One life of the agent on a node; drawn anew (never reused, only grows on one node) at each start.
// Below 2^32, because a journal's life follows that of its founder.
using AgentLife = Id<struct AgentLifeTag>;
// Number of a record in the journal; the first is 1. Zero means "none".
using RecordNo = Id<struct RecordTag>;
// Optimiser steps finished since the start of training. A step is *applied* when one worker holds
// its result. It is *committed* when every member of its round does, or a Checkpoint covers it.
using Step = Id<struct StepTag>;
// One founding of a journal: the upper 32 bits grow from founding to founding (they follow the life
// of the founding agent), the lower are drawn.
using JournalLife = Id<struct JournalLifeTag>;
// Digest of the chain of (step, round that finished it): equal digests mean equal histories.
using Lineage = Id<struct LineageTag>;
// Names one request to the journal, so that a late answer is known as such.
using RequestId = Id<struct RequestTag>;
// Counts the failures that one agent life has reported, from 1.
using FailureNo = Id<struct FailureTag>;
// Numbers the beats of one agent life, upwards from a drawn place. Zero means "no beat".
using BeatNo = Id<struct BeatTag>;

// The agent that a message or record speaks of: a node, in one of its lives.
struct AgentId {
  NodeId node;
  AgentLife life;
  constexpr auto operator<=>(const AgentId&) const = default;
  constexpr explicit operator bool() const { return static_cast<bool>(node); }
};

// A round: membership that does not change. Ordered by the journal's life, then by number. Rounds
// only grow, and whatever belongs to one carries its id, so that a late piece of an older one is
// known and refused.
struct RoundId {
  JournalLife journal;
  std::uint64_t number = 0;
  constexpr auto operator<=>(const RoundId&) const = default;
  constexpr explicit operator bool() const { return number != 0; }
};

// The record by which somebody coordinates: the fencing token of every order given.
struct LeadId {
  JournalLife journal;
  RecordNo record;
  constexpr auto operator<=>(const LeadId&) const = default;
  constexpr explicit operator bool() const { return static_cast<bool>(record); }
};

// State held by a worker: the last step that it applied, the round that it has entered (it holds
// that round's resume state) and the digest of how the state came to be. Two states are the same if
// their lineages are: the content needs no comparison to decide where a round resumes.
struct StatePoint {
  RoundId entered;
  Step step;
  Lineage lineage;
  constexpr auto operator<=>(const StatePoint&) const = default;
  constexpr explicit operator bool() const { return static_cast<bool>(entered); }
};

}  // namespace elastic
