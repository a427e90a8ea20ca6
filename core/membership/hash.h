// Digests of states, messages and records: field by field, never of padding or pointers. A struct
// is hashed by naming its fields here once.
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/agent/io.h"
#include "core/math/digest.h"
#include "core/types.h"

namespace elastic {

// Hash h; h(a, b, c); h.value(). Containers add their length, variants their index. D folds the
// words; whoever hashes millions of messages brings a faster one.
template <class D>
class BasicHash {
 public:
  template <class... Ts>
  void operator()(const Ts&... values) {
    (add(values), ...);
  }
  std::uint64_t value() const { return digest_.value(); }

 private:
  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  void add(T value) { digest_.add(static_cast<std::uint64_t>(value)); }
  template <class Tag, class Rep>
  void add(Id<Tag, Rep> id) {
    digest_.add(static_cast<std::uint64_t>(id.value));
  }
  void add(Duration d) { digest_.add(static_cast<std::uint64_t>(d.count())); }
  void add(Time t) { add(t.time_since_epoch()); }
  template <class A, class B>
  void add(const std::pair<A, B>& p) {
    (*this)(p.first, p.second);
  }
  template <class T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class T>
  void add_all(const T& values) {
    add(values.size());
    for (const auto& value : values) add(value);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add_all(values);
  }
  template <class T>
  void add(const std::set<T>& values) {
    add_all(values);
  }
  template <class K, class V>
  void add(const std::map<K, V>& values) {
    add_all(values);
  }
  template <class... Ts>
  void add(const std::variant<Ts...>& value) {
    add(value.index());
    std::visit([this](const auto& alternative) { this->add(alternative); }, value);
  }

  void add(const AgentId& v) { (*this)(v.node, v.life); }
  void add(const RoundId& v) { (*this)(v.journal, v.number); }
  void add(const LeadId& v) { (*this)(v.journal, v.record); }
  void add(const StatePoint& v) { (*this)(v.entered, v.step, v.lineage); }
  void add(const ExitStatus& v) { (*this)(v.code, v.signal); }
  void add(const FailureReport& v) {
    (*this)(v.agent, v.number, v.round, v.local_rank, v.rank, v.status, v.stopped_by_agent);
  }
  void add(const Member& v) { (*this)(v.agent, v.workers); }
  void add(const ResumePoint& v) { (*this)(v.source, v.state, v.checkpoint); }
  void add(const Budgets& v) {
    (*this)(v.restarts_used, v.churn, v.resizes, v.no_progress, v.stuck_at, v.went_back);
  }
  void add(const policy::FlapScore& v) { (*this)(v.node, v.score, v.suppressions, v.left); }
  void add(const policy::StepLength& v) { (*this)(v.nodes, v.length); }
  void add(const Pace& v) { (*this)(v.here, v.elsewhere, v.pause); }
  void add(const CountedStarts& v) { (*this)(v.agent, v.number); }
  void add(const Lead& v) { (*this)(v.leader); }
  void add(const World& v) {
    (*this)(v.round, v.members, v.resume, v.holders, v.budgets, v.cause, v.sitting_out, v.flaps,
            v.starts_counted, v.abandoned_below, v.pace, v.broken);
  }
  void add(const Checkpoint& v) { (*this)(v.step, v.round, v.lineage, v.manifest_digest); }
  void add(const Retire& v) { (*this)(v.saves); }
  void add(const Emptied&) {}
  void add(const CommittedSave& v) { (*this)(v.record, v.checkpoint); }
  void add(const Verdict& v) { (*this)(v.kind, v.step, v.first_failure); }
  void add(const Record& v) { (*this)(v.writer, v.nonce, v.body); }
  void add(const NumberedRecord& v) { (*this)(v.number, v.record); }
  void add(const CommitMarker& v) { (*this)(v.journal, v.record, v.checkpoint, v.verdict); }

  void add(const SaveReport& v) { (*this)(v.round, v.step, v.lineage, v.digest, v.bytes); }
  void add(const ShareFact& v) { (*this)(v.bytes, v.digest); }
  void add(const ManifestOrder& v) { (*this)(v.round, v.step, v.lineage, v.shares); }
  void add(const ManifestReport& v) { (*this)(v.round, v.step, v.lineage, v.digest); }
  void add(const SaveCheck& v) { (*this)(v.record, v.intact); }
  void add(const Beat& v) {
    (*this)(v.from, v.number, v.lead_seen, v.state, v.workers, v.placed, v.entered,
            v.entered_newest, v.left_for, v.reaped_below, v.held, v.saved, v.last_step, v.failures,
            v.failed_edges, v.leaving_in, v.manifest, v.checked, v.broken_saves, v.arrived);
  }
  void add(const Placement& v) {
    (*this)(v.round, v.group_rank, v.group_size, v.first_rank, v.world_size, v.previous, v.next,
            v.first, v.resume, v.restarts_used);
  }
  void add(const Order& v) {
    (*this)(v.from, v.to, v.lead, v.beat, v.leave_for, v.planned, v.placement, v.running,
            v.checkpoint, v.checkpoint_step, v.checkpoint_round, v.failures_seen, v.wait, v.verdict,
            v.manifest, v.verify);
  }
  void add(const Canvass& v) { (*this)(v.from, v.attempt, v.lead_seen); }
  void add(const Hearing& v) {
    (*this)(v.from, v.attempt, v.lead_seen, v.leader, v.has_live_leader);
  }
  void add(const JournalAsk& v) {
    (*this)(v.from, v.request, v.holding, v.from_record, v.append, v.want_contacts);
  }
  void add(const JournalAnswer& v) {
    (*this)(v.request, v.outcome, v.journal, v.records, v.contacts, v.more);
  }

  void add(const Start& v) { (*this)(v.self, v.seed, v.contacts); }
  void add(const Received& v) { (*this)(v.from, v.message); }
  void add(const PeerClosed& v) { (*this)(v.peer); }
  void add(const TimerFired& v) { (*this)(v.timer); }
  void add(const JournalReplied& v) { (*this)(v.answer); }
  void add(const JournalFileRead& v) { (*this)(v.exists, v.life, v.records, v.newest_marker); }
  void add(const JournalFileSynced& v) { (*this)(v.number); }
  void add(const MarkerStored& v) { (*this)(v.record); }
  void add(const LeftoversKilled&) {}
  void add(const WorkersPrepared&) {}
  void add(const WorkersEntered& v) { (*this)(v.round, v.held); }
  void add(const WorkersLeft& v) { (*this)(v.for_round, v.held); }
  void add(const WorkerExited& v) {
    (*this)(v.round, v.local_rank, v.status, v.last_of_group, v.held);
  }
  void add(const WorkerPulse& v) { (*this)(v.held, v.silent_rank, v.arrived); }
  void add(const WorkersSaved& v) { (*this)(v.report); }
  void add(const WorkersFinished& v) { (*this)(v.held); }
  void add(const EdgeFailed& v) { (*this)(v.round, v.peer); }
  void add(const LeaveNotice& v) { (*this)(v.deadline); }
  void add(const StopJob&) {}
  void add(const ManifestWritten& v) { (*this)(v.round, v.step, v.digest); }
  void add(const SaveVerified& v) { (*this)(v.record, v.intact); }
  void add(const SaveBroken& v) { (*this)(v.record); }
  void add(const MarkerRead& v) { (*this)(v.newest); }

  D digest_;
};
using Hash = BasicHash<math::Digest>;

}  // namespace elastic
