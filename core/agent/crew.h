// The workers of one node as its agent sees them: what each says becomes what all of them have
// done.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/agent/io.h"
#include "core/membership/config.h"
#include "core/types.h"
#include "core/worker/io.h"

namespace elastic {

// A process of that local rank was started.
struct CrewStarted {
  std::uint32_t local_rank = 0;
};
// It is up, outside any round.
struct CrewPrepared {
  std::uint32_t local_rank = 0;
};
// The agent wants all of them up (PrepareWorkers), and to be told when they are.
struct CrewWanted {};
// The agent gave them a place in this round (EnterRound).
struct CrewPlaced {
  RoundId round;
};
struct CrewSaid {
  std::uint32_t local_rank = 0;
  WorkerSays says;
};
// It has ended and is reaped.
struct CrewExited {
  std::uint32_t local_rank = 0;
  ExitStatus status;
};
// The agent asks (PollWorkers).
struct CrewPolled {};

using CrewInput = std::variant<CrewStarted, CrewPrepared, CrewWanted, CrewPlaced, CrewSaid,
                               CrewExited, CrewPolled>;

// Turns what single workers say into the agent's inputs, each once. Entered, saved and finished
// mean all of them; left means none of those alive contributes any more. The newest state among
// them is what the node holds: the others are filled from it in the next round.
//
// A worker is frozen, rather than a victim of one that is, if it no longer speaks (its I/O thread
// beats at least every Timeouts::beat), or computes one step for longer than DeclaredBounds::step.
// Who waits for others does not compute, so it is never taken for frozen, however long it waits.
// The agent hears of one frozen worker at a time (WorkerPulse), kills it, and reports its death.
//
// Invariants:
//  1. No input is given twice for one event of the workers.
//  2. What a worker said in one process does not count for the next process of its rank.
class Crew {
 public:
  Crew(const JobConfig& job, const Timeouts& timeouts);

  void step(Time now, const CrewInput& input, std::vector<Input>& to_agent);

  // Newest state that a living worker holds.
  std::optional<StatePoint> held() const;
  std::uint32_t alive() const;

  void check() const;
  std::uint64_t digest() const;

 private:
  struct Hand {
    bool alive = false;
    bool prepared = false;
    RoundId placed;    // newest round that it was given a place in
    RoundId entered;   // newest round that it has entered
    RoundId left_for;  // contributes to nothing below
    std::optional<StatePoint> held;
    std::optional<SaveReport> saved;
    std::optional<StatePoint> finished;
    Time spoke{};
    bool computing = false;
    Duration computes{};  // when it last spoke
    std::uint64_t arrived = 0;
  };

  void wake(Time now);
  void on_said(Hand& hand, const WorkerSays& says, std::vector<Input>& to_agent);
  void on_exited(const CrewExited& exited, std::vector<Input>& to_agent);
  void tell_prepared(std::vector<Input>& to_agent);
  void tell_entered(std::vector<Input>& to_agent);
  void tell_left(std::vector<Input>& to_agent);
  void tell_saved(std::vector<Input>& to_agent);
  void tell_finished(std::vector<Input>& to_agent);
  std::optional<std::uint32_t> silent(Time now) const;

  Duration beat_;
  Duration silence_;
  Duration longest_step_;
  Time awake_at_{};  // last input: the own pauses are no silence of the workers
  std::vector<Hand> hands_;
  bool told_prepared_ = false;
  RoundId told_entered_;
  RoundId told_left_;
  std::optional<SaveReport> told_saved_;
  std::optional<StatePoint> told_finished_;
};

}  // namespace elastic
