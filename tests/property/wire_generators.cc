#include "tests/property/wire_generators.h"

#include <rapidcheck.h>

#include <iterator>

#include "core/math/digest.h"

namespace elastic::test {
namespace {

bool any_bool() { return *rc::gen::arbitrary<bool>(); }
std::uint32_t any_word32() { return static_cast<std::uint32_t>(any_word()); }
std::int32_t any_int32() { return static_cast<std::int32_t>(any_word32()); }
Duration any_duration() { return Duration(static_cast<std::int64_t>(any_word() >> 1)); }
Time any_time() { return Time(Duration(static_cast<std::int64_t>(any_word()))); }

// The enumerators of E up to `last`.
template <class E>
E any_of_up_to(E last) {
  return static_cast<E>(below(static_cast<std::size_t>(last) + 1));
}

template <class Make>
auto any_optional(Make make) {
  return any_bool() ? std::optional(make()) : std::nullopt;
}

template <class Make>
auto any_few(int most, Make make) {
  std::vector<decltype(make())> values;
  const int count = *rc::gen::inRange(0, most + 1);
  for (int i = 0; i < count; ++i) values.push_back(make());
  return values;
}

// A list that is long once in ten times.
template <class Make>
auto any_list(int most, Make make_from_word) {
  std::vector<decltype(make_from_word(std::uint64_t{}))> values;
  const bool is_long = below(10) == 0;
  const int count = static_cast<int>(below(is_long ? static_cast<std::size_t>(most) + 1 : 4));
  const std::uint64_t first = any_word();
  for (int i = 0; i < count; ++i) {
    values.push_back(make_from_word(first + static_cast<std::uint64_t>(i)));
  }
  return values;
}

AgentId agent_from(std::uint64_t word) {
  return {.node = NodeId{word}, .life = AgentLife{math::mix(word)}};
}
std::vector<NodeId> any_nodes() {
  return any_list(3000, [](std::uint64_t word) { return NodeId{word}; });
}

RoundId any_round() { return {.journal = JournalLife{any_word()}, .number = any_word()}; }
LeadId any_lead() { return {.journal = JournalLife{any_word()}, .record = RecordNo{any_word()}}; }

StatePoint any_state() {
  return {.entered = any_round(), .step = Step{any_word()}, .lineage = Lineage{any_word()}};
}

ExitStatus any_status() { return {.code = any_int32(), .signal = any_int32()}; }

FailureReport any_failure() {
  return {.agent = any_agent(),
          .number = FailureNo{any_word()},
          .round = any_round(),
          .local_rank = any_word32(),
          .rank = any_word32(),
          .status = any_status(),
          .stopped_by_agent = any_bool()};
}

ResumePoint any_resume() {
  return {.source = any_of_up_to(ResumePoint::Source::kCheckpoint),
          .state = any_state(),
          .checkpoint = RecordNo{any_word()}};
}

Checkpoint any_checkpoint() {
  return {.step = Step{any_word()},
          .round = any_round(),
          .lineage = Lineage{any_word()},
          .manifest_digest = any_word()};
}

RecordNo any_record_number() { return RecordNo{any_word()}; }

CommittedSave any_committed() {
  return {.record = any_record_number(), .checkpoint = any_checkpoint()};
}

World any_world() {
  return {.round = any_round(),
          .members = any_list(3000,
                              [](std::uint64_t word) {
                                return Member{.agent = agent_from(word),
                                              .workers = static_cast<std::uint32_t>(word)};
                              }),
          .resume = any_resume(),
          .holders = any_list(3000, agent_from),
          .budgets = {any_word32(), any_word32(), any_word32(), any_word32(), Step{any_word()},
                      any_bool()},
          .cause = any_of_up_to(RoundCause::kSaveBroken),
          .sitting_out = any_nodes(),
          .flaps = any_list(300,
                            [](std::uint64_t word) {
                              return policy::FlapScore{
                                  .node = NodeId{word},
                                  .score = static_cast<std::uint32_t>(word >> 7),
                                  .suppressions = static_cast<std::uint32_t>(word >> 23),
                                  .left = Duration(static_cast<std::int64_t>(word >> 1))};
                            }),
          .starts_counted = any_list(300,
                                     [](std::uint64_t word) {
                                       return CountedStarts{.agent = agent_from(word),
                                                            .number = FailureNo{word >> 5}};
                                     }),
          .abandoned_below = any_round(),
          .pace = {{any_word32(), any_duration()}, {any_word32(), any_duration()}, any_duration()},
          .broken = any_few(8, any_record_number)};
}

Verdict any_verdict() {
  return {.kind = any_of_up_to(Verdict::Kind::kSavesLost),
          .step = Step{any_word()},
          .first_failure = any_failure()};
}

SaveReport any_save() {
  return {.round = any_round(),
          .step = Step{any_word()},
          .lineage = Lineage{any_word()},
          .digest = any_word(),
          .bytes = any_word()};
}

ManifestOrder any_manifest_order() {
  return {.round = any_round(),
          .step = Step{any_word()},
          .lineage = Lineage{any_word()},
          .shares = any_list(3000, [](std::uint64_t word) {
            return ShareFact{.bytes = word, .digest = math::mix(word)};
          })};
}

ManifestReport any_manifest_report() {
  return {.round = any_round(),
          .step = Step{any_word()},
          .lineage = Lineage{any_word()},
          .digest = any_word()};
}

SaveCheck any_check() { return {.record = any_record_number(), .intact = any_bool()}; }

Beat any_beat() {
  return {.from = any_agent(),
          .number = BeatNo{any_word()},
          .lead_seen = any_lead(),
          .state = any_of_up_to(AgentState::kEnded),
          .workers = any_word32(),
          .placed = any_round(),
          .entered = any_round(),
          .entered_newest = any_round(),
          .left_for = any_round(),
          .reaped_below = any_round(),
          .held = any_optional(any_state),
          .saved = any_optional(any_save),
          .last_step = Step{any_word()},
          .failures = any_few(8, any_failure),
          .failed_edges = any_nodes(),
          .leaving_in = any_optional(any_duration),
          .manifest = any_optional(any_manifest_report),
          .checked = any_optional(any_check),
          .broken_saves = any_few(8, any_record_number),
          .arrived = any_word()};
}

Placement any_placement() {
  return {.round = any_round(),
          .group_rank = any_word32(),
          .group_size = any_word32(),
          .first_rank = any_word32(),
          .world_size = any_word32(),
          .previous = any_agent(),
          .next = any_agent(),
          .first = any_agent(),
          .resume = any_resume(),
          .restarts_used = any_word32()};
}

Order any_order() {
  return {.from = any_agent(),
          .to = any_agent(),
          .lead = any_lead(),
          .beat = BeatNo{any_word()},
          .leave_for = any_round(),
          .planned = any_bool(),
          .placement = any_optional(any_placement),
          .running = any_round(),
          .checkpoint = RecordNo{any_word()},
          .checkpoint_step = Step{any_word()},
          .checkpoint_round = any_round(),
          .failures_seen = FailureNo{any_word()},
          .wait = any_of_up_to(WaitReason::kBackOff),
          .verdict = any_optional(any_verdict),
          .manifest = any_optional(any_manifest_order),
          .verify = any_optional(any_committed)};
}

JournalAsk any_ask() {
  return {.from = any_agent(),
          .request = RequestId{any_word()},
          .holding = JournalLife{any_word()},
          .from_record = RecordNo{any_word()},
          .append = any_optional(any_numbered_record),
          .want_contacts = any_bool()};
}

JournalAnswer any_answer() {
  return {.request = RequestId{any_word()},
          .outcome = any_of_up_to(JournalAnswer::Outcome::kRefused),
          .journal = JournalLife{any_word()},
          .records = any_few(4, any_numbered_record),
          .contacts = any_list(3000, agent_from),
          .more = any_bool()};
}

TimerId any_timer() { return any_of_up_to(TimerId::kLinger); }

JobConfig any_job() {
  return {
      .min_nodes = any_word32(),
      .max_nodes = any_word32(),
      .node_unit = any_word32(),
      .workers_per_node = any_word32(),
      .workers = any_of_up_to(WorkerKind::kForeign),
      .journal = any_of_up_to(JournalKind::kExternal),
      .journal_host = NodeId{any_word()},
      .detection_target = any_duration(),
      .bounds = {any_duration(), any_duration(), any_duration(), any_duration(), any_duration()},
      .orphan_bound = any_optional(any_duration),
      .journal_lost_after = any_duration(),
      .last_call = any_duration(),
      .last_call_cap = any_duration(),
      .join_timeout = any_optional(any_duration),
      .growth = any_of_up_to(Growth::kPays),
      .cool_down = any_duration(),
      .resize_deadline = any_duration(),
      .restart_policy = any_of_up_to(RestartPolicy::kExitCode),
      .max_restarts = any_word32(),
      .budget_reset = any_duration(),
      .stop_grace = any_duration(),
      .keep_saves = any_word32(),
      .restart_back_off = {any_duration(), any_duration()},
      .churn_back_off = {any_duration(), any_duration()},
      .max_churn = any_optional(any_word32),
      .no_progress = {any_word32()},
      .health = {any_word32(), any_duration()},
      .flaps = {any_word32(), any_duration(), any_duration()},
      .growth_pays = {any_duration(), any_duration(), any_word32(), any_optional(any_word)}};
}

Input any_worker_input(std::size_t kind) {
  switch (kind) {
    case 10:
      return WorkersEntered{any_round(), any_state()};
    case 11:
      return WorkersLeft{any_round(), any_optional(any_state)};
    case 12:
      return WorkerExited{any_round(), any_word32(), any_status(), any_bool(),
                          any_optional(any_state)};
    case 13:
      return WorkerPulse{any_optional(any_state), any_optional(any_word32), any_word()};
    case 14:
      return WorkersSaved{any_save()};
    case 15:
      return WorkersFinished{any_state()};
    case 16:
      return EdgeFailed{any_round(), NodeId{any_word()}};
    case 17:
      return LeaveNotice{any_duration()};
    case 18:
      return StopJob{};
    case 19:
      return ManifestWritten{any_round(), Step{any_word()}, any_word()};
    case 20:
      return SaveVerified{any_record_number(), any_bool()};
    case 22:
      return MarkerRead{any_optional(any_marker)};
    default:
      return SaveBroken{any_record_number()};
  }
}

Effect any_worker_effect(std::size_t kind) {
  switch (kind) {
    case 9:
      return EnterRound{any_placement()};
    case 10:
      return LeaveRound{any_round(), any_bool()};
    case 11:
      return StopWorkers{any_bool()};
    case 12:
      return KillWorker{any_word32()};
    case 13:
      return RenewLease{any_time(), any_round()};
    case 14:
      return PollWorkers{};
    case 15:
      return TellCheckpoint{RecordNo{any_word()}, Step{any_word()}, any_round()};
    case 16:
      return Exit{any_of_up_to(ExitReason::kSavesLost)};
    case 18:
      return WriteManifest{any_manifest_order()};
    case 19:
      return VerifySave{any_committed()};
    case 20:
      return DeleteSaves{any_few(4, any_committed)};
    case 21:
      return SweepSaves{any_round(), any_few(4, any_committed)};
    case 22:
      return EmptyRecords{JournalLife{any_word()}, any_few(8, any_record_number)};
    case 23:
      return ReadMarker{};
    default:
      return Note{any_of_up_to(NoteKind::kBoundExceeded),
                  NodeId{any_word()},
                  any_round(),
                  any_word(),
                  any_word(),
                  any_word()};
  }
}

}  // namespace

std::size_t below(std::size_t count) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, count));
}

