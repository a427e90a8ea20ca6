// Who may be in a round, and when: oracles of design section 4, "A round dies when ...", "Forming".
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "chaos/oracles/oracle.h"

namespace elastic::chaos {

struct RoundTruth;
struct Group;

// "A World starts only when every earlier round is dead." At the landing of each World, every
// earlier round of the same journal is dead in truth: native, some member can contribute to nothing
// more (left, gone, incomplete, past its orphan bound); foreign, no worker tree of it executes. A
// machine that stands still as a whole executes nothing (docs/assumptions.md).
class RecordedWhenDeadOracle final : public Oracle {
 public:
  explicit RecordedWhenDeadOracle(Bench bench);
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
};

// "Rounds that are not dead never coexist with a started one." Native: once a worker has entered a
// round, no earlier one begins a step, nor applies one that was not begun before. Foreign: once a
// tree of a round has started, no tree of an earlier one executes, but for the moment that a
// supervisor needs after its machine stood still.
class ExclusiveRoundsOracle final : public Oracle {
 public:
  explicit ExclusiveRoundsOracle(Bench bench);
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_node(Time now, const sim::NodeEvent& event) override;
  void on_event(Time now) override;

 private:
  void judge_native(Time now, const sim::WorkerEvent& event);
  void judge_foreign(Time now, const sim::WorkerEvent& event);
  void judge_tree(Time now, const Group& group);

  RoundId newest_;             // entered (native) or started (foreign)
  Time look_at_ = kEndOfTime;  // foreign: the time of a thawed supervisor to act is over
  std::set<NodeId> thawed_;
};

// "Ranks are a permutation; survivors keep their relative order; members of the newest World first,
// so that spares never displace holders of state": members of each World are distinct, their number
// is within min..max and a multiple of node_unit, lives that were in the previous World keep their
// order, and no such life that was in when the decision fell is left out for one that was not a
// member.
class RanksOracle final : public Oracle {
 public:
  explicit RanksOracle(Bench bench);
  void on_note(Time now, AgentId by, const Note& note) override;
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_delivered(Time now, NodeId from, NodeId to, const Message& message) override;

 private:
  struct Heard {
    AgentLife life{};
    BeatNo number{};
    RoundId left_for{};
    Time at{};
    bool in = false;  // workers have left with state, and the node does not leave the job
  };
  void judge_members(Time now, const NumberedRecord& numbered, const World& world);
  void judge_order(Time now, const NumberedRecord& numbered, const World& world,
                   const World& before);
  void judge_displacement(Time now, const NumberedRecord& numbered, const World& world,
                          const World& before);

  std::map<std::pair<NodeId, NodeId>, Heard> heard_;  // (coordinator, node): newest beat
  std::map<AgentId, std::map<NodeId, Heard>>
      decided_;  // coordinator: what it had heard when deciding
};

// "Nothing of an older round or incarnation takes effect": a worker group enters rounds that only
// grow, never below one that it left for, only rounds that it is a member of; it applies steps of
// the round that it is in alone, and nothing after leaving. An agent acts on no order of a Lead
// older than one that it has heard.
class RoundOrderOracle final : public Oracle {
 public:
  explicit RoundOrderOracle(Bench bench);
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_delivered(Time now, NodeId from, NodeId to, const Message& message) override;

 private:
  // What the orders that reached one agent life entitle it to.
  struct Heard {
    AgentLife life{};
    LeadId lead{};          // newest
    RoundId placed{};       // newest place given by an order that was not stale on arrival
    RoundId leave_for{};    // newest round to leave for, likewise
    RoundId stale_leave{};  // the same of orders that were stale
    RoundId stale_placed{};
  };
  void judge_entry(Time now, const sim::WorkerEvent& event, const Group* group);
  void judge_leave(Time now, const sim::WorkerEvent& event, const Group* group);

  std::map<NodeId, Heard> heard_;
};

}  // namespace elastic::chaos
