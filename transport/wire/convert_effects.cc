#include "transport/wire/convert.h"
#include "transport/wire/enums.h"

namespace elastic::wire {
namespace {

// One overload per kind of effect.
struct EffectWriter {
  pb::Effect& out;

  void operator()(const Send& effect) const {
    const auto& [to, message] = effect;
    out.mutable_send()->set_to(to.value);
    write(message, *out.mutable_send()->mutable_message());
  }
  void operator()(const ArmTimer& effect) const {
    const auto& [timer, after] = effect;
    out.mutable_arm_timer()->set_timer(to_pb(timer));
    out.mutable_arm_timer()->set_after_ns(after.count());
  }
  void operator()(const CancelTimer& effect) const {
    const auto& [timer] = effect;
    out.mutable_cancel_timer()->set_timer(to_pb(timer));
  }
  void operator()(const AskJournal& effect) const {
    const auto& [ask] = effect;
    write(ask, *out.mutable_ask_journal()->mutable_ask());
  }
  void operator()(const ReadJournalFile&) const { out.mutable_read_journal_file(); }
  void operator()(const WriteJournalFile& effect) const {
    const auto& [life, record] = effect;
    out.mutable_write_journal_file()->set_life(life.value);
    write(record, *out.mutable_write_journal_file()->mutable_record());
  }
  void operator()(const PutMarker& effect) const {
    const auto& [marker] = effect;
    write(marker, *out.mutable_put_marker()->mutable_marker());
  }
  void operator()(const KillLeftovers&) const { out.mutable_kill_leftovers(); }
  void operator()(const PrepareWorkers&) const { out.mutable_prepare_workers(); }
  void operator()(const EnterRound& effect) const {
    const auto& [placement] = effect;
    write(placement, *out.mutable_enter_round()->mutable_placement());
  }
  void operator()(const LeaveRound& effect) const {
    const auto& [for_round, planned] = effect;
    write(for_round, *out.mutable_leave_round()->mutable_for_round());
    out.mutable_leave_round()->set_planned(planned);
  }
  void operator()(const StopWorkers& effect) const {
    const auto& [kill] = effect;
    out.mutable_stop_workers()->set_kill(kill);
  }
  void operator()(const KillWorker& effect) const {
    const auto& [local_rank] = effect;
    out.mutable_kill_worker()->set_local_rank(local_rank);
  }
  void operator()(const RenewLease& effect) const {
    const auto& [from, running] = effect;
    out.mutable_renew_lease()->set_from_ns(from.time_since_epoch().count());
    write(running, *out.mutable_renew_lease()->mutable_running());
  }
  void operator()(const PollWorkers&) const { out.mutable_poll_workers(); }
  void operator()(const TellCheckpoint& effect) const {
    const auto& [record, step, round] = effect;
    out.mutable_tell_checkpoint()->set_record(record.value);
    out.mutable_tell_checkpoint()->set_step(step.value);
    write(round, *out.mutable_tell_checkpoint()->mutable_round());
  }
  void operator()(const WriteManifest& effect) const {
    const auto& [order] = effect;
    write(order, *out.mutable_write_manifest()->mutable_order());
  }
  void operator()(const VerifySave& effect) const {
    const auto& [save] = effect;
    write(save, *out.mutable_verify_save()->mutable_save());
  }
  void operator()(const DeleteSaves& effect) const {
    const auto& [saves] = effect;
    write_all(saves, *out.mutable_delete_saves()->mutable_saves());
  }
  void operator()(const SweepSaves& effect) const {
    const auto& [below, keep] = effect;
    write(below, *out.mutable_sweep_saves()->mutable_below());
    write_all(keep, *out.mutable_sweep_saves()->mutable_keep());
  }
  void operator()(const EmptyRecords& effect) const {
    const auto& [life, records] = effect;
    out.mutable_empty_records()->set_life(life.value);
    write_records(records, *out.mutable_empty_records()->mutable_records());
  }
  void operator()(const ReadMarker&) const { out.mutable_read_marker(); }
  void operator()(const Exit& effect) const {
    const auto& [reason] = effect;
    out.mutable_exit()->set_reason(to_pb(reason));
  }
  void operator()(const Note& effect) const {
    const auto& [kind, node, round, a, b, c] = effect;
    auto& to = *out.mutable_note();
    to.set_kind(to_pb(kind));
    to.set_node(node.value);
    write(round, *to.mutable_round());
    to.set_a(a);
    to.set_b(b);
    to.set_c(c);
  }
};

Note read_kind(const pb::Effect::Note& in) {
  return {.kind = from_pb<NoteKind>(in.kind()),
          .node = NodeId{in.node()},
          .round = read(in.round()),
          .a = in.a(),
          .b = in.b(),
          .c = in.c()};
}

TellCheckpoint read_kind(const pb::Effect::TellCheckpoint& in) {
  return {.record = RecordNo{in.record()}, .step = Step{in.step()}, .round = read(in.round())};
}

}  // namespace

void write(const Effect& effect, pb::Effect& out) { std::visit(EffectWriter{out}, effect); }

Effect read(const pb::Effect& in) {
  switch (in.kind_case()) {
    case pb::Effect::kSend:
      return Send{.to = NodeId{in.send().to()}, .message = read(in.send().message())};
    case pb::Effect::kArmTimer:
      return ArmTimer{.timer = from_pb<TimerId>(in.arm_timer().timer()),
                      .after = Duration(in.arm_timer().after_ns())};
    case pb::Effect::kCancelTimer:
      return CancelTimer{.timer = from_pb<TimerId>(in.cancel_timer().timer())};
    case pb::Effect::kAskJournal:
      return AskJournal{.ask = read(in.ask_journal().ask())};
    case pb::Effect::kReadJournalFile:
      return ReadJournalFile{};
    case pb::Effect::kWriteJournalFile:
      return WriteJournalFile{.life = JournalLife{in.write_journal_file().life()},
                              .record = read(in.write_journal_file().record())};
    case pb::Effect::kPutMarker:
      return PutMarker{.marker = read(in.put_marker().marker())};
    case pb::Effect::kKillLeftovers:
      return KillLeftovers{};
    case pb::Effect::kPrepareWorkers:
      return PrepareWorkers{};
    case pb::Effect::kEnterRound:
      return EnterRound{.placement = read(in.enter_round().placement())};
    case pb::Effect::kLeaveRound:
      return LeaveRound{.for_round = read(in.leave_round().for_round()),
                        .planned = in.leave_round().planned()};
    case pb::Effect::kStopWorkers:
      return StopWorkers{.kill = in.stop_workers().kill()};
    case pb::Effect::kKillWorker:
      return KillWorker{.local_rank = in.kill_worker().local_rank()};
    case pb::Effect::kRenewLease:
      return RenewLease{.from = Time(Duration(in.renew_lease().from_ns())),
                        .running = read(in.renew_lease().running())};
    case pb::Effect::kPollWorkers:
      return PollWorkers{};
    case pb::Effect::kTellCheckpoint:
      return read_kind(in.tell_checkpoint());
    case pb::Effect::kExit:
      return Exit{.reason = from_pb<ExitReason>(in.exit().reason())};
    case pb::Effect::kNote:
      return read_kind(in.note());
    case pb::Effect::kWriteManifest:
      return WriteManifest{.order = read(in.write_manifest().order())};
    case pb::Effect::kVerifySave:
      return VerifySave{.save = read(in.verify_save().save())};
    case pb::Effect::kDeleteSaves:
      return DeleteSaves{.saves = read_all(in.delete_saves().saves())};
    case pb::Effect::kSweepSaves:
      return SweepSaves{.below = read(in.sweep_saves().below()),
                        .keep = read_all(in.sweep_saves().keep())};
    case pb::Effect::kEmptyRecords:
      return EmptyRecords{.life = JournalLife{in.empty_records().life()},
                          .records = read_records(in.empty_records().records())};
    case pb::Effect::kReadMarker:
      return ReadMarker{};
    case pb::Effect::KIND_NOT_SET:
      break;
  }
  ELASTIC_ASSERT(in.kind_case() != pb::Effect::KIND_NOT_SET);
  return {};
}

}  // namespace elastic::wire
