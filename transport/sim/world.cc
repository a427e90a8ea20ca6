#include "transport/sim/world.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/assert.h"
#include "transport/sim/native.h"
#include "transport/sim/training.h"
#include "transport/sim/world_impl.h"

namespace elastic::sim {
namespace {

Timeouts timeouts_of(const JobConfig& job) {
  const auto derived = derive_timeouts(job);
  ELASTIC_ASSERT(
      std::holds_alternative<Timeouts>(derived));  // the scenario reader refuses such jobs
  return std::get<Timeouts>(derived);
}

}  // namespace

std::unique_ptr<Workforce> World::Impl::workforce(Impl& impl) {
  if (impl.config.job.workers == WorkerKind::kNative) {
    return std::make_unique<NativeTraining>(impl.config, impl.timeouts, impl.chance, impl.timeline,
                                            impl);
  }
  return std::make_unique<Training>(impl.config, impl.timeouts, impl.chance, impl.timeline, impl);
}

World::Impl::Impl(World& world, const WorldConfig& settings, Plan faults)
    : owner(world),
      config(settings),
      plan(std::move(faults)),
      timeouts(timeouts_of(settings.job)),
      chance(settings.seed),
      network(settings.network, chance, settings.nodes.size()),
      service(settings.journal, chance, settings.nodes.size()),
      machines(settings.nodes.size() + 1),
      training(workforce(*this)) {
  if (!hosted()) journal_life = service.life();
  for (std::size_t index = 0; index < plan.size(); ++index) {
    if (plan[index].kind == FaultKind::kAdd) ++adds_left;
    Event event{.kind = EventKind::kFaultBegin};
    event.a = index;
    timeline.queue.push(plan[index].at, event);
  }
  for (std::size_t index = 0; index < config.nodes.size(); ++index) {
    if (!config.nodes[index].present_at_start) continue;
    Event event{.kind = EventKind::kMachineUp, .node = static_cast<std::uint32_t>(index + 1)};
    timeline.queue.push(Time{}, event);
    ++starts_pending;
  }
}

// ---- The loop
// ------------------------------------------------------------------------------------

bool World::Impl::ended() const {
  if (agents_running > 0) return false;
  if (verdict) return true;
  return starts_pending == 0 && (adds_left == 0 || plan_dropped);
}

Outcome World::Impl::run(Time until) {
  until = std::min(until, Time(config.horizon));
  Outcome outcome;
  bool over = ended() && timeline.now > Time{};
  while (!over && !stopping) {
    if (timeline.queue.empty() || timeline.queue.next_time() > until) {
      timeline.now = std::max(timeline.now, until);
      break;
    }
    const EventQueue::Due due = timeline.queue.pop();
    ELASTIC_ASSERT(due.at >= timeline.now);
    timeline.now = due.at;
    if (!dispatch(due)) continue;
    for (Observer* observer : observers) observer->after_event(timeline.now, events, owner);
    over = ended();
  }
  outcome.end = Outcome::End::kHorizon;
  if (over) outcome.end = verdict ? Outcome::End::kVerdict : Outcome::End::kAllExited;
  if (stopping) outcome.end = Outcome::End::kStopped;
  stopping = false;
  outcome.verdict = verdict;
  outcome.at = timeline.now;
  outcome.events = events;
  outcome.messages = network.sent();
  outcome.trace_hash = trace_digest.value();
  return outcome;
}

// False: the event had become void, and nothing happened.
bool World::Impl::dispatch(const EventQueue::Due& due) {
  const Event& event = due.event;
  switch (event.kind) {
    case EventKind::kTimer:
      return on_timer(due);
    case EventKind::kInput:
      return on_input(event);
    case EventKind::kMessage:
      return on_message(event);
    case EventKind::kPeerClosed:
      return on_peer_closed(event);
    case EventKind::kAgentStart:
      return start_agent(event);
    case EventKind::kMachineUp: {
      const NodeId node{event.node};
      --starts_pending;
      if (at(node).up || at(node).incarnation != event.b) return false;
      trace(event);
      power_on(node);
      return true;
    }
    case EventKind::kFaultBegin:
      if (plan_dropped) return false;
      trace(event, event.a);
      begin_fault(event.a);
      return true;
    case EventKind::kFaultEnd:
      return end_fault(event.a);
    case EventKind::kAskArrives:
    case EventKind::kAskAnswered:
    case EventKind::kLateAppend:
      return on_journal(event);
    case EventKind::kFileRead:
    case EventKind::kFileSynced:
      return on_file(event);
    case EventKind::kMarkerStored:
      return on_marker(event);
    case EventKind::kTransfer:
    case EventKind::kGroup:
    case EventKind::kRound:
    case EventKind::kTree:
    case EventKind::kOrphan: {
      // The training model says only afterwards whether the event still meant something.
      if (!training->on_event(due)) return false;
      trace(event, event.a);
      return true;
    }
  }
  return false;
}

// ---- Ground truth of the journal
// -----------------------------------------------------------------

void World::Impl::new_journal_life(JournalLife life) {
  if (life == journal_life) return;
  journal_life = life;
  records.clear();
  newest_leader.reset();
  verdict.reset();
}

void World::Impl::landed(const NumberedRecord& record) {
  records.push_back(record);
  if (const auto* lead = std::get_if<Lead>(&record.record.body)) newest_leader = lead->leader;
  if (const auto* end = std::get_if<Verdict>(&record.record.body)) verdict = *end;
  for (Observer* observer : observers) observer->on_record(timeline.now, record, journal_life);
}

// ---- Surroundings of the workers
// -----------------------------------------------------------------

void World::Impl::tell_observers(const WorkerEvent& event) {
  for (Observer* observer : observers) observer->on_worker(timeline.now, event);
}

bool World::Impl::connected(NodeId a, NodeId b) const {
  if (!valid(a) || !valid(b) || !at(a).up || !at(b).up) return false;
  if (at(a).freezes > 0 || at(b).freezes > 0) return false;
  return !network.blocked(a, b) && !network.blocked(b, a);
}

std::int64_t World::Impl::slow_ppm(NodeId node) const {
  std::int64_t slowest = 1'000'000;
  for (const auto& slow : at(node).slow) slowest = std::max(slowest, slow.second);
  return slowest;
}

// ---- The public face
// -----------------------------------------------------------------------------

World::World(const WorldConfig& config, Plan plan)
    : impl_(std::make_unique<Impl>(*this, config, std::move(plan))) {}
World::~World() = default;

void World::watch(Observer& observer) { impl_->observers.push_back(&observer); }
void World::dismiss_observers() { impl_->observers.clear(); }
Outcome World::run(Time until) { return impl_->run(until); }
void World::stop() { impl_->stopping = true; }
void World::heal_core_and_fail_rest(const std::vector<NodeId>& core) {
  impl_->heal_core_and_fail_rest(core);
}

Time World::now() const { return impl_->timeline.now; }
std::uint64_t World::events() const { return impl_->events; }
const WorldConfig& World::config() const { return impl_->config; }
const Timeouts& World::timeouts() const { return impl_->timeouts; }
bool World::machine_up(NodeId node) const { return impl_->valid(node) && impl_->at(node).up; }
bool World::agent_running(NodeId node) const {
  return impl_->valid(node) && impl_->at(node).node != nullptr;
}
bool World::frozen(NodeId node) const { return impl_->valid(node) && impl_->at(node).frozen(); }
const Node* World::node(NodeId node) const {
  return impl_->valid(node) ? impl_->at(node).node.get() : nullptr;
}
bool World::intact(const Checkpoint& save) const {
  return impl_->training->storage().intact({save.step, save.round}, save.lineage);
}

Time World::local_clock(NodeId node) const {
  return impl_->valid(node) ? impl_->at(node).clock.local(impl_->timeline.now) : Time{};
}
const std::vector<NumberedRecord>& World::journal() const { return impl_->records; }
JournalLife World::journal_life() const { return impl_->journal_life; }
std::optional<AgentId> World::leader() const {
  const auto& leader = impl_->newest_leader;
  if (!leader || !agent_running(leader->node)) return std::nullopt;
  if (impl_->at(leader->node).life != leader->life) return std::nullopt;
  return leader;
}

std::uint64_t World::trace_hash() const { return impl_->trace_digest.value(); }
const std::vector<std::pair<std::uint64_t, std::uint64_t>>& World::running_digests() const {
  return impl_->running_digests;
}
void World::record_event_hashes(std::uint64_t first, std::uint64_t last) {
  impl_->hash_first = first;
  impl_->hash_last = last;
}
const std::vector<std::uint64_t>& World::event_hashes() const { return impl_->event_hashes; }

}  // namespace elastic::sim
