// The agent that leads: collects beats, decides rounds, answers (design sections 3 and 4).
//
// Loss. A node is lost when its beats are not heard: what the leader withholds says nothing. A
// closed connection, or an edge that members report as failed, only shortens the wait. An exited
// worker is reported at once, and a member whose `left_for` is above its round has left it.
//
// A change of round. Failures and losses ask everybody to leave at once. What is no failure (a
// joiner that is ready, a member that gives notice) is announced first: a flag rides in each step's
// reduction, and all who finish that step stop after it. Whoever has not by resize_deadline, or
// cannot any more because a member is gone, is treated as failed. A joiner is no member until a
// World ranks it, and counts as ready only when everything slow is behind it.
//
// Partial partitions. Members report the edges that fail. After a round that made a step the next
// one may work; after one that made none, the member with the most failed edges (of equals the
// highest rank) sits out for cool_down.
//
// Taking over. A new leader knows everything after one beat of each agent. It counts every lease
// from the return of its own Lead, so the members of the newest World count as alive for one lease.
// It adopts the running round if every member says that it is in it; otherwise it asks all to
// leave, at once if what a member says rules that out, or else when a lease is over. It puts the
// marker of the newest Checkpoint again, and repeats the deletions of the newest Retire: its
// predecessor may have left them out.
//
// Saves. A save whose shares are all reported gets its manifest; when that is durable, and the save
// is of the newest World's round, its Checkpoint is recorded, then its marker put. A save of a
// round that is over is abandoned (docs/decisions/0006). Who is read back, and what is retired:
// saves.cc.
//
// The end. Whoever has finished stays until the Verdict. For native workers that follows the
// Checkpoint of the last step, and its marker says so; for foreign ones, the clean exit of all.
//
// Alternatives rejected: callbacks into transport and journal (ScyllaDB's raft/fsm.hh tells why);
// deciding from differences ("node x joined") instead of whole states, which loses its footing at
// the first lost message; a member list in every order, which makes a change cost O(N^2) bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/agent/io.h"
#include "core/membership/config.h"
#include "core/membership/forming.h"
#include "core/membership/journal_client.h"
#include "core/policy/flaps.h"
#include "core/policy/healthy.h"

namespace elastic {

// Invariants:
//  1. It acts only between the return of its own Lead and the reading of a newer one.
//  2. A beat is acknowledged only after a journal read begun later than its arrival has shown the
//     own Lead as the newest. One read serves all beats that wait for it.
//  3. A World is recorded only when every earlier round is dead, and has a holder of the newest
//     possibly committed state, unless none can be left, or the job goes back on purpose.
//  4. At most one append is pending, and none follows a Verdict.
//  5. Only what is recorded is announced. What it sends a member does not grow with their number,
//     but for the manifest's shares: a change costs O(N) messages and bytes.
class Coordinator {
 public:
  enum class Phase : std::uint8_t {
    kIdle,      // does not lead
    kAdopting,  // learns who is in the newest World
    kForming,   // members leave, joiners come
    kRunning,   // the newest World is announced
    kEnding,    // a Verdict is recorded
  };

  Coordinator(const JobConfig& job, const Timeouts& timeouts)
      : job_(job), timeouts_(timeouts), flaps_(job.flaps), health_(job.health) {}

  void start(AgentId self) { self_ = self; }
  // The own Lead was read in the journal. `known` are nodes to announce it to.
  void lead(Time now, LeadId lead, const std::set<NodeId>& known, JournalClient& journal,
            Effects& effects);
  // A newer Lead was read, or the node ends.
  void stand_down(Time now, Effects& effects);

  void on_beat(Time now, const Beat& beat, JournalClient& journal, Effects& effects);
  void on_peer_closed(Time now, NodeId peer, JournalClient& journal, Effects& effects);
  void on_tick(Time now, JournalClient& journal, Effects& effects);
  void on_journal(Time now, const JournalEvent& event, JournalClient& journal, Effects& effects);
  void on_stop_job(Time now, JournalClient& journal, Effects& effects);
  // A marker that this node put is durable.
  void on_marker(Time now, RecordNo record, JournalClient& journal, Effects& effects);

