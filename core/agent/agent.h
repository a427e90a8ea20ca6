// One per node: starts and watches the local workers, beats, obeys rounds (design section 3).
//
// A new life first has every process killed that an earlier one left on its node (KillLeftovers).
// Until that is done it says "cleaning"; whatever else it says is proof that those workers are
// dead. It reports each death of a worker at once, also of those that it ended itself, and repeats
// the report until it is acknowledged. A worker that is frozen (Crew) it kills.
//
// Leases: the lease of foreign workers and the orphan bound count, on the own clock, from the
// sending of the last beat that was acknowledged. Past the orphan bound it kills workers that are
// in a round. Native workers outside any round keep their state for as long as it takes.
//
// It ends with the Verdict; when an announced leave is complete, or past its deadline; when
// join_timeout is over; and, with a hosted journal, once it has had a place, when it has had no
// word of the journal for journal_lost_after. The host of the journal does not leave.
//
// Invariants:
//  1. Orders of a Lead older than the newest one seen have no effect; nor have those of another
//     journal life than the one that its workers' round was recorded in. (A verdict counts for any
//     life of the node.)
//  2. Its workers enter no round below one that they left for, and rounds only grow.
//  3. A beat says what is, never what was asked for: `left_for` rises only when all workers have
//     left.
//  4. It is in a round, waits for a reason that it can name (waiting()), or ends within a bound.
//  5. A place is taken only by workers that are outside any round, and only under a lease.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/agent/io.h"
#include "core/membership/bounds.h"
#include "core/membership/config.h"

namespace elastic {

class Agent {
 public:
  Agent(const JobConfig& job, const Timeouts& timeouts) : job_(job), timeouts_(timeouts) {}

  void start(Time now, AgentId self, std::uint64_t seed, Effects& effects);

  // What the node learns of the coordination.
  void follow(Time now, LeadId lead, AgentId leader, Effects& effects);
  void on_order(Time now, const Order& order, Effects& effects);
  void on_verdict(Time now, const Verdict& verdict, Effects& effects);
  // No verdict is to be had: the journal that the workers' round was recorded in is gone, or no
  // round has come for join_timeout.
  void give_up(Time now, ExitReason reason, Effects& effects);

  void on_timer(Time now, TimerId timer, Effects& effects);
  void on_leftovers_killed(Time now, Effects& effects);
  void on_prepared(Time now, Effects& effects);
  void on_entered(Time now, const WorkersEntered& entered, Effects& effects);
  void on_left(Time now, const WorkersLeft& left, Effects& effects);
  void on_exited(Time now, const WorkerExited& exited, Effects& effects);
  void on_pulse(Time now, const WorkerPulse& pulse, Effects& effects);
  void on_saved(Time now, const WorkersSaved& saved, Effects& effects);
  void on_finished(Time now, const WorkersFinished& finished, Effects& effects);
  void on_manifest_written(Time now, const ManifestWritten& written, Effects& effects);
  void on_save_verified(Time now, const SaveVerified& verified, Effects& effects);
  void on_save_broken(Time now, const SaveBroken& broken, Effects& effects);
  void on_edge_failed(Time now, const EdgeFailed& edge, Effects& effects);
  void on_leave_notice(Time now, const LeaveNotice& notice, Effects& effects);

  // How it ends: once that is settled, and once its workers are gone, too.
  std::optional<ExitReason> exiting() const { return exit_; }
  std::optional<ExitReason> ending() const { return ended_ ? exit_ : std::nullopt; }
  // Refuses an order of a leader by another life of the journal. It may not know that a round of
  // this life runs here: it is told, so that it forms none beside it (forming.h,
  // other_journal_runs).
  void contest(Time now, const Order& order, Effects& effects);
  void send_last_beat(Time now, Effects& effects);

  LeadId lead_seen() const { return lead_seen_; }
  AgentId leader() const { return leader_; }
  AgentState state() const;
  RoundId placed() const { return placed_; }
  RoundId entered() const { return entered_; }
  RoundId left_for() const { return left_for_; }
  WaitReason waiting() const { return wait_; }
  Time lease_from() const { return lease_from_; }
  // Rounds of this journal life are in the workers' hands.
  JournalLife holding() const;
  // It has a place in one, and does not leave it.
  bool in_round() const {
    return group_ == Group::kEntering || group_ == Group::kRunning || group_ == Group::kFinished;
  }

