// Life and death of foreign worker processes: signals, freezes, supervisors.
#include <algorithm>

#include "core/assert.h"
#include "transport/sim/training.h"

namespace elastic::sim {
namespace {

constexpr std::int32_t kSigKill = 9;
constexpr std::int32_t kSigTerm = 15;
constexpr Duration kExitSeen = std::chrono::microseconds(500);  // pidfd to input
constexpr Duration kKillTakes = std::chrono::milliseconds(1);
constexpr Duration kKillJitter = std::chrono::milliseconds(2);
constexpr Duration kLeftoversTake = std::chrono::milliseconds(5);  // more than any kill

Event timer_event(const WorkerGroup& group, EventKind kind) {
  Event event{.kind = kind, .node = static_cast<std::uint32_t>(group.node().value)};
  event.a = group.id;
  return event;
}

}  // namespace

Training::Training(const WorldConfig& config, const Timeouts& timeouts, const Chance& chance,
                   Timeline& timeline, Surroundings& world)
    : config_(config),
      timeouts_(timeouts),
      chance_(chance),
      timeline_(timeline),
      world_(world),
      storage_(config.training.storage_bytes_per_second),
      on_node_(config.nodes.size() + 1),
      draws_(config.nodes.size() + 1),
      renewed_(config.nodes.size() + 1) {}

Duration Training::drawn(Purpose purpose, NodeId node, Duration bound) {
  const auto which =
      static_cast<std::size_t>(purpose) - static_cast<std::size_t>(Purpose::kStartUp);
  ELASTIC_ASSERT(which < draws_[node.value].size());
  return chance_.up_to(purpose, node.value, draws_[node.value][which]++, bound);
}

void Training::tell(const WorkerGroup& group, WorkerEvent event) {
  event.node = group.node();
  event.life = group.agent.life;
  if (!event.round && group.placement) event.round = group.placement->round;
  if (!event.state && group.held) event.state = *group.held;
  world_.tell_observers(event);
}

void Training::tell(const WorkerGroup& group, WorkerEventKind kind) {
  WorkerEvent event{};
  event.kind = kind;
  tell(group, event);
}

void Training::schedule(const WorkerGroup& group, GroupAction action, Duration after,
                        std::uint32_t rank) {
  Event event = timer_event(group, EventKind::kGroup);
  event.detail = static_cast<std::uint8_t>(action);
  event.b = group.entry_epoch;
  event.payload = rank;
  timeline_.in(after, event);
}

WorkerGroup& Training::create(AgentId agent, std::uint32_t workers) {
  groups_.push_back(std::make_unique<WorkerGroup>());
  WorkerGroup& group = *groups_.back();
  group.id = groups_.size();
  group.agent = agent;
  group.workers.resize(workers);
  for (WorkerProcess& worker : group.workers) {
    worker.alive = true;
    worker.incarnation = ++incarnations_;
  }
  on_node_[agent.node.value].push_back(group.id);
  group.lease_from = world_.clock(agent.node).local(timeline_.now);
  return group;
}

WorkerGroup* Training::current(AgentId agent) {
  WorkerGroup* group = present(agent.node);
  return group != nullptr && group->agent == agent ? group : nullptr;
}

WorkerGroup* Training::present(NodeId node) {
  const std::vector<std::uint64_t>& ids = on_node_[node.value];
  return ids.empty() ? nullptr : groups_[ids.back() - 1].get();
}

bool Training::frozen(const WorkerGroup& group) const {
  if (group.stopped || world_.machine_frozen(group.node())) return true;
  return std::any_of(group.workers.begin(), group.workers.end(),
                     [](const WorkerProcess& w) { return w.alive && w.freezes > 0; });
}

// Foreign programs are started for a round, by enter().
void Training::prepare(AgentId /*agent*/) {}

// ---- End
// -----------------------------------------------------------------------------------------

void Training::end_worker(WorkerGroup& group, std::uint32_t rank, ExitStatus status) {
  if (Run* run_here = run(group)) settle(*run_here);
  if (group.gone() || rank >= group.workers.size() || !group.workers[rank].alive) return;
  group.workers[rank].alive = false;
  const bool last = std::none_of(group.workers.begin(), group.workers.end(),
                                 [](const WorkerProcess& w) { return w.alive; });
  WorkerExited exited;
  if (group.placement) exited.round = group.placement->round;
  exited.local_rank = rank;
  exited.status = status;
  exited.last_of_group = last;
  WorkerEvent event{};
  event.kind = WorkerEventKind::kExited;
  event.round = exited.round;
  event.local_rank = rank;
  event.status = status;
  event.by_agent = group.by_agent;
  tell(group, event);
  drop_from_run(group, status.ok() ? Parting::kLeft : Parting::kClosed);
  world_.tell_agent(group.agent, kExitSeen, exited);
  if (last) freed(group);
}

void Training::end_all(WorkerGroup& group, ExitStatus status) {
  const auto count = static_cast<std::uint32_t>(group.workers.size());
  for (std::uint32_t rank = 0; rank < count; ++rank) end_worker(group, rank, status);
}

void Training::freed(WorkerGroup& group) {
  if (group.gone()) return;
  group.phase = WorkerGroup::Phase::kGone;
  std::erase(on_node_[group.node().value], group.id);
  storage_.cancel(timeline_, group.load);
  if (group.save) storage_.cancel(timeline_, group.save->transfer);
  group.save.reset();
  group.tree.reset();
  group.deferred.clear();
  if (group.supervisor) {
    SupervisorEffects ignored;
    group.supervisor->step(world_.clock(group.node()).local(timeline_.now), TreeEmpty{}, ignored);
  }
  tell(group, WorkerEventKind::kGone);
}

void Training::vanish(WorkerGroup& group) {
  if (Run* run_here = run(group)) settle(*run_here);
  if (group.gone()) return;
  for (WorkerProcess& worker : group.workers) worker.alive = false;
  drop_from_run(group, Parting::kSilent);
  freed(group);
}

// ---- Signals
// -------------------------------------------------------------------------------------

void Training::signal_kill(WorkerGroup& group, std::uint32_t rank) {
  const Duration after = kKillTakes + drawn(Purpose::kWorkerPipe, group.node(), kKillJitter);
  schedule(group, GroupAction::kKilled, after, rank);
}

void Training::terminate(WorkerGroup& group) {
  if (group.terminating || group.gone()) return;
  group.terminating = true;
  group.by_agent = true;
  if (Run* run_here = run(group)) {
    settle(*run_here);
    refresh(*run_here);
  }
  const Duration stop = config_.training.stop_time;
  schedule(group, GroupAction::kTerminated,
           stop + drawn(Purpose::kStopTime, group.node(), stop / 4));
}

void Training::stop_workers(AgentId agent, bool kill) {
  const std::vector<std::uint64_t> ids = on_node_[agent.node.value];
  for (const std::uint64_t id : ids) {
    WorkerGroup& group = *groups_[id - 1];
    if (group.gone() || group.agent != agent) continue;
    group.by_agent = true;
    supervise(group, TreeSignalled{kill});
  }
}

void Training::kill_worker(AgentId agent, std::uint32_t rank) {
  WorkerGroup* group = current(agent);
  if (group == nullptr) return;
  group->by_agent = true;
  signal_kill(*group, rank);
}

void Training::kill_leftovers(AgentId agent) {
  for (const std::uint64_t id : on_node_[agent.node.value]) {
    WorkerGroup& group = *groups_[id - 1];
    if (group.agent == agent) continue;
    group.by_agent = true;
    signal_kill(group, kAllRanks);
  }
  world_.tell_agent(agent, kLeftoversTake, LeftoversKilled{});
}

void Training::agent_gone(AgentId agent) {
  const std::vector<std::uint64_t> ids = on_node_[agent.node.value];
  for (const std::uint64_t id : ids) {
    WorkerGroup& group = *groups_[id - 1];
    if (group.gone() || group.agent != agent) continue;
    supervise(group, AgentGone{});
  }
}

void Training::machine_down(NodeId node) {
  const std::vector<std::uint64_t> ids = on_node_[node.value];
  for (const std::uint64_t id : ids) vanish(*groups_[id - 1]);
}

void Training::kill_by_fault(NodeId node, std::uint32_t rank) {
  if (WorkerGroup* group = present(node)) end_worker(*group, rank, ExitStatus{0, kSigKill});
}

void Training::exit_by_itself(NodeId node, std::int32_t code) {
  WorkerGroup* group = present(node);
  if (group == nullptr || frozen(*group)) return;
  end_worker(*group, 0, ExitStatus{code, 0});
}

// ---- Freezes
// -------------------------------------------------------------------------------------

void Training::machine_freezes(NodeId node) {
  const std::vector<std::uint64_t> ids = on_node_[node.value];
  for (const std::uint64_t id : ids) {
    if (Run* run_here = run(*groups_[id - 1])) settle(*run_here);
  }
}

void Training::machine_thawed(NodeId node) {
  const std::vector<std::uint64_t> ids = on_node_[node.value];
  for (const std::uint64_t id : ids) thawed(*groups_[id - 1]);
}

// Something that held the group is over; it goes on if nothing else holds it.
void Training::thawed(WorkerGroup& group) {
  if (group.gone() || world_.machine_frozen(group.node())) return;
  group.tree.thaw(timeline_.queue, timeline_.now, timer_event(group, EventKind::kTree));
  const bool still = frozen(group);
  std::vector<Event> waiting;
  waiting.swap(group.deferred);
  for (const Event& event : waiting) {
    const bool kill = event.detail == static_cast<std::uint8_t>(GroupAction::kKilled);
    if (still && !kill) {
      group.deferred.push_back(event);
    } else {
      timeline_.in(Duration{}, event);
    }
  }
  if (still) return;
  Run* run_here = run(group);
  if (run_here == nullptr) return;
  if (group.applies_at) schedule(*run_here, RoundAction::kSettle, kExitSeen, run_here->generation);
  refresh(*run_here);
}

std::optional<FrozenWorker> Training::freeze_worker(NodeId node, std::uint32_t rank) {
  WorkerGroup* group = present(node);
  if (group == nullptr) return std::nullopt;
  if (Run* run_here = run(*group)) settle(*run_here);
  if (group->gone() || rank >= group->workers.size() || !group->workers[rank].alive)
    return std::nullopt;
  WorkerProcess& worker = group->workers[rank];
  if (worker.freezes++ == 0) worker.frozen_since = timeline_.now;
  WorkerEvent event{};
  event.kind = WorkerEventKind::kFrozen;
  event.local_rank = rank;
  tell(*group, event);
  if (Run* run_here = run(*group)) refresh(*run_here);
  return FrozenWorker{group->id, rank, worker.incarnation};
}

void Training::thaw_worker(const FrozenWorker& frozen_worker) {
  WorkerGroup& group = *groups_[frozen_worker.process - 1];
  WorkerProcess& worker = group.workers[frozen_worker.rank];
  if (group.gone() || !worker.alive || worker.incarnation != frozen_worker.incarnation) return;
  if (worker.freezes == 0 || --worker.freezes > 0) return;
  WorkerEvent event{};
  event.kind = WorkerEventKind::kThawed;
  event.local_rank = frozen_worker.rank;
  tell(group, event);
  thawed(group);
}

void Training::thaw_all_workers(NodeId node) {
  const std::vector<std::uint64_t> ids = on_node_[node.value];
  for (const std::uint64_t id : ids) {
    WorkerGroup& group = *groups_[id - 1];
    for (std::uint32_t rank = 0; rank < group.workers.size(); ++rank) {
      if (group.workers[rank].freezes == 0) continue;
      group.workers[rank].freezes = 1;
      thaw_worker({id, rank, group.workers[rank].incarnation});
    }
  }
}

std::optional<StatePoint> Training::held_on(NodeId node) const {
  const std::vector<std::uint64_t>& ids = on_node_[node.value];
  return ids.empty() ? std::nullopt : groups_[ids.back() - 1]->held;
}

void Training::poll(AgentId agent) {
  if (current(agent) != nullptr) world_.tell_agent(agent, Duration{}, WorkerPulse{});
}

// ---- Leases
// --------------------------------------------------------------------------------------

void Training::renew(AgentId agent, const RenewLease& lease) {
  renewed_[agent.node.value] = {agent.life, lease.from};
  const std::vector<std::uint64_t> ids = on_node_[agent.node.value];
  for (const std::uint64_t id : ids) {
    WorkerGroup& group = *groups_[id - 1];
    if (group.gone() || group.agent != agent) continue;
    group.lease_from = std::max(group.lease_from, lease.from);
    supervise(group, TreeRenewed{lease.from, lease.running});
  }
}

void Training::clock_changed(NodeId node) {
  const LocalClock& clock = world_.clock(node);
  for (const std::uint64_t id : on_node_[node.value]) {
    WorkerGroup& group = *groups_[id - 1];
    group.tree.clock_changed(timeline_.queue, clock, timeline_.now,
                             timer_event(group, EventKind::kTree));
  }
}

bool Training::on_tree(WorkerGroup& group, const EventQueue::Due& due) {
  if (group.gone() || !group.supervisor) return false;
  if (world_.machine_frozen(group.node())) {
    group.tree.popped_while_frozen(timeline_.queue, due);
    return false;
  }
  if (group.tree.popped(timeline_.queue, due) != LazyTimer::Popped::kDue) return false;
  supervise(group, TreeTimer{});
  return true;
}

void Training::supervise(WorkerGroup& group, const SupervisorInput& input) {
  SupervisorEffects effects;
  effects.swap(tree_effects_);
  effects.clear();
  const LocalClock& clock = world_.clock(group.node());
  group.supervisor->step(clock.local(timeline_.now), input, effects);
  if (config_.check_invariants) group.supervisor->check();
  for (const SupervisorEffect& effect : effects) {
    if (const auto* signal = std::get_if<SignalTree>(&effect)) {
      carry_out(group, *signal);
    } else if (const auto* arm = std::get_if<ArmTreeTimer>(&effect)) {
      group.tree.arm(timeline_.queue, clock, timeline_.now, arm->at,
                     timer_event(group, EventKind::kTree));
    }
  }
  effects.swap(tree_effects_);
}

void Training::carry_out(WorkerGroup& group, const SignalTree& signal) {
  if (group.gone()) return;
  switch (signal.signal) {
    case TreeSignal::kStop:
      if (Run* run_here = run(group)) settle(*run_here);
      if (group.gone() || group.stopped) return;
      group.stopped = true;
      tell(group, WorkerEventKind::kStopped);
      if (Run* run_here = run(group)) refresh(*run_here);
      return;
    case TreeSignal::kContinue:
      if (!group.stopped) return;
      group.stopped = false;
      tell(group, WorkerEventKind::kContinued);
      thawed(group);
      return;
    case TreeSignal::kTerminate:
      terminate(group);
      return;
    case TreeSignal::kKill:
      group.by_agent = true;
      signal_kill(group, kAllRanks);
      return;
  }
}

// ---- Events
// --------------------------------------------------------------------------------------

bool Training::on_event(const EventQueue::Due& due) {
  const Event& event = due.event;
  switch (event.kind) {
    case EventKind::kGroup:
      return on_group(due);
    case EventKind::kRound:
      return on_round(due);
    case EventKind::kTree:
      return on_tree(*groups_[event.a - 1], due);
    case EventKind::kTransfer:
      return on_transfers(storage_.complete(timeline_, event));
    default:
      return false;
  }
}

bool Training::on_group(const EventQueue::Due& due) {
  const Event& event = due.event;
  WorkerGroup& group = *groups_[event.a - 1];
  if (group.gone()) return false;
  const bool kill = event.detail == static_cast<std::uint8_t>(GroupAction::kKilled);
  if (kill ? world_.machine_frozen(group.node()) : frozen(group)) {
    group.deferred.push_back(event);
    return false;
  }
  if (kill) {
    if (event.payload == kAllRanks) {
      end_all(group, ExitStatus{0, kSigKill});
    } else {
      end_worker(group, event.payload, ExitStatus{0, kSigKill});
    }
    return true;
  }
  if (event.detail == static_cast<std::uint8_t>(GroupAction::kTerminated)) {
    end_all(group, ExitStatus{0, kSigTerm});
    return true;
  }
  return act(group, event);
}

}  // namespace elastic::sim