  bool leading() const { return phase_ != Phase::kIdle; }
  // It has just heard fewer than min nodes for a lease: the node should stand down.
  bool suspended() const { return suspended_; }
  // Likewise, but min_healthy is set: it stays, acknowledges nobody, and ends the job if nothing
  // changes before the grace is over. Others may lead at any time.
  bool mute() const { return mute_; }
  // Every node that it hears has the verdict.
  bool all_ended() const;
  // Nobody will ask for it any more: every node that was ever heard since the own Lead, and every
  // member of the newest World, has said that it ends.
  bool everybody_ended(const JournalView& view) const;

  Phase phase() const { return phase_; }
  LeadId lead_id() const { return lead_; }
  WaitReason waiting() const { return wait_; }
  const Peers& peers() const { return peers_; }

  void check(const JournalClient& journal) const;
  std::uint64_t digest() const;

 private:
  struct SaveTally {
    SaveReport report;  // of the first that reported
    std::map<NodeId, ShareFact> in;
  };

  // coordinator.cc: what is heard.
  void wake(Time now);
  void await(const Beat& beat, std::uint64_t ticket);
  void note_failures(Peer& peer, const Beat& beat, const JournalView& view, Effects& effects);
  void acknowledge(Time now, std::uint64_t read_done, const JournalView& view, Effects& effects);
  void settle_append(Time now, const Record& record, JournalClient& journal, Effects& effects);
  Peer& peer_of(Time now, const Beat& beat, bool* changed);

  // saves.cc
  void note_save(const Beat& beat, const JournalView& view);
  void ask_for_manifest(const JournalView& view, Effects& effects);
  bool commit_save(Time now, JournalClient& journal, Effects& effects);
  void put_marker(const CommittedSave& save, bool verdict, const JournalView& view,
                  Effects& effects);
  bool retire_saves(Time now, JournalClient& journal, Effects& effects);
  void settle_retire(const Retire& retire, const JournalView& view, Effects& effects);
  void sweep_saves(const JournalView& view, Effects& effects);
  void take_up_saves(const JournalView& view, Effects& effects);
  bool needs_other_save(const World& world, const JournalView& view) const;
  std::vector<RecordNo> broken_saves(const JournalView& view) const;
  std::optional<CommittedSave> to_verify(const JournalView& view) const;
  RecordNo proven(const JournalView& view) const;
  const Peer* first_member(const JournalView& view) const;
  // spending.cc: budgets, flaps, and what ends a job.
  policy::Charge charged(const JournalView& view) const;
  policy::Judgement judged(const JournalView& view) const;
  bool program_failed(const JournalView& view) const;
  bool failure_is_certain(Time now, const JournalView& view) const;
  Step reached(const JournalView& view) const;
  std::optional<Verdict> success(const JournalView& view) const;
  std::optional<Verdict> verdict_due(Time now, const JournalView& view, bool forming) const;
  void note_departures(Time now, const JournalView& view);
  Pace measured(const JournalView& view) const;
  void measure(Time now, const World& world);
  policy::GrowthFacts growth_facts(Time now, const World& world, std::uint32_t after) const;
  void spend(Time now, const JournalView& view, World& world) const;
  std::vector<CountedStarts> counted_starts(const JournalView& view) const;
  bool counted_before(const FailureReport& failure, const JournalView& view) const;