  void check() const;
  std::uint64_t digest() const;

 private:
  static constexpr std::size_t kMaxBroken = 8;  // bounds the size of a beat

  // What the local workers are doing.
  enum class Group : std::uint8_t {
    kCleaning,   // leftovers of an earlier life are being killed
    kNone,       // no process
    kPreparing,  // native: starting, or some are started again
    kReady,      // native: all up, outside any round
    kEntering,
    kRunning,
    kLeaving,  // LeaveRound or StopWorkers is under way
    kFinished,
  };

  void report(Time now, NodeId to, Effects& effects);
  void beat(Time now, Effects& effects);
  void take_report(Time now, const Order& order, Effects& effects);
  void take_save_orders(const Order& order, Effects& effects);
  void start_saves(bool other_journal);
  void leave(Time now, RoundId for_round, bool planned, Effects& effects);
  void left(Time now, RoundId for_round, Effects& effects);
  void accept(Time now, const Placement& placement, Effects& effects);
  void acknowledged(Time now, const Order& order, Effects& effects);
  void prepare(Time now, Effects& effects);
  void stop_all(Time now, Effects& effects);
  void end(Time now, ExitReason reason, Effects& effects);
  void hold_state(const std::optional<StatePoint>& held);
  void record_death(const WorkerExited& exited);
  void native_exited(Time now, const WorkerExited& exited, Effects& effects);
  void foreign_exited(Time now, const WorkerExited& exited, Effects& effects);
  void leave_when_unneeded(Time now, const Order& order, Effects& effects);
  void leave_when_over(Time now, Effects& effects);
  RoundId after_placed() const { return {placed_.journal, placed_.number + 1}; }
  bool native() const { return job_.workers == WorkerKind::kNative; }
  bool hosts_journal() const {
    return job_.journal == JournalKind::kHosted && job_.journal_host == self_.node;
  }

  JobConfig job_;
  Timeouts timeouts_;
  AgentId self_;
  LeadId lead_seen_;
  AgentId leader_;
  BeatNo beats_;
  Time beat_due_ = kEndOfTime;
  Time prepare_since_{};
  BoundWatch acknowledgements_, pauses_, start_ups_;
  std::vector<std::pair<BeatNo, Time>> sent_;  // not acknowledged yet, oldest first, at most 64
  Time lease_from_{};
  NodeId contested_;  // leads by another life of the journal, and was told so until lately
  Time contested_until_{};

  Group group_ = Group::kCleaning;
  std::uint32_t alive_ = 0;    // local worker processes
  std::uint64_t arrived_ = 0;  // kEntering: bytes of the resume state
  RoundId placed_;
  std::uint32_t first_rank_ = 0;  // in placed_
  RoundId entered_;               // valid while kRunning or kFinished
  RoundId entered_newest_;
  RoundId left_for_;
  RoundId leaving_for_;  // kLeaving: asked for
  bool leaving_planned_ = false;
  RoundId reaped_below_;
  std::optional<StatePoint> held_;
  std::optional<SaveReport> saved_;
  Step last_step_;
  std::vector<FailureReport> failures_;
  FailureNo failure_count_;
  std::vector<NodeId> failed_edges_;
  WaitReason wait_ = WaitReason::kPreparing;
  std::uint32_t failed_starts_ = 0;
  bool stopping_ = false;              // the agent ends all its workers itself
  std::vector<std::uint32_t> killed_;  // local ranks that the agent killed one by one
  RecordNo checkpoint_told_;
  std::optional<ManifestReport> manifest_asked_;  // newest in placed_; its digest is not known yet
  std::optional<ManifestReport> manifest_;        // written
  RecordNo checking_;                             // read back, or being read
  std::optional<SaveCheck> checked_;
  std::vector<RecordNo> broken_saves_;  // of the journal of placed_, newest last

  std::optional<Time> leave_at_;  // deadline of an announced leave
  std::optional<ExitReason> exit_;
  bool ended_ = false;
  bool ever_acked_ = false;
};

}  // namespace elastic