std::uint64_t any_word() {
  const std::uint64_t bits = math::mix(*rc::gen::arbitrary<std::uint32_t>());
  switch (below(4)) {
    case 0:
      return 0;
    case 1:
      return bits >> 56;
    case 2:
      return ~(bits >> 56);
    default:
      return bits;
  }
}

AgentId any_agent() { return {.node = NodeId{any_word()}, .life = AgentLife{any_word()}}; }

Record any_record() {
  Record record{.writer = any_agent(), .nonce = any_word(), .body = Lead{}};
  switch (below(std::size(kRecordNames))) {
    case 0:
      record.body = Lead{any_agent()};
      break;
    case 1:
      record.body = any_world();
      break;
    case 2:
      record.body = any_checkpoint();
      break;
    case 3:
      record.body = any_verdict();
      break;
    case 4:
      record.body = Retire{any_few(8, any_record_number)};
      break;
    default:
      record.body = Emptied{};
  }
  return record;
}

NumberedRecord any_numbered_record() {
  return {.number = RecordNo{any_word()}, .record = any_record()};
}

CommitMarker any_marker() {
  return {.journal = JournalLife{any_word()},
          .record = RecordNo{any_word()},
          .checkpoint = any_checkpoint(),
          .verdict = any_bool()};
}

wire::RecordingHeader any_header() {
  wire::RecordingHeader header;
  header.job = any_job();
  header.timeouts = {any_duration(), any_duration(), any_duration(), any_duration(), any_duration(),
                     any_duration(), any_duration(), any_duration(), any_duration()};
  header.agent = any_agent();
  return header;
}

