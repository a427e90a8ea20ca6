#include "core/agent/crew.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/math/digest.h"
#include "core/membership/hash.h"

namespace elastic {
namespace {

bool newer(const StatePoint& a, const StatePoint& b) {
  return std::pair(a.entered, a.step) > std::pair(b.entered, b.step);
}

}  // namespace

Crew::Crew(const JobConfig& job, const Timeouts& timeouts)
    : beat_(timeouts.beat),
      silence_(timeouts.lost_after),
      longest_step_(job.bounds.step),
      hands_(std::max(1U, job.workers_per_node)) {}

void Crew::step(Time now, const CrewInput& input, std::vector<Input>& to_agent) {
  wake(now);
  if (const auto* started = std::get_if<CrewStarted>(&input)) {
    if (started->local_rank >= hands_.size()) return;
    Hand& hand = hands_[started->local_rank];
    hand = Hand{};
    hand.alive = true;
    hand.spoke = now;
    told_prepared_ = false;
  } else if (const auto* prepared = std::get_if<CrewPrepared>(&input)) {
    if (prepared->local_rank >= hands_.size()) return;
    Hand& hand = hands_[prepared->local_rank];
    if (!hand.alive) return;
    hand.prepared = true;
    hand.spoke = now;
    tell_prepared(to_agent);
  } else if (std::holds_alternative<CrewWanted>(input)) {
    told_prepared_ = false;
    tell_prepared(to_agent);
  } else if (const auto* placed = std::get_if<CrewPlaced>(&input)) {
    for (Hand& hand : hands_) {
      if (hand.prepared) hand.placed = std::max(hand.placed, placed->round);
      hand.arrived = 0;
    }
  } else if (const auto* said = std::get_if<CrewSaid>(&input)) {
    if (said->local_rank >= hands_.size()) return;
    Hand& hand = hands_[said->local_rank];
    if (!hand.alive) return;  // it was in the pipe when the worker ended
    hand.spoke = now;
    on_said(hand, said->says, to_agent);
  } else if (const auto* exited = std::get_if<CrewExited>(&input)) {
    on_exited(*exited, to_agent);
  } else if (std::holds_alternative<CrewPolled>(input)) {
    WorkerPulse pulse{held(), silent(now), 0};
    for (const Hand& hand : hands_) pulse.arrived += hand.arrived;
    to_agent.emplace_back(std::move(pulse));
  }
}

// Silence counts only while the agent listens: after a pause of its own, what the workers said
// meanwhile is still to be read.
void Crew::wake(Time now) {
  const Duration away = now - awake_at_;
  awake_at_ = now;
  if (away <= 2 * beat_) return;
  for (Hand& hand : hands_) hand.spoke = std::min(now, hand.spoke + (away - beat_));
}

void Crew::on_exited(const CrewExited& exited, std::vector<Input>& to_agent) {
  if (exited.local_rank >= hands_.size() || !hands_[exited.local_rank].alive) return;
  Hand& hand = hands_[exited.local_rank];
  WorkerExited event;
  if (hand.placed && hand.left_for <= hand.placed) event.round = hand.placed;
  event.local_rank = exited.local_rank;
  event.status = exited.status;
  hand = Hand{};
  event.last_of_group = alive() == 0;
  event.held = held();
  to_agent.emplace_back(std::move(event));
  told_prepared_ = false;
  tell_left(to_agent);  // perhaps only this one was missing
}

void Crew::on_said(Hand& hand, const WorkerSays& says, std::vector<Input>& to_agent) {
  if (const auto* entered = std::get_if<SaysEntered>(&says)) {
    hand.entered = entered->round;
    hand.placed = std::max(hand.placed, entered->round);
    hand.held = entered->held;
    hand.saved.reset();
    hand.finished.reset();
    tell_entered(to_agent);
  } else if (const auto* left = std::get_if<SaysLeft>(&says)) {
    hand.left_for = std::max(hand.left_for, left->for_round);
    hand.held = left->held;
    hand.computing = false;
    hand.finished.reset();
    tell_left(to_agent);
  } else if (const auto* saved = std::get_if<SaysSaved>(&says)) {
    hand.saved = saved->report;
    tell_saved(to_agent);
  } else if (const auto* finished = std::get_if<SaysFinished>(&says)) {
    hand.finished = finished->held;
    hand.held = finished->held;
    tell_finished(to_agent);
  } else if (const auto* edge = std::get_if<SaysEdge>(&says)) {
    to_agent.emplace_back(EdgeFailed{edge->round, edge->peer});
  } else if (const auto* broken = std::get_if<SaysSaveBroken>(&says)) {
    to_agent.emplace_back(SaveBroken{broken->record});
  } else if (const auto* pulse = std::get_if<SaysPulse>(&says)) {
    hand.held = pulse->held;
    hand.computing = pulse->computing;
    hand.computes = pulse->for_how_long;
    hand.arrived = pulse->arrived;
  }
}

void Crew::tell_prepared(std::vector<Input>& to_agent) {
  const bool all =
      std::all_of(hands_.begin(), hands_.end(), [](const Hand& h) { return h.prepared; });
  if (!all || told_prepared_) return;
  told_prepared_ = true;
  to_agent.emplace_back(WorkersPrepared{});
}

void Crew::tell_entered(std::vector<Input>& to_agent) {
  const RoundId round = hands_.front().entered;
  const bool all = std::all_of(hands_.begin(), hands_.end(), [&](const Hand& h) {
    return h.alive && h.entered == round && h.left_for <= round;
  });
  if (!all || round <= told_entered_) return;
  told_entered_ = round;
  ELASTIC_ASSERT(held().has_value());
  to_agent.emplace_back(WorkersEntered{round, *held()});
}

void Crew::tell_left(std::vector<Input>& to_agent) {
  std::optional<RoundId> least;
  for (const Hand& hand : hands_) {
    if (hand.alive && hand.prepared)
      least = least ? std::min(*least, hand.left_for) : hand.left_for;
  }
  if (!least || *least <= told_left_) return;
  told_left_ = *least;
  to_agent.emplace_back(WorkersLeft{*least, held()});
}

// Each worker writes a share of its own; the node's is all of them together.
void Crew::tell_saved(std::vector<Input>& to_agent) {
  if (!hands_.front().saved) return;
  SaveReport all = *hands_.front().saved;
  math::Digest digest;
  std::uint64_t bytes = 0;
  for (const Hand& hand : hands_) {
    if (!hand.saved || hand.saved->round != all.round || hand.saved->step != all.step) return;
    if (hand.saved->lineage != all.lineage) return;
    digest.add(hand.saved->digest);
    bytes += hand.saved->bytes;
  }
  if (hands_.size() > 1) all.digest = digest.value();
  all.bytes = bytes;
  if (told_saved_ && *told_saved_ == all) return;
  told_saved_ = all;
  to_agent.emplace_back(WorkersSaved{all});
}

void Crew::tell_finished(std::vector<Input>& to_agent) {
  const std::optional<StatePoint> state = hands_.front().finished;
  const bool all = std::all_of(hands_.begin(), hands_.end(),
                               [&](const Hand& h) { return h.finished && h.finished == state; });
  if (!all || told_finished_ == state) return;
  told_finished_ = state;
  to_agent.emplace_back(WorkersFinished{*state});
}

std::optional<std::uint32_t> Crew::silent(Time now) const {
  for (std::uint32_t rank = 0; rank < hands_.size(); ++rank) {
    const Hand& hand = hands_[rank];
    if (!hand.alive || !hand.prepared) continue;
    const bool quiet = now - hand.spoke >= silence_;
    const bool stuck = hand.computing && longest_step_ > Duration{} &&
                       hand.computes + (now - hand.spoke) > longest_step_;
    if (quiet || stuck) return rank;
  }
  return std::nullopt;
}

std::optional<StatePoint> Crew::held() const {
  std::optional<StatePoint> best;
  for (const Hand& hand : hands_) {
    if (hand.alive && hand.held && (!best || newer(*hand.held, *best))) best = hand.held;
  }
  return best;
}

std::uint32_t Crew::alive() const {
  return static_cast<std::uint32_t>(
      std::count_if(hands_.begin(), hands_.end(), [](const Hand& h) { return h.alive; }));
}

void Crew::check() const {
  for (const Hand& hand : hands_) {
    ELASTIC_ASSERT(hand.alive || !hand.prepared);
    ELASTIC_ASSERT(hand.alive || !hand.held);
    ELASTIC_ASSERT(hand.entered <= hand.placed);
    ELASTIC_ASSERT(hand.alive || !hand.placed);
    ELASTIC_ASSERT(hand.alive || !hand.computing);
    ELASTIC_ASSERT(hand.alive || !hand.finished);
    ELASTIC_ASSERT(hand.prepared || !told_prepared_);
  }
}

std::uint64_t Crew::digest() const {
  Hash hash;
  for (const Hand& hand : hands_) {
    hash(hand.alive, hand.prepared, hand.placed, hand.entered, hand.left_for, hand.held, hand.saved,
         hand.finished, hand.spoke, hand.computing, hand.computes, hand.arrived);
  }
  hash(awake_at_, told_prepared_, told_entered_, told_left_, told_saved_, told_finished_);
  return hash.value();
}

}  // namespace elastic
