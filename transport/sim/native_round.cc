// The steps that the members of a round make together, and the connections between them.
#include <algorithm>

#include "core/assert.h"
#include "core/math/integer.h"
#include "transport/sim/native.h"

namespace elastic::sim {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr Duration kMaxApplyJitter = std::chrono::milliseconds(2);
constexpr Duration kClosedSeen = std::chrono::microseconds(300);
constexpr Duration kClosedJitter = std::chrono::microseconds(700);

}  // namespace

void NativeTraining::schedule(const Joint& joint, RoundAction action, Duration after,
                              std::uint64_t b) {
  Event event{.kind = EventKind::kRound, .detail = static_cast<std::uint8_t>(action)};
  event.a = joint.index;
  event.b = b;
  timeline_.in(after, event);
}

NativeTraining::Joint& NativeTraining::joint_for(RoundId round, std::uint32_t world_size) {
  const auto [at, fresh] = joint_index_.try_emplace(round, joints_.size());
  if (!fresh) return *joints_[at->second];
  joints_.push_back(std::make_unique<Joint>());
  Joint& joint = *joints_.back();
  joint.index = at->second;
  joint.round = round;
  const std::size_t size = std::max<std::uint32_t>(world_size, 1);
  joint.slots.assign(size, 0);
  joint.nodes.assign(size, NodeId{});
  joint.closed_since.assign(size, std::nullopt);
  joint.begun.assign(size, StartStep{});
  live_joints_.push_back(joint.index);
  return joint;
}

NativeTraining::Joint* NativeTraining::joint_of(const Process& worker) {
  return worker.joint == 0 ? nullptr : joints_[worker.joint - 1].get();
}

void NativeTraining::join(Process& worker, const Connect& connecting) {
  drop_from_joint(worker, false);
  const Placement& place = connecting.placement;
  Joint& joint = joint_for(place.round, place.world_size);
  const std::size_t size = joint.slots.size();
  const std::size_t rank = connecting.rank;
  if (rank >= size || joint.slots[rank] != 0) return;  // the place is taken: it hangs
  joint.slots[rank] = worker.id;
  worker.joint = joint.index + 1;
  worker.rank = connecting.rank;
  joint.nodes[rank] = worker.node();
  // Neighbours that have not come yet are known by the placement.
  const auto per_node = std::max(1U, config_.job.workers_per_node);
  const auto know = [&](std::size_t at, AgentId agent) {
    if (!joint.nodes[at]) joint.nodes[at] = agent.node;
  };
  if (size > per_node) {
    know((place.first_rank + per_node) % size, place.next);
    know((place.first_rank + size - 1) % size, place.previous);
  }
  watch_edges(joint);
}

void NativeTraining::drop_from_joint(Process& worker, bool closed) {
  Joint* joint = joint_of(worker);
  if (joint == nullptr) return;
  const std::size_t rank = worker.rank;
  const std::size_t size = joint->slots.size();
  worker.joint = 0;
  joint->slots[rank] = 0;
  if (joint->begun[rank].step.value != 0) {
    joint->begun[rank] = StartStep{};
    --joint->begun_count;
  }
  joint->broken = true;
  refresh(*joint);
  // A worker process ended on a running machine: its neighbours' connections close.
  if (closed && size > 1) {
    for (const Side side : {Side::kPrevious, Side::kNext}) {
      const std::size_t at = side == Side::kNext ? (rank + 1) % size : (rank + size - 1) % size;
      Process* peer = process(joint->slots[at]);
      if (peer == nullptr) continue;
      if (peer->node() != worker.node() && !world_.connected(worker.node(), peer->node())) continue;
      const Side seen = side == Side::kNext ? Side::kPrevious : Side::kNext;
      const Duration after = kClosedSeen + drawn(Purpose::kEdge, peer->node(), kClosedJitter);
      give(*peer, EdgeClosed{joint->round, seen}, after);
      if (size == 2) break;
    }
  }
  const bool empty = std::all_of(joint->slots.begin(), joint->slots.end(),
                                 [](std::uint64_t slot) { return slot == 0; });
  if (!empty || !joint->live) return;
  joint->live = false;
  std::erase(live_joints_, joint->index);
}

// ---- Steps
// -----------------------------------------------------------------------------------------

void NativeTraining::begin_step(Process& worker, const StartStep& start) {
  Joint* joint = joint_of(worker);
  if (joint == nullptr || joint->broken || joint->round != start.round) return;
  StartStep& slot = joint->begun[start.rank];
  if (slot.step.value == 0) ++joint->begun_count;
  slot = start;
  worker.own = gradient(worker.weights, rules_.data.seed, start.batch.epoch, start.share);
  const bool all = joint->begun_count == joint->slots.size();
  if (!messages_) {
    if (all) refresh(*joint);
    return;
  }
  compute(worker, start);
  if (!all) return;
  tell_begun(*joint, step_length(*joint));
  joint->begun.assign(joint->slots.size(), StartStep{});
  joint->begun_count = 0;
}

