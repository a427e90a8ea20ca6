// Foreign programs: processes that a supervisor guards, started anew for every round, that take up
// their newest save by themselves. Ground truth; the agents learn of it only what is seen from
// outside.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/agent/io.h"
#include "core/agent/supervisor.h"
#include "transport/sim/chance.h"
#include "transport/sim/clock.h"
#include "transport/sim/config.h"
#include "transport/sim/observer.h"
#include "transport/sim/storage.h"
#include "transport/sim/timeline.h"
#include "transport/sim/workforce.h"

namespace elastic::sim {

enum class GroupAction : std::uint8_t {
  kLoaded,      // state read from a checkpoint (b: transfer)
  kStored,      // its share of a save is durable (b: transfer)
  kEntered,     // communicators are set up
  kStartedUp,   // the program reached its first barrier
  kTerminated,  // end of SIGTERM's handling
  kFinishExit,  // the program is through
  kCrash,       // lost a peer, ends with an error
  kKilled,      // SIGKILL has done its work (payload: rank, or kAllRanks)
};

enum class RoundAction : std::uint8_t {
  kDecide,     // the step's reduction is complete
  kSettle,     // the last member applies it
  kStallOver,  // the copy for a save is made
  kHang,       // the collective's own time-out
};

// One worker process.
struct WorkerProcess {
  bool alive = false;
  std::uint32_t freezes = 0;  // faults that hold it
  Time frozen_since{};
  std::uint64_t incarnation = 0;
};

struct Save {
  SaveReport report;
  TransferId transfer;
  std::uint32_t rank = 0, size = 0;
  bool last = false;  // of the last step
};

// All workers of one agent on one node, for one round.
//
// Invariant: `held` changes only by apply, by entering, and with the death of all workers.
struct WorkerGroup {
  enum class Phase : std::uint8_t { kStarting, kEntering, kTraining, kGone };

  std::uint64_t id = 0;
  AgentId agent;
  Phase phase = Phase::kStarting;
  std::vector<WorkerProcess> workers;
  std::optional<Placement> placement;  // of the round that it takes or took part in
  std::uint64_t run = 0;               // index of that round's Run plus one, while it is a member
  std::optional<StatePoint> held;
  TransferId load;
  bool arrived = false;         // at the program's first barrier
  std::vector<Event> deferred;  // of a group that stands still
  std::uint64_t entry_epoch = 0;
  bool terminating = false;  // SIGTERM has reached it: it contributes nothing more
  bool by_agent = false;     // the agent (or its supervisor) ends it
  bool stopped = false;      // SIGSTOP of the supervisor
  Time lease_from{};         // local clock
  std::optional<Supervisor> supervisor;
  LazyTimer tree;
  std::optional<Save> save;
  Duration since_save{};
  std::optional<Time> applies_at;  // true time at which it applies the decided step

  NodeId node() const { return agent.node; }
  bool gone() const { return phase == Phase::kGone; }
};

// The workers' side of one round.
struct Run {
  enum class Phase : std::uint8_t {
    kGathering,  // not every member has entered
    kBoundary,   // between two steps; waits until all members can go on
    kStepping,   // `remaining` of the step is left; runs while `active`
    kDecided,    // the reduction is complete; members apply
    kStalled,    // the copy for a save
    kFinished,   // holds the last step
  };
  std::uint64_t index = 0;
  RoundId round;
  Phase phase = Phase::kGathering;
  bool live = true;
  bool broken = false;  // a member has left or died: no further step
  bool active = false;  // all members run and reach each other
  bool hang_armed = false;
  std::vector<std::uint64_t> slots;  // group ids by group rank; 0: not (or no longer) here
  std::vector<NodeId> nodes;         // by group rank, as far as known
  std::vector<std::optional<Time>> closed_since;  // edge i: between rank i and i + 1
  std::uint32_t entered = 0;
  Step step;          // last committed
  Duration length{};  // of the step under way
  Duration remaining{};
  Time ends_at{};
  std::uint64_t generation = 0;
  std::uint64_t hang_generation = 0;
  Duration since_save{};
  std::vector<Duration> jitters;  // of the step under way, by group rank
  StatePoint base;                // what the program takes up
  Lineage last_in, last_out;      // all members compute the same lineage: once is enough
};

class Training final : public Workforce {
 public:
  Training(const WorldConfig& config, const Timeouts& timeouts, const Chance& chance,
           Timeline& timeline, Surroundings& world);

  void prepare(AgentId agent) override;
  void enter(AgentId agent, const Placement& placement) override;
  void leave(AgentId agent, RoundId for_round, bool planned) override;
  void stop_workers(AgentId agent, bool kill) override;
  void kill_worker(AgentId agent, std::uint32_t rank) override;
  void renew(AgentId agent, const RenewLease& lease) override;
  void poll(AgentId agent) override;
  void kill_leftovers(AgentId agent) override;

