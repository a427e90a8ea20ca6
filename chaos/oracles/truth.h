// What is really the case in the simulated world, gathered from its callbacks: machines, worker
// groups, records. Oracles judge by this and by nothing that a node believes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "chaos/oracles/history.h"
#include "chaos/oracles/oracle.h"
#include "core/membership/messages.h"
#include "core/membership/records.h"
#include "core/types.h"
#include "transport/sim/config.h"
#include "transport/sim/observer.h"

namespace elastic::chaos {

// All workers that one agent life started on its node.
struct Group {
  AgentId agent{};
  bool alive = false;                   // at least one process exists
  bool broken = false;                  // at least one has ended, and is not there again
  bool stopped = false;                 // SIGSTOP by the supervisor
  std::vector<std::uint32_t> frozen{};  // local ranks that a fault holds still
  RoundId round{};                      // foreign: the round it was started for
  RoundId entered{};   // newest round whose resume state it held; stays after leaving
  RoundId left_for{};  // contributes to nothing below
  RoundId dropped{};   // newest round in which one of its processes ended
  bool holds = false;  // `held` is valid
  StatePoint held{};   // newest state
  bool finished = false;
  Time started{};
  Time ended{};  // when the last process ended (alive is false)

  // In truth it can finish no further step of `of`: gone, incomplete, or left.
  bool out_of(RoundId of) const {
    return !alive || broken || dropped >= of || left_for > of || entered > of;
  }
};

// The newest acknowledgement that reached an agent.
struct Grant {
  BeatNo beat{};
  Time from{};  // own clock, sending of that beat
  bool any = false;
};

struct Machine {
  bool up = false;
  bool agent_up = false;
  AgentLife life{};  // of the newest agent process
  bool agent_frozen = false;
  bool machine_frozen = false;
  bool cut_off = false;  // the liveness phase gave it up for good
  bool leaving = false;  // notice or operator: it will go
  Time up_since{};
  Time agent_since{};
  Time agent_since_local{};   // on its own clock
  Time awake_since{};         // agent and machine last began to run, or ran on
  std::vector<Group> groups;  // by agent life, newest last
  Grant grant;                // of `life`
  RoundId said_left_for{};    // in beats of `life`: what it has bound itself to
  struct Sent {
    BeatNo beat{};
    Time local{};
  };
  std::deque<Sent> beats;  // of `life`, sent lately
};

struct RoundTruth {
  World world{};
  RecordNo record{};
  AgentId writer{};
  Time landed{};
  std::uint32_t entered = 0;  // members whose workers have entered it
  Step begun{};               // newest step that all members began
  // Every member applied the steps below `top`; `at_top` of them have applied `top`, and nobody
  // more.
  Step top{};
  std::uint32_t at_top = 0;

  std::uint32_t size() const { return static_cast<std::uint32_t>(world.members.size()); }
  // The newest step that every member has held in this round; nothing until all have entered.
  std::optional<Step> held_by_all() const {
    if (entered < size()) return std::nullopt;
    return at_top == size() || top.value == 0 ? top : Step{top.value - 1};
  }
};

class Truth final : public sim::Observer {
 public:
  Truth(const sim::WorldConfig& config, const Timeouts& timeouts, const WorldView& view);

  // ---- Machines and workers
  const Machine& machine(NodeId node) const;
  std::size_t machines() const { return machines_.size(); }
  std::uint32_t machines_up() const { return machines_up_; }
  // The group of exactly this agent life; nullptr when it never started workers.
  const Group* group(AgentId agent) const;
  // The newest group on the node; nullptr when there was none.
  const Group* newest_group(NodeId node) const;
  // Worker processes exist and execute: not stopped, not frozen, machine up and not frozen.
  bool executes(const Group& group) const;
  // The agent process of this very life exists and is not frozen.
  bool agent_awake(AgentId agent) const;
  // The orphan bound of this life has passed on its own clock; from its start if never
  // acknowledged.
  bool past_orphan(AgentId agent) const;
  // In truth `round` can finish no further step: some member is out of it, lost its life, or is
  // past its orphan bound (native); no member executes (foreign).
  bool round_dead(const RoundTruth& round) const;
  bool member_out(const World& world, const Member& member) const;