bool NativeTraining::can_go_on(Joint& joint) {
  if (joint.broken || joint.begun_count < joint.slots.size()) return false;
  for (std::size_t rank = 0; rank < joint.slots.size(); ++rank) {
    const Process* worker = process(joint.slots[rank]);
    if (worker == nullptr || frozen(*worker) || joint.closed_since[rank]) return false;
    if (hands_of(worker->agent)->terminating) return false;
  }
  return true;
}

// After any change of what the round needs to go on.
void NativeTraining::refresh(Joint& joint) {
  if (messages_) return;  // nobody waits for all but through the ring
  const bool can = can_go_on(joint);
  if (can == joint.active) return;
  joint.active = can;
  if (!can) {
    joint.remaining = joint.ends_at - timeline_.now;
    ++joint.generation;
    return;
  }
  if (joint.phase == Joint::Phase::kGathering) {
    joint.phase = Joint::Phase::kStepping;
    joint.length = step_length(joint);
    joint.remaining = joint.length - std::min(kMaxApplyJitter, joint.length / 4);
    tell_begun(joint, joint.length);
  }
  joint.ends_at = timeline_.now + joint.remaining;
  schedule(joint, RoundAction::kDecide, joint.remaining, ++joint.generation);
}

Duration NativeTraining::compute_length(const Process& worker, std::uint64_t samples) const {
  const TrainingModel& model = config_.training;
  std::int64_t length =
      math::mul_sat(model.compute_per_sample.count(), static_cast<std::int64_t>(samples));
  length = math::mul_div(length, world_.slow_ppm(worker.node()), kMillion);
  return Duration(math::add_sat(length, model.step_overhead.count()));
}

