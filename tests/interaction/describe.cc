#include "tests/interaction/describe.h"

#include <algorithm>

namespace elastic::interaction {
namespace {

template <std::size_t N>
const char* pick(const char* const (&names)[N], std::size_t index) {
  return index < N ? names[index] : "?";
}

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string numbers(const std::vector<RecordNo>& records) {
  std::string text;
  for (const RecordNo record : records) text += " #" + number(record.value);
  return text;
}

// Which beat of its life: the numbers begin at a drawn place, and their lower 24 bits count.
std::uint64_t count(BeatNo beat) { return beat.value & 0xFFFFFFU; }

}  // namespace

const char* state_name(AgentState state) {
  static const char* const names[] = {"cleaning", "waiting", "prepared", "entering", "running",
                                      "leaving",  "left",    "finished", "ended"};
  return pick(names, static_cast<std::size_t>(state));
}

const char* wait_name(WaitReason reason) {
  static const char* const names[] = {"nothing",
                                      "adopting",
                                      "too few nodes",
                                      "last call",
                                      "members to leave",
                                      "round to be dead",
                                      "a holder",
                                      "the journal",
                                      "a place (spare)",
                                      "its cool-down",
                                      "its workers",
                                      "nothing (growth is off)",
                                      "its suppression (lost too often)",
                                      "the back-off"};
  return pick(names, static_cast<std::size_t>(reason));
}

const char* cause_name(RoundCause cause) {
  static const char* const names[] = {"first",       "node lost", "worker failed", "resize",
                                      "failed edge", "stalled",   "adoption",      "broken save"};
  return pick(names, static_cast<std::size_t>(cause));
}

const char* verdict_name(Verdict::Kind kind) {
  static const char* const names[] = {"succeeded",   "program failed", "gave up",   "stopped",
                                      "no progress", "too few nodes",  "saves lost"};
  return pick(names, static_cast<std::size_t>(kind));
}

const char* exit_name(ExitReason reason) {
  static const char* const names[] = {
      "succeeded",    "program failed", "gave up",     "stopped",       "left",
      "journal lost", "join timeout",   "no progress", "too few nodes", "saves lost"};
  return pick(names, static_cast<std::size_t>(reason));
}

std::string status_name(ExitStatus status) {
  if (status.signal != 0) return "signal " + std::to_string(status.signal);
  return "code " + std::to_string(status.code);
}

std::vector<std::string> kinds_of(const Message& message) {
  if (std::holds_alternative<Beat>(message)) return {"beat", "any"};
  if (const auto* order = std::get_if<Order>(&message)) {
    std::vector<std::string> kinds{"order", order->beat ? "ack" : "push", "any"};
    if (order->placement) kinds.push_back("place");
    if (order->leave_for > order->running) kinds.push_back("leave");
    if (order->verdict) kinds.push_back("verdict");
    return kinds;
  }
  if (std::holds_alternative<Canvass>(message)) return {"canvass", "any"};
  if (std::holds_alternative<Hearing>(message)) return {"hearing", "any"};
  if (const auto* ask = std::get_if<JournalAsk>(&message)) {
    return {"ask", ask->append ? "append" : "read", "journal", "any"};
  }
  return {"answer", "journal", "any"};
}

std::string Names::primes(JournalLife life) {
  if (!life) return "";
  auto at = std::find(lives_.begin(), lives_.end(), life);
  if (at == lives_.end()) {
    lives_.push_back(life);
    at = lives_.end() - 1;
  }
  return std::string(static_cast<std::size_t>(at - lives_.begin()), '\'');
}

std::string Names::round(RoundId round) {
  if (!round) return "no round";
  return "r" + number(round.number) + primes(round.journal);
}

std::string Names::lead(LeadId lead) {
  if (!lead) return "nobody";
  return "lead #" + number(lead.record.value) + primes(lead.journal);
}

std::string Names::agent(AgentId agent) const {
  if (!agent) return "nobody";
  const std::uint64_t primes = agent.life.value == 0 ? 0 : agent.life.value - 1;
  return node(agent.node) + std::string(std::min<std::uint64_t>(primes, 9), '\'');
}

std::string Names::resume(const ResumePoint& resume) {
  switch (resume.source) {
    case ResumePoint::Source::kScratch:
      return "from scratch";
    case ResumePoint::Source::kHolders:
      return "at step " + number(resume.state.step.value) + " held since " +
             round(resume.state.entered);
    case ResumePoint::Source::kCheckpoint:
      return "at step " + number(resume.state.step.value) + " from checkpoint #" +
             number(resume.checkpoint.value);
  }
  return "?";
}

std::string Names::world(const World& world) {
  std::string text = "World " + round(world.round) + " [";
  for (const Member& member : world.members) {
    if (text.back() != '[') text += ' ';
    text += agent(member.agent);
  }
  text += "] " + resume(world.resume) + "; cause: " + cause_name(world.cause);
  const Budgets& b = world.budgets;
  if (b.restarts_used != 0) text += "; restarts " + number(b.restarts_used);
  if (b.churn != 0) text += "; churn " + number(b.churn);
  if (b.resizes != 0) text += "; resizes " + number(b.resizes);
  if (b.no_progress != 0) text += "; no progress " + number(b.no_progress);
  if (b.went_back) text += "; went back from step " + number(b.stuck_at.value);
  for (const policy::FlapScore& flap : world.flaps) {
    if (flap.left > Duration::zero()) {
      text += "; " + node(flap.node) + " suppressed for " +
              number(static_cast<std::uint64_t>(flap.left / std::chrono::seconds(1))) + "s";
    }
  }
  if (!world.sitting_out.empty()) text += "; sitting out:";
  for (const NodeId node_out : world.sitting_out) text += " " + node(node_out);
  if (!world.broken.empty()) text += "; broken:" + numbers(world.broken);
  return text;
}

std::string Names::record(const NumberedRecord& entry) {
  std::string text = "#" + number(entry.number.value) + " ";
  const auto& body = entry.record.body;
  if (const auto* as_lead = std::get_if<Lead>(&body)) {
    text += "Lead " + agent(as_lead->leader);
  } else if (const auto* as_world = std::get_if<World>(&body)) {
    text += world(*as_world);
  } else if (const auto* saved = std::get_if<Checkpoint>(&body)) {
    text += "Checkpoint of step " + number(saved->step.value) + ", " + round(saved->round);
  } else if (std::holds_alternative<Emptied>(body)) {
    text += "(emptied)";
  } else if (const auto* retire = std::get_if<Retire>(&body)) {
    text += "Retire" + numbers(retire->saves);
  } else if (const auto* verdict = std::get_if<Verdict>(&body)) {
    text += std::string("Verdict ") + verdict_name(verdict->kind);
    if (verdict->step) text += " at step " + number(verdict->step.value);
    if (verdict->first_failure.agent) {
      text += ", first failure: rank " + number(verdict->first_failure.rank) + " on " +
              agent(verdict->first_failure.agent) + ", " +
              status_name(verdict->first_failure.status);
    }
  }
  return text;
}

std::string Names::placement(const Placement& place) {
  return round(place.round) + " as " + number(place.group_rank) + " of " +
         number(place.group_size) + " (ranks from " + number(place.first_rank) + " of " +
         number(place.world_size) + "), " + resume(place.resume);
}

std::string Names::beat(const Beat& beat) {
  std::string text = "beat " + number(count(beat.number)) + " of " + agent(beat.from) + ": " +
                     state_name(beat.state);
  if (beat.placed) text += ", placed " + round(beat.placed);
  if (beat.entered) text += ", in " + round(beat.entered);
  if (beat.left_for) text += ", left for " + round(beat.left_for);
  if (beat.held) {
    text += ", holds step " + number(beat.held->step.value) + " of " + round(beat.held->entered);
  }
  for (const FailureReport& failure : beat.failures) {
    text += ", failure " + number(failure.number.value) + " (" + status_name(failure.status) + ")";
  }
  for (const NodeId peer : beat.failed_edges) text += ", no edge to " + node(peer);
  if (beat.saved) text += ", saved step " + number(beat.saved->step.value);
  if (beat.leaving_in) text += ", is leaving";
  if (beat.manifest) text += ", manifest of step " + number(beat.manifest->step.value);
  if (beat.checked) {
    text += std::string(beat.checked->intact ? ", intact" : ", not intact") + " is #" +
            number(beat.checked->record.value);
  }
  if (!beat.broken_saves.empty()) text += ", broken:" + numbers(beat.broken_saves);
  return text;
}

std::string Names::order(const Order& order) {
  std::string text = "order of " + agent(order.from) + ", " + lead(order.lead);
  if (order.beat) text += ", acks beat " + number(count(order.beat));
  if (order.leave_for) {
    text += ", leave for " + round(order.leave_for) + (order.planned ? " (planned)" : "");
  }
  if (order.placement) text += ", place in " + placement(*order.placement);
  if (order.running) text += ", newest " + round(order.running);
  if (order.wait != WaitReason::kNone) text += std::string(", wait for ") + wait_name(order.wait);
  if (order.verdict) text += std::string(", verdict ") + verdict_name(order.verdict->kind);
  if (order.manifest) text += ", write the manifest of step " + number(order.manifest->step.value);
  if (order.verify) text += ", read back #" + number(order.verify->record.value);
  return text;
}

std::string Names::answer(const JournalAnswer& answer) {
  static const char* const names[] = {"read", "created", "taken", "unknown", "refused"};
  std::string text = pick(names, static_cast<std::size_t>(answer.outcome));
  for (const NumberedRecord& entry : answer.records) text += " " + record(entry);
  return "journal answer: " + text;
}

std::string Names::message(const Message& message) {
  if (const auto* as_beat = std::get_if<Beat>(&message)) return beat(*as_beat);
  if (const auto* as_order = std::get_if<Order>(&message)) return order(*as_order);
  if (const auto* canvass = std::get_if<Canvass>(&message)) {
    return "canvass of " + agent(canvass->from);
  }
  if (const auto* hearing = std::get_if<Hearing>(&message)) {
    return "hearing of " + agent(hearing->from) + ": " +
           (hearing->has_live_leader ? "hears " : "last heard ") + agent(hearing->leader) + ", " +
           lead(hearing->lead_seen);
  }
  if (const auto* ask = std::get_if<JournalAsk>(&message)) {
    if (ask->append) return "journal ask: append " + record(*ask->append);
    return "journal ask: read from #" + number(ask->from_record.value);
  }
  return answer(std::get<JournalAnswer>(message));
}

static std::string bound_exceeded(const Note& note) {
  static constexpr const char* kNames[] = {"acknowledgement", "journal", "pause", "start-up"};
  const auto ms = [](std::uint64_t ns) { return number(ns / 1'000'000) + " ms"; };
  return std::string("measures ") + ms(note.b) + " where " + ms(note.c) + " was declared (" +
         kNames[note.a] + ")";
}

std::string Names::note(const Note& note) {
  switch (note.kind) {
    case NoteKind::kLeading:
      return "leads by #" + number(note.a);
    case NoteKind::kDeposed:
      return "leads no more (#" + number(note.a) + ")";
    case NoteKind::kSuspended:
      return "hears too few to lead";
    case NoteKind::kCandidate:
      return "stands: " + number(note.a) + " heard" + (note.b != 0 ? ", one hears a leader" : "");
    case NoteKind::kAdopted:
      return "adopts " + round(note.round);
    case NoteKind::kAskLeave:
      return "asks all to leave for " + round(note.round) + ": " +
             cause_name(static_cast<RoundCause>(note.a)) + (note.b != 0 ? ", planned" : "");
    case NoteKind::kNodeLost:
      return "has lost " + node(note.node);
    case NoteKind::kNodeDead:
      return "knows " + node(note.node) + " dead";
    case NoteKind::kWorldRecorded:
      return "has recorded " + round(note.round);
    case NoteKind::kRunning:
      return "sees " + round(note.round) + " run on " + number(note.a) + " nodes";
    case NoteKind::kFailure:
      return "notes a failure on " + node(note.node) + " in " + round(note.round) +
             ", local rank " + number(note.a) + ", " +
             (note.b >= 256 ? "signal " + number(note.b - 256) : "code " + number(note.b)) +
             (note.c != 0 ? ": the cause" : ": a consequence");
    case NoteKind::kBeatAcked:
      return "";
    case NoteKind::kCheckpoint:
      return "has committed the save of step " + number(note.a) + ", " + round(note.round);
    case NoteKind::kVerdict:
      return std::string("has recorded the verdict: ") +
             verdict_name(static_cast<Verdict::Kind>(note.a));
    case NoteKind::kLeaseLapsed:
      return "lease is over";
    case NoteKind::kOrphaned:
      return "orphan bound is over";
    case NoteKind::kRefused:
      return "refuses an order of " + node(note.node) + ", lead #" + number(note.a) +
             (note.b != 0 ? ", of another journal" : "");
    case NoteKind::kJournalFounded:
      return "founds a journal";
    case NoteKind::kEntered:
      return "has entered " + round(note.round) + " at step " + number(note.a);
    case NoteKind::kLeft:
      return "has left for " + round(note.round) + " with step " + number(note.a);
    case NoteKind::kWaiting:
      return std::string("waits for ") + wait_name(static_cast<WaitReason>(note.a));
    case NoteKind::kSaveBroken:
      return "finds save #" + number(note.a) + " broken" + (note.b != 0 ? ", reading it back" : "");
    case NoteKind::kRetired:
      return "has retired " + number(note.b) + " saves up to #" + number(note.a);
    case NoteKind::kBoundExceeded:
      return bound_exceeded(note);
  }
  return "?";
}

std::string Names::effect(const Effect& effect) {
  if (const auto* as_note = std::get_if<Note>(&effect)) return note(*as_note);
  if (const auto* write = std::get_if<WriteJournalFile>(&effect)) {
    if (!write->record.number) return "writes a new journal file";
    return "writes " + record(write->record);
  }
  if (const auto* put = std::get_if<PutMarker>(&effect)) {
    return "leaves a marker: step " + number(put->marker.checkpoint.step.value) +
           (put->marker.verdict ? ", the job has succeeded" : "");
  }
  if (const auto* enter = std::get_if<EnterRound>(&effect)) {
    return "enters " + placement(enter->placement);
  }
  if (const auto* leave = std::get_if<LeaveRound>(&effect)) {
    return "tells workers to leave for " + round(leave->for_round) +
           (leave->planned ? " (planned)" : "");
  }
  if (const auto* stop = std::get_if<StopWorkers>(&effect)) {
    return stop->kill ? "kills its workers" : "stops its workers";
  }
  if (const auto* kill = std::get_if<KillWorker>(&effect)) {
    return "kills local rank " + number(kill->local_rank);
  }
  if (const auto* done = std::get_if<Exit>(&effect)) {
    return std::string("exits: ") + exit_name(done->reason);
  }
  if (std::holds_alternative<PrepareWorkers>(effect)) return "prepares its workers";
  if (const auto* manifest = std::get_if<WriteManifest>(&effect)) {
    return "writes the manifest of step " + number(manifest->order.step.value) + ", " +
           round(manifest->order.round) + ", " + number(manifest->order.shares.size()) + " shares";
  }
  if (const auto* verify = std::get_if<VerifySave>(&effect)) {
    return "reads back #" + number(verify->save.record.value);
  }
  if (const auto* sweep = std::get_if<SweepSaves>(&effect)) {
    std::string text = "sweeps saves of rounds below " + round(sweep->below) + " but";
    for (const CommittedSave& save : sweep->keep) text += " #" + number(save.record.value);
    return text;
  }
  if (const auto* emptied = std::get_if<EmptyRecords>(&effect)) {
    return "empties" + numbers(emptied->records);
  }
  if (std::holds_alternative<ReadMarker>(effect)) return "looks for a marker";
  if (const auto* retired = std::get_if<DeleteSaves>(&effect)) {
    std::string text = "deletes";
    for (const CommittedSave& save : retired->saves) {
      text += " #" + number(save.record.value) + " (step " + number(save.checkpoint.step.value) +
              ", " + round(save.checkpoint.round) + ")";
    }
    return text;
  }
  return "";
}

}  // namespace elastic::interaction
