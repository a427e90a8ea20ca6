// Agent processes: start and end, what reaches them, and what they do.
#include <algorithm>
#include <utility>
#include <variant>

#include "core/assert.h"
#include "transport/sim/world_impl.h"

namespace elastic::sim {
namespace {

constexpr Duration kPeersRemembered = std::chrono::seconds(60);
constexpr Duration kLongestTimer = std::chrono::hours(24 * 365);
constexpr std::uint64_t kLifeGrowth = std::uint64_t{1} << 20;

Event event_for(EventKind kind, NodeId node) {
  return Event{.kind = kind, .node = static_cast<std::uint32_t>(node.value)};
}

}  // namespace

void World::Impl::tell_node(NodeId node, NodeEventKind kind, bool whole) {
  NodeEvent event{};
  event.kind = kind;
  event.node = node;
  event.life = at(node).life;
  event.whole_machine = whole;
  for (Observer* observer : observers) observer->on_node(timeline.now, event);
}

// ---- Start and end
// -------------------------------------------------------------------------------

void World::Impl::order_start(NodeId node, Duration after) {
  Machine& machine = at(node);
  ELASTIC_ASSERT(machine.node == nullptr);
  if (machine.starting && !machine.cut_off) --starts_pending;  // the older order is void
  machine.starting = true;
  if (!machine.cut_off) ++starts_pending;
  const Duration jitter =
      chance.up_to(Purpose::kBoot, node.value, machine.boots++, config.agent_boot / 5);
  Event event = event_for(EventKind::kAgentStart, node);
  event.b = ++machine.start_order;
  timeline.in(after + config.agent_boot + jitter, event);
}

bool World::Impl::start_agent(const Event& event) {
  const NodeId node{event.node};
  Machine& machine = at(node);
  if (!machine.starting || event.b != machine.start_order) return false;
  if (machine.freezes > 0) {  // it boots when the machine goes on
    machine.inbox.push_back(event);
    return false;
  }
  machine.starting = false;
  if (!machine.cut_off) {
    --starts_pending;
    ++agents_running;
  }
  machine.exited = false;
  machine.agent_freezes = 0;
  machine.told_to_leave = false;
  ++machine.process;
  const std::uint64_t grown = chance.draw(Purpose::kLife, node.value, machine.lives);
  const std::uint64_t seed = chance.draw(Purpose::kAgentSeed, node.value, machine.lives++);
  machine.life = AgentLife{machine.life.value + 1 + math::below(grown, kLifeGrowth)};
  machine.node = std::make_unique<Node>(config.job, timeouts);
  for (LazyTimer& timer : machine.timers) timer.reset();
  Start start;
  start.self = AgentId{node, machine.life};
  start.seed = seed;
  if (config.list_contacts) {
    for (std::uint64_t other = 1; other < machines.size(); ++other) {
      if (other != node.value) start.contacts.push_back(NodeId{other});
    }
  }
  trace(event, start.self, start.seed);
  tell_node(node, NodeEventKind::kAgentUp);
  step(node, Input{std::move(start)});
  if (machine.notice_until && *machine.notice_until > timeline.now) {
    machine.told_to_leave = true;
    tell_agent(AgentId{node, machine.life}, Duration{},
               LeaveNotice{*machine.notice_until - timeline.now});
  }
  return true;
}

// The agent process is gone. Its native workers die with it.
void World::Impl::end_agent(NodeId node, bool tell_peers) {
  Machine& machine = at(node);
  if (machine.node == nullptr) return;
  machine.node.reset();
  if (!machine.cut_off) --agents_running;
  for (LazyTimer& timer : machine.timers) timer.reset();
  drop_inbox(machine);
  lose_writes(node);
  machine.reading = false;
  tell_node(node, NodeEventKind::kAgentDown);
  if (!tell_peers) return;
  training->agent_gone(AgentId{node, machine.life});
  for (const NodeId peer : network.peers(node, timeline.now - kPeersRemembered)) {
    if (peer == node || !valid(peer) || network.blocked(node, peer)) continue;
    Event event = event_for(EventKind::kPeerClosed, peer);
    event.a = node.value;
    timeline.in(config.network.latency + config.network.jitter, event);
  }
}

void World::Impl::exit_agent(NodeId node, ExitReason reason) {
  Machine& machine = at(node);
  if (machine.node == nullptr) return;
  machine.exited = true;
  NodeEvent event{};
  event.kind = NodeEventKind::kAgentExit;
  event.node = node;
  event.life = machine.life;
  event.exit = reason;
  for (Observer* observer : observers) observer->on_node(timeline.now, event);
  const AgentId agent{node, machine.life};
  training->stop_workers(agent, true);
  end_agent(node, true);
  // In the liveness phase somebody starts the agents of the core again until the job has ended.
  if (plan_dropped && !machine.cut_off && !verdict) order_start(node, config.agent_boot);
}

// Drops what waits for a process that is gone, except the order to start one.
void World::Impl::drop_inbox(Machine& machine) {
  std::vector<Event> kept;
  for (const Event& event : machine.inbox) {
    if (event.kind == EventKind::kAgentStart) {
      kept.push_back(event);
    } else if (event.payload != kNoPayload) {
      payloads.drop(event.payload);
    }
  }
  machine.inbox = std::move(kept);
}

// The process goes on: what came meanwhile arrives now, and timers that are overdue fire; which of
// the two comes first is a matter of chance.
void World::Impl::thaw_agent(NodeId node) {
  Machine& machine = at(node);
  if (machine.freezes > 0 || (machine.node != nullptr && machine.agent_freezes > 0)) return;
  const std::uint64_t drawn = chance.draw(Purpose::kThawOrder, node.value, machine.thaws++);
  const bool timers_first = (drawn & 1) != 0;
  const auto fire_timers = [&] {
    for (std::size_t id = 0; id < machine.timers.size(); ++id) {
      Event event = event_for(EventKind::kTimer, node);
      event.detail = static_cast<std::uint8_t>(id);
      machine.timers[id].thaw(timeline.queue, timeline.now, event);
    }
  };
  if (timers_first) fire_timers();
  std::vector<Event> waiting;
  waiting.swap(machine.inbox);
  for (const Event& event : waiting) timeline.in(Duration{}, event);
  if (!timers_first) fire_timers();
}

// ---- Inputs
// --------------------------------------------------------------------------------------

void World::Impl::tell_agent(AgentId agent, Duration after, Input input) {
  const Machine& machine = at(agent.node);
  if (machine.node == nullptr || machine.life != agent.life) return;
  Event event = event_for(EventKind::kInput, agent.node);
  event.b = machine.process;
  event.payload = payloads.put(std::move(input));
  timeline.in(after, event);
}

void World::Impl::step(NodeId node, const Input& input) {
  Machine& machine = at(node);
  Effects produced;
  produced.swap(effects);
  produced.clear();
  machine.node->step(machine.clock.local(timeline.now), input, produced);
  if (config.check_invariants) machine.node->check();
  const std::uint32_t process = machine.process;
  for (Effect& effect : produced) {
    if (machine.node == nullptr || machine.process != process) break;  // it has exited
    carry_out(node, effect);
  }
  effects.swap(produced);
}

bool World::Impl::on_timer(const EventQueue::Due& due) {
  const NodeId node{due.event.node};
  Machine& machine = at(node);
  LazyTimer& timer = machine.timers[due.event.detail];
  if (machine.node == nullptr) return false;
  if (machine.frozen()) {
    timer.popped_while_frozen(timeline.queue, due);
    return false;
  }
  if (timer.popped(timeline.queue, due) != LazyTimer::Popped::kDue) return false;
  trace(due.event);
  step(node, TimerFired{static_cast<TimerId>(due.event.detail)});
  return true;
}

bool World::Impl::on_input(const Event& event) {
  const NodeId node{event.node};
  Machine& machine = at(node);
  if (machine.node == nullptr || machine.process != event.b) {
    payloads.drop(event.payload);
    return false;
  }
  if (machine.frozen()) {
    machine.inbox.push_back(event);
    return false;
  }
  const Input& input = payloads.at(event.payload);
  trace(event, input);
  step(node, input);
  payloads.drop(event.payload);
  return true;
}

bool World::Impl::on_message(const Event& event) {
  const NodeId node{event.node};
  Machine& machine = at(node);
  const NodeId from{event.a};
  if (machine.node == nullptr || network.blocked(from, node)) {
    payloads.drop(event.payload);
    return false;
  }
  if (machine.frozen()) {
    machine.inbox.push_back(event);
    return false;
  }
  const Input& input = payloads.at(event.payload);
  trace(event, input);
  for (Observer* observer : observers)
    observer->on_delivered(timeline.now, from, node, std::get<Received>(input).message);
  step(node, input);
  payloads.drop(event.payload);
  return true;
}

bool World::Impl::on_peer_closed(const Event& event) {
  const NodeId node{event.node};
  Machine& machine = at(node);
  if (machine.node == nullptr || network.blocked(NodeId{event.a}, node)) return false;
  if (machine.frozen()) {
    machine.inbox.push_back(event);
    return false;
  }
  trace(event, event.a);
  step(node, PeerClosed{NodeId{event.a}});
  return true;
}

// ---- Effects
// -------------------------------------------------------------------------------------

void World::Impl::carry_out(NodeId node, Effect& effect) {
  Machine& machine = at(node);
  const AgentId agent{node, machine.life};
  if (auto* message = std::get_if<Send>(&effect)) {
    send(node, *message);
  } else if (const auto* arm = std::get_if<ArmTimer>(&effect)) {
    Event event = event_for(EventKind::kTimer, node);
    event.detail = static_cast<std::uint8_t>(arm->timer);
    const Duration after = std::clamp(arm->after, Duration{}, kLongestTimer);
    machine.timers[event.detail].arm(timeline.queue, machine.clock, timeline.now,
                                     machine.clock.local(timeline.now) + after, event);
  } else if (const auto* cancel = std::get_if<CancelTimer>(&effect)) {
    machine.timers[static_cast<std::size_t>(cancel->timer)].cancel();
  } else if (const auto* note = std::get_if<Note>(&effect)) {
    for (Observer* observer : observers) observer->on_note(timeline.now, agent, *note);
  } else if (std::holds_alternative<PollWorkers>(effect)) {
    training->poll(agent);
  } else if (const auto* renew = std::get_if<RenewLease>(&effect)) {
    training->renew(agent, *renew);
  } else if (auto* ask = std::get_if<AskJournal>(&effect)) {
    ask_journal(node, *ask);
  } else if (const auto* enter = std::get_if<EnterRound>(&effect)) {
    training->enter(agent, enter->placement);
  } else if (const auto* leave = std::get_if<LeaveRound>(&effect)) {
    training->leave(agent, leave->for_round, leave->planned);
  } else if (std::holds_alternative<PrepareWorkers>(effect)) {
    training->prepare(agent);
  } else if (const auto* stop = std::get_if<StopWorkers>(&effect)) {
    training->stop_workers(agent, stop->kill);
  } else if (const auto* kill = std::get_if<KillWorker>(&effect)) {
    training->kill_worker(agent, kill->local_rank);
  } else if (std::holds_alternative<KillLeftovers>(effect)) {
    training->kill_leftovers(agent);
  } else if (std::holds_alternative<ReadJournalFile>(effect)) {
    start_file_read(node);
  } else if (const auto* write = std::get_if<WriteJournalFile>(&effect)) {
    start_file_write(node, *write);
  } else if (const auto* marker = std::get_if<PutMarker>(&effect)) {
    put_marker(node, marker->marker);
  } else if (const auto* exit = std::get_if<Exit>(&effect)) {
    exit_agent(node, exit->reason);
  } else if (const auto* manifest = std::get_if<WriteManifest>(&effect)) {
    write_manifest(node, manifest->order);
  } else if (const auto* verify = std::get_if<VerifySave>(&effect)) {
    verify_save(node, verify->save);
  } else if (const auto* retired = std::get_if<DeleteSaves>(&effect)) {
    delete_saves(retired->saves);
  } else if (const auto* sweep = std::get_if<SweepSaves>(&effect)) {
    training->storage().sweep(sweep->below, sweep->keep);
  } else if (const auto* emptied = std::get_if<EmptyRecords>(&effect)) {
    empty_records(node, *emptied);
  } else if (std::holds_alternative<ReadMarker>(effect)) {
    const Duration jitter = chance.up_to(Purpose::kFileTime, node.value, machine.file_operations++,
                                         config.journal.jitter);
    answer_save(agent, config.journal.read + jitter,
                MarkerRead{training->storage().newest_marker()});
  }
  // TellCheckpoint: the modelled workers keep every save.
}

void World::Impl::send(NodeId from, Send& message) {
  for (Observer* observer : observers)
    observer->on_sent(timeline.now, from, message.to, message.message);
  const Network::Delivery delivery = network.send(from, message.to, timeline.now);
  for (std::uint32_t copy = 0; copy < delivery.copies; ++copy) {
    Event event = event_for(EventKind::kMessage, message.to);
    event.a = from.value;
    const bool last = copy + 1 == delivery.copies;
    event.payload = payloads.reserve();
    Input& slot = payloads.at(event.payload);
    if (!std::holds_alternative<Received>(slot)) slot.emplace<Received>();
    Received& received = std::get<Received>(slot);
    received.from = from;
    if (last) {
      received.message = std::move(message.message);
    } else {
      received.message = message.message;
    }
    timeline.in(delivery.after[copy], event);
  }
}

void World::Impl::ask_journal(NodeId node, AskJournal& ask) {
  if (hosted()) return;
  service.ask(timeline, std::move(ask.ask), at(node).process);
}

bool World::Impl::on_journal(const Event& event) {
  if (event.kind != EventKind::kAskAnswered) {
    trace(event);
    const auto record = service.execute(timeline, event);
    if (record) landed(*record);
    return true;
  }
  auto answered = service.answered(event);
  if (!answered) return false;
  const Machine& machine = at(answered->to);
  if (machine.node == nullptr || machine.process != answered->process) return false;
  // An input of its own, so that a frozen agent finds it later.
  Event input = event_for(EventKind::kInput, answered->to);
  input.b = answered->process;
  input.payload = payloads.put(JournalReplied{std::move(answered->answer)});
  return on_input(input);
}

// ---- Hosted journal and markers
// ------------------------------------------------------------------

void World::Impl::start_file_read(NodeId node) {
  Machine& machine = at(node);
  Event event = event_for(EventKind::kFileRead, node);
  event.b = machine.process;
  const Duration jitter = chance.up_to(Purpose::kFileTime, node.value, machine.file_operations++,
                                       config.journal.jitter);
  timeline.in(config.journal.read + jitter, event);
}

void World::Impl::start_file_write(NodeId node, const WriteJournalFile& write) {
  Machine& machine = at(node);
  machine.writes.push_back({write.life, write.record});
  Event event = event_for(EventKind::kFileSynced, node);
  event.b = machine.process;
  const Duration jitter = chance.up_to(Purpose::kFileTime, node.value, machine.file_operations++,
                                       config.journal.jitter);
  timeline.in(config.journal.append + jitter, event);
}

// The file is made smaller now, or not before it is read again: that is for the runtime to choose.
void World::Impl::empty_records(NodeId node, const EmptyRecords& emptied) {
  Machine& machine = at(node);
  if (machine.file.life != emptied.life) return;
  const std::uint64_t drawn =
      chance.draw(Purpose::kFileLanding, node.value, machine.file_operations++);
  if ((drawn & 1) == 0) return;
  for (const RecordNo number : emptied.records) {
    ELASTIC_ASSERT(number.value <= machine.file.records.size());
    machine.file.records[number.value - 1].record.body = Emptied{};
  }
}

// The oldest write is on disk.
void World::Impl::land_write(NodeId node) {
  Machine& machine = at(node);
  const PendingWrite write = machine.writes.front();
  machine.writes.erase(machine.writes.begin());
  if (!write.record.number) {
    machine.file = JournalFile{true, write.life, {}};
    new_journal_life(write.life);
    return;
  }
  ELASTIC_ASSERT(machine.file.exists && machine.file.life == write.life);
  ELASTIC_ASSERT(write.record.number.value == machine.file.records.size() + 1);
  machine.file.records.push_back(write.record);
  landed(write.record);
}

// The process is gone before its writes were synced: some of them, from the oldest on, are on disk.
void World::Impl::lose_writes(NodeId node) {
  Machine& machine = at(node);
  while (!machine.writes.empty()) {
    const std::uint64_t drawn =
        chance.draw(Purpose::kFileLanding, node.value, machine.file_operations++);
    if ((drawn & 1) == 0) break;
    land_write(node);
  }
  machine.writes.clear();
}

bool World::Impl::on_file(const Event& event) {
  const NodeId node{event.node};
  Machine& machine = at(node);
  if (machine.node == nullptr || machine.process != event.b) return false;
  Input input;
  if (event.kind == EventKind::kFileSynced) {
    ELASTIC_ASSERT(!machine.writes.empty());
    const RecordNo number = machine.writes.front().record.number;
    trace(event, number);
    land_write(node);
    input = JournalFileSynced{number};
  } else {
    if (!training->storage().reachable()) {
      waiting_for_storage.push_back(event);
      return false;
    }
    JournalFileRead read;
    read.exists = machine.file.exists;
    read.life = machine.file.life;
    read.records = machine.file.records;
    read.newest_marker = training->storage().newest_marker();
    trace(event, read.exists, read.life, read.records.size());
    input = std::move(read);
  }
  tell_agent(AgentId{node, machine.life}, Duration{}, std::move(input));
  return true;
}

void World::Impl::put_marker(NodeId node, const CommitMarker& marker) {
  Machine& machine = at(node);
  markers.push_back(marker);
  Event event = event_for(EventKind::kMarkerStored, node);
  event.a = markers.size() - 1;
  event.b = machine.process;
  const Duration jitter =
      chance.up_to(Purpose::kMarkerTime, node.value, machine.markers++, config.journal.jitter);
  timeline.in(config.journal.append + jitter, event);
}

bool World::Impl::on_marker(const Event& event) {
  if (!training->storage().writable()) {
    waiting_for_storage.push_back(event);
    return false;
  }
  const NodeId node{event.node};
  const Machine& machine = at(node);
  if (machine.node == nullptr || machine.process != event.b) return false;
  const CommitMarker& marker = markers[event.a];
  trace(event, marker);
  training->storage().put_marker(marker);
  tell_agent(AgentId{node, machine.life}, Duration{}, MarkerStored{marker.record});
  return true;
}

void World::Impl::storage_back() {
  std::vector<Event> waiting;
  waiting.swap(waiting_for_storage);
  for (const Event& event : waiting) timeline.in(Duration{}, event);
  std::vector<std::pair<AgentId, Input>> answers;
  answers.swap(saves_waiting);
  for (auto& [agent, answer] : answers) answer_save(agent, Duration{}, std::move(answer));
}

// ---- Manifests and what follows: the storage does it in a short while, or when it is reached
// again

void World::Impl::answer_save(AgentId agent, Duration after, Input input) {
  const Storage& storage = training->storage();
  const bool writes = std::holds_alternative<ManifestWritten>(input);
  if (writes ? storage.writable() : storage.reachable()) {
    tell_agent(agent, after, std::move(input));
  } else {
    saves_waiting.emplace_back(agent, std::move(input));
  }
}

void World::Impl::write_manifest(NodeId node, const ManifestOrder& order) {
  math::Digest digest;
  digest.add(order.lineage.value);
  for (const ShareFact& share : order.shares) digest.add(share.digest);
  const Duration jitter =
      chance.up_to(Purpose::kSaveTime, node.value, order.step.value, config.journal.jitter);
  answer_save({node, at(node).life}, config.journal.append + jitter,
              ManifestWritten{order.round, order.step, digest.value()});
}

void World::Impl::verify_save(NodeId node, const CommittedSave& save) {
  const bool intact = training->storage().intact({save.checkpoint.step, save.checkpoint.round},
                                                 save.checkpoint.lineage);
  const std::int64_t rate = std::max<std::int64_t>(config.training.storage_bytes_per_second, 1);
  const std::int64_t reading = math::mul_div(config.training.state_bytes, 1'000'000'000, rate);
  const Duration jitter = chance.up_to(Purpose::kSaveTime, node.value,
                                       (1ULL << 40U) + save.record.value, config.journal.jitter);
  answer_save({node, at(node).life}, Duration(reading) + jitter, SaveVerified{save.record, intact});
}

void World::Impl::delete_saves(const std::vector<CommittedSave>& saves) {
  for (const CommittedSave& save : saves) {
    training->storage().remove({save.checkpoint.step, save.checkpoint.round});
  }
}

}  // namespace elastic::sim
