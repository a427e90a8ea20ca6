// Machines going up and down, and the execution of fault plans.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "transport/sim/world_impl.h"

namespace elastic::sim {
namespace {

constexpr std::int64_t kNormalSpeed = 1'000'000;  // ppm
constexpr Duration kLongestUptime = std::chrono::hours(24 * 30);

bool concerns_storage(FaultKind kind) {
  return kind >= FaultKind::kStorageUnreachable && kind <= FaultKind::kStorageRot;
}

bool lasts(FaultKind kind) {
  switch (kind) {
    case FaultKind::kFreezeAgent:
    case FaultKind::kFreezeWorker:
    case FaultKind::kFreezeMachine:
    case FaultKind::kSlow:
    case FaultKind::kClockDrift:
    case FaultKind::kStorageUnreachable:
    case FaultKind::kStorageFull:
    case FaultKind::kStorageSlow:
      return true;
    default:
      return Network::concerns(kind) || JournalService::concerns(kind);
  }
}

}  // namespace

// ---- Machines
// ------------------------------------------------------------------------------------

void World::Impl::power_on(NodeId node) {
  Machine& machine = at(node);
  ELASTIC_ASSERT(!machine.up);
  machine.up = true;
  machine.exited = false;
  const Duration uptime =
      chance.up_to(Purpose::kClockStart, node.value, machine.incarnation, kLongestUptime);
  machine.clock.start(timeline.now, Time(uptime));
  tell_node(node, NodeEventKind::kMachineUp, true);
  order_start(node, Duration{});
  training->surroundings_changed();
}

void World::Impl::power_off(NodeId node, bool disk_kept) {
  Machine& machine = at(node);
  if (!machine.up) return;
  end_agent(node, false);
  if (machine.starting) {
    machine.starting = false;
    if (!machine.cut_off) --starts_pending;
  }
  drop_inbox(machine);
  machine.inbox.clear();
  training->machine_down(node);
  machine.up = false;
  ++machine.incarnation;
  machine.freezes = 0;
  machine.agent_freezes = 0;
  machine.slow.clear();
  machine.drift.clear();
  machine.notice_until.reset();
  if (!disk_kept) machine.file = JournalFile{};
  tell_node(node, NodeEventKind::kMachineDown, true);
  training->surroundings_changed();
}

void World::Impl::freeze_machine(NodeId node) {
  Machine& machine = at(node);
  if (machine.freezes == 0) training->machine_freezes(node);
  if (machine.freezes++ > 0) return;
  tell_node(node, NodeEventKind::kFrozen, true);
  training->surroundings_changed();
}

void World::Impl::thaw_machine(NodeId node) {
  Machine& machine = at(node);
  if (machine.freezes == 0 || --machine.freezes > 0) return;
  tell_node(node, NodeEventKind::kThawed, true);
  training->machine_thawed(node);
  thaw_agent(node);
  training->surroundings_changed();
}

void World::Impl::set_drift(NodeId node) {
  Machine& machine = at(node);
  std::int64_t rate_ppm = 0;
  for (const auto& drift : machine.drift) rate_ppm += drift.second;
  machine.clock.set_rate(timeline.now, rate_ppm);
  for (std::size_t id = 0; id < machine.timers.size(); ++id) {
    Event event{.kind = EventKind::kTimer,
                .detail = static_cast<std::uint8_t>(id),
                .node = static_cast<std::uint32_t>(node.value)};
    machine.timers[id].clock_changed(timeline.queue, machine.clock, timeline.now, event);
  }
  training->clock_changed(node);
}

void World::Impl::give_notice(NodeId node, Duration length) {
  Machine& machine = at(node);
  if (!machine.up) return;
  machine.notice_until = timeline.now + length;
  machine.told_to_leave = machine.node != nullptr;
  tell_agent(AgentId{node, machine.life}, Duration{}, LeaveNotice{length});
}

// ---- Faults
// --------------------------------------------------------------------------------------

std::vector<NodeId> World::Impl::resolve(const std::vector<NodeId>& nodes) const {
  std::vector<NodeId> found;
  for (NodeId node : nodes) {
    if (node == kCoordinator) {
      const auto leader = owner.leader();
      if (leader) {
        node = leader->node;
      } else if (hosted()) {
        node = config.job.journal_host;
      }
    }
    if (valid(node)) found.push_back(node);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void World::Impl::begin_fault(std::size_t index) {
  RunningFault running;
  running.fault = plan[index];
  const bool wanted_targets = !running.fault.targets.empty();
  running.fault.targets = resolve(running.fault.targets);
  running.fault.others = resolve(running.fault.others);
  if (running.fault.kind == FaultKind::kAdd) --adds_left;
  for (Observer* observer : observers) observer->on_fault(timeline.now, running.fault);
  if (wanted_targets && running.fault.targets.empty()) return;  // nobody coordinates
  const std::uint64_t number = ++last_fault;
  const FaultKind kind = running.fault.kind;
  if (kind == FaultKind::kJournalLost) {
    lose_journal();
  } else if (Network::concerns(kind) || JournalService::concerns(kind) || concerns_storage(kind)) {
    begin_wide(running.fault, number);
  } else {
    for (const NodeId node : running.fault.targets) hit(running, number, node);
  }
  if (!lasts(kind)) return;
  Event event{.kind = EventKind::kFaultEnd};
  event.a = number;
  timeline.in(std::max(running.fault.length, Duration{}), event);
  running_faults.emplace(number, std::move(running));
}

void World::Impl::begin_wide(const Fault& fault, std::uint64_t number) {
  if (Network::concerns(fault.kind)) {
    network.begin(number, fault);
    if (fault.kind <= FaultKind::kOneWay) training->surroundings_changed();
  } else if (JournalService::concerns(fault.kind)) {
    service.begin(number, fault);
  } else {
    begin_storage(fault, number);
  }
}

void World::Impl::begin_storage(const Fault& fault, std::uint64_t number) {
  if (fault.kind == FaultKind::kStorageRot) {
    training->storage().rot(static_cast<std::uint64_t>(std::max<std::int64_t>(fault.value, 0)));
  } else if (fault.kind == FaultKind::kStorageUnreachable) {
    ++storage_unreachable;
  } else if (fault.kind == FaultKind::kStorageFull) {
    ++storage_full;
  } else {
    storage_slow.emplace_back(number, fault.value);
  }
  set_storage();
}

void World::Impl::end_storage(const Fault& fault, std::uint64_t number) {
  if (fault.kind == FaultKind::kStorageUnreachable) {
    --storage_unreachable;
  } else if (fault.kind == FaultKind::kStorageFull) {
    --storage_full;
  } else {
    std::erase_if(storage_slow, [number](const auto& entry) { return entry.first == number; });
  }
  set_storage();
}

// What all storage faults that run add up to.
void World::Impl::set_storage() {
  Storage& storage = training->storage();
  const bool could_write = storage.writable();
  const bool could_read = storage.reachable();
  std::int64_t speed = kNormalSpeed;
  for (const auto& slow : storage_slow) speed = std::min(speed, slow.second);
  storage.set_speed(timeline, speed);
  storage.set_full(timeline, storage_full > 0);
  storage.set_reachable(timeline, storage_unreachable == 0);
  if (storage.writable() > could_write || storage.reachable() > could_read) storage_back();
}

// What happens to one machine.
void World::Impl::hit(RunningFault& running, std::uint64_t number, NodeId node) {
  Machine& machine = at(node);
  const Fault& fault = running.fault;
  running.incarnations.push_back(machine.incarnation);
  running.processes.push_back(machine.process);
  running.workers.emplace_back();
  const auto rank = static_cast<std::uint32_t>(std::max<std::int64_t>(fault.value, 0));
  switch (fault.kind) {
    case FaultKind::kAdd:
      if (!machine.up) {
        power_on(node);
      } else if (machine.node == nullptr && !machine.starting) {
        order_start(node, Duration{});
      }
      return;
    case FaultKind::kReclaim:
      power_off(node, false);
      return;
    case FaultKind::kCrash: {
      const bool was_up = machine.up;
      power_off(node, true);
      if (fault.length <= Duration{} || !was_up) return;
      Event event{.kind = EventKind::kMachineUp, .node = static_cast<std::uint32_t>(node.value)};
      event.b = machine.incarnation;
      ++starts_pending;
      timeline.in(fault.length, event);
      return;
    }
    case FaultKind::kKillWorker:
      training->kill_by_fault(node, rank);
      return;
    case FaultKind::kExitWorker:
      training->exit_by_itself(node, static_cast<std::int32_t>(fault.value));
      return;
    case FaultKind::kFreezeWorker:
      running.workers.back() = training->freeze_worker(node, rank);
      return;
    case FaultKind::kFreezeMachine:
      if (machine.up) freeze_machine(node);
      return;
    case FaultKind::kSlow:
      machine.slow.emplace_back(number, fault.value);
      return;
    case FaultKind::kClockDrift:
      if (!machine.up) return;
      machine.drift.emplace_back(number, fault.value);
      set_drift(node);
      return;
    default:
      hit_agent(running, node);
      return;
  }
}

void World::Impl::hit_agent(RunningFault& running, NodeId node) {
  Machine& machine = at(node);
  const Fault& fault = running.fault;
  switch (fault.kind) {
    case FaultKind::kNotice:
    case FaultKind::kLeave:
      give_notice(node, fault.length);
      return;
    case FaultKind::kKillAgent:
      if (machine.node == nullptr) return;
      machine.agent_freezes = 0;
      end_agent(node, true);
      order_start(node, fault.length);
      return;
    case FaultKind::kFreezeAgent:
      if (machine.node == nullptr) return;
      if (machine.agent_freezes++ == 0) tell_node(node, NodeEventKind::kFrozen);
      return;
    default:  // kClockJump: the wall clock, which nothing reads
      return;
  }
}

bool World::Impl::end_fault(std::uint64_t number) {
  const auto found = running_faults.find(number);
  if (found == running_faults.end()) return false;
  const RunningFault running = std::move(found->second);
  running_faults.erase(found);
  Event event{.kind = EventKind::kFaultEnd};
  trace(event, number);
  const FaultKind kind = running.fault.kind;
  if (Network::concerns(kind)) {
    network.end(number);
    if (kind <= FaultKind::kOneWay) training->surroundings_changed();
  } else if (JournalService::concerns(kind)) {
    service.end(number);
  } else if (concerns_storage(kind)) {
    end_storage(running.fault, number);
  } else if (kind == FaultKind::kSlow || kind == FaultKind::kClockDrift) {
    for (const NodeId node : running.fault.targets) {
      const auto ours = [number](const auto& entry) { return entry.first == number; };
      std::erase_if(at(node).slow, ours);
      if (std::erase_if(at(node).drift, ours) > 0) set_drift(node);
    }
  } else {
    undo(running);
  }
  return true;
}

// Ends a freeze, unless what was frozen is gone.
void World::Impl::undo(const RunningFault& running) {
  for (std::size_t i = 0; i < running.fault.targets.size(); ++i) {
    const NodeId node = running.fault.targets[i];
    Machine& machine = at(node);
    if (running.workers[i]) training->thaw_worker(*running.workers[i]);
    if (!machine.up || machine.incarnation != running.incarnations[i]) continue;
    if (running.fault.kind == FaultKind::kFreezeMachine) thaw_machine(node);
    if (running.fault.kind != FaultKind::kFreezeAgent || machine.node == nullptr) continue;
    if (machine.process != running.processes[i] || machine.agent_freezes == 0) continue;
    if (--machine.agent_freezes > 0) continue;
    tell_node(node, NodeEventKind::kThawed);
    thaw_agent(node);
  }
}

// The file of a hosted journal is gone; its host's agent dies of it and starts anew.
void World::Impl::lose_journal() {
  if (!hosted() || !valid(config.job.journal_host)) return;
  const NodeId host = config.job.journal_host;
  Machine& machine = at(host);
  machine.writes.clear();
  if (machine.node != nullptr) {
    end_agent(host, true);
    order_start(host, Duration{});
  }
  machine.file = JournalFile{};
}

// ---- The liveness phase
// --------------------------------------------------------------------------

void World::Impl::heal_node(NodeId node) {
  Machine& machine = at(node);
  machine.slow.clear();
  if (!machine.drift.empty()) {
    machine.drift.clear();
    set_drift(node);
  }
  if (!machine.up) {
    power_on(node);
    return;
  }
  machine.notice_until.reset();
  if (machine.freezes > 0) {
    machine.freezes = 1;
    thaw_machine(node);
  }
  if (machine.agent_freezes > 0) {
    machine.agent_freezes = 0;
    tell_node(node, NodeEventKind::kThawed);
    thaw_agent(node);
  }
  training->thaw_all_workers(node);
  if (machine.node != nullptr && machine.told_to_leave) {
    end_agent(node, true);  // a notice cannot be taken back: a new process that knows of none
  }
  if (machine.node == nullptr && !machine.starting) order_start(node, Duration{});
}

void World::Impl::heal_core_and_fail_rest(const std::vector<NodeId>& core) {
  plan_dropped = true;
  const NodeSet inside(core, config.nodes.size());
  // Freezes of the others stay for good; everything else is undone or replaced by the cut.
  running_faults.clear();
  network.end_all();
  service.end_all();
  network.cut_off_all_but(core);
  service.cut_off_all_but(core);
  storage_unreachable = storage_full = 0;
  storage_slow.clear();
  set_storage();
  for (std::uint64_t id = 1; id < machines.size(); ++id) {
    const NodeId node{id};
    Machine& machine = at(node);
    if (inside.has(node)) {
      heal_node(node);
    } else if (!machine.cut_off) {
      if (machine.node != nullptr) --agents_running;
      if (machine.starting) --starts_pending;
      machine.cut_off = true;
    }
  }
  training->surroundings_changed();
}

}  // namespace elastic::sim