// Of a ring: 2 (N - 1) / N of the bytes leave each node, in 2 (N - 1) hops.
Duration NativeTraining::reduce_length(std::size_t ranks) const {
  const auto nodes =
      static_cast<std::int64_t>(math::ceil_div(ranks, std::max(1U, config_.job.workers_per_node)));
  if (nodes < 2) return {};
  const std::int64_t bytes = math::mul_div(config_.training.gradient_bytes, 2 * (nodes - 1), nodes);
  const std::int64_t rate = std::max<std::int64_t>(config_.network.bandwidth_bytes_per_second, 1);
  const std::int64_t hops = math::mul_sat(2 * (nodes - 1), config_.network.latency.count());
  return Duration(math::add_sat(math::mul_div(bytes, 1'000'000'000, rate), hops));
}

Duration NativeTraining::step_length(Joint& joint) {
  const std::size_t ranks = joint.slots.size();
  const std::uint64_t samples = math::ceil_div(joint.begun[0].batch.size, ranks);
  Duration slowest{};
  for (const std::uint64_t id : joint.slots)
    slowest = std::max(slowest, compute_length(*process(id), samples));
  constexpr Duration kShortest{1'000};
  constexpr Duration kLongest{1'000'000'000'000'000};  // eleven days
  const std::int64_t length = math::add_sat(slowest.count(), reduce_length(ranks).count());
  return std::clamp(Duration(length), kShortest, kLongest);
}

void NativeTraining::tell_begun(Joint& joint, Duration length) {
  WorkerEvent event{};
  event.kind = WorkerEventKind::kStepBegun;
  event.round = joint.round;
  event.length = length;
  const Process& first = *process(joint.slots[0]);
  event.state = *first.machine.held();
  tell(*hands_of(first.agent), event);
}

std::optional<policy::GradientStats> NativeTraining::stats_of(const Lanes& sum) const {
  if (rules_.batch.mode != policy::BatchMode::kAdaScale) return std::nullopt;
  return gradient_stats(sum);
}

void NativeTraining::reduce(Process& worker, const ReduceStep& reducing) {
  if (messages_) return start_ring(worker, reducing);
  Joint* joint = joint_of(worker);
  if (joint == nullptr || joint->round != reducing.round) return;
  ++joint->reduced_count;
  joint->flags |= reducing.flags;
}

// All members have computed and exchanged: each has the sum, at slightly different times.
void NativeTraining::decide(Joint& joint) {
  ELASTIC_ASSERT(joint.active);
  const std::size_t size = joint.slots.size();
  const Step step = joint.begun[0].step;
  joint.phase = Joint::Phase::kGathering;
  joint.active = false;
  joint.reduced_count = 0;
  joint.flags = 0;
  joint.applied_count = 0;
  joint.applied_step = step;
  for (std::size_t rank = 0; rank < size; ++rank) {
    ELASTIC_ASSERT(joint.begun[rank].step == step);
    joint.begun[rank] = StartStep{};
  }
  joint.begun_count = 0;
  Lanes sum{};
  const std::vector<std::uint64_t> slots = joint.slots;
  for (const std::uint64_t id : slots) {
    Process* worker = process(id);
    if (worker == nullptr) continue;
    add(sum, worker->own);
    run(*worker, StepComputed{joint.round, step});
  }
  if (joint.reduced_count < size || joint.broken) return;  // somebody did not go along
  const Duration bound = std::min(kMaxApplyJitter, joint.length / 4);
  const math::Stream stream = Chance::stream(Purpose::kApply, joint.round.number);
  for (std::size_t rank = 0; rank < size; ++rank) {
    Process& worker = *process(slots[rank]);
    worker.reduced = sum;
    worker.due = std::pair(joint.round, step);
    worker.due_lost = false;
    const std::uint64_t bits = chance_.draw(stream, (step.value << 20) ^ rank);
    const Duration after(math::between(bits, 0, bound.count()));
    give(worker, StepReduced{joint.round, step, joint.flags, stats_of(sum)}, after);
  }
}

// Committed: every member has applied it, before any of them left.
void NativeTraining::member_applied(Process& worker, Step step, const Before& before) {
  Hands& hands = *hands_of(worker.agent);
  const auto& held = worker.machine.held();
  if (!held || held->step != step) return;
  if (before.catching_up) {  // as good as a fill
    WorkerEvent event{};
    event.kind = WorkerEventKind::kFilled;
    event.state = worker.machine.placement().resume.state;
    event.digest = digest_of(worker.weights);
    tell(hands, event);
    return;
  }
  if (hands.applied != std::pair(held->entered, step)) {
    hands.applied = std::pair(held->entered, step);
    WorkerEvent event{};
    event.kind = WorkerEventKind::kApplied;
    event.round = held->entered;
    event.state = *held;
    event.digest = digest_of(worker.weights);
    event.before = before.lineage;
    event.batch = before.batch;
    event.cursor = worker.machine.progress().cursor;
    tell(hands, event);
  }
  const auto at = joint_index_.find(held->entered);
  if (at == joint_index_.end()) return;
  Joint& joint = *joints_[at->second];
  if (joint.applied_step != step) joint.applied_count = 0;
  joint.applied_step = step;
  if (++joint.applied_count < joint.slots.size()) return;
  if (joint.broken) return;
  const Process& first = *process(joint.slots[0]);
  WorkerEvent event{};
  event.kind = WorkerEventKind::kCommitted;
  event.round = joint.round;
  event.state = *first.machine.held();
  event.state.step = step;
  event.state.lineage = held->lineage;
  tell(*hands_of(first.agent), event);
}

// ---- Connections
// -----------------------------------------------------------------------------------

bool NativeTraining::on_round(const Event& event) {
  Joint& joint = *joints_[event.a];
  if (!joint.live) return false;
  switch (static_cast<RoundAction>(event.detail)) {
    case RoundAction::kDecide:
      if (event.b != joint.generation || !joint.active) return false;
      decide(joint);
      return true;
    case RoundAction::kEdge:
      edge_failed(joint, event.b);
      return true;
  }
  return false;
}

void NativeTraining::surroundings_changed() {
  const std::vector<std::uint64_t> live = live_joints_;
  for (const std::uint64_t index : live) {
    Joint& joint = *joints_[index];
    watch_edges(joint);
    greet_again(joint);
    flush_all(joint);
    refresh(joint);
  }
}

// Connections are back: whoever still looks for the resume state hears again who holds it.
void NativeTraining::greet_again(Joint& joint) {
  for (const std::uint64_t id : joint.slots) {
    Process* worker = process(id);
    if (worker == nullptr || worker->machine.phase() != Worker::Phase::kSeeking) continue;
    for (const Side side : {Side::kPrevious, Side::kNext}) {
      const Process* peer = neighbour(*worker, side);
      if (peer == nullptr || peer == worker || frozen(*peer)) continue;
      if (peer->node() != worker->node() && !world_.connected(peer->node(), worker->node()))
        continue;
      const Hello hello{joint.round, peer->machine.holds_resume()};
      give(*worker, PeerSays{side, hello}, config_.network.latency);
    }
  }
}

void NativeTraining::watch_edges(Joint& joint) {
  for (std::size_t edge = 0; edge < joint.slots.size(); ++edge) watch_edge(joint, edge);
}

void NativeTraining::watch_edge(Joint& joint, std::size_t edge) {
  const std::size_t size = joint.slots.size();
  if (size < 2) return;
  const NodeId a = joint.nodes[edge];
  const NodeId b = joint.nodes[(edge + 1) % size];
  const bool closed = a && b && a != b && !world_.connected(a, b);
  if (closed == joint.closed_since[edge].has_value()) return;
  joint.closed_since[edge] = closed ? std::optional<Time>(timeline_.now) : std::nullopt;
  if (closed) schedule(joint, RoundAction::kEdge, timeouts_.lost_after, edge);
}

void NativeTraining::edge_failed(Joint& joint, std::size_t edge) {
  const auto& since = joint.closed_since[edge];
  if (!since || timeline_.now - *since < timeouts_.lost_after) return;
  const std::size_t other = (edge + 1) % joint.slots.size();
  if (Process* one = process(joint.slots[edge]))
    give(*one, EdgeClosed{joint.round, Side::kNext}, Duration{});
  if (Process* two = process(joint.slots[other]))
    give(*two, EdgeClosed{joint.round, Side::kPrevious}, Duration{});
}

}  // namespace elastic::sim
