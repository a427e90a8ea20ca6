// Steps, commits and saves of a round of foreign programs, and the connections between its members.
#include <algorithm>

#include "core/assert.h"
#include "core/math/integer.h"
#include "core/worker/lineage.h"
#include "transport/sim/training.h"

namespace elastic::sim {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr Duration kMaxApplyJitter = std::chrono::milliseconds(2);
constexpr Duration kExitJitter = std::chrono::milliseconds(40);

}  // namespace

void Training::schedule(const Run& here, RoundAction action, Duration after, std::uint64_t b) {
  Event event{.kind = EventKind::kRound, .detail = static_cast<std::uint8_t>(action)};
  event.a = here.index;
  event.b = b;
  timeline_.in(after, event);
}

Run& Training::run_for(const Placement& placement) {
  const auto [at, fresh] = run_index_.try_emplace(placement.round, runs_.size());
  if (!fresh) return *runs_[at->second];
  runs_.push_back(std::make_unique<Run>());
  Run& here = *runs_.back();
  here.index = at->second;
  here.round = placement.round;
  const std::size_t size = std::max<std::uint32_t>(placement.group_size, 1);
  here.slots.assign(size, 0);
  here.nodes.assign(size, NodeId{});
  here.closed_since.assign(size, std::nullopt);
  here.jitters.assign(size, Duration{});
  live_runs_.push_back(here.index);
  return here;
}

Run* Training::run(const WorkerGroup& group) {
  return group.run == 0 ? nullptr : runs_[group.run - 1].get();
}

const Run* Training::run_of(RoundId round) const {
  const auto at = run_index_.find(round);
  return at == run_index_.end() ? nullptr : runs_[at->second].get();
}

WorkerGroup* Training::member(Run& here, std::size_t rank) {
  const std::uint64_t id = here.slots[rank];
  return id == 0 ? nullptr : groups_[id - 1].get();
}

void Training::retire_if_empty(Run& here) {
  if (!here.live) return;
  const bool empty = std::all_of(here.slots.begin(), here.slots.end(),
                                 [](std::uint64_t slot) { return slot == 0; });
  if (!empty) return;
  here.live = false;
  here.nodes = {};
  here.closed_since = {};
  here.jitters = {};
  std::erase(live_runs_, here.index);
}

bool Training::on_round(const EventQueue::Due& due) {
  const Event& event = due.event;
  Run& here = *runs_[event.a];
  if (!here.live) return false;
  const bool fresh = event.b == here.generation;
  switch (static_cast<RoundAction>(event.detail)) {
    case RoundAction::kDecide:
      if (!fresh || here.phase != Run::Phase::kStepping) return false;
      decide(here);
      return true;
    case RoundAction::kSettle:
      if (!fresh || here.phase != Run::Phase::kDecided) return false;
      settle(here);
      return true;
    case RoundAction::kStallOver:
      if (!fresh || here.phase != Run::Phase::kStalled) return false;
      begin_step(here);
      return true;
    case RoundAction::kHang:
      if (event.b != here.hang_generation || here.active) return false;
      hang(here);
      return true;
  }
  return false;
}

// ---- Going on and standing still
// -----------------------------------------------------------------

bool Training::can_go_on(Run& here) {
  if (here.broken || here.entered < here.slots.size()) return false;
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    const WorkerGroup* group = member(here, rank);
    if (group == nullptr || group->phase != WorkerGroup::Phase::kTraining) return false;
    if (group->terminating || frozen(*group) || here.closed_since[rank]) return false;
  }
  return true;
}

// After any change of what the round needs to go on.
void Training::refresh(Run& here) {
  const bool can = can_go_on(here);
  if (can == here.active) return;
  here.active = can;
  if (can) {
    go(here);
  } else {
    pause(here);
  }
}

void Training::go(Run& here) {
  here.hang_armed = false;
  ++here.hang_generation;
  switch (here.phase) {
    case Run::Phase::kGathering:
      begin(here);
      return;
    case Run::Phase::kBoundary:
      begin_step(here);
      return;
    case Run::Phase::kStepping:
      here.ends_at = timeline_.now + here.remaining;
      schedule(here, RoundAction::kDecide, here.remaining, ++here.generation);
      return;
    case Run::Phase::kDecided:
    case Run::Phase::kStalled:
    case Run::Phase::kFinished:
      return;
  }
}

void Training::pause(Run& here) {
  if (here.phase == Run::Phase::kStepping) {
    here.remaining = here.ends_at - timeline_.now;
    ++here.generation;
  }
  if (here.hang_armed) return;
  here.hang_armed = true;
  schedule(here, RoundAction::kHang, config_.training.collective_timeout, here.hang_generation);
}

