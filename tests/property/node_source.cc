#include "tests/property/node_source.h"

#include <algorithm>

namespace elastic::test {

ResumePoint Source::resume() {
  ResumePoint point;
  point.source = static_cast<ResumePoint::Source>(below(3));
  point.state = state();
  point.checkpoint = RecordNo{below(8)};
  return point;
}

FailureReport Source::failure() {
  FailureReport report;
  report.agent = agent();
  report.number = FailureNo{below(6)};
  report.round = round();
  report.local_rank = below(3);
  report.status = status();
  report.stopped_by_agent = chance(4);
  return report;
}

Placement Source::placement() {
  Placement place;
  place.round = round();
  place.group_rank = below(4);
  place.group_size = below(5);
  place.first_rank = below(9);
  place.world_size = below(9);
  place.previous = agent();
  place.next = agent();
  place.first = agent();
  place.resume = resume();
  return place;
}

Checkpoint Source::checkpoint() {
  Checkpoint saved;
  saved.step = Step{below(5)};
  saved.round = round();
  saved.lineage = Lineage{below(3)};
  return saved;
}

Verdict Source::verdict() {
  Verdict some;
  some.kind = static_cast<Verdict::Kind>(below(7));
  some.step = Step{below(5)};
  return some;
}

Record Source::record() {
  Record some;
  some.writer = agent();
  some.nonce = below(4);
  switch (below(24)) {
    case 0:
      some.body = verdict();
      break;
    case 1:
      some.body = checkpoint();
      break;
    case 2:
    case 3: {
      World world;
      world.round = round();
      const std::uint32_t count = below(4);
      for (std::uint32_t i = 0; i < count; ++i) {
        const AgentId member = agent();
        world.members.push_back({member, 1 + below(2)});
      }
      world.resume = resume();
      const std::uint32_t holders = below(3);
      for (std::uint32_t i = 0; i < holders; ++i) world.holders.push_back(agent());
      world.broken = records();
      world.budgets = {below(5), below(5), below(3), below(4), Step{below(5)}, chance(2)};
      const std::uint32_t flaps = below(3);
      for (std::uint32_t i = 0; i < flaps; ++i) {
        const NodeId flapper = node();
        const std::uint32_t score = below(4) << 20U;
        world.flaps.push_back({flapper, score, below(9), std::chrono::seconds(below(90))});
      }
      if (chance(3)) world.abandoned_below = round();
      if (chance(3)) world.starts_counted.push_back({agent(), FailureNo{below(4)}});
      if (chance(3))
        world.pace = {{below(4), std::chrono::milliseconds(below(900))},
                      {},
                      std::chrono::milliseconds(below(9))};
      some.body = world;
      break;
    }
    case 4:
    case 5:
      some.body = Lead{{NodeId{1}, AgentLife{1}}};
      break;
    case 6:
      some.body = Retire{records()};
      break;
    default:
      some.body = Lead{agent()};
  }
  return some;
}

NumberedRecord Source::numbered() {
  const RecordNo number{below(9)};
  return {number, record()};
}

SaveReport Source::save() {
  SaveReport report;
  report.round = round();
  report.step = Step{below(5)};
  report.lineage = Lineage{below(2)};
  return report;
}

std::vector<RecordNo> Source::records() {
  std::vector<RecordNo> some;
  const std::uint32_t count = below(3);
  for (std::uint32_t i = 0; i < count; ++i) some.push_back(RecordNo{below(8)});
  return some;
}

ManifestReport Source::manifest() {
  const SaveReport report = save();
  return {report.round, report.step, report.lineage, below(9)};
}

Beat Source::beat() {
  Beat some;
  some.from = agent();
  some.number = BeatNo{below(30)};
  some.lead_seen = lead();
  some.state = static_cast<AgentState>(below(9));
  some.workers = below(3);
  some.placed = round();
  some.entered = round();
  some.entered_newest = round();
  some.left_for = round();
  some.reaped_below = round();
  some.held = maybe_state();
  if (chance(3)) some.saved = save();
  some.last_step = Step{below(5)};
  const std::uint32_t failures = below(3);
  for (std::uint32_t i = 0; i < failures; ++i) some.failures.push_back(failure());
  if (chance(4)) some.failed_edges.push_back(node());
  if (chance(5)) some.leaving_in = length();
  if (chance(4)) some.manifest = manifest();
  if (chance(4)) some.checked = SaveCheck{RecordNo{below(8)}, chance(2)};
  some.broken_saves = records();
  return some;
}

Order Source::order() {
  Order some;
  some.from = agent();
  if (chance(8)) some.to = agent();
  some.lead = lead();
  some.beat = BeatNo{below(12)};
  some.leave_for = round();
  some.planned = chance(2);
  if (chance(2)) some.placement = placement();
  some.running = round();
  some.checkpoint = RecordNo{below(8)};
  some.checkpoint_step = Step{below(5)};
  some.checkpoint_round = round();
  some.failures_seen = FailureNo{below(5)};
  some.wait = static_cast<WaitReason>(below(14));
  if (chance(16)) some.verdict = verdict();
  if (chance(3)) {
    const ManifestReport of = manifest();
    some.manifest = ManifestOrder{of.round, of.step, of.lineage, {{1, 2}, {3, 4}}};
  }
  if (chance(3)) some.verify = CommittedSave{RecordNo{below(8)}, checkpoint()};
  return some;
}

JournalAsk Source::ask() {
  JournalAsk some;
  some.from = agent();
  some.request = RequestId{below(20)};
  some.holding = life();
  some.from_record = RecordNo{below(12)};
  if (chance(2)) some.append = numbered();
  some.want_contacts = chance(2);
  return some;
}

JournalAnswer Source::answer() {
  JournalAnswer some;
  some.request = RequestId{below(20)};
  some.outcome = static_cast<JournalAnswer::Outcome>(below(5));
  some.journal = life();
  const std::uint32_t records = below(4);
  for (std::uint32_t i = 0; i < records; ++i) some.records.push_back(numbered());
  if (chance(3)) some.contacts.push_back(agent());
  return some;
}

// What a journal might answer: mostly what it should, now and then a lie or another life.
JournalAnswer Source::answer_to(const JournalAsk& ask) {
  JournalAnswer some;
  some.request = ask.request;
  some.journal = chance(12) ? life() : kOwnLife;
  if (!ask.append) {
    some.outcome = JournalAnswer::Outcome::kRead;
    for (std::uint64_t k = std::max<std::uint64_t>(ask.from_record.value, 1); k <= journal_.size();
         ++k) {
      some.records.push_back(journal_[k - 1]);
    }
    return some;
  }
  const bool free = ask.append->number.value == journal_.size() + 1;
  const bool lands = free && !chance(6);
  if (lands) journal_.push_back(*ask.append);
  some.outcome = chance(5)   ? JournalAnswer::Outcome::kUnknown
                 : lands     ? JournalAnswer::Outcome::kCreated
                 : chance(2) ? JournalAnswer::Outcome::kTaken
                             : JournalAnswer::Outcome::kUnknown;
  return some;
}

Message Source::message() {
  switch (below(8)) {
    case 0:
    case 1:
    case 2:
      return beat();
    case 3:
    case 4:
      return order();
    case 5: {
      Canvass canvass;
      canvass.from = agent();
      canvass.attempt = below(4);
      canvass.lead_seen = lead();
      return canvass;
    }
    case 6: {
      Hearing hearing;
      hearing.from = agent();
      hearing.attempt = below(4);
      hearing.lead_seen = lead();
      hearing.leader = agent();
      hearing.has_live_leader = chance(4);
      return hearing;
    }
    default:
      if (chance(2)) return ask();
      return answer();
  }
}

Input Source::marker_read() {
  MarkerRead read;
  if (chance(2)) return read;
  CommitMarker marker;
  marker.journal = life();
  marker.record = RecordNo{below(8)};
  marker.verdict = chance(2);
  read.newest = marker;
  return read;
}

Input Source::worker_input() {
  switch (below(16)) {
    case 15:
      return marker_read();
    case 11: {
      const ManifestReport of = manifest();
      return ManifestWritten{of.round, of.step, of.digest};
    }
    case 12:
      return SaveVerified{RecordNo{below(8)}, chance(2)};
    case 13:
      return SaveBroken{RecordNo{below(8)}};
    case 14:
      return MarkerStored{RecordNo{below(8)}};
    case 0:
      return LeftoversKilled{};
    case 1:
      return WorkersPrepared{};
    case 2: {
      const RoundId of = round();
      return WorkersEntered{of, state()};
    }
    case 3: {
      const RoundId of = round();
      return WorkersLeft{of, maybe_state()};
    }
    case 4: {
      WorkerExited exited;
      exited.round = round();
      exited.local_rank = below(3);
      exited.status = status();
      exited.last_of_group = chance(2);
      exited.held = maybe_state();
      return exited;
    }
    case 5: {
      WorkerPulse pulse;
      pulse.held = maybe_state();
      if (chance(2)) pulse.silent_rank = below(3);
      return pulse;
    }
    case 6:
      return WorkersSaved{save()};
    case 7:
      return WorkersFinished{state()};
    case 8: {
      const RoundId of = round();
      return EdgeFailed{of, node()};
    }
    case 9:
      return LeaveNotice{length()};
    default:
      return chance(4) ? Input{StopJob{}} : Input{PeerClosed{node()}};
  }
}

// What an obedient agent on another node would beat after this order.
Beat Source::beat_after(NodeId from, const Order& order) {
  Beat& last = peers_[from];
  last.from = {from, AgentLife{1}};
  ++last.number.value;
  last.lead_seen = order.lead;
  last.failures.clear();
  const bool foreign = chance(2);
  if (order.leave_for > last.left_for && order.leave_for > last.placed) {
    last.left_for = order.leave_for;
    last.reaped_below = order.leave_for;
    last.entered = {};
    last.state = AgentState::kLeft;
  } else if (!last.placed) {
    last.state = foreign ? AgentState::kWaiting : AgentState::kPrepared;
  }
  if (order.placement && order.placement->round > last.placed) {
    const ResumePoint& from_point = order.placement->resume;
    last.placed = last.entered = last.entered_newest = order.placement->round;
    last.held = StatePoint{last.placed, from_point.state.step, from_point.state.lineage};
    last.state = AgentState::kRunning;
  }
  if (order.checkpoint_round == last.placed) {
    last.saved.reset();
    last.manifest.reset();
  } else if (last.state == AgentState::kRunning && last.held && chance(2)) {
    last.saved = SaveReport{last.placed, last.held->step, last.held->lineage, from.value, 10};
  }
  if (order.manifest && order.manifest->round == last.placed) {
    const ManifestOrder& asked = *order.manifest;
    last.manifest = ManifestReport{asked.round, asked.step, asked.lineage, 7};
  }
  if (order.verify) last.checked = SaveCheck{order.verify->record, !chance(4)};
  if (order.placement && chance(8)) {
    last.broken_saves = {order.placement->resume.checkpoint};
  }
  if (last.state == AgentState::kRunning && chance(12)) {
    FailureReport report;
    report.agent = last.from;
    report.number = FailureNo{last.number.value};
    report.round = last.placed;
    report.status.code = 1;
    last.failures.push_back(report);
  }
  return last;
}

// What a leader on another node would answer to this beat.
Order Source::order_after(NodeId from, const Beat& beat) {
  Order some;
  some.from = {from, AgentLife{1}};
  some.lead = beat.lead_seen;
  some.beat = beat.number;
  const RoundId next{some.lead.journal, beat.placed.number + 1};
  some.running = beat.placed;
  const bool idle = beat.state == AgentState::kWaiting || beat.state == AgentState::kPrepared ||
                    beat.state == AgentState::kLeft;
  if (!idle && !chance(6)) return some;
  some.leave_for = next;
  some.planned = chance(3);
  if (beat.left_for >= next) {
    Placement place;
    place.round = next;
    place.group_size = 2;
    place.resume.state.step = Step{below(5)};
    some.placement = place;
  }
  return some;
}

std::optional<Input> Source::helpful_message(const Send& send) {
  if (send.to == NodeId{1} && !chance(8)) return Received{send.to, send.message};  // to itself
  if (const auto* asked = std::get_if<JournalAsk>(&send.message)) {
    return Received{send.to, answer_to(*asked)};
  }
  if (const auto* canvass = std::get_if<Canvass>(&send.message)) {
    Hearing hearing;
    hearing.from = {send.to, AgentLife{1}};
    hearing.attempt = canvass->attempt;
    hearing.lead_seen = canvass->lead_seen;
    return Received{send.to, hearing};
  }
  if (const auto* order = std::get_if<Order>(&send.message)) {
    return Received{send.to, beat_after(send.to, *order)};
  }
  if (const auto* beat = std::get_if<Beat>(&send.message)) {
    return Received{send.to, order_after(send.to, *beat)};
  }
  return std::nullopt;
}

// An answer to something that the node asked for in its last steps.
std::optional<Input> Source::helpful(const Effects& before) {
  if (before.empty()) return std::nullopt;
  const Effect& effect = before[below(static_cast<std::uint32_t>(before.size()))];
  if (const auto* send = std::get_if<Send>(&effect)) return helpful_message(*send);
  if (const auto* asked = std::get_if<AskJournal>(&effect)) {
    return JournalReplied{answer_to(asked->ask)};
  }
  if (const auto* arm = std::get_if<ArmTimer>(&effect)) {
    const bool final = arm->timer == TimerId::kJoin || arm->timer == TimerId::kLinger;
    if (final && !chance(20)) return std::nullopt;
    return TimerFired{arm->timer};
  }
  if (std::holds_alternative<KillLeftovers>(effect)) return LeftoversKilled{};
  if (std::holds_alternative<PrepareWorkers>(effect)) return WorkersPrepared{};
  if (const auto* enter = std::get_if<EnterRound>(&effect)) {
    const ResumePoint& from = enter->placement.resume;
    held_ = {enter->placement.round, from.state.step, from.state.lineage};
    return WorkersEntered{enter->placement.round, held_};
  }
  if (const auto* leave = std::get_if<LeaveRound>(&effect)) {
    return WorkersLeft{leave->for_round, held_ ? std::optional(held_) : std::nullopt};
  }
  if (std::holds_alternative<StopWorkers>(effect)) {
    WorkerExited exited;
    exited.status.signal = 15;
    exited.last_of_group = true;
    return exited;
  }
  if (std::holds_alternative<PollWorkers>(effect)) {
    WorkerPulse pulse;
    if (held_) pulse.held = held_;
    return pulse;
  }
  if (std::holds_alternative<ReadJournalFile>(effect)) return JournalFileRead{};
  if (const auto* write = std::get_if<WriteJournalFile>(&effect)) {
    return JournalFileSynced{write->record.number};
  }
  if (const auto* marker = std::get_if<PutMarker>(&effect)) {
    return MarkerStored{marker->marker.record};
  }
  if (const auto* manifest = std::get_if<WriteManifest>(&effect)) {
    return ManifestWritten{manifest->order.round, manifest->order.step, below(9)};
  }
  if (std::holds_alternative<ReadMarker>(effect)) return marker_read();
  if (const auto* verify = std::get_if<VerifySave>(&effect)) {
    return SaveVerified{verify->save.record, !chance(4)};
  }
  return std::nullopt;
}

Input Source::input(const Effects& before) {
  if (hostility_ == 0) hostility_ = 1 + below(40);
  if (!chance(hostility_)) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      if (auto answer_found = helpful(before)) return *answer_found;
    }
  }
  switch (below(5)) {
    case 0: {
      const auto timer = static_cast<TimerId>(below(static_cast<std::uint32_t>(TimerId::kCount)));
      return TimerFired{timer};
    }
    case 1:
      return worker_input();
    case 2: {
      if (chance(2)) return JournalReplied{answer()};
      if (chance(2)) return JournalFileSynced{RecordNo{below(6)}};
      if (chance(2)) return MarkerStored{RecordNo{below(6)}};
      JournalFileRead file;
      file.exists = chance(2);
      file.life = life();
      const std::uint32_t records = below(4);
      for (std::uint32_t i = 0; i < records; ++i) file.records.push_back(numbered());
      return file;
    }
    default: {
      const NodeId from = node();
      return Received{from, message()};
    }
  }
}

}  // namespace elastic::test