  // decisions.cc: what follows.
  void evaluate_soon(Time now, JournalClient& journal, Effects& effects);
  void evaluate(Time now, JournalClient& journal, Effects& effects);
  void mark_lost(Time now, const JournalView& view, Effects& effects);
  void count_heard(Time now);
  void adopt(Time now, JournalClient& journal, Effects& effects);
  void watch(Time now, JournalClient& journal, Effects& effects);
  void form(Time now, JournalClient& journal, Effects& effects);
  bool conclude(Time now, JournalClient& journal, Effects& effects);
  void ask_leave(Time now, RoundCause cause, bool planned, const JournalView& view,
                 Effects& effects);
  void record_world(Time now, Forming forming, JournalClient& journal, Effects& effects);
  std::optional<RoundCause> broken(Time now, const World& world, Effects& effects);
  void note_arrival(Time now, NodeId node, const World& world);
  std::optional<RoundCause> stalled(Time now, const World& world);
  std::optional<RoundCause> edge_failed(Time now, const World& world);
  void sit_out_worst(Time now, const World& world);
  void sit_out_deaf(Time now, const std::vector<Member>& members);
  bool wants_resize(Time now, const World& world);
  bool joiner(Time now, const Peer& peer, const World& world) const;
  void note_joiners(Time now, const JournalView& view);
  bool may_be_cause() const;
  bool counts(const FailureReport& failure) const;
  bool member_lost(const World& world) const;
  bool must_force(const World& world) const;
  void wait_for(WaitReason reason, Effects& effects);
  Order order_for(const Peer& peer, const JournalView& view) const;
  void push(const JournalView& view, Effects& effects);
  FormingView forming_view(Time now, const JournalView& view) const;

  JobConfig job_;
  Timeouts timeouts_;
  AgentId self_;
  Phase phase_ = Phase::kIdle;
  bool suspended_ = false;
  LeadId lead_;
  Time lead_return_{};
  Time awake_at_{};      // last input: the own pauses are no silence of others
  Time enough_heard_{};  // last time at least min nodes were heard
  Peers peers_;
  // Unacknowledged beats, each with the read that it waits for: the oldest and the newest of a
  // node. Were it the newest alone, a journal slower than beats come would let none be
  // acknowledged.
  std::map<NodeId, std::vector<std::pair<std::uint64_t, BeatNo>>> awaiting_;
  std::set<NodeId> announce_to_;  // told of the Lead, not heard yet

  RoundId target_;  // kForming: the round asked for
  RoundCause cause_ = RoundCause::kFirst;
  bool planned_ = false;
  Time planned_until_{};
  Time forming_since_{};
  Time last_join_{};
  std::set<NodeId> joined_;     // in, in this forming, and no member of the last World
  std::set<NodeId> hoped_for_;  // joiners that the change of round was asked for
  WaitReason wait_ = WaitReason::kNone;

  Time recorded_at_{};               // kRunning: since when
  Time entering_at_{};               // a member has entered, or more of its state has arrived
  Time running_since_ = kEndOfTime;  // every member has entered
  std::set<NodeId> entered_;
  Step best_step_;                // newest step that a member of the newest World reported
  Time edge_since_ = kEndOfTime;  // first failed edge of the newest World
  std::optional<FailureReport> first_failure_;  // of the newest World
  Time failed_at_{};                            // arrival of first_failure_
  std::uint32_t start_failures_ = 0;            // programs that ended while no round ran
  std::optional<FailureReport> first_start_;    // the first of these
  std::optional<SaveTally> saving_;             // shares that are still coming in
  std::optional<ManifestOrder> manifest_for_;   // all shares are in: asked of group rank 0
  std::set<RecordNo> markers_asked_;            // since the own Lead
  RecordNo marker_stored_;                      // the newest of them that is durable
  RoundId swept_below_;                         // saves of rounds below were swept
  std::optional<Verdict> stop_with_;            // operator

  policy::FlapTable flaps_;
  policy::HealthWatch health_;
  bool too_few_ = false;          // for longer than the grace: the job is to end
  bool evaluating_soon_ = false;  // at the next kTick, which is close
  bool mute_ = false;             // too few are heard to acknowledge anybody
  std::set<NodeId> announced_;    // members of the newest World that have said that they leave
  std::set<NodeId> departed_;     // members of it that have left without a word, counted once each
  Duration ran_{};                // for so long every member was in the round that is being left
  Duration step_length_{};        // measured in the newest World; zero: not yet
  Step running_from_;             // newest step when every member had entered
  Duration pause_{};              // measured for the newest World; zero: not yet
  bool adopted_ = false;          // the newest World was recorded by another
  Time asked_at_{};               // kForming: since when
  Duration asking_{};             // from then to the record, if that was an announced change
};

}  // namespace elastic