void Training::hang(Run& here) {
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    WorkerGroup* group = member(here, rank);
    if (group == nullptr) continue;
    schedule(*group, GroupAction::kCrash, drawn(Purpose::kEdge, group->node(), kExitJitter));
  }
}

// ---- Steps
// ---------------------------------------------------------------------------------------

Duration Training::step_length(Run& here) const {
  const TrainingModel& model = config_.training;
  const auto nodes = static_cast<std::int64_t>(here.slots.size());
  std::int64_t slowest = kMillion;
  std::uint64_t workers = 1;
  for (const std::uint64_t id : here.slots) {
    const WorkerGroup& group = *groups_[id - 1];
    slowest = std::max(slowest, world_.slow_ppm(group.node()));
    workers = std::max<std::uint64_t>(group.placement->world_size, 1);
  }
  const std::uint64_t samples = math::ceil_div(model.global_batch, workers);
  std::int64_t length =
      math::mul_sat(model.compute_per_sample.count(), static_cast<std::int64_t>(samples));
  length = math::mul_div(length, slowest, kMillion);
  length = math::add_sat(length, model.step_overhead.count());
  if (nodes > 1) {
    const std::int64_t bytes = math::mul_div(model.gradient_bytes, 2 * (nodes - 1), nodes);
    const std::int64_t rate = std::max<std::int64_t>(config_.network.bandwidth_bytes_per_second, 1);
    length = math::add_sat(length, math::mul_div(bytes, 1'000'000'000, rate));
    length = math::add_sat(length, math::mul_sat(2 * (nodes - 1), config_.network.latency.count()));
  }
  constexpr std::int64_t kShortest = 1'000;
  constexpr std::int64_t kLongest = 1'000'000'000'000'000;  // eleven days
  return Duration(std::clamp(length, kShortest, kLongest));
}

// Members apply the decided step at slightly different times. Gives the longest delay.
Duration Training::draw_jitters(Run& here) const {
  const Duration bound = std::min(kMaxApplyJitter, here.length / 4);
  const math::Stream stream = Chance::stream(Purpose::kApply, here.round.number);
  const auto limit = static_cast<std::uint64_t>(bound.count()) + 1;
  Duration longest{};
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    const std::uint64_t drawn_bits = chance_.draw(stream, (here.step.value << 20) ^ rank);
    here.jitters[rank] = Duration(static_cast<std::int64_t>(math::below(drawn_bits, limit)));
    longest = std::max(longest, here.jitters[rank]);
  }
  return longest;
}

// Every member has entered for the first time.
void Training::begin(Run& here) {
  here.since_save = Duration{};
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    here.since_save = std::max(here.since_save, member(here, rank)->since_save);
    here.step = std::max(here.step, member(here, rank)->held->step);
  }
  if (here.step.value >= config_.training.total_steps) {
    finish(here);
  } else {
    begin_step(here);
  }
}

void Training::begin_step(Run& here) {
  here.phase = Run::Phase::kBoundary;
  if (!here.active) return;
  here.phase = Run::Phase::kStepping;
  here.length = step_length(here);
  const Duration longest = draw_jitters(here);
  here.remaining = here.length - longest;
  here.ends_at = timeline_.now + here.remaining;
  schedule(here, RoundAction::kDecide, here.remaining, ++here.generation);
  WorkerEvent event{};
  event.kind = WorkerEventKind::kStepBegun;
  event.length = here.length;
  tell(*member(here, 0), event);
}

void Training::decide(Run& here) {
  ELASTIC_ASSERT(here.active);
  here.phase = Run::Phase::kDecided;
  Duration longest{};
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    WorkerGroup& group = *member(here, rank);
    group.applies_at = timeline_.now + here.jitters[rank];
    longest = std::max(longest, here.jitters[rank]);
  }
  schedule(here, RoundAction::kSettle, longest, here.generation);
}

// Brings the members up to the present: who was to apply the decided step by now has applied it. To
// be called before anything that changes a member.
void Training::settle(Run& here) {
  if (here.phase != Run::Phase::kDecided) return;
  bool waiting = false;
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    WorkerGroup* group = member(here, rank);
    if (group == nullptr || !group->applies_at) continue;
    if (*group->applies_at > timeline_.now || frozen(*group)) {
      waiting = true;
    } else {
      apply(here, *group);
    }
  }
  if (!waiting && !here.broken) commit(here);
}

void Training::apply(Run& here, WorkerGroup& group) {
  group.applies_at.reset();
  StatePoint& held = *group.held;
  const Step step{here.step.value + 1};
  const Lineage before = held.lineage;
  if (here.last_in != before || here.last_out == Lineage{}) {
    here.last_in = before;
    here.last_out = next_lineage(before, step, here.round);
  }
  held.step = step;
  held.lineage = here.last_out;
  tell(group, WorkerEventKind::kApplied);
}

