// How worker groups come into rounds and leave them: placement, fills, loads, orders to leave.
#include <algorithm>

#include "core/assert.h"
#include "core/math/integer.h"
#include "transport/sim/training.h"

namespace elastic::sim {
namespace {

constexpr Duration kPipe = std::chrono::microseconds(100);  // agent to worker
constexpr Duration kLeaveTakes = std::chrono::milliseconds(1);
constexpr Duration kLeaveJitter = std::chrono::milliseconds(4);
constexpr Duration kCrashSoonest = std::chrono::milliseconds(20);
constexpr Duration kCrashJitter = std::chrono::milliseconds(480);
constexpr Duration kClosedSeen = std::chrono::microseconds(300);
constexpr Duration kClosedJitter = std::chrono::microseconds(700);

}  // namespace

bool Training::act(WorkerGroup& group, const Event& event) {
  const bool current_entry = event.b == group.entry_epoch;
  switch (static_cast<GroupAction>(event.detail)) {
    case GroupAction::kPrepared:
      if (event.payload != group.preparation) return false;
      prepared(group);
      return true;
    case GroupAction::kCommand: {
      if (group.commands.empty()) return false;
      const WorkerCommand order = group.commands.front();
      group.commands.pop_front();
      if (const auto* enter_order = std::get_if<EnterCommand>(&order)) {
        enter_now(group, enter_order->placement);
      } else {
        leave_ordered(group, std::get<LeaveCommand>(order));
      }
      return true;
    }
    case GroupAction::kFilled:
      if (!current_entry) return false;
      filled(group);
      return true;
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
    case GroupAction::kReportLeft:
      world_.tell_agent(group.agent, kPipe, WorkersLeft{group.left_for, group.held});
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

void Training::command(WorkerGroup& group, WorkerCommand order) {
  group.commands.push_back(std::move(order));
  schedule(group, GroupAction::kCommand, kPipe);
}

// ---- Entering
// ------------------------------------------------------------------------------------

void Training::enter(AgentId agent, const Placement& placement) {
  if (!world_.machine_up(agent.node)) return;
  if (config_.job.workers == WorkerKind::kNative) {
    if (WorkerGroup* group = current(agent)) command(*group, EnterCommand{placement});
    return;
  }
  WorkerGroup& group = create(agent, WorkerKind::kForeign, config_.job.workers_per_node);
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

void Training::enter_now(WorkerGroup& group, const Placement& placement) {
  if (placement.round < group.left_for || group.phase == WorkerGroup::Phase::kStarting) return;
  if (group.run != 0 && group.placement->round >= placement.round) return;
  const bool complete = std::all_of(group.workers.begin(), group.workers.end(),
                                    [](const WorkerProcess& w) { return w.alive; });
  if (!complete) return;  // the agent has been told, and prepares first
  if (Run* before = run(group)) {
    settle(*before);
    if (group.gone()) return;
    drop_from_run(group, Parting::kLeft);
  }
  if (group.save) storage_.cancel(timeline_, group.save->transfer);
  group.save.reset();
  storage_.cancel(timeline_, group.load);
  group.load = TransferId{};
  ++group.entry_epoch;
  group.placement = placement;
  group.phase = WorkerGroup::Phase::kEntering;
  group.state_ready = false;
  group.wants_fill = false;
  group.planned_for = RoundId{};
  join(group);
  seek_state(group);
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

void Training::seek_state(WorkerGroup& group) {
  const ResumePoint& resume = group.placement->resume;
  if (resume.source == ResumePoint::Source::kScratch) {
    group.since_save = Duration{};
    ready(group);
    return;
  }
  if (group.held && *group.held == resume.state) {
    ready(group);
    return;
  }
  if (resume.source == ResumePoint::Source::kHolders) {
    seek_fill(group);
    return;
  }
  if (!storage_.holds(resume.state.step, resume.state.lineage)) return;  // hangs: nothing to load
  group.load = storage_.start(timeline_, config_.training.state_bytes);
  transfers_[group.load] = group.id;
}

bool Training::can_fill(const WorkerGroup& source, const WorkerGroup& group) const {
  return source.id != group.id && !source.gone() && source.run != 0 && source.run == group.run &&
         source.state_ready && !frozen(source) && world_.connected(source.node(), group.node());
}

void Training::seek_fill(WorkerGroup& group) {
  Run* here = run(group);
  group.wants_fill = true;
  if (here == nullptr || !here->live) return;
  const std::size_t size = here->slots.size();
  for (std::size_t i = 1; i < size; ++i) {
    const WorkerGroup* source = member(*here, (group.placement->group_rank + i) % size);
    if (source == nullptr || !can_fill(*source, group)) continue;
    group.wants_fill = false;
    group.fill_source = source->id;
    group.since_save = source->since_save;
    const std::int64_t rate = std::max<std::int64_t>(config_.network.bandwidth_bytes_per_second, 1);
    const std::int64_t takes = math::mul_div(config_.training.state_bytes, 1'000'000'000, rate);
    schedule(group, GroupAction::kFilled, config_.network.latency + Duration(takes));
    return;
  }
}

void Training::poke_fillers(Run& here) {
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    WorkerGroup* group = member(here, rank);
    if (group != nullptr && group->wants_fill) seek_fill(*group);
  }
}

void Training::filled(WorkerGroup& group) {
  if (!can_fill(*groups_[group.fill_source - 1], group)) {
    seek_fill(group);
    return;
  }
  WorkerEvent event{};
  event.kind = WorkerEventKind::kFilled;
  event.state = group.placement->resume.state;
  tell(group, event);
  ready(group);
}

void Training::loaded(WorkerGroup& group) {
  group.since_save = Duration{};
  WorkerEvent event{};
  event.kind = WorkerEventKind::kLoaded;
  if (group.native()) {
    event.state = group.placement->resume.state;
  } else if (const Run* here = run(group)) {
    event.state = here->base;
  }
  tell(group, event);
  ready(group);
}

void Training::ready(WorkerGroup& group) {
  group.state_ready = true;
  if (Run* here = run(group)) poke_fillers(*here);
  const Duration takes = config_.training.reconfigure;
  schedule(group, GroupAction::kEntered,
           takes + drawn(Purpose::kReconfigure, group.node(), takes / 5));
}

void Training::entered(WorkerGroup& group) {
  if (group.phase == WorkerGroup::Phase::kTraining) return;
  Run* here = run(group);
  const Placement& placement = *group.placement;
  const StatePoint from = group.native() || here == nullptr ? placement.resume.state : here->base;
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
      group.load = storage_.start(timeline_, config_.training.state_bytes);
      transfers_[group.load] = group.id;
    } else {
      ready(group);
    }
  }
}

// ---- Leaving
// -------------------------------------------------------------------------------------

void Training::leave(AgentId agent, RoundId for_round, bool planned) {
  WorkerGroup* group = current(agent);
  if (group != nullptr && group->native()) command(*group, LeaveCommand{for_round, planned});
}

void Training::leave_ordered(WorkerGroup& group, const LeaveCommand& order) {
  Run* here = run(group);
  if (here != nullptr) settle(*here);
  if (group.gone()) return;
  const bool inside = group.run != 0 && group.placement->round < order.for_round;
  if (!inside) {
    if (order.for_round <= group.left_for) return;
    group.left_for = order.for_round;
    schedule(group, GroupAction::kReportLeft, kLeaveTakes);
    return;
  }
  const bool stepping = here->phase == Run::Phase::kBoundary ||
                        here->phase == Run::Phase::kStepping ||
                        here->phase == Run::Phase::kDecided || here->phase == Run::Phase::kStalled;
  if (order.planned && stepping && !here->told_broken) {
    group.planned_for = std::max(group.planned_for, order.for_round);
    return;
  }
  leave_now(group, order.for_round);
}

void Training::leave_now(WorkerGroup& group, RoundId for_round) {
  if (Run* here = run(group)) settle(*here);
  if (group.gone()) return;
  group.left_for = std::max(group.left_for, for_round);
  group.planned_for = RoundId{};
  storage_.cancel(timeline_, group.load);
  group.load = TransferId{};
  ++group.entry_epoch;
  group.wants_fill = false;
  drop_from_run(group, Parting::kLeft);
  group.phase = WorkerGroup::Phase::kOutside;
  WorkerEvent event{};
  event.kind = WorkerEventKind::kLeft;
  event.round = for_round;
  tell(group, event);
  schedule(group, GroupAction::kReportLeft,
           kLeaveTakes + drawn(Purpose::kWorkerPipe, group.node(), kLeaveJitter));
}

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
  if (parting != Parting::kSilent) tell_broken(*here);
  if (!group.native() && parting == Parting::kClosed) {
    // Its other local workers lose their peer as well.
    schedule(group, GroupAction::kCrash,
             kCrashSoonest + drawn(Purpose::kEdge, group.node(), kCrashJitter));
  }
  retire_if_empty(*here);
}

// The members learn that the round is over: who was to leave at a step boundary leaves now, unless
// the step's result is about to be applied.
void Training::tell_broken(Run& here) {
  if (here.told_broken) return;
  here.told_broken = true;
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    WorkerGroup* group = member(here, rank);
    if (group != nullptr && group->planned_for && !group->applies_at)
      leave_now(*group, group->planned_for);
  }
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
    if (group->native()) {
      const Duration after = kClosedSeen + drawn(Purpose::kEdge, group->node(), kClosedJitter);
      world_.tell_agent(group->agent, after, EdgeFailed{here.round, lost});
    } else {
      schedule(*group, GroupAction::kCrash,
               kCrashSoonest + drawn(Purpose::kEdge, group->node(), kCrashJitter));
    }
    if (next == previous) break;
  }
}

}  // namespace elastic::sim
