#include "transport/wire/convert.h"
#include "transport/wire/enums.h"

namespace elastic::wire {

void write(const AgentId& agent, pb::AgentId& out) {
  const auto& [node, life] = agent;
  out.set_node(node.value);
  out.set_life(life.value);
}

AgentId read(const pb::AgentId& in) {
  return {.node = NodeId{in.node()}, .life = AgentLife{in.life()}};
}

void write(const RoundId& round, pb::RoundId& out) {
  const auto& [journal, number] = round;
  out.set_journal(journal.value);
  out.set_number(number);
}

RoundId read(const pb::RoundId& in) {
  return {.journal = JournalLife{in.journal()}, .number = in.number()};
}

void write(const LeadId& lead, pb::LeadId& out) {
  const auto& [journal, record] = lead;
  out.set_journal(journal.value);
  out.set_record(record.value);
}

LeadId read(const pb::LeadId& in) {
  return {.journal = JournalLife{in.journal()}, .record = RecordNo{in.record()}};
}

void write(const StatePoint& state, pb::StatePoint& out) {
  const auto& [entered, step, lineage] = state;
  write(entered, *out.mutable_entered());
  out.set_step(step.value);
  out.set_lineage(lineage.value);
}

StatePoint read(const pb::StatePoint& in) {
  return {.entered = read(in.entered()), .step = Step{in.step()}, .lineage = Lineage{in.lineage()}};
}

void write(const ExitStatus& status, pb::ExitStatus& out) {
  const auto& [code, signal] = status;
  out.set_code(code);
  out.set_signal(signal);
}

ExitStatus read(const pb::ExitStatus& in) { return {.code = in.code(), .signal = in.signal()}; }

void write(const FailureReport& report, pb::FailureReport& out) {
  const auto& [agent, number, round, local_rank, rank, status, stopped_by_agent] = report;
  write(agent, *out.mutable_agent());
  out.set_number(number.value);
  write(round, *out.mutable_round());
  out.set_local_rank(local_rank);
  out.set_rank(rank);
  write(status, *out.mutable_status());
  out.set_stopped_by_agent(stopped_by_agent);
}

FailureReport read(const pb::FailureReport& in) {
  return {.agent = read(in.agent()),
          .number = FailureNo{in.number()},
          .round = read(in.round()),
          .local_rank = in.local_rank(),
          .rank = in.rank(),
          .status = read(in.status()),
          .stopped_by_agent = in.stopped_by_agent()};
}

void write(const Member& member, pb::Member& out) {
  const auto& [agent, workers] = member;
  write(agent, *out.mutable_agent());
  out.set_workers(workers);
}

Member read(const pb::Member& in) { return {.agent = read(in.agent()), .workers = in.workers()}; }

void write(const ResumePoint& resume, pb::ResumePoint& out) {
  const auto& [source, state, checkpoint] = resume;
  out.set_source(to_pb(source));
  write(state, *out.mutable_state());
  out.set_checkpoint(checkpoint.value);
}

ResumePoint read(const pb::ResumePoint& in) {
  return {.source = from_pb<ResumePoint::Source>(in.source()),
          .state = read(in.state()),
          .checkpoint = RecordNo{in.checkpoint()}};
}

static void write(const Budgets& budgets, pb::Budgets& out) {
  const auto& [restarts_used, churn, resizes, no_progress, stuck_at, went_back] = budgets;
  out.set_restarts_used(restarts_used);
  out.set_churn(churn);
  out.set_resizes(resizes);
  out.set_no_progress(no_progress);
  out.set_stuck_at(stuck_at.value);
  out.set_went_back(went_back);
}

static Budgets read(const pb::Budgets& in) {
  return {.restarts_used = in.restarts_used(),
          .churn = in.churn(),
          .resizes = in.resizes(),
          .no_progress = in.no_progress(),
          .stuck_at = Step{in.stuck_at()},
          .went_back = in.went_back()};
}

void write(const policy::FlapScore& flap, pb::FlapScore& out) {
  const auto& [node, score, suppressions, left] = flap;
  out.set_node(node.value);
  out.set_score(score);
  out.set_suppressions(suppressions);
  out.set_left_ns(left.count());
}

policy::FlapScore read(const pb::FlapScore& in) {
  return {.node = NodeId{in.node()},
          .score = in.score(),
          .suppressions = in.suppressions(),
          .left = Duration(in.left_ns())};
}

void write(const CountedStarts& starts, pb::CountedStarts& out) {
  const auto& [agent, number] = starts;
  write(agent, *out.mutable_agent());
  out.set_number(number.value);
}

CountedStarts read(const pb::CountedStarts& in) {
  return {.agent = read(in.agent()), .number = FailureNo{in.number()}};
}

static void write(const policy::StepLength& step, pb::StepLength& out) {
  const auto& [nodes, length] = step;
  out.set_nodes(nodes);
  out.set_length_ns(length.count());
}

static policy::StepLength read(const pb::StepLength& in) {
  return {.nodes = in.nodes(), .length = Duration(in.length_ns())};
}

static void write(const Pace& pace, pb::Pace& out) {
  const auto& [here, elsewhere, pause] = pace;
  write(here, *out.mutable_here());
  write(elsewhere, *out.mutable_elsewhere());
  out.set_pause_ns(pause.count());
}

static Pace read(const pb::Pace& in) {
  return {
      .here = read(in.here()), .elsewhere = read(in.elsewhere()), .pause = Duration(in.pause_ns())};
}

static void write(const Lead& lead, pb::Lead& out) {
  const auto& [leader] = lead;
  write(leader, *out.mutable_leader());
}

static Lead read(const pb::Lead& in) { return {.leader = read(in.leader())}; }

static void write(const World& world, pb::World& out) {
  const auto& [round, members, resume, holders, budgets, cause, sitting_out, flaps, starts_counted,
               abandoned_below, pace, broken] = world;
  write(round, *out.mutable_round());
  write_all(members, *out.mutable_members());
  write(resume, *out.mutable_resume());
  write_all(holders, *out.mutable_holders());
  write(budgets, *out.mutable_budgets());
  out.set_cause(to_pb(cause));
  write_nodes(sitting_out, *out.mutable_sitting_out());
  write_all(flaps, *out.mutable_flaps());
  write_all(starts_counted, *out.mutable_starts_counted());
  write(abandoned_below, *out.mutable_abandoned_below());
  write(pace, *out.mutable_pace());
  write_records(broken, *out.mutable_broken());
}

static World read(const pb::World& in) {
  return {.round = read(in.round()),
          .members = read_all(in.members()),
          .resume = read(in.resume()),
          .holders = read_all(in.holders()),
          .budgets = read(in.budgets()),
          .cause = from_pb<RoundCause>(in.cause()),
          .sitting_out = read_nodes(in.sitting_out()),
          .flaps = read_all(in.flaps()),
          .starts_counted = read_all(in.starts_counted()),
          .abandoned_below = read(in.abandoned_below()),
          .pace = read(in.pace()),
          .broken = read_records(in.broken())};
}

void write(const Checkpoint& checkpoint, pb::Checkpoint& out) {
  const auto& [step, round, lineage, manifest_digest] = checkpoint;
  out.set_step(step.value);
  write(round, *out.mutable_round());
  out.set_lineage(lineage.value);
  out.set_manifest_digest(manifest_digest);
}

Checkpoint read(const pb::Checkpoint& in) {
  return {.step = Step{in.step()},
          .round = read(in.round()),
          .lineage = Lineage{in.lineage()},
          .manifest_digest = in.manifest_digest()};
}

void write(const CommittedSave& save, pb::CommittedSave& out) {
  const auto& [record, checkpoint] = save;
  out.set_record(record.value);
  write(checkpoint, *out.mutable_checkpoint());
}

CommittedSave read(const pb::CommittedSave& in) {
  return {.record = RecordNo{in.record()}, .checkpoint = read(in.checkpoint())};
}

static void write(const Retire& retire, pb::Retire& out) {
  const auto& [saves] = retire;
  write_records(saves, *out.mutable_saves());
}

static Retire read(const pb::Retire& in) { return {.saves = read_records(in.saves())}; }

void write(const Verdict& verdict, pb::Verdict& out) {
  const auto& [kind, step, first_failure] = verdict;
  out.set_kind(to_pb(kind));
  out.set_step(step.value);
  write(first_failure, *out.mutable_first_failure());
}

Verdict read(const pb::Verdict& in) {
  return {.kind = from_pb<Verdict::Kind>(in.kind()),
          .step = Step{in.step()},
          .first_failure = read(in.first_failure())};
}

namespace {

struct BodyWriter {
  pb::Record& out;
  void operator()(const Lead& body) const { write(body, *out.mutable_lead()); }
  void operator()(const World& body) const { write(body, *out.mutable_world()); }
  void operator()(const Checkpoint& body) const { write(body, *out.mutable_checkpoint()); }
  void operator()(const Verdict& body) const { write(body, *out.mutable_verdict()); }
  void operator()(const Retire& body) const { write(body, *out.mutable_retire()); }
  void operator()(const Emptied&) const { out.mutable_emptied(); }
};

}  // namespace

static decltype(Record::body) read_body(const pb::Record& in) {
  switch (in.body_case()) {
    case pb::Record::kLead:
      return read(in.lead());
    case pb::Record::kWorld:
      return read(in.world());
    case pb::Record::kCheckpoint:
      return read(in.checkpoint());
    case pb::Record::kVerdict:
      return read(in.verdict());
    case pb::Record::kRetire:
      return read(in.retire());
    case pb::Record::kEmptied:
      return Emptied{};
    case pb::Record::BODY_NOT_SET:
      break;
  }
  ELASTIC_ASSERT(in.body_case() != pb::Record::BODY_NOT_SET);
  return {};
}

void write(const Record& record, pb::Record& out) {
  const auto& [writer, nonce, body] = record;
  write(writer, *out.mutable_writer());
  out.set_nonce(nonce);
  std::visit(BodyWriter{out}, body);
}

Record read(const pb::Record& in) {
  return {.writer = read(in.writer()), .nonce = in.nonce(), .body = read_body(in)};
}

void write(const NumberedRecord& record, pb::NumberedRecord& out) {
  const auto& [number, inner] = record;
  out.set_number(number.value);
  write(inner, *out.mutable_record());
}

NumberedRecord read(const pb::NumberedRecord& in) {
  return {.number = RecordNo{in.number()}, .record = read(in.record())};
}

void write(const CommitMarker& marker, pb::CommitMarker& out) {
  const auto& [journal, record, checkpoint, verdict] = marker;
  out.set_journal(journal.value);
  out.set_record(record.value);
  write(checkpoint, *out.mutable_checkpoint());
  out.set_verdict(verdict);
}

CommitMarker read(const pb::CommitMarker& in) {
  return {.journal = JournalLife{in.journal()},
          .record = RecordNo{in.record()},
          .checkpoint = read(in.checkpoint()),
          .verdict = in.verdict()};
}

}  // namespace elastic::wire