void Training::commit(Run& here) {
  here.step = Step{here.step.value + 1};
  here.last_out = Lineage{};
  here.since_save += here.length;
  tell(*member(here, 0), WorkerEventKind::kCommitted);
  const Duration every = config_.training.checkpoint_every;
  if (here.step.value >= config_.training.total_steps) {
    finish(here);
  } else if (every > Duration{} && here.since_save >= every && !saving(here)) {
    save(here, false);
  } else {
    begin_step(here);
  }
}

// ---- Saves
// ---------------------------------------------------------------------------------------

bool Training::saving(Run& here) {
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    if (member(here, rank)->save) return true;
  }
  return false;
}

void Training::save(Run& here, bool last) {
  const auto size = static_cast<std::uint32_t>(here.slots.size());
  here.since_save = Duration{};
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    WorkerGroup* group = member(here, rank);
    if (group == nullptr) continue;
    if (group->save) storage_.cancel(timeline_, group->save->transfer);
    Save share;
    share.report = SaveReport{here.round, here.step, group->held->lineage, 0, 0};
    share.report.bytes = static_cast<std::uint64_t>(config_.training.state_bytes / size);
    share.report.digest = next_lineage(share.report.lineage, here.step, here.round).value;
    share.rank = rank;
    share.size = size;
    share.last = last;
    share.transfer =
        storage_.start(timeline_, Storage::Way::kWrite, config_.training.state_bytes / size);
    transfers_[share.transfer] = group->id;
    group->save = share;
    group->since_save = Duration{};
  }
  if (last) return;
  here.phase = Run::Phase::kStalled;
  WorkerEvent event{};
  event.kind = WorkerEventKind::kStall;
  event.length = config_.training.copy_stall;
  tell(*member(here, 0), event);
  schedule(here, RoundAction::kStallOver, config_.training.copy_stall, here.generation);
}

bool Training::on_transfers(const std::vector<TransferId>& through) {
  for (const TransferId transfer : through) {
    const auto at = transfers_.find(transfer);
    if (at == transfers_.end()) continue;
    const WorkerGroup& group = *groups_[at->second - 1];
    transfers_.erase(at);
    const bool load = group.load == transfer;
    Event event{.kind = EventKind::kGroup, .node = static_cast<std::uint32_t>(group.node().value)};
    event.detail = static_cast<std::uint8_t>(load ? GroupAction::kLoaded : GroupAction::kStored);
    event.a = group.id;
    event.b = transfer.value;
    timeline_.in(Duration{}, event);
  }
  return !through.empty();
}

void Training::share_stored(WorkerGroup& group) {
  const Save done = *group.save;
  group.save.reset();
  const bool whole = storage_.share_stored({done.report.step, done.report.round},
                                           done.report.lineage, done.rank, done.size);
  WorkerEvent event{};
  event.kind = WorkerEventKind::kSaved;
  event.round = done.report.round;
  event.state = StatePoint{done.report.round, done.report.step, done.report.lineage};
  tell(group, event);
  if (!done.last || !whole) return;
  if (Run* here = run(group)) foreign_finished(*here);
}

void Training::finish(Run& here) {
  here.phase = Run::Phase::kFinished;
  save(here, true);
}

// The last save of a foreign program is whole: its processes end by themselves.
void Training::foreign_finished(Run& here) {
  for (std::size_t rank = 0; rank < here.slots.size(); ++rank) {
    WorkerGroup* group = member(here, rank);
    if (group == nullptr) continue;
    tell(*group, WorkerEventKind::kFinished);
    schedule(*group, GroupAction::kFinishExit, drawn(Purpose::kEdge, group->node(), kExitJitter));
  }
}

// ---- Connections
// ---------------------------------------------------------------------------------

void Training::surroundings_changed() {
  const std::vector<std::uint64_t> indices = live_runs_;
  for (const std::uint64_t index : indices) {
    Run& here = *runs_[index];
    if (!here.live) continue;
    settle(here);
    watch_edges(here);
    refresh(here);
  }
}

void Training::watch_edges(Run& here) {
  for (std::size_t edge = 0; edge < here.slots.size(); ++edge) watch_edge(here, edge);
}

// Edge i lies between the members of rank i and i + 1; two members share one edge.
void Training::watch_edge(Run& here, std::size_t edge) {
  const std::size_t size = here.slots.size();
  if (size < 2) return;
  if (size == 2) edge = 0;
  const NodeId a = here.nodes[edge];
  const NodeId b = here.nodes[(edge + 1) % size];
  const bool closed = a && b && !world_.connected(a, b);
  if (closed == here.closed_since[edge].has_value()) return;
  here.closed_since[edge] = closed ? std::optional<Time>(timeline_.now) : std::nullopt;
}

}  // namespace elastic::sim
