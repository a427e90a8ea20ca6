// What the coordinator hears, and what it answers. What follows from it is in decisions.cc.
#include "core/membership/coordinator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/assert.h"
#include "core/membership/hash.h"
#include "core/mutants.h"

namespace elastic {

void Coordinator::lead(Time now, LeadId lead, const std::set<NodeId>& known, JournalClient& journal,
                       Effects& effects) {
  ELASTIC_ASSERT(lead);
  ELASTIC_ASSERT(phase_ == Phase::kIdle);
  const AgentId self = self_;
  *this = Coordinator(job_, timeouts_);
  self_ = self;
  lead_ = lead;
  lead_return_ = now;
  enough_heard_ = now;
  awake_at_ = now;
  phase_ = Phase::kAdopting;
  announce_to_ = known;
  announce_to_.insert(self_.node);
  effects.push_back(Note{NoteKind::kLeading, self_.node, {}, lead.record.value, 0, 0});
  effects.push_back(ArmTimer{TimerId::kTick, timeouts_.beat});
  const JournalView& view = journal.view();
  take_up_saves(view, effects);
  if (view.world && !ELASTIC_MUTANT("flap_score_forgotten")) {
    flaps_.restore(now, view.world->flaps, Duration::zero());
  }
  push(view, effects);
  evaluate(now, journal, effects);
}

void Coordinator::stand_down(Time /*now*/, Effects& effects) {
  if (phase_ == Phase::kIdle) return;
  ELASTIC_ASSERT(lead_);
  effects.push_back(Note{NoteKind::kDeposed, self_.node, {}, lead_.record.value, 0, 0});
  effects.push_back(CancelTimer{TimerId::kTick});
  const AgentId self = self_;
  *this = Coordinator(job_, timeouts_);
  self_ = self;
  ELASTIC_ASSERT(!leading());
}

Peer& Coordinator::peer_of(Time now, const Beat& beat, bool* changed) {
  const bool first = !peers_.contains(beat.from.node);
  Peer& peer = peers_[beat.from.node];
  announce_to_.erase(beat.from.node);
  if (first || beat.from.life > peer.beat.from.life) {
    // The node, or its next life. What was acknowledged to earlier lives still counts for their
    // workers.
    peer.failures_noted = {};
    peer.failures_acked = {};
    peer.starts_counted = {};
    peer.suspect_at = kEndOfTime;
    peer.leaving = false;
    peer.leave_at = kEndOfTime;
    peer.beat = {};
    awaiting_.erase(beat.from.node);
    *changed = true;
  }
  if (peer.lost) *changed = true;
  peer.lost = false;
  peer.heard = now;
  peer.suspect_at = kEndOfTime;
  ELASTIC_ASSERT(peer.failures_acked <= peer.failures_noted);
  return peer;
}

namespace {
bool same_but_number(const Beat& a, const Beat& b) {
  return a.state == b.state && a.placed == b.placed && a.entered == b.entered &&
         a.left_for == b.left_for && a.reaped_below == b.reaped_below && a.failures.empty() &&
         b.failures.empty() && a.failed_edges == b.failed_edges && a.saved == b.saved &&
         a.leaving_in.has_value() == b.leaving_in.has_value() &&
         a.entered_newest == b.entered_newest && a.last_step == b.last_step &&
         a.manifest == b.manifest && a.checked == b.checked && a.broken_saves == b.broken_saves;
}
}  // namespace

// Silence counts only while this node listens: after a pause of its own the beats of that time are
// still waiting to be read, and nobody is lost for that.
void Coordinator::wake(Time now) {
  const Duration away = now - awake_at_;
  awake_at_ = now;
  if (away <= 2 * timeouts_.beat) return;
  for (auto& [node, peer] : peers_) {
    if (peer.lost) continue;
    peer.heard = std::min(now, peer.heard + (away - timeouts_.beat));
    if (peer.suspect_at != kEndOfTime) peer.suspect_at += away - timeouts_.beat;
  }
  failed_at_ = std::min(now, failed_at_ + (away - timeouts_.beat));
}

void Coordinator::on_beat(Time now, const Beat& beat, JournalClient& journal, Effects& effects) {
  if (!leading()) return;
  wake(now);
  const auto known = peers_.find(beat.from.node);
  if (known != peers_.end()) {
    const Beat& last = known->second.beat;
    if (beat.from.life < last.from.life && !ELASTIC_MUTANT("beat_of_an_earlier_life")) return;
    if (beat.from.life == last.from.life && beat.number <= last.number) return;  // overtaken
  }
  if (beat.lead_seen > lead_) {
    journal.read(now, false, effects);  // somebody newer may lead: find out before anything else
    return;
  }
  bool changed = false;
  Peer& peer = peer_of(now, beat, &changed);
  changed = changed || !same_but_number(peer.beat, beat);
  peer.beat = beat;
  if (beat.leaving_in) {
    peer.leaving = true;
    peer.leave_at = now + *beat.leaving_in;
    announced_.insert(beat.from.node);
  } else {
    peer.leaving = false;
    peer.leave_at = kEndOfTime;
  }
  note_failures(peer, beat, journal.view(), effects);
  if (beat.saved) note_save(beat, journal.view());
  if (beat.state == AgentState::kEnded) {
    awaiting_.erase(beat.from.node);
  } else if (ELASTIC_MUTANT("ack_without_read")) {
    await(beat, 0);
    acknowledge(now, 0, journal.view(), effects);
  } else {
    await(beat, journal.read(now, false, effects));
  }
  if (changed) evaluate_soon(now, journal, effects);
}

// Looking at everybody costs O(peers), and when a round changes everybody has news: above a number
// of peers it is done once for all that arrive within a few milliseconds.
void Coordinator::evaluate_soon(Time now, JournalClient& journal, Effects& effects) {
  constexpr std::size_t kAtOnce = 64;
  constexpr Duration kPerPeer = std::chrono::microseconds(2);  // 20 ms for 10,000 of them
  if (peers_.size() <= kAtOnce) return evaluate(now, journal, effects);
  if (evaluating_soon_) return;
  evaluating_soon_ = true;
  const Duration wait = kPerPeer * static_cast<Duration::rep>(peers_.size());
  effects.push_back(ArmTimer{TimerId::kTick, std::min(wait, timeouts_.beat)});
}

// Notes each failure once, in the order of arrival: the first of a round is its cause, the others
// are consequences. They are acknowledged only when the record that counts them is in the journal,
// so that a new coordinator hears of those that were not counted.
void Coordinator::note_failures(Peer& peer, const Beat& beat, const JournalView& view,
                                Effects& effects) {
  for (const FailureReport& failure : beat.failures) {
    const bool again = failure.number <= peer.failures_noted;
    if (again && !ELASTIC_MUTANT("failure_counted_twice")) continue;
    const bool of_newest = view.world && failure.round == view.world->round;
    const bool cause = of_newest && !first_failure_ && !failure.stopped_by_agent && may_be_cause();
    if (again && counts(failure)) ++start_failures_;
    if (cause) {
      first_failure_ = failure;
      failed_at_ = peer.heard;
    }
    // In no round, and none runs: the job waits for this program. While a round runs, nobody waits
    // for a newcomer, whose agent starts it again ever more slowly. One of an earlier journal's
    // rounds is no failure of this one's starts.
    const bool waited_for = !view.world || phase_ != Phase::kRunning;
    const bool at_start = waited_for && !failure.round && counts(failure) &&
                          failure.number > peer.starts_counted && !counted_before(failure, view);
    const bool first_start = at_start && !first_failure_ && !first_start_;
    if (at_start) {
      ++start_failures_;
      peer.starts_counted = failure.number;
      if (!first_start_) first_start_ = failure;
    }
    if (again) continue;
    // What no record will count need not wait for one.
    const bool settled = !cause && !at_start && peer.failures_acked == peer.failures_noted;
    peer.failures_noted = failure.number;
    if (settled) peer.failures_acked = failure.number;
    const std::uint64_t status = failure.status.signal != 0
                                     ? 256U + static_cast<std::uint64_t>(failure.status.signal)
                                     : static_cast<std::uint64_t>(failure.status.code);
    effects.push_back(Note{NoteKind::kFailure, failure.agent.node, failure.round,
                           failure.local_rank, status, cause || first_start ? 1U : 0U});
  }
  ELASTIC_ASSERT(peer.failures_acked <= peer.failures_noted);
  ELASTIC_ASSERT(!first_start_ || start_failures_ > 0);
}

// A failure that arrives while the round is being left because of something else is a consequence,
// unless that something was itself only a sign of it (a broken connection) or had nothing to do
// with it.
bool Coordinator::may_be_cause() const {
  if (wait_ == WaitReason::kRecording) return false;  // the next World is written already
  if (phase_ != Phase::kForming) return true;
  return planned_ || cause_ == RoundCause::kEdge || cause_ == RoundCause::kAdopted ||
         cause_ == RoundCause::kStalled;
}

bool Coordinator::counts(const FailureReport& failure) const {
  if (failure.status.ok() || failure.stopped_by_agent) return false;
  if (job_.restart_policy == RestartPolicy::kAnyFailure) return true;
  return failure.status.signal == 0 && failure.status.code < 128;
}

void Coordinator::await(const Beat& beat, std::uint64_t ticket) {
  auto& waiting = awaiting_[beat.from.node];
  if (waiting.size() > 1) waiting.pop_back();
  ELASTIC_ASSERT(waiting.size() <= 1);
  ELASTIC_ASSERT(waiting.empty() || waiting.front().first <= ticket);
  waiting.emplace_back(ticket, beat.number);
}

void Coordinator::acknowledge(Time now, std::uint64_t read_done, const JournalView& view,
                              Effects& effects) {
  ELASTIC_ASSERT(view.lead == lead_ || ELASTIC_MUTANT("deposed_grants_leases"));
  for (auto it = awaiting_.begin(); it != awaiting_.end();) {
    auto& waiting = it->second;
    ELASTIC_ASSERT(!waiting.empty());
    ELASTIC_ASSERT(waiting.size() <= 2);
    if (waiting.front().first > read_done) {
      ++it;
      continue;
    }
    if (mute_) return;
    const bool all = waiting.back().first <= read_done;
    Peer& peer = peers_.at(it->first);
    Order order = order_for(peer, view);
    order.beat = all ? waiting.back().second : waiting.front().second;
    peer.acked = now;
    peer.ever_acked = true;
    effects.push_back(Send{it->first, std::move(order)});
    if (!all) waiting.erase(waiting.begin());
    it = all ? awaiting_.erase(it) : std::next(it);
  }
}

void Coordinator::on_peer_closed(Time now, NodeId node, JournalClient& journal, Effects& effects) {
  if (!leading()) return;
  wake(now);
  const auto at = peers_.find(node);
  if (at == peers_.end() || at->second.lost) return;
  // Only a hint: its agent may come back at once, or the connection alone was lost.
  at->second.suspect_at =
      std::min(at->second.suspect_at, now + timeouts_.beat + job_.bounds.round_trip);
  effects.push_back(ArmTimer{TimerId::kTick, timeouts_.beat + job_.bounds.round_trip});
  evaluate(now, journal, effects);
}

void Coordinator::on_tick(Time now, JournalClient& journal, Effects& effects) {
  if (!leading()) return;
  wake(now);
  effects.push_back(ArmTimer{TimerId::kTick, timeouts_.beat});
  evaluate(now, journal, effects);
}

void Coordinator::on_journal(Time now, const JournalEvent& event, JournalClient& journal,
                             Effects& effects) {
  if (!leading()) return;
  wake(now);
  ELASTIC_ASSERT(journal.view().lead == lead_ || ELASTIC_MUTANT("deposed_grants_leases"));
  if (event.appended) settle_append(now, *event.appended, journal, effects);
  if (event.read_done != 0) acknowledge(now, event.read_done, journal.view(), effects);
  if (event.news || event.appended) evaluate(now, journal, effects);
}

// The own record is in the journal: it takes effect now.
void Coordinator::settle_append(Time now, const Record& record, JournalClient& journal,
                                Effects& effects) {
  const JournalView& view = journal.view();
  ELASTIC_ASSERT(leading());
  if (const auto* world = std::get_if<World>(&record.body)) {
    ELASTIC_ASSERT(phase_ == Phase::kForming);
    ELASTIC_ASSERT(world->round == target_);
    phase_ = Phase::kRunning;
    recorded_at_ = now;
    entering_at_ = now;
    running_since_ = kEndOfTime;
    entered_.clear();
    best_step_ = world->resume.state.step;
    edge_since_ = kEndOfTime;
    joined_.clear();
    first_failure_.reset();
    saving_.reset();
    manifest_for_.reset();
    start_failures_ = 0;
    first_start_.reset();
    announced_.clear();
    departed_.clear();
    asking_ = world->cause == RoundCause::kResize ? now - asked_at_ : Duration::zero();
    adopted_ = false;
    pause_ = {};
    step_length_ = {};
    ran_ = {};
    planned_ = false;
    for (auto& [node, peer] : peers_) {
      peer.failures_acked = peer.failures_noted;
      peer.arrived = 0;
    }
    wait_for(WaitReason::kNone, effects);
    effects.push_back(Note{NoteKind::kWorldRecorded, self_.node, world->round,
                           world->members.size(), world->resume.state.step.value,
                           static_cast<std::uint64_t>(world->cause)});
    push(view, effects);
  } else if (const auto* saved = std::get_if<Checkpoint>(&record.body)) {
    if (saving_ && saving_->report.step <= saved->step) saving_.reset();
    put_marker({view.checkpoint_record, *saved}, false, view, effects);
    sweep_saves(view, effects);
    effects.push_back(Note{NoteKind::kCheckpoint, self_.node, saved->round, saved->step.value,
                           view.checkpoint_record.value, 0});
  } else if (const auto* retire = std::get_if<Retire>(&record.body)) {
    settle_retire(*retire, view, effects);
  } else if (const auto* verdict = std::get_if<Verdict>(&record.body)) {
    phase_ = Phase::kEnding;
    for (auto& [node, peer] : peers_) peer.failures_acked = peer.failures_noted;
    if (verdict->kind == Verdict::Kind::kSucceeded && view.checkpoint) {
      put_marker({view.checkpoint_record, *view.checkpoint}, true, view, effects);
    }
    effects.push_back(Note{NoteKind::kVerdict,
                           self_.node,
                           {},
                           static_cast<std::uint64_t>(verdict->kind),
                           verdict->step.value,
                           0});
    push(view, effects);
  }
}

void Coordinator::on_stop_job(Time now, JournalClient& journal, Effects& effects) {
  if (!leading()) return;
  stop_with_ = Verdict{Verdict::Kind::kStopped, best_step_, {}};
  evaluate(now, journal, effects);
}

bool Coordinator::all_ended() const {
  return std::all_of(peers_.begin(), peers_.end(), [this](const auto& entry) {
    return entry.first == self_.node || entry.second.lost ||
           entry.second.beat.state == AgentState::kEnded;
  });
}

bool Coordinator::everybody_ended(const JournalView& view) const {
  const auto ended = [this](NodeId node) {
    const auto at = peers_.find(node);
    return node == self_.node ||
           (at != peers_.end() && at->second.beat.state == AgentState::kEnded);
  };
  if (view.world) {
    for (const Member& member : view.world->members) {
      if (!ended(member.agent.node)) return false;
    }
  }
  return leading() && std::all_of(peers_.begin(), peers_.end(),
                                  [&](const auto& entry) { return ended(entry.first); });
}

Order Coordinator::order_for(const Peer& peer, const JournalView& view) const {
  Order order;
  order.from = self_;
  order.to = peer.beat.from;
  order.lead = lead_;
  order.failures_seen = peer.failures_acked;
  order.wait = wait_;
  order.verdict = view.verdict;
  if (view.checkpoint) {
    order.checkpoint = view.checkpoint_record;
    order.checkpoint_step = view.checkpoint->step;
    order.checkpoint_round = view.checkpoint->round;
  }
  if (phase_ == Phase::kForming) {
    order.leave_for = target_;
    order.planned = planned_;
  }
  if (peer.suppressed_until > peer.heard) order.wait = WaitReason::kSuppressed;
  if (peer.sits_out_until > peer.heard) order.wait = WaitReason::kSittingOut;
  if (!view.world) return order;
  const World& world = *view.world;
  order.running = world.round;
  if (phase_ != Phase::kRunning) return order;
  order.leave_for = world.round;  // whoever still is in an older one: it is superseded
  const std::size_t at = index_of(world, peer.beat.from.node);
  const bool member = at < world.members.size() && world.members[at].agent == peer.beat.from;
  if (!member) {
    if (order.wait == WaitReason::kNone) order.wait = WaitReason::kSpare;
    return order;
  }
  order.wait = WaitReason::kNone;
  if (at == 0) {
    order.manifest = manifest_for_;
    order.verify = to_verify(view);
  }
  if (peer.beat.placed >= world.round) return order;  // it knows its place
  const std::size_t size = world.members.size();
  Placement place;
  place.round = world.round;
  place.group_rank = static_cast<std::uint32_t>(at);
  place.group_size = static_cast<std::uint32_t>(size);
  place.first_rank = first_rank(world, at);
  place.world_size = world_size(world);
  place.previous = world.members[(at + size - 1) % size].agent;
  place.next = world.members[(at + 1) % size].agent;
  place.first = world.members.front().agent;
  place.resume = world.resume;
  place.restarts_used = world.budgets.restarts_used;
  order.placement = place;
  return order;
}

// Tells everybody at once; what is lost comes again with the next acknowledgement.
void Coordinator::push(const JournalView& view, Effects& effects) {
  for (const NodeId node : announce_to_) {
    Order order = order_for(Peer{}, view);
    order.placement.reset();
    order.leave_for = {};
    effects.push_back(Send{node, std::move(order)});
  }
  for (const auto& [node, peer] : peers_) {
    if (peer.lost || peer.beat.state == AgentState::kEnded) continue;
    effects.push_back(Send{node, order_for(peer, view)});
  }
}

void Coordinator::check(const JournalClient& journal) const {
  if (!leading()) return;
  ELASTIC_ASSERT(lead_);
  ELASTIC_ASSERT(journal.view().lead == lead_);
  ELASTIC_ASSERT(phase_ != Phase::kForming || target_);
  ELASTIC_ASSERT(phase_ != Phase::kRunning || journal.view().world.has_value());
  ELASTIC_ASSERT(phase_ != Phase::kEnding || journal.view().verdict.has_value());
  ELASTIC_ASSERT(awaiting_.size() <= peers_.size());
  ELASTIC_ASSERT(entered_.size() <= peers_.size());
  ELASTIC_ASSERT(!manifest_for_ || journal.view().world.has_value());
  ELASTIC_ASSERT(!marker_stored_ || markers_asked_.contains(marker_stored_));
  ELASTIC_ASSERT(!mute_ || job_.health.min_healthy > 0);
  ELASTIC_ASSERT(!suspended_);  // or it had stood down
  ELASTIC_ASSERT(!first_failure_ || journal.view().world.has_value());
  ELASTIC_ASSERT(start_failures_ == 0 || first_start_ || ELASTIC_MUTANT("failure_counted_twice"));
  flaps_.check();
  health_.check();
}

std::uint64_t Coordinator::digest() const {
  Hash hash;
  hash(phase_, suspended_, lead_, lead_return_, enough_heard_, awake_at_, awaiting_, announce_to_,
       target_, cause_, planned_, planned_until_, forming_since_, last_join_, joined_, hoped_for_,
       wait_, recorded_at_, entering_at_, running_since_, entered_, best_step_, edge_since_,
       first_failure_, failed_at_, start_failures_, first_start_, stop_with_, flaps_.digest(),
       health_.digest(), too_few_, mute_, evaluating_soon_, announced_, departed_, ran_,
       step_length_, running_from_, pause_, asked_at_, asking_, adopted_);
  if (saving_) hash(saving_->report, saving_->in);
  hash(manifest_for_, markers_asked_, marker_stored_, swept_below_);
  for (const auto& [node, peer] : peers_) {
    hash(node, peer.beat, peer.heard, peer.acked, peer.ever_acked, peer.suspect_at, peer.lost,
         peer.leaving, peer.leave_at, peer.sits_out_until, peer.suppressed_until,
         peer.failures_noted, peer.failures_acked, peer.starts_counted, peer.arrived);
  }
  return hash.value();
}

}  // namespace elastic
