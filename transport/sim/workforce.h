// What the world needs of the models of workers: native ones (native.h), or foreign programs
// (training.h). Ground truth; the agents learn of it only what real workers would tell them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/agent/io.h"
#include "transport/sim/clock.h"
#include "transport/sim/observer.h"
#include "transport/sim/storage.h"

namespace elastic::sim {

// What the models need of the world around them.
class Surroundings {
 public:
  // An input for that agent process, if it still exists then.
  virtual void tell_agent(AgentId agent, Duration after, Input input) = 0;
  virtual void tell_observers(const WorkerEvent& event) = 0;
  virtual const LocalClock& clock(NodeId node) const = 0;
  virtual bool machine_up(NodeId node) const = 0;
  virtual bool machine_frozen(NodeId node) const = 0;
  // Bytes can flow both ways: both machines run and no partition lies between them.
  virtual bool connected(NodeId a, NodeId b) const = 0;
  // Compute time in millionths of the normal one.
  virtual std::int64_t slow_ppm(NodeId node) const = 0;

 protected:
  ~Surroundings() = default;
};

// One worker process that a fault froze. `process` names it uniquely within one model.
struct FrozenWorker {
  std::uint64_t process = 0;
  std::uint32_t rank = 0;
  std::uint64_t incarnation = 0;
};

// All methods are called in the order of true time.
class Workforce {
 public:
  virtual ~Workforce() = default;

  // Effects of agents.
  virtual void prepare(AgentId agent) = 0;
  virtual void enter(AgentId agent, const Placement& placement) = 0;
  virtual void leave(AgentId agent, RoundId for_round, bool planned) = 0;
  virtual void stop_workers(AgentId agent, bool kill) = 0;
  virtual void kill_worker(AgentId agent, std::uint32_t rank) = 0;
  virtual void renew(AgentId agent, const RenewLease& lease) = 0;
  virtual void poll(AgentId agent) = 0;
  virtual void kill_leftovers(AgentId agent) = 0;

  // What happens to machines and processes.
  virtual void agent_gone(AgentId agent) = 0;
  virtual void machine_down(NodeId node) = 0;
  // Before the freeze: what the workers have done by now counts.
  virtual void machine_freezes(NodeId node) = 0;
  virtual void machine_thawed(NodeId node) = 0;
  virtual void kill_by_fault(NodeId node, std::uint32_t rank) = 0;
  virtual void exit_by_itself(NodeId node, std::int32_t code) = 0;
  // Gives what thaw_worker() takes: nothing if there is no such worker.
  virtual std::optional<FrozenWorker> freeze_worker(NodeId node, std::uint32_t rank) = 0;
  virtual void thaw_worker(const FrozenWorker& worker) = 0;
  virtual void thaw_all_workers(NodeId node) = 0;
  // Partitions, machines or freezes have changed, or a machine's speed.
  virtual void surroundings_changed() = 0;
  virtual void clock_changed(NodeId node) = 0;

  // kGroup, kRound, kTree, kOrphan, kTransfer. False: the event had become void.
  virtual bool on_event(const EventQueue::Due& due) = 0;

  virtual Storage& storage() = 0;
  // Newest state that the living workers of a node hold.
  virtual std::optional<StatePoint> held_on(NodeId node) const = 0;
};

}  // namespace elastic::sim
