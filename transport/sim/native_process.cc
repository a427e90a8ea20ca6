// Life and death of native worker processes.
#include <algorithm>

#include "core/assert.h"
#include "transport/sim/native.h"

namespace elastic::sim {
namespace {

constexpr std::int32_t kSigKill = 9;
constexpr std::int32_t kSigTerm = 15;
constexpr Duration kPipe = std::chrono::microseconds(100);
constexpr Duration kExitSeen = std::chrono::microseconds(500);  // pidfd to input
constexpr Duration kKillTakes = std::chrono::milliseconds(1);
constexpr Duration kKillJitter = std::chrono::milliseconds(2);
constexpr Duration kLeftoversTake = std::chrono::milliseconds(5);  // more than any kill

constexpr std::uint32_t kMostRanksByMessage = 16;

bool sends_messages(const WorldConfig& config) {
  if (config.training.collectives != Collectives::kAuto)
    return config.training.collectives == Collectives::kMessages;
  const std::uint64_t ranks =
      std::uint64_t{config.job.max_nodes} * std::max(1U, config.job.workers_per_node);
  return ranks <= kMostRanksByMessage;
}

}  // namespace

TrainingRules rules_of(const WorldConfig& config) {
  const TrainingModel& model = config.training;
  TrainingRules rules;
  rules.data.seed = math::Seed{config.seed};
  rules.data.samples =
      model.dataset != 0 ? model.dataset : math::mul_sat_u64(model.total_steps, model.global_batch);
  rules.data.samples = std::clamp<std::uint64_t>(rules.data.samples, 1, data::kMaxSamples);
  rules.data.max_steps = model.total_steps;
  rules.batch = batch_rule(config.job, model);
  rules.ramp_steps = model.ramp_steps;
  rules.save_every = model.checkpoint_every;
  return rules;
}

NativeTraining::NativeTraining(const WorldConfig& config, const Timeouts& timeouts,
                               const Chance& chance, Timeline& timeline, Surroundings& world)
    : config_(config),
      rules_(rules_of(config)),
      timeouts_(timeouts),
      chance_(chance),
      timeline_(timeline),
      world_(world),
      storage_(config.training.storage_bytes_per_second),
      hands_(config.nodes.size() + 1),
      draws_(config.nodes.size() + 1),
      renewed_(config.nodes.size() + 1),
      messages_(sends_messages(config)) {}

Duration NativeTraining::drawn(Purpose purpose, NodeId node, Duration bound) {
  const auto which =
      static_cast<std::size_t>(purpose) - static_cast<std::size_t>(Purpose::kStartUp);
  ELASTIC_ASSERT(which < draws_[node.value].size());
  return chance_.up_to(purpose, node.value, draws_[node.value][which]++, bound);
}

void NativeTraining::tell(const Hands& hands, WorkerEvent event) {
  event.node = hands.agent.node;
  event.life = hands.agent.life;
  if (!event.round) event.round = hands.placed;
  if (!event.state) event.state = hands.crew.held().value_or(StatePoint{});
  world_.tell_observers(event);
}

void NativeTraining::schedule(const Process& process, ProcessAction action, Duration after,
                              std::uint64_t b, std::uint32_t payload) {
  Event event{.kind = EventKind::kGroup, .node = static_cast<std::uint32_t>(process.node().value)};
  event.detail = static_cast<std::uint8_t>(action);
  event.a = process.id;
  event.b = b;
  event.payload = payload;
  timeline_.in(after, event);
}

Event NativeTraining::orphan_event(const Process& process) {
  Event event{.kind = EventKind::kOrphan, .node = static_cast<std::uint32_t>(process.node().value)};
  event.a = process.id;
  return event;
}

NativeTraining::Hands* NativeTraining::hands_on(NodeId node) {
  auto& all = hands_[node.value];
  return all.empty() ? nullptr : all.back().get();
}

NativeTraining::Hands* NativeTraining::hands_of(AgentId agent) {
  for (const auto& hands : hands_[agent.node.value]) {
    if (hands->agent == agent) return hands.get();
  }
  return nullptr;
}

NativeTraining::Process* NativeTraining::process(std::uint64_t id) {
  if (id == 0) return nullptr;
  Process* found = processes_[id - 1].get();
  return found != nullptr && found->alive ? found : nullptr;
}

bool NativeTraining::frozen(const Process& process) const {
  return process.freezes > 0 || world_.machine_frozen(process.node());
}

std::optional<StatePoint> NativeTraining::held_on(NodeId node) const {
  std::optional<StatePoint> best;
  for (const auto& hands : hands_[node.value]) {
    for (const std::uint64_t id : hands->processes) {
      if (id == 0 || !processes_[id - 1]->alive) continue;
      const auto& held = processes_[id - 1]->machine.held();
      if (held &&
          (!best || std::pair(held->entered, held->step) > std::pair(best->entered, best->step))) {
        best = held;
      }
    }
  }
  return best;
}

// ---- Start
// ---------------------------------------------------------------------------------------

NativeTraining::Process& NativeTraining::create(Hands& hands, std::uint32_t local_rank) {
  processes_.push_back(std::make_unique<Process>(rules_, timeouts_));
  Process& made = *processes_.back();
  made.id = processes_.size();
  made.agent = hands.agent;
  made.local_rank = local_rank;
  hands.processes[local_rank] = made.id;
  crew_step(hands, CrewStarted{local_rank}, kPipe);
  WorkerEffects effects;
  made.machine.start(world_.clock(made.node()).local(timeline_.now), local_rank, effects);
  for (const WorkerEffect& effect : effects) take(made, effect);
  const auto& renewed = renewed_[made.node().value];
  if (renewed.first == hands.agent.life) run(made, RenewLease{renewed.second, {}});
  return made;
}

void NativeTraining::prepare(AgentId agent) {
  if (!world_.machine_up(agent.node)) return;
  Hands* hands = hands_of(agent);
  if (hands == nullptr) {
    auto& all = hands_[agent.node.value];
    all.push_back(std::make_unique<Hands>(config_.job, timeouts_));
    hands = all.back().get();
    hands->agent = agent;
    hands->processes.assign(std::max(1U, config_.job.workers_per_node), 0);
    WorkerEvent event{};
    event.kind = WorkerEventKind::kStarted;
    tell(*hands, event);
  }
  crew_step(*hands, CrewWanted{}, kExitSeen);
  const Duration start_up = config_.training.start_up +
                            drawn(Purpose::kStartUp, agent.node, config_.training.start_up_jitter);
  for (std::uint32_t rank = 0; rank < hands->processes.size(); ++rank) {
    if (process(hands->processes[rank]) != nullptr) continue;
    const Process& made = create(*hands, rank);
    schedule(made, ProcessAction::kPrepared, start_up, 0);
  }
}

// ---- The agent's orders
// ----------------------------------------------------------------------------

void NativeTraining::enter(AgentId agent, const Placement& placement) {
  Hands* hands = hands_of(agent);
  if (hands == nullptr) return;
  crew_step(*hands, CrewPlaced{placement.round}, kPipe);
  hands->placed = placement.round;
  hands->inside = true;
  for (const std::uint64_t id : hands->processes) {
    Process* worker = process(id);
    if (worker == nullptr) continue;
    give(*worker, TakePlace{placement, placement.first_rank + worker->local_rank}, kPipe);
  }
}

void NativeTraining::leave(AgentId agent, RoundId for_round, bool planned) {
  Hands* hands = hands_of(agent);
  if (hands == nullptr) return;
  for (const std::uint64_t id : hands->processes) {
    if (Process* worker = process(id)) give(*worker, LeaveRound{for_round, planned}, kPipe);
  }
}

void NativeTraining::renew(AgentId agent, const RenewLease& lease) {
  renewed_[agent.node.value] = {agent.life, lease.from};
  Hands* hands = hands_of(agent);
  if (hands == nullptr) return;
  for (const std::uint64_t id : hands->processes) {
    Process* worker = process(id);
    // Not worth an event of its own, once a beat and worker: it changes nothing but a deadline.
    if (worker != nullptr && !frozen(*worker)) run(*worker, lease);
  }
}

void NativeTraining::poll(AgentId agent) {
  Hands* hands = hands_of(agent);
  if (hands == nullptr) return;
  for (const std::uint64_t id : hands->processes) {
    Process* worker = process(id);
    if (worker == nullptr || frozen(*worker)) continue;
    const Time local = world_.clock(agent.node).local(timeline_.now);
    SaysPulse pulse = worker->machine.pulse(local);
    pulse.arrived = arrived_bytes(*worker);
    crew_step(*hands, CrewSaid{worker->local_rank, std::move(pulse)}, Duration{});
  }
  crew_step(*hands, CrewPolled{}, Duration{});
}

void NativeTraining::signal_kill(Process& worker) {
  schedule(worker, ProcessAction::kKilled,
           kKillTakes + drawn(Purpose::kWorkerPipe, worker.node(), kKillJitter), 0);
}

void NativeTraining::stop_workers(AgentId agent, bool kill) {
  Hands* hands = hands_of(agent);
  if (hands == nullptr) return;
  const bool term = !kill && !hands->terminating;
  if (term) hands->terminating = true;
  for (const std::uint64_t id : hands->processes) {
    Process* worker = process(id);
    if (worker == nullptr) continue;
    worker->by_agent = true;
    if (kill) {
      signal_kill(*worker);
    } else if (term) {
      if (Joint* joint = joint_of(*worker)) refresh(*joint);
      const Duration stop = config_.training.stop_time;
      schedule(*worker, ProcessAction::kTerminated,
               stop + drawn(Purpose::kStopTime, agent.node, stop / 4), 0);
    }
  }
}

void NativeTraining::kill_worker(AgentId agent, std::uint32_t rank) {
  Hands* hands = hands_of(agent);
  if (hands == nullptr || rank >= hands->processes.size()) return;
  Process* worker = process(hands->processes[rank]);
  if (worker == nullptr) return;
  worker->by_agent = true;
  signal_kill(*worker);
}

void NativeTraining::kill_leftovers(AgentId agent) {
  for (const auto& hands : hands_[agent.node.value]) {
    if (hands->agent == agent) continue;
    for (const std::uint64_t id : hands->processes) {
      Process* worker = process(id);
      if (worker == nullptr) continue;
      worker->by_agent = true;
      signal_kill(*worker);
    }
  }
  world_.tell_agent(agent, kLeftoversTake, LeftoversKilled{});
}

// ---- End
// -----------------------------------------------------------------------------------------

// `silent`: nobody is told, because the machine is gone.
void NativeTraining::end_process(Process& worker, ExitStatus status, bool silent) {
  if (!worker.alive) return;
  Hands& hands = *hands_of(worker.agent);
  const RoundId round =
      worker.machine.phase() == Worker::Phase::kOutside ? RoundId{} : worker.machine.placed();
  drop_from_joint(worker, !silent);
  worker.alive = false;
  worker.orphan.reset();
  storage_.cancel(timeline_, worker.load);
  storage_.cancel(timeline_, worker.store_transfer);
  worker.store.reset();
  for (const Event& event : worker.deferred) {
    drop_payload(event);
  }
  worker.deferred.clear();
  worker.outbox.clear();
  worker.arrived.clear();
  if (!silent) {
    WorkerEvent event{};
    event.kind = WorkerEventKind::kExited;
    event.round = round;
    event.state = held_on(worker.node()).value_or(StatePoint{});
    event.local_rank = worker.local_rank;
    event.status = status;
    event.by_agent = worker.by_agent;
    event.node = hands.agent.node;
    event.life = hands.agent.life;
    world_.tell_observers(event);
  }
  crew_step(hands, CrewExited{worker.local_rank, status}, kExitSeen);
  forget_if_empty(worker.agent);
}

void NativeTraining::forget_if_empty(AgentId agent) {
  Hands* hands = hands_of(agent);
  const bool any = std::any_of(hands->processes.begin(), hands->processes.end(),
                               [this](std::uint64_t id) { return process(id) != nullptr; });
  if (any) return;
  WorkerEvent event{};
  event.kind = WorkerEventKind::kGone;
  tell(*hands, event);
  std::erase_if(hands_[agent.node.value], [&](const auto& one) { return one->agent == agent; });
}

void NativeTraining::agent_gone(AgentId agent) {
  Hands* hands = hands_of(agent);
  if (hands == nullptr) return;
  const std::vector<std::uint64_t> ids = hands->processes;
  for (const std::uint64_t id : ids) {
    if (Process* worker = process(id)) end_process(*worker, ExitStatus{0, kSigKill}, false);
  }
}

void NativeTraining::machine_down(NodeId node) {
  while (Hands* hands = hands_on(node)) {
    const std::vector<std::uint64_t> ids = hands->processes;
    for (const std::uint64_t id : ids) {
      if (Process* worker = process(id)) end_process(*worker, ExitStatus{0, kSigKill}, true);
    }
  }
}

void NativeTraining::kill_by_fault(NodeId node, std::uint32_t rank) {
  Hands* hands = hands_on(node);
  if (hands == nullptr || rank >= hands->processes.size()) return;
  if (Process* worker = process(hands->processes[rank]))
    end_process(*worker, ExitStatus{0, kSigKill}, false);
}

void NativeTraining::exit_by_itself(NodeId node, std::int32_t code) {
  Hands* hands = hands_on(node);
  if (hands == nullptr) return;
  Process* worker = process(hands->processes[0]);
  if (worker == nullptr || frozen(*worker)) return;
  end_process(*worker, ExitStatus{code, 0}, false);
}

// ---- Freezes
// -------------------------------------------------------------------------------------

void NativeTraining::machine_freezes(NodeId node) {
  for (const auto& hands : hands_[node.value]) {
    for (const std::uint64_t id : hands->processes) {
      if (Process* worker = process(id)) stands_still(*worker);
    }
  }
}

void NativeTraining::machine_thawed(NodeId node) {
  for (std::size_t i = 0; i < hands_[node.value].size(); ++i) {
    const std::vector<std::uint64_t> ids = hands_[node.value][i]->processes;
    for (const std::uint64_t id : ids) {
      if (Process* worker = process(id)) thawed(*worker);
    }
  }
}

// Something that held the process is over; it goes on if nothing else holds it.
void NativeTraining::thawed(Process& worker) {
  if (world_.machine_frozen(worker.node())) return;
  std::vector<Event> waiting;
  waiting.swap(worker.deferred);
  const bool still = frozen(worker);
  for (const Event& event : waiting) {
    const bool kill = event.detail == static_cast<std::uint8_t>(ProcessAction::kKilled);
    if (still && !kill) {
      worker.deferred.push_back(event);
    } else {
      timeline_.in(Duration{}, event);
    }
  }
  if (still) return;
  goes_on(worker);
  const auto& renewed = renewed_[worker.node().value];
  if (renewed.first == worker.agent.life) run(worker, RenewLease{renewed.second, {}});
  const Event event = orphan_event(worker);
  worker.orphan.thaw(timeline_.queue, timeline_.now, event);
  if (Joint* joint = joint_of(worker)) {
    greet_again(*joint);
    refresh(*joint);
  }
}

std::optional<FrozenWorker> NativeTraining::freeze_worker(NodeId node, std::uint32_t rank) {
  Hands* hands = hands_on(node);
  if (hands == nullptr || rank >= hands->processes.size()) return std::nullopt;
  Process* worker = process(hands->processes[rank]);
  if (worker == nullptr) return std::nullopt;
  stands_still(*worker);
  ++worker->freezes;
  WorkerEvent event{};
  event.kind = WorkerEventKind::kFrozen;
  event.local_rank = rank;
  tell(*hands, event);
  if (Joint* joint = joint_of(*worker)) refresh(*joint);
  return FrozenWorker{worker->id, rank, worker->id};
}

void NativeTraining::thaw_worker(const FrozenWorker& frozen_worker) {
  Process* worker = process(frozen_worker.process);
  if (worker == nullptr || worker->freezes == 0 || --worker->freezes > 0) return;
  WorkerEvent event{};
  event.kind = WorkerEventKind::kThawed;
  event.local_rank = frozen_worker.rank;
  tell(*hands_of(worker->agent), event);
  thawed(*worker);
}

void NativeTraining::thaw_all_workers(NodeId node) {
  for (std::size_t i = 0; i < hands_[node.value].size(); ++i) {
    const std::vector<std::uint64_t> ids = hands_[node.value][i]->processes;
    for (const std::uint64_t id : ids) {
      Process* worker = process(id);
      if (worker == nullptr || worker->freezes == 0) continue;
      worker->freezes = 1;
      thaw_worker({worker->id, worker->local_rank, worker->id});
    }
  }
}

void NativeTraining::clock_changed(NodeId node) {
  for (const auto& hands : hands_[node.value]) {
    for (const std::uint64_t id : hands->processes) {
      Process* worker = process(id);
      if (worker == nullptr) continue;
      const Event event = orphan_event(*worker);
      worker->orphan.clock_changed(timeline_.queue, world_.clock(node), timeline_.now, event);
    }
  }
}

// ---- Events
// --------------------------------------------------------------------------------------

bool NativeTraining::on_event(const EventQueue::Due& due) {
  switch (due.event.kind) {
    case EventKind::kGroup:
      return on_process(due);
    case EventKind::kRound:
      return on_round(due.event);
    case EventKind::kOrphan:
      return on_orphan(due);
    case EventKind::kTransfer:
      return on_transfers(storage_.complete(timeline_, due.event));
    default:
      return false;
  }
}

void NativeTraining::drop_payload(const Event& event) {
  switch (static_cast<ProcessAction>(event.detail)) {
    case ProcessAction::kInput:
      inputs_.drop(event.payload);
      return;
    case ProcessAction::kFetched:
      fetches_.drop(event.payload);
      return;
    case ProcessAction::kChunk:
      chunks_.drop(event.payload);
      return;
    default:
      return;
  }
}

bool NativeTraining::on_process(const EventQueue::Due& due) {
  const Event& event = due.event;
  const auto action = static_cast<ProcessAction>(event.detail);
  Process* worker = process(event.a);
  if (worker == nullptr) {
    drop_payload(event);
    return false;
  }
  const bool kill = action == ProcessAction::kKilled;
  if (kill ? world_.machine_frozen(worker->node()) : frozen(*worker)) {
    worker->deferred.push_back(event);
    return false;
  }
  switch (action) {
    case ProcessAction::kInput: {
      const WorkerInput input = inputs_.take(event.payload);
      if (event.b != kAnyEpoch && event.b != worker->epoch) return false;
      run(*worker, input);
      return true;
    }
    case ProcessAction::kPrepared: {
      Hands& hands = *hands_of(worker->agent);
      crew_step(hands, CrewPrepared{worker->local_rank}, kExitSeen);
      return true;
    }
    case ProcessAction::kTerminated:
      end_process(*worker, ExitStatus{0, kSigTerm}, false);
      return true;
    case ProcessAction::kKilled:
      end_process(*worker, ExitStatus{0, kSigKill}, false);
      return true;
    case ProcessAction::kFetched:
      return fetched(*worker, event);
    case ProcessAction::kThrough:
      if (event.b == worker->load.value) {
        loaded(*worker);
        return true;
      }
      if (!worker->store || event.b != worker->store_transfer.value) return false;
      stored(*worker);
      return true;
    case ProcessAction::kComputed:
      if (event.b != worker->computation) return false;
      computed(*worker);
      return true;
    case ProcessAction::kChunk:
      return on_chunk(*worker, chunks_.take(event.payload));
  }
  return false;
}

bool NativeTraining::on_orphan(const EventQueue::Due& due) {
  Process* worker = process(due.event.a);
  if (worker == nullptr) return false;
  if (frozen(*worker)) {
    worker->orphan.popped_while_frozen(timeline_.queue, due);
    return false;
  }
  if (worker->orphan.popped(timeline_.queue, due) != LazyTimer::Popped::kDue) return false;
  run(*worker, WorkerTimerFired{WorkerTimer::kOrphan});
  return true;
}

bool NativeTraining::on_transfers(const std::vector<TransferId>& through) {
  for (const TransferId transfer : through) {
    const auto at = transfers_.find(transfer);
    if (at == transfers_.end()) continue;
    const std::uint64_t id = at->second;
    transfers_.erase(at);
    if (Process* worker = process(id))
      schedule(*worker, ProcessAction::kThrough, Duration{}, transfer.value);
  }
  return !through.empty();
}

}  // namespace elastic::sim