  // ---- Records
  JournalLife journal_life() const { return life_; }
  // Of the newest life, by number; landed ones only.
  const std::map<RecordNo, Record>& records() const { return records_; }
  const RoundTruth* newest_round() const;
  const RoundTruth* round(RoundId id) const;
  const std::map<RoundId, RoundTruth>& rounds() const { return rounds_; }
  // Newest record of its kind in the newest life.
  std::optional<RecordNo> newest_lead() const { return lead_; }
  AgentId leader() const { return leader_; }
  const Checkpoint* newest_checkpoint() const { return checkpoint_ ? &*checkpoint_ : nullptr; }
  // Committed in this life of the journal, and not retired.
  const std::map<RecordNo, Checkpoint>& saves() const { return saves_; }
  // The newest of them that `world` does not name as broken.
  const Checkpoint* newest_usable(const World& world) const;
  const Verdict* verdict() const { return verdict_ ? &*verdict_ : nullptr; }
  Time verdict_at() const { return verdict_at_; }

  // ---- Calm: bounds of liveness count from here
  // Since when no fault of network, journal, storage or clock has been at work, the lead has not
  // changed, and at least min_nodes agents have been at work; the leader and the host of a hosted
  // journal are at work. kEndOfTime while that is not so.
  Time calm_since(Time now) const;
  // The same without a word on the lead: for one agent, which is awake and not cut off.
  Time undisturbed_since(Time now, AgentId agent) const;
  // Both.
  Time calm_since(Time now, AgentId agent) const;
  // Whether a journal fault was at work within `before` of now.
  bool journal_disturbed(Time now, Duration before) const;
  bool journal_lost() const { return journal_lost_; }

  const History& history() const { return history_; }

  // Index of the present event, from 1.
  std::uint64_t event() const { return event_ + 1; }

  // The liveness phase: every other machine is cut off for good, faults are over.
  void heal_core(Time now, const std::vector<NodeId>& core);

  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_node(Time now, const sim::NodeEvent& event) override;
  void on_fault(Time now, const sim::Fault& fault) override;
  void on_sent(Time now, NodeId from, NodeId to, const Message& message) override;
  void on_delivered(Time now, NodeId from, NodeId to, const Message& message) override;
  void end_event(std::uint64_t index) { event_ = index; }

 private:
  Machine& at(NodeId node);
  Group& group_of(NodeId node, AgentLife life);
  // Since when the node's newest agent has been at work; kEndOfTime while it is not.
  Time at_work_since(NodeId node) const;
  void end_group(Group& group, Time now);
  void start_group(Group& group, Time now, const sim::WorkerEvent& event);

  Timeouts timeouts_;
  void count_awake(Time now);

  bool native_;
  std::uint32_t min_nodes_;
  Time enough_since_ = kEndOfTime;  // that many agents are at work
  NodeId host_;                     // of a hosted journal; zero: another kind
  const WorldView& view_;
  std::vector<Machine> machines_;  // by NodeId - 1; the last stands for ids out of range
  std::uint32_t machines_up_ = 0;

  void applied(const Group& group, const sim::WorkerEvent& event);

  History history_;
  JournalLife life_;
  std::map<RecordNo, Record> records_;
  std::map<RoundId, RoundTruth> rounds_;
  std::optional<RecordNo> lead_;
  AgentId leader_;
  Time lead_since_{};
  std::optional<Checkpoint> checkpoint_;
  std::map<RecordNo, Checkpoint> saves_;
  std::optional<Verdict> verdict_;
  Time verdict_at_{};

  Time disturbed_until_{};
  Time journal_disturbed_until_{};
  bool journal_disturbed_ever_ = false;
  bool journal_lost_ = false;
  std::uint64_t event_ = 0;
};

}  // namespace elastic::chaos
