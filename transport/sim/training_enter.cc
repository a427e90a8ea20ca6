// How foreign programs come into rounds, take up their newest save, and lose their peers.
#include <algorithm>

#include "core/assert.h"
#include "core/math/integer.h"
#include "transport/sim/training.h"

namespace elastic::sim {
namespace {

constexpr Duration kPipe = std::chrono::microseconds(100);  // agent to worker
constexpr Duration kCrashSoonest = std::chrono::milliseconds(20);
constexpr Duration kCrashJitter = std::chrono::milliseconds(480);

}  // namespace

bool Training::act(WorkerGroup& group, const Event& event) {
  const bool current_entry = event.b == group.entry_epoch;
  switch (static_cast<GroupAction>(event.detail)) {
    case GroupAction::kEntered:
      if (!current_entry) return false;
      entered(group);
      return true;
    case GroupAction::kStartedUp: {
      if (!current_entry || group.run == 0) return false;
      group.arrived = true;
      foreign_arrived(*run(group));
      return true;
    }
    case GroupAction::kLoaded:
      if (event.b != group.load.value) return false;
      group.load = TransferId{};
      loaded(group);
      return true;
    case GroupAction::kStored:
      if (!group.save || event.b != group.save->transfer.value) return false;
      share_stored(group);
      return true;
    case GroupAction::kFinishExit:
      end_all(group, ExitStatus{0, 0});
      return true;
    case GroupAction::kCrash:
      end_all(group, ExitStatus{1, 0});
      return true;
    case GroupAction::kTerminated:
    case GroupAction::kKilled:
      break;
  }
  return false;
}

// ---- Entering
// ------------------------------------------------------------------------------------

void Training::enter(AgentId agent, const Placement& placement) {
  if (!world_.machine_up(agent.node)) return;
  WorkerGroup& group = create(agent, config_.job.workers_per_node);
  const auto& renewed = renewed_[agent.node.value];
  if (renewed.first == agent.life) group.lease_from = renewed.second;
  group.placement = placement;
  tell(group, WorkerEventKind::kStarted);
  join(group);
  group.supervisor.emplace(timeouts_);
  supervise(group, TreeStarted{placement.round, group.lease_from});
  const Duration start_up = config_.training.start_up +
                            drawn(Purpose::kStartUp, agent.node, config_.training.start_up_jitter);
  schedule(group, GroupAction::kStartedUp, start_up);
}

void Training::join(WorkerGroup& group) {
  const Placement& placement = *group.placement;
  Run& into = run_for(placement);
  const std::size_t rank = placement.group_rank;
  if (rank >= into.slots.size() || into.slots[rank] != 0) return;  // the place is taken: it hangs
  into.slots[rank] = group.id;
  group.run = into.index + 1;
  const std::size_t size = into.slots.size();
  into.nodes[rank] = group.node();
  if (size > 1) {
    if (!into.nodes[(rank + 1) % size]) into.nodes[(rank + 1) % size] = placement.next.node;
    const std::size_t before = (rank + size - 1) % size;
    if (!into.nodes[before]) into.nodes[before] = placement.previous.node;
  }
  watch_edge(into, rank);
  watch_edge(into, (rank + size - 1) % size);
}

void Training::loaded(WorkerGroup& group) {
  group.since_save = Duration{};
  WorkerEvent event{};
  event.kind = WorkerEventKind::kLoaded;
  if (const Run* here = run(group)) event.state = here->base;
  tell(group, event);
  ready(group);
}

void Training::ready(WorkerGroup& group) {
  const Duration takes = config_.training.reconfigure;
  schedule(group, GroupAction::kEntered,
           takes + drawn(Purpose::kReconfigure, group.node(), takes / 5));
}

void Training::entered(WorkerGroup& group) {
  if (group.phase == WorkerGroup::Phase::kTraining) return;
  Run* here = run(group);
  const Placement& placement = *group.placement;
  const StatePoint from = here == nullptr ? placement.resume.state : here->base;
  group.held = StatePoint{placement.round, from.step, from.lineage};
  group.phase = WorkerGroup::Phase::kTraining;
  tell(group, WorkerEventKind::kEntered);
  world_.tell_agent(group.agent, kPipe, WorkersEntered{placement.round, *group.held});
  if (here == nullptr) return;
  ++here->entered;
  refresh(*here);
}

// All members of a foreign round are at the program's first barrier: they take up the newest save.
void Training::foreign_arrived(Run& here) {
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    const WorkerGroup* group = member(here, rank);
    if (group == nullptr || !group->arrived) return;
  }
  const auto newest = storage_.newest_whole();
  here.base = StatePoint{here.round, Step{}, Lineage{}};
  if (newest) here.base = StatePoint{here.round, newest->first.step, newest->second};
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    WorkerGroup& group = *member(here, rank);
    group.phase = WorkerGroup::Phase::kEntering;
    if (newest) {
      group.load = storage_.start(timeline_, Storage::Way::kRead, config_.training.state_bytes);
      transfers_[group.load] = group.id;
    } else {
      ready(group);
    }
  }
}

// ---- Leaving
// -------------------------------------------------------------------------------------

// Foreign programs are stopped, not asked.
void Training::leave(AgentId /*agent*/, RoundId /*for_round*/, bool /*planned*/) {}

void Training::drop_from_run(WorkerGroup& group, Parting parting) {
  Run* here = run(group);
  if (here == nullptr) return;
  const std::uint32_t rank = group.placement->group_rank;
  if (group.phase == WorkerGroup::Phase::kTraining) {
    --here->entered;
    if (here->phase != Run::Phase::kGathering) group.since_save = here->since_save;
  }
  group.run = 0;
  group.applies_at.reset();
  here->slots[rank] = 0;
  here->broken = true;
  refresh(*here);
  if (parting == Parting::kClosed) peers_see_closed(*here, rank);
  if (parting == Parting::kClosed) {
    // Its other local workers lose their peer as well.
    schedule(group, GroupAction::kCrash,
             kCrashSoonest + drawn(Purpose::kEdge, group.node(), kCrashJitter));
  }
  retire_if_empty(*here);
}

// A worker process ended on a running machine: its neighbours' connections close.
void Training::peers_see_closed(Run& here, std::uint32_t rank) {
  const std::size_t size = here.slots.size();
  if (size < 2) return;
  const NodeId lost = here.nodes[rank];
  const std::size_t next = (rank + 1) % size;
  const std::size_t previous = (rank + size - 1) % size;
  for (const std::size_t other : {previous, next}) {
    WorkerGroup* group = member(here, other);
    if (group == nullptr || !world_.connected(lost, group->node())) continue;
    schedule(*group, GroupAction::kCrash,
             kCrashSoonest + drawn(Purpose::kEdge, group->node(), kCrashJitter));
    if (next == previous) break;
  }
}

}  // namespace elastic::sim
