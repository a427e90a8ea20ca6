#include "transport/wire/convert.h"
#include "transport/wire/enums.h"

namespace elastic::wire {

void write(const SaveReport& report, pb::SaveReport& out) {
  const auto& [round, step, lineage, digest, bytes] = report;
  write(round, *out.mutable_round());
  out.set_step(step.value);
  out.set_lineage(lineage.value);
  out.set_digest(digest);
  out.set_bytes(bytes);
}

SaveReport read(const pb::SaveReport& in) {
  return {.round = read(in.round()),
          .step = Step{in.step()},
          .lineage = Lineage{in.lineage()},
          .digest = in.digest(),
          .bytes = in.bytes()};
}

void write(const ShareFact& share, pb::ShareFact& out) {
  const auto& [bytes, digest] = share;
  out.set_bytes(bytes);
  out.set_digest(digest);
}

ShareFact read(const pb::ShareFact& in) { return {.bytes = in.bytes(), .digest = in.digest()}; }

void write(const ManifestOrder& order, pb::ManifestOrder& out) {
  const auto& [round, step, lineage, shares] = order;
  write(round, *out.mutable_round());
  out.set_step(step.value);
  out.set_lineage(lineage.value);
  write_all(shares, *out.mutable_shares());
}

ManifestOrder read(const pb::ManifestOrder& in) {
  return {.round = read(in.round()),
          .step = Step{in.step()},
          .lineage = Lineage{in.lineage()},
          .shares = read_all(in.shares())};
}

static void write(const ManifestReport& report, pb::ManifestReport& out) {
  const auto& [round, step, lineage, digest] = report;
  write(round, *out.mutable_round());
  out.set_step(step.value);
  out.set_lineage(lineage.value);
  out.set_digest(digest);
}

static ManifestReport read(const pb::ManifestReport& in) {
  return {.round = read(in.round()),
          .step = Step{in.step()},
          .lineage = Lineage{in.lineage()},
          .digest = in.digest()};
}

static void write(const SaveCheck& check, pb::SaveCheck& out) {
  const auto& [record, intact] = check;
  out.set_record(record.value);
  out.set_intact(intact);
}

static SaveCheck read(const pb::SaveCheck& in) {
  return {.record = RecordNo{in.record()}, .intact = in.intact()};
}

void write(const Placement& placement, pb::Placement& out) {
  const auto& [round, group_rank, group_size, first_rank, world_size, previous, next, first, resume,
               restarts_used] = placement;
  write(round, *out.mutable_round());
  out.set_group_rank(group_rank);
  out.set_group_size(group_size);
  out.set_first_rank(first_rank);
  out.set_world_size(world_size);
  write(previous, *out.mutable_previous());
  write(next, *out.mutable_next());
  write(first, *out.mutable_first());
  write(resume, *out.mutable_resume());
  out.set_restarts_used(restarts_used);
}

Placement read(const pb::Placement& in) {
  return {.round = read(in.round()),
          .group_rank = in.group_rank(),
          .group_size = in.group_size(),
          .first_rank = in.first_rank(),
          .world_size = in.world_size(),
          .previous = read(in.previous()),
          .next = read(in.next()),
          .first = read(in.first()),
          .resume = read(in.resume()),
          .restarts_used = in.restarts_used()};
}

void write(const JournalAsk& ask, pb::JournalAsk& out) {
  const auto& [from, request, holding, from_record, append, want_contacts] = ask;
  write(from, *out.mutable_from());
  out.set_request(request.value);
  out.set_holding(holding.value);
  out.set_from_record(from_record.value);
  if (append) write(*append, *out.mutable_append());
  out.set_want_contacts(want_contacts);
}

JournalAsk read(const pb::JournalAsk& in) {
  return {.from = read(in.from()),
          .request = RequestId{in.request()},
          .holding = JournalLife{in.holding()},
          .from_record = RecordNo{in.from_record()},
          .append = read_if(in.has_append(), in.append()),
          .want_contacts = in.want_contacts()};
}

void write(const JournalAnswer& answer, pb::JournalAnswer& out) {
  const auto& [request, outcome, journal, records, contacts, more] = answer;
  out.set_request(request.value);
  out.set_outcome(to_pb(outcome));
  out.set_journal(journal.value);
  write_all(records, *out.mutable_records());
  write_all(contacts, *out.mutable_contacts());
  out.set_more(more);
}

JournalAnswer read(const pb::JournalAnswer& in) {
  return {.request = RequestId{in.request()},
          .outcome = from_pb<JournalAnswer::Outcome>(in.outcome()),
          .journal = JournalLife{in.journal()},
          .records = read_all(in.records()),
          .contacts = read_all(in.contacts()),
          .more = in.more()};
}

static void write(const Beat& beat, pb::Beat& out) {
  const auto& [from, number, lead_seen, state, workers, placed, entered, entered_newest, left_for,
               reaped_below, held, saved, last_step, failures, failed_edges, leaving_in, manifest,
               checked, broken_saves, arrived] = beat;
  write(from, *out.mutable_from());
  out.set_number(number.value);
  write(lead_seen, *out.mutable_lead_seen());
  out.set_state(to_pb(state));
  out.set_workers(workers);
  write(placed, *out.mutable_placed());
  write(entered, *out.mutable_entered());
  write(entered_newest, *out.mutable_entered_newest());
  write(left_for, *out.mutable_left_for());
  write(reaped_below, *out.mutable_reaped_below());
  if (held) write(*held, *out.mutable_held());
  if (saved) write(*saved, *out.mutable_saved());
  out.set_last_step(last_step.value);
  write_all(failures, *out.mutable_failures());
  write_nodes(failed_edges, *out.mutable_failed_edges());
  if (leaving_in) out.set_leaving_in_ns(leaving_in->count());
  if (manifest) write(*manifest, *out.mutable_manifest());
  if (checked) write(*checked, *out.mutable_checked());
  write_records(broken_saves, *out.mutable_broken_saves());
  out.set_arrived(arrived);
}

static Beat read(const pb::Beat& in) {
  return {.from = read(in.from()),
          .number = BeatNo{in.number()},
          .lead_seen = read(in.lead_seen()),
          .state = from_pb<AgentState>(in.state()),
          .workers = in.workers(),
          .placed = read(in.placed()),
          .entered = read(in.entered()),
          .entered_newest = read(in.entered_newest()),
          .left_for = read(in.left_for()),
          .reaped_below = read(in.reaped_below()),
          .held = read_if(in.has_held(), in.held()),
          .saved = read_if(in.has_saved(), in.saved()),
          .last_step = Step{in.last_step()},
          .failures = read_all(in.failures()),
          .failed_edges = read_nodes(in.failed_edges()),
          .leaving_in =
              in.has_leaving_in_ns() ? std::optional(Duration(in.leaving_in_ns())) : std::nullopt,
          .manifest = in.has_manifest() ? std::optional(read(in.manifest())) : std::nullopt,
          .checked = in.has_checked() ? std::optional(read(in.checked())) : std::nullopt,
          .broken_saves = read_records(in.broken_saves()),
          .arrived = in.arrived()};
}

static void write(const Order& order, pb::Order& out) {
  const auto& [from, to, lead, beat, leave_for, planned, placement, running, checkpoint,
               checkpoint_step, checkpoint_round, failures_seen, wait, verdict, manifest, verify] =
      order;
  write(from, *out.mutable_from());
  write(to, *out.mutable_to());
  write(lead, *out.mutable_lead());
  out.set_beat(beat.value);
  write(leave_for, *out.mutable_leave_for());
  out.set_planned(planned);
  if (placement) write(*placement, *out.mutable_placement());
  write(running, *out.mutable_running());
  out.set_checkpoint(checkpoint.value);
  out.set_checkpoint_step(checkpoint_step.value);
  write(checkpoint_round, *out.mutable_checkpoint_round());
  out.set_failures_seen(failures_seen.value);
  out.set_wait(to_pb(wait));
  if (verdict) write(*verdict, *out.mutable_verdict());
  if (manifest) write(*manifest, *out.mutable_manifest());
  if (verify) write(*verify, *out.mutable_verify());
}

static Order read(const pb::Order& in) {
  return {.from = read(in.from()),
          .to = read(in.to()),
          .lead = read(in.lead()),
          .beat = BeatNo{in.beat()},
          .leave_for = read(in.leave_for()),
          .planned = in.planned(),
          .placement = read_if(in.has_placement(), in.placement()),
          .running = read(in.running()),
          .checkpoint = RecordNo{in.checkpoint()},
          .checkpoint_step = Step{in.checkpoint_step()},
          .checkpoint_round = read(in.checkpoint_round()),
          .failures_seen = FailureNo{in.failures_seen()},
          .wait = from_pb<WaitReason>(in.wait()),
          .verdict = read_if(in.has_verdict(), in.verdict()),
          .manifest = read_if(in.has_manifest(), in.manifest()),
          .verify = read_if(in.has_verify(), in.verify())};
}

static void write(const Canvass& canvass, pb::Canvass& out) {
  const auto& [from, attempt, lead_seen] = canvass;
  write(from, *out.mutable_from());
  out.set_attempt(attempt);
  write(lead_seen, *out.mutable_lead_seen());
}

static Canvass read(const pb::Canvass& in) {
  return {.from = read(in.from()), .attempt = in.attempt(), .lead_seen = read(in.lead_seen())};
}

static void write(const Hearing& hearing, pb::Hearing& out) {
  const auto& [from, attempt, lead_seen, leader, has_live_leader] = hearing;
  write(from, *out.mutable_from());
  out.set_attempt(attempt);
  write(lead_seen, *out.mutable_lead_seen());
  write(leader, *out.mutable_leader());
  out.set_has_live_leader(has_live_leader);
}

static Hearing read(const pb::Hearing& in) {
  return {.from = read(in.from()),
          .attempt = in.attempt(),
          .lead_seen = read(in.lead_seen()),
          .leader = read(in.leader()),
          .has_live_leader = in.has_live_leader()};
}

namespace {

struct MessageWriter {
  pb::Message& out;
  void operator()(const Beat& message) const { write(message, *out.mutable_beat()); }
  void operator()(const Order& message) const { write(message, *out.mutable_order()); }
  void operator()(const Canvass& message) const { write(message, *out.mutable_canvass()); }
  void operator()(const Hearing& message) const { write(message, *out.mutable_hearing()); }
  void operator()(const JournalAsk& message) const { write(message, *out.mutable_journal_ask()); }
  void operator()(const JournalAnswer& message) const {
    write(message, *out.mutable_journal_answer());
  }
};

}  // namespace

void write(const Message& message, pb::Message& out) { std::visit(MessageWriter{out}, message); }

Message read(const pb::Message& in) {
  switch (in.kind_case()) {
    case pb::Message::kBeat:
      return read(in.beat());
    case pb::Message::kOrder:
      return read(in.order());
    case pb::Message::kCanvass:
      return read(in.canvass());
    case pb::Message::kHearing:
      return read(in.hearing());
    case pb::Message::kJournalAsk:
      return read(in.journal_ask());
    case pb::Message::kJournalAnswer:
      return read(in.journal_answer());
    case pb::Message::KIND_NOT_SET:
      break;
  }
  ELASTIC_ASSERT(in.kind_case() != pb::Message::KIND_NOT_SET);
  return {};
}

}  // namespace elastic::wire
