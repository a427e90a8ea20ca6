#include "transport/wire/convert.h"
#include "transport/wire/enums.h"

namespace elastic::wire {
namespace {

// One overload per kind of input.
struct InputWriter {
  pb::Input& out;

  void operator()(const Start& input) const {
    const auto& [self, seed, contacts] = input;
    write(self, *out.mutable_start()->mutable_self());
    out.mutable_start()->set_seed(seed);
    write_nodes(contacts, *out.mutable_start()->mutable_contacts());
  }
  void operator()(const Received& input) const {
    const auto& [from, message] = input;
    out.mutable_received()->set_from(from.value);
    write(message, *out.mutable_received()->mutable_message());
  }
  void operator()(const PeerClosed& input) const {
    const auto& [peer] = input;
    out.mutable_peer_closed()->set_peer(peer.value);
  }
  void operator()(const TimerFired& input) const {
    const auto& [timer] = input;
    out.mutable_timer_fired()->set_timer(to_pb(timer));
  }
  void operator()(const JournalReplied& input) const {
    const auto& [answer] = input;
    write(answer, *out.mutable_journal_replied()->mutable_answer());
  }
  void operator()(const JournalFileRead& input) const {
    const auto& [exists, life, records, newest_marker] = input;
    auto& to = *out.mutable_journal_file_read();
    to.set_exists(exists);
    to.set_life(life.value);
    write_all(records, *to.mutable_records());
    if (newest_marker) write(*newest_marker, *to.mutable_newest_marker());
  }
  void operator()(const JournalFileSynced& input) const {
    const auto& [number] = input;
    out.mutable_journal_file_synced()->set_number(number.value);
  }
  void operator()(const MarkerStored& input) const {
    const auto& [record] = input;
    out.mutable_marker_stored()->set_record(record.value);
  }
  void operator()(const LeftoversKilled&) const { out.mutable_leftovers_killed(); }
  void operator()(const WorkersPrepared&) const { out.mutable_workers_prepared(); }
  void operator()(const WorkersEntered& input) const {
    const auto& [round, held] = input;
    write(round, *out.mutable_workers_entered()->mutable_round());
    write(held, *out.mutable_workers_entered()->mutable_held());
  }
  void operator()(const WorkersLeft& input) const {
    const auto& [for_round, held] = input;
    write(for_round, *out.mutable_workers_left()->mutable_for_round());
    if (held) write(*held, *out.mutable_workers_left()->mutable_held());
  }
  void operator()(const WorkerExited& input) const {
    const auto& [round, local_rank, status, last_of_group, held] = input;
    auto& to = *out.mutable_worker_exited();
    write(round, *to.mutable_round());
    to.set_local_rank(local_rank);
    write(status, *to.mutable_status());
    to.set_last_of_group(last_of_group);
    if (held) write(*held, *to.mutable_held());
  }
  void operator()(const WorkerPulse& input) const {
    const auto& [held, silent_rank, arrived] = input;
    auto& to = *out.mutable_worker_pulse();
    if (held) write(*held, *to.mutable_held());
    if (silent_rank) to.set_silent_rank(*silent_rank);
    to.set_arrived(arrived);
  }
  void operator()(const WorkersSaved& input) const {
    const auto& [report] = input;
    write(report, *out.mutable_workers_saved()->mutable_report());
  }
  void operator()(const WorkersFinished& input) const {
    const auto& [held] = input;
    write(held, *out.mutable_workers_finished()->mutable_held());
  }
  void operator()(const EdgeFailed& input) const {
    const auto& [round, peer] = input;
    write(round, *out.mutable_edge_failed()->mutable_round());
    out.mutable_edge_failed()->set_peer(peer.value);
  }
  void operator()(const LeaveNotice& input) const {
    const auto& [deadline] = input;
    out.mutable_leave_notice()->set_deadline_ns(deadline.count());
  }
  void operator()(const StopJob&) const { out.mutable_stop_job(); }
  void operator()(const ManifestWritten& input) const {
    const auto& [round, step, digest] = input;
    auto& to = *out.mutable_manifest_written();
    write(round, *to.mutable_round());
    to.set_step(step.value);
    to.set_digest(digest);
  }
  void operator()(const SaveVerified& input) const {
    const auto& [record, intact] = input;
    out.mutable_save_verified()->set_record(record.value);
    out.mutable_save_verified()->set_intact(intact);
  }
  void operator()(const SaveBroken& input) const {
    const auto& [record] = input;
    out.mutable_save_broken()->set_record(record.value);
  }
  void operator()(const MarkerRead& input) const {
    const auto& [newest] = input;
    auto& to = *out.mutable_marker_read();
    if (newest) write(*newest, *to.mutable_newest());
  }
};

Start read_kind(const pb::Input::Start& in) {
  return {.self = read(in.self()), .seed = in.seed(), .contacts = read_nodes(in.contacts())};
}

JournalFileRead read_kind(const pb::Input::JournalFileRead& in) {
  return {.exists = in.exists(),
          .life = JournalLife{in.life()},
          .records = read_all(in.records()),
          .newest_marker = read_if(in.has_newest_marker(), in.newest_marker())};
}

WorkersLeft read_kind(const pb::Input::WorkersLeft& in) {
  return {.for_round = read(in.for_round()), .held = read_if(in.has_held(), in.held())};
}

WorkerExited read_kind(const pb::Input::WorkerExited& in) {
  return {.round = read(in.round()),
          .local_rank = in.local_rank(),
          .status = read(in.status()),
          .last_of_group = in.last_of_group(),
          .held = read_if(in.has_held(), in.held())};
}

WorkerPulse read_kind(const pb::Input::WorkerPulse& in) {
  return {.held = read_if(in.has_held(), in.held()),
          .silent_rank = in.has_silent_rank() ? std::optional(in.silent_rank()) : std::nullopt,
          .arrived = in.arrived()};
}

}  // namespace

void write(const Input& input, pb::Input& out) { std::visit(InputWriter{out}, input); }

Input read(const pb::Input& in) {
  switch (in.kind_case()) {
    case pb::Input::kStart:
      return read_kind(in.start());
    case pb::Input::kReceived:
      return Received{.from = NodeId{in.received().from()},
                      .message = read(in.received().message())};
    case pb::Input::kPeerClosed:
      return PeerClosed{.peer = NodeId{in.peer_closed().peer()}};
    case pb::Input::kTimerFired:
      return TimerFired{.timer = from_pb<TimerId>(in.timer_fired().timer())};
    case pb::Input::kJournalReplied:
      return JournalReplied{.answer = read(in.journal_replied().answer())};
    case pb::Input::kJournalFileRead:
      return read_kind(in.journal_file_read());
    case pb::Input::kJournalFileSynced:
      return JournalFileSynced{.number = RecordNo{in.journal_file_synced().number()}};
    case pb::Input::kMarkerStored:
      return MarkerStored{.record = RecordNo{in.marker_stored().record()}};
    case pb::Input::kLeftoversKilled:
      return LeftoversKilled{};
    case pb::Input::kWorkersPrepared:
      return WorkersPrepared{};
    case pb::Input::kWorkersEntered:
      return WorkersEntered{.round = read(in.workers_entered().round()),
                            .held = read(in.workers_entered().held())};
    case pb::Input::kWorkersLeft:
      return read_kind(in.workers_left());
    case pb::Input::kWorkerExited:
      return read_kind(in.worker_exited());
    case pb::Input::kWorkerPulse:
      return read_kind(in.worker_pulse());
    case pb::Input::kWorkersSaved:
      return WorkersSaved{.report = read(in.workers_saved().report())};
    case pb::Input::kWorkersFinished:
      return WorkersFinished{.held = read(in.workers_finished().held())};
    case pb::Input::kEdgeFailed:
      return EdgeFailed{.round = read(in.edge_failed().round()),
                        .peer = NodeId{in.edge_failed().peer()}};
    case pb::Input::kLeaveNotice:
      return LeaveNotice{.deadline = Duration(in.leave_notice().deadline_ns())};
    case pb::Input::kStopJob:
      return StopJob{};
    case pb::Input::kManifestWritten:
      return ManifestWritten{.round = read(in.manifest_written().round()),
                             .step = Step{in.manifest_written().step()},
                             .digest = in.manifest_written().digest()};
    case pb::Input::kSaveVerified:
      return SaveVerified{.record = RecordNo{in.save_verified().record()},
                          .intact = in.save_verified().intact()};
    case pb::Input::kSaveBroken:
      return SaveBroken{.record = RecordNo{in.save_broken().record()}};
    case pb::Input::kMarkerRead:
      return MarkerRead{.newest =
                            read_if(in.marker_read().has_newest(), in.marker_read().newest())};
    case pb::Input::KIND_NOT_SET:
      break;
  }
  ELASTIC_ASSERT(in.kind_case() != pb::Input::KIND_NOT_SET);
  return {};
}

}  // namespace elastic::wire