  void agent_gone(AgentId agent) override;
  void machine_down(NodeId node) override;
  void machine_freezes(NodeId node) override;
  void machine_thawed(NodeId node) override;
  void kill_by_fault(NodeId node, std::uint32_t rank) override;
  void exit_by_itself(NodeId node, std::int32_t code) override;
  std::optional<FrozenWorker> freeze_worker(NodeId node, std::uint32_t rank) override;
  void thaw_worker(const FrozenWorker& worker) override;
  void thaw_all_workers(NodeId node) override;
  void surroundings_changed() override;
  void clock_changed(NodeId node) override;

  bool on_event(const EventQueue::Due& due) override;

  Storage& storage() override { return storage_; }
  std::optional<StatePoint> held_on(NodeId node) const override;
  const std::vector<std::unique_ptr<WorkerGroup>>& groups() const { return groups_; }
  const Run* run_of(RoundId round) const;

 private:
  // training_process.cc: life and death of processes
  WorkerGroup& create(AgentId agent, std::uint32_t workers);
  WorkerGroup* current(AgentId agent);
  WorkerGroup* present(NodeId node);
  bool frozen(const WorkerGroup& group) const;
  void thawed(WorkerGroup& group);
  void end_worker(WorkerGroup& group, std::uint32_t rank, ExitStatus status);
  void end_all(WorkerGroup& group, ExitStatus status);
  void vanish(WorkerGroup& group);
  void freed(WorkerGroup& group);
  void signal_kill(WorkerGroup& group, std::uint32_t rank);
  void terminate(WorkerGroup& group);
  bool on_tree(WorkerGroup& group, const EventQueue::Due& due);
  void supervise(WorkerGroup& group, const SupervisorInput& input);
  void carry_out(WorkerGroup& group, const SignalTree& signal);

  // training_enter.cc: in and out of rounds
  bool on_group(const EventQueue::Due& due);
  bool act(WorkerGroup& group, const Event& event);
  void join(WorkerGroup& group);
  void ready(WorkerGroup& group);
  void entered(WorkerGroup& group);
  enum class Parting : std::uint8_t { kLeft, kClosed, kSilent };
  void drop_from_run(WorkerGroup& group, Parting parting);
  void peers_see_closed(Run& run, std::uint32_t rank);
  void foreign_arrived(Run& run);
  void loaded(WorkerGroup& group);

  // training_step.cc: steps and saves of a round
  Run& run_for(const Placement& placement);
  Run* run(const WorkerGroup& group);
  WorkerGroup* member(Run& run, std::size_t rank);
  bool on_round(const EventQueue::Due& due);
  void refresh(Run& run);
  bool can_go_on(Run& run);
  void go(Run& run);
  void pause(Run& run);
  void begin_step(Run& run);
  void begin(Run& run);
  void retire_if_empty(Run& run);
  void decide(Run& run);
  void settle(Run& run);
  void apply(Run& run, WorkerGroup& group);
  void commit(Run& run);
  void save(Run& run, bool last);
  bool saving(Run& run);
  bool on_transfers(const std::vector<TransferId>& through);
  void share_stored(WorkerGroup& group);
  void finish(Run& run);
  void foreign_finished(Run& run);
  void watch_edges(Run& run);
  void watch_edge(Run& run, std::size_t edge);
  void hang(Run& run);
  Duration step_length(Run& run) const;
  Duration draw_jitters(Run& run) const;

  // shared
  void schedule(const WorkerGroup& group, GroupAction action, Duration after,
                std::uint32_t rank = kAllRanks);
  void schedule(const Run& run, RoundAction action, Duration after, std::uint64_t b);
  Duration drawn(Purpose purpose, NodeId node, Duration bound);
  void tell(const WorkerGroup& group, WorkerEventKind kind);
  void tell(const WorkerGroup& group, WorkerEvent event);

  WorldConfig config_;
  Timeouts timeouts_;
  Chance chance_;
  Timeline& timeline_;
  Surroundings& world_;
  Storage storage_;
  std::vector<std::unique_ptr<WorkerGroup>> groups_;  // by id minus one; the gone ones too
  std::vector<std::vector<std::uint64_t>>
      on_node_;                             // ids of groups that are not gone, oldest first
  std::vector<std::unique_ptr<Run>> runs_;  // by index
  std::map<RoundId, std::uint64_t> run_index_;
  std::vector<std::uint64_t> live_runs_;
  std::map<TransferId, std::uint64_t> transfers_;    // to group
  std::vector<std::array<std::uint64_t, 8>> draws_;  // taken so far, by node and purpose
  std::vector<std::pair<AgentLife, Time>> renewed_;  // by node: newest lease that the agent told of
  std::uint64_t incarnations_ = 0;
  SupervisorEffects tree_effects_;
};

}  // namespace elastic::sim
