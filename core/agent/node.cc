#include "core/agent/node.h"

#include <utility>

#include "core/assert.h"
#include "core/membership/hash.h"
#include "core/mutants.h"

namespace elastic {

Node::Node(const JobConfig& job, const Timeouts& timeouts)
    : job_(job),
      timeouts_(timeouts),
      journal_(job, timeouts),
      hosted_(job),
      election_(job, timeouts),
      coordinator_(job, timeouts),
      agent_(job, timeouts) {}

void Node::step(Time now, const Input& input, Effects& effects) {
  if (exited_) return;
  if (!self_ && !std::holds_alternative<Start>(input)) return;
  dispatch(now, input, effects);
  after(now, effects);
}

void Node::dispatch(Time now, const Input& input, Effects& effects) {
  if (const auto* received = std::get_if<Received>(&input)) {
    on_message(now, *received, effects);
  } else if (const auto* fired = std::get_if<TimerFired>(&input)) {
    on_timer(now, fired->timer, effects);
  } else if (const auto* start = std::get_if<Start>(&input)) {
    if (self_) return;
    self_ = start->self;
    journal_.start(self_, start->seed);
    journal_.note_start(now);
    coordinator_.start(self_);
    hosted_.start(self_, start->seed, effects);
    agent_.start(now, self_, start->seed, effects);
    election_.start(now, self_, start->seed, start->contacts, effects);
    journal_.read(now, /*want_contacts=*/false, effects);
  } else if (const auto* closed = std::get_if<PeerClosed>(&input)) {
    if (closed->peer == agent_.leader().node) election_.leader_suspect(now, effects);
    coordinator_.on_peer_closed(now, closed->peer, journal_, effects);
  } else if (const auto* replied = std::get_if<JournalReplied>(&input)) {
    on_journal(now, replied->answer, effects);
  } else if (const auto* file = std::get_if<JournalFileRead>(&input)) {
    hosted_.on_file_read(*file, effects);
    stand_first(now, effects);
  } else if (const auto* synced = std::get_if<JournalFileSynced>(&input)) {
    hosted_.on_synced(*synced, effects);
    stand_first(now, effects);
  } else if (const auto* marker = std::get_if<MarkerStored>(&input)) {
    coordinator_.on_marker(now, marker->record, journal_, effects);
  } else if (const auto* read = std::get_if<MarkerRead>(&input)) {
    on_marker_read(now, *read, effects);
  } else if (std::holds_alternative<StopJob>(input)) {
    coordinator_.on_stop_job(now, journal_, effects);
  } else {
    on_workers(now, input, effects);
  }
}

void Node::on_workers(Time now, const Input& input, Effects& effects) {
  if (std::holds_alternative<LeftoversKilled>(input)) {
    agent_.on_leftovers_killed(now, effects);
  } else if (std::holds_alternative<WorkersPrepared>(input)) {
    agent_.on_prepared(now, effects);
  } else if (const auto* entered = std::get_if<WorkersEntered>(&input)) {
    agent_.on_entered(now, *entered, effects);
  } else if (const auto* left = std::get_if<WorkersLeft>(&input)) {
    agent_.on_left(now, *left, effects);
  } else if (const auto* exited = std::get_if<WorkerExited>(&input)) {
    agent_.on_exited(now, *exited, effects);
  } else if (const auto* pulse = std::get_if<WorkerPulse>(&input)) {
    agent_.on_pulse(now, *pulse, effects);
  } else if (const auto* saved = std::get_if<WorkersSaved>(&input)) {
    agent_.on_saved(now, *saved, effects);
  } else if (const auto* written = std::get_if<ManifestWritten>(&input)) {
    agent_.on_manifest_written(now, *written, effects);
  } else if (const auto* verified = std::get_if<SaveVerified>(&input)) {
    agent_.on_save_verified(now, *verified, effects);
  } else if (const auto* broken = std::get_if<SaveBroken>(&input)) {
    agent_.on_save_broken(now, *broken, effects);
  } else if (const auto* finished = std::get_if<WorkersFinished>(&input)) {
    agent_.on_finished(now, *finished, effects);
  } else if (const auto* edge = std::get_if<EdgeFailed>(&input)) {
    agent_.on_edge_failed(now, *edge, effects);
  } else if (const auto* notice = std::get_if<LeaveNotice>(&input)) {
    agent_.on_leave_notice(now, *notice, effects);
  }
}

// A newer Lead than any seen so far.
void Node::follow(Time now, LeadId lead, AgentId leader, Effects& effects) {
  if (lead <= agent_.lead_seen()) return;
  const JournalLife life = journal_.view().life;
  if (life && lead.journal != life) return;  // of a journal that this node does not read
  const bool own = leader == self_ && coordinator_.leading() && coordinator_.lead_id() == lead;
  if (!own) {
    if (coordinator_.leading()) {
      // Its own reading of the journal decides; until then it only stops being listened to here.
      journal_.read(now, false, effects);
    } else {
      election_.new_lead(now, effects);
    }
  }
  agent_.follow(now, lead, leader, effects);
}

void Node::on_message(Time now, const Received& received, Effects& effects) {
  if (const auto* beat = std::get_if<Beat>(&received.message)) {
    if (coordinator_.leading()) {
      coordinator_.on_beat(now, *beat, journal_, effects);
    } else if (agent_.lead_seen() > beat->lead_seen) {
      // It follows somebody who no longer leads: name the newest that is known here.
      Hearing hearing;
      hearing.from = self_;
      hearing.lead_seen = agent_.lead_seen();
      hearing.leader = agent_.leader();
      effects.push_back(Send{received.from, hearing});
    }
  } else if (const auto* order = std::get_if<Order>(&received.message)) {
    const JournalLife life = journal_.view().life;
    if (life && order->lead.journal != life) return agent_.contest(now, *order, effects);
    const bool newer = order->lead > agent_.lead_seen();
    if (newer) follow(now, order->lead, order->from, effects);
    if (order->lead == agent_.lead_seen() && (order->beat || newer)) {
      election_.heard_leader(now, effects);
    }
    agent_.on_order(now, *order, effects);
  } else if (const auto* canvass = std::get_if<Canvass>(&received.message)) {
    // Whoever holds rounds of one journal helps nobody to lead by another one.
    const JournalLife other = canvass->lead_seen.journal;
    if (agent_.holding() && other && other != agent_.holding()) return;
    // A leader that hears too few to serve anybody is none for others.
    const Time served_at =
        coordinator_.mute() ? now - timeouts_.election_min : journal_.last_answer();
    election_.on_canvass(now, *canvass, agent_.lead_seen(), agent_.leader(), served_at, effects);
  } else if (const auto* hearing = std::get_if<Hearing>(&received.message)) {
    if (hearing->lead_seen > agent_.lead_seen()) {
      follow(now, hearing->lead_seen, hearing->leader, effects);
    } else {
      election_.on_hearing(now, *hearing, journal_, effects);
    }
  } else if (const auto* ask = std::get_if<JournalAsk>(&received.message)) {
    hosted_.on_ask(now, *ask, effects);
    stand_first(now, effects);
  } else if (const auto* answer = std::get_if<JournalAnswer>(&received.message)) {
    on_journal(now, *answer, effects);
  }
}

// The host of a new job's journal stands before anybody misses a leader.
void Node::stand_first(Time now, Effects& effects) {
  if (!hosted_.without_lead() || coordinator_.leading()) return;
  election_.on_founding(now, hosted_.contacts(), journal_, effects);
}

void Node::on_timer(Time now, TimerId timer, Effects& effects) {
  switch (timer) {
    case TimerId::kSilence:
      election_.on_silence(now, journal_, effects);
      return;
    case TimerId::kCanvass:
      election_.on_canvass_over(now, journal_, effects);
      return;
    case TimerId::kTick:
      coordinator_.on_tick(now, journal_, effects);
      return;
    case TimerId::kJournal:
      journal_.on_timer(now, effects);
      return;
    case TimerId::kJoin:
      if (!agent_.in_round()) part(now, ExitReason::kJoinTimeout, effects);
      return;
    case TimerId::kLinger:
      effects.push_back(Exit{agent_.ending().value_or(ExitReason::kStopped)});
      exited_ = true;
      return;
    default:
      agent_.on_timer(now, timer, effects);
      return;
  }
}

void Node::on_journal(Time now, const JournalAnswer& answer, Effects& effects) {
  const JournalEvent event = journal_.on_answer(now, answer, effects);
  const JournalView& view = journal_.view();
  const bool own_lead =
      event.appended && std::holds_alternative<Lead>(event.appended->body) && view.leader == self_;
  if (coordinator_.leading() && view.lead != coordinator_.lead_id()) {
    if (ELASTIC_MUTANT("deposed_grants_leases")) {
      JournalEvent all_read;
      all_read.read_done = UINT64_MAX;
      coordinator_.on_journal(now, all_read, journal_, effects);
    }
    coordinator_.stand_down(now, effects);
    election_.stand_down(now, effects);
  }
  // Somebody newer may have been heard before the journal's answer came.
  const bool superseded = agent_.lead_seen() > view.lead;
  if (own_lead && !coordinator_.leading() && !superseded) {
    election_.won(now, effects);
    coordinator_.lead(now, view.lead, election_.known(), journal_, effects);
  }
  if (event.append_lost) election_.lost(now, effects);
  if (view.lead > agent_.lead_seen()) follow(now, view.lead, view.leader, effects);
  coordinator_.on_journal(now, event, journal_, effects);
  election_.on_read(now, event, journal_, effects);
  if (view.verdict && !coordinator_.leading()) agent_.on_verdict(now, *view.verdict, effects);
}

// What follows from any step: giving up a lead that reaches nobody, a lost journal, the end.
void Node::after(Time now, Effects& effects) {
  if (coordinator_.suspended()) {
    effects.push_back(Note{NoteKind::kSuspended, self_.node, {}, 0, 0, 0});
    coordinator_.stand_down(now, effects);
    journal_.abandon();
    election_.stand_down(now, effects);
  }
  // Also without workers, once it has had a place: the Verdict may have been recorded meanwhile.
  const bool took_part = agent_.holding() || agent_.placed();
  if (job_.journal == JournalKind::kHosted && !agent_.exiting() && took_part) {
    const Time heard = std::max(agent_.lease_from(), journal_.last_answer());
    const bool lost = now - heard > job_.journal_lost_after;
    if (lost) part(now, ExitReason::kJournalLost, effects);
    if (!lost && parting_ && parting_->reason == ExitReason::kJournalLost) parting_.reset();
  }
  // It has found a place after all, or ends otherwise; or the storage does not answer, either.
  const bool placed = parting_ && parting_->reason == ExitReason::kJoinTimeout && agent_.in_round();
  if (placed || agent_.exiting()) parting_.reset();
  if (parting_ && now - parting_->since > timeouts_.orphan) on_marker_read(now, {}, effects);
  if (agent_.ending()) {
    finish(now, effects);
    return;
  }
  journal_.hold(agent_.holding());
}

// It is to end, for want of a journal or of a round. Perhaps the job has ended without its hearing.
void Node::part(Time now, ExitReason reason, Effects& effects) {
  if (parting_ || agent_.exiting()) return;
  parting_ = Parting{reason, now};
  effects.push_back(ReadMarker{});
}

// The marker beside the last save says whether the job has succeeded. One of an earlier life of the
// journal says nothing of the present one.
void Node::on_marker_read(Time now, const MarkerRead& read, Effects& effects) {
  if (!parting_) return;
  const ExitReason reason = parting_->reason;
  parting_.reset();
  const bool succeeded =
      read.newest && read.newest->verdict && read.newest->journal >= agent_.placed().journal;
  if (succeeded) {
    Verdict verdict;
    verdict.step = read.newest->checkpoint.step;
    agent_.on_verdict(now, verdict, effects);
  } else {
    agent_.give_up(now, reason, effects);
  }
}

// The agent has ended. Whoever leads, or keeps the journal, stays for those who have not heard it
// yet (at once over, if it leads and everybody has said so), but no longer than a lease: after that
// they have noticed by themselves, and read the journal or the marker.
void Node::finish(Time now, Effects& effects) {
  ELASTIC_ASSERT(agent_.ending().has_value());
  ELASTIC_ASSERT(agent_.state() == AgentState::kEnded);
  const ExitReason reason = *agent_.ending();
  const bool verdict = reason != ExitReason::kLeft && reason != ExitReason::kJoinTimeout &&
                       reason != ExitReason::kJournalLost;
  if (!lingering_) {
    lingering_ = true;
    journal_.hold({});
    agent_.send_last_beat(now, effects);
    effects.push_back(CancelTimer{TimerId::kLease});
    effects.push_back(CancelTimer{TimerId::kOrphan});
    effects.push_back(CancelTimer{TimerId::kSilence});
    if (!verdict && coordinator_.leading()) coordinator_.stand_down(now, effects);
    effects.push_back(ArmTimer{TimerId::kLinger, with_drift(timeouts_.lease)});
  }
  const bool needed = (coordinator_.leading() && !coordinator_.all_ended()) || hosted_.hosting();
  if (verdict && needed && !coordinator_.everybody_ended(journal_.view())) return;
  effects.push_back(Exit{reason});
  exited_ = true;
}

void Node::check() const {
  if (!self_) return;
  journal_.check();
  hosted_.check();
  election_.check();
  coordinator_.check(journal_);
  agent_.check();
  ELASTIC_ASSERT(coordinator_.leading() == (election_.phase() == Election::Phase::kLeading) ||
                 lingering_);
  ELASTIC_ASSERT(lingering_ == agent_.ending().has_value());
  ELASTIC_ASSERT(!coordinator_.leading() || agent_.lead_seen() >= coordinator_.lead_id());
  ELASTIC_ASSERT(!parting_ || parting_->reason == ExitReason::kJournalLost ||
                 parting_->reason == ExitReason::kJoinTimeout);
}

std::uint64_t Node::digest() const {
  Hash hash;
  hash(self_, exited_, lingering_, journal_.digest(), hosted_.digest(), election_.digest(),
       coordinator_.digest(), agent_.digest());
  if (parting_) hash(parting_->reason, parting_->since);
  return hash.value();
}

}  // namespace elastic