Message any_message() {
  switch (below(std::size(kMessageNames))) {
    case 0:
      return any_beat();
    case 1:
      return any_order();
    case 2:
      return Canvass{any_agent(), any_word(), any_lead()};
    case 3:
      return Hearing{any_agent(), any_word(), any_lead(), any_agent(), any_bool()};
    case 4:
      return any_ask();
    default:
      return any_answer();
  }
}

Input any_input() {
  const std::size_t kind = below(std::size(kInputNames));
  switch (kind) {
    case 0:
      return Start{any_agent(), any_word(), any_nodes()};
    case 1:
      return Received{NodeId{any_word()}, any_message()};
    case 2:
      return PeerClosed{NodeId{any_word()}};
    case 3:
      return TimerFired{any_timer()};
    case 4:
      return JournalReplied{any_answer()};
    case 5:
      return JournalFileRead{any_bool(), JournalLife{any_word()}, any_few(4, any_numbered_record),
                             any_optional(any_marker)};
    case 6:
      return JournalFileSynced{RecordNo{any_word()}};
    case 7:
      return MarkerStored{RecordNo{any_word()}};
    case 8:
      return LeftoversKilled{};
    case 9:
      return WorkersPrepared{};
    default:
      return any_worker_input(kind);
  }
}

Effect any_effect() {
  const std::size_t kind = below(std::size(kEffectNames));
  switch (kind) {
    case 0:
      return Send{NodeId{any_word()}, any_message()};
    case 1:
      return ArmTimer{any_timer(), any_duration()};
    case 2:
      return CancelTimer{any_timer()};
    case 3:
      return AskJournal{any_ask()};
    case 4:
      return ReadJournalFile{};
    case 5:
      return WriteJournalFile{JournalLife{any_word()}, any_numbered_record()};
    case 6:
      return PutMarker{any_marker()};
    case 7:
      return KillLeftovers{};
    case 8:
      return PrepareWorkers{};
    default:
      return any_worker_effect(kind);
  }
}

}  // namespace elastic::test
