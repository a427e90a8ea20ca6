// What one native worker is told, and what its runtime does for it.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/math/integer.h"
#include "core/worker/lineage.h"
#include "transport/sim/native.h"

namespace elastic::sim {
namespace {

constexpr Duration kPipe = std::chrono::microseconds(100);
constexpr Duration kLeaveTakes = std::chrono::milliseconds(1);
constexpr Duration kLeaveJitter = std::chrono::milliseconds(4);
constexpr Duration kSwapTakes = std::chrono::microseconds(200);
constexpr Duration kLongestApply = std::chrono::milliseconds(1);

}  // namespace

void NativeTraining::give(Process& worker, WorkerInput input, Duration after, bool any_epoch) {
  const std::uint32_t payload = inputs_.put(std::move(input));
  schedule(worker, ProcessAction::kInput, after, any_epoch ? kAnyEpoch : worker.epoch, payload);
}

// One step of the machine, then its effects, then whatever follows from them in no time.
void NativeTraining::run(Process& worker, const WorkerInput& input) {
  if (!worker.alive) return;
  if (const auto* reduced = std::get_if<StepReduced>(&input)) {
    const bool lost = worker.due_lost;
    if (worker.due == std::pair(reduced->round, reduced->step)) {
      worker.due.reset();
      worker.due_lost = false;
      if (lost) return;
    }
  }
  if (const auto* done = std::get_if<StepApplied>(&input)) applied(worker, *done);
  const Before before{worker.machine.phase() == Worker::Phase::kCatchingUp,
                      worker.machine.held() ? worker.machine.held()->lineage : Lineage{},
                      worker.machine.batch()};
  WorkerEffects effects;
  worker.machine.step(world_.clock(worker.node()).local(timeline_.now), input, effects);
  if (config_.check_invariants) worker.machine.check();
  if (const auto* done = std::get_if<StepApplied>(&input))
    member_applied(worker, done->step, before);
  for (const WorkerEffect& effect : effects) {
    if (!worker.alive) break;
    take(worker, effect);
  }
}

void NativeTraining::take(Process& worker, const WorkerEffect& effect) {
  if (const auto* start = std::get_if<StartStep>(&effect)) {
    begin_step(worker, *start);
  } else if (const auto* reducing = std::get_if<ReduceStep>(&effect)) {
    reduce(worker, *reducing);
  } else if (const auto* applying = std::get_if<ApplyStep>(&effect)) {
    apply_step(worker, *applying);
  } else if (const auto* says = std::get_if<TellAgent>(&effect)) {
    told_agent(worker, says->says);
  } else if (const auto* arm = std::get_if<ArmWorkerTimer>(&effect)) {
    const Event event = orphan_event(worker);
    const LocalClock& clock = world_.clock(worker.node());
    worker.orphan.arm(timeline_.queue, clock, timeline_.now,
                      clock.local(timeline_.now) + arm->after, event);
  } else if (const auto* peer = std::get_if<TellPeer>(&effect)) {
    tell_peer(worker, *peer);
  } else if (const auto* connecting = std::get_if<Connect>(&effect)) {
    connect(worker, *connecting);
  } else if (const auto* part = std::get_if<FetchPart>(&effect)) {
    fetch(worker, *part);
  } else if (const auto* loading = std::get_if<LoadSave>(&effect)) {
    load(worker, *loading);
  } else if (const auto* swapping = std::get_if<SwapIn>(&effect)) {
    swap_in(worker, *swapping);
  } else if (std::holds_alternative<Initialise>(effect)) {
    worker.weights = initial_weights(rules_.data.seed);
  } else if (std::holds_alternative<CancelRound>(effect)) {
    cancel(worker);
  } else if (const auto* copying = std::get_if<CopyState>(&effect)) {
    copy_state(worker, *copying);
  } else if (const auto* storing = std::get_if<StoreShare>(&effect)) {
    store(worker, *storing);
  } else if (std::holds_alternative<AbandonSave>(effect)) {
    storage_.cancel(timeline_, worker.store_transfer);
    worker.store.reset();
  } else if (std::holds_alternative<EndWorker>(effect)) {
    end_process(worker, ExitStatus{0, 9}, false);
  }
}

// ---- To the agent
// --------------------------------------------------------------------------------------

void NativeTraining::told_agent(Process& worker, const WorkerSays& says) {
  Hands& hands = *hands_of(worker.agent);
  Duration after = kPipe;
  if (std::holds_alternative<SaysLeft>(says))
    after = kLeaveTakes + drawn(Purpose::kWorkerPipe, worker.node(), kLeaveJitter);
  crew_step(hands, CrewSaid{worker.local_rank, says}, after);
}

// Observers are told what all workers of a node have done when the last of them has.
void NativeTraining::crew_step(Hands& hands, const CrewInput& input, Duration after) {
  std::vector<Input> to_agent;
  hands.crew.step(world_.clock(hands.agent.node).local(timeline_.now), input, to_agent);
  if (config_.check_invariants) hands.crew.check();
  for (Input& told : to_agent) {
    WorkerEvent event{};
    if (const auto* entered = std::get_if<WorkersEntered>(&told)) {
      event.kind = WorkerEventKind::kEntered;
      event.round = entered->round;
      event.state = entered->held;
      tell(hands, event);
    } else if (const auto* left = std::get_if<WorkersLeft>(&told)) {
      if (std::exchange(hands.inside, false)) {
        event.kind = WorkerEventKind::kLeft;
        event.round = left->for_round;
        tell(hands, event);
      }
    } else if (std::holds_alternative<WorkersPrepared>(told)) {
      event.kind = WorkerEventKind::kPrepared;
      tell(hands, event);
    } else if (const auto* finished = std::get_if<WorkersFinished>(&told)) {
      event.kind = WorkerEventKind::kFinished;
      event.state = finished->held;
      tell(hands, event);
    }
    world_.tell_agent(hands.agent, after, std::move(told));
  }
}

// ---- Neighbours
// ----------------------------------------------------------------------------------------

NativeTraining::Process* NativeTraining::neighbour(const Process& worker, Side side) {
  Joint* joint = joint_of(worker);
  if (joint == nullptr) return nullptr;
  const std::size_t size = joint->slots.size();
  const std::size_t rank = worker.rank;
  const std::size_t at = side == Side::kNext ? (rank + 1) % size : (rank + size - 1) % size;
  return process(joint->slots[at]);
}

void NativeTraining::tell_peer(Process& worker, const TellPeer& message) {
  Process* peer = neighbour(worker, message.side);
  if (peer == nullptr || peer == &worker) return;  // greeted when it connects
  if (!world_.connected(worker.node(), peer->node()) && worker.node() != peer->node()) return;
  const Side from = message.side == Side::kNext ? Side::kPrevious : Side::kNext;
  const Duration jitter = drawn(Purpose::kEdge, worker.node(), config_.network.jitter);
  give(*peer, PeerSays{from, message.message}, config_.network.latency + jitter);
}

void NativeTraining::connect(Process& worker, const Connect& connecting) {
  ++worker.epoch;
  join(worker, connecting);
  if (messages_) {
    RingEffects dropped;
    worker.ring.enter(connecting.placement.round,
                      math::Part{connecting.rank, std::max(1U, connecting.placement.world_size)},
                      dropped);
    carry_out(worker, dropped);
    if (Joint* joint = joint_of(worker)) flush_all(*joint);
  }
  const Duration takes = config_.training.reconfigure;
  give(worker, Connected{connecting.placement.round},
       takes + drawn(Purpose::kReconfigure, worker.node(), takes / 5), false);
  // Whoever was there before has its greeting repeated.
  for (const Side side : {Side::kPrevious, Side::kNext}) {
    const Process* peer = neighbour(worker, side);
    if (peer == nullptr || peer == &worker) continue;
    if (!world_.connected(worker.node(), peer->node()) && worker.node() != peer->node()) continue;
    const Hello hello{peer->machine.placed(), peer->machine.holds_resume()};
    give(worker, PeerSays{side, hello}, config_.network.latency);
  }
}

void NativeTraining::cancel(Process& worker) {
  ++worker.epoch;
  ++worker.computation;
  worker.outbox.clear();
  if (messages_) {
    RingEffects dropped;
    worker.ring.cancel(dropped);
    carry_out(worker, dropped);
  }
  drop_from_joint(worker, false);
  storage_.cancel(timeline_, worker.load);
  worker.load = TransferId{};
  worker.fetching = {};
  worker.shadow.reset();
  if (worker.due) {
    // Whether the last chunks had come when it cancelled is a matter of chance.
    const math::Stream stream = Chance::stream(Purpose::kApply, worker.due->first.number);
    worker.due_lost = (chance_.draw(stream, (worker.due->second.value << 20) ^ 0xFFFFF) & 1) != 0;
  }
}

// ---- Fills
// -----------------------------------------------------------------------------------------

void NativeTraining::fetch(Process& worker, const FetchPart& part) {
  const std::int64_t rate = std::max<std::int64_t>(config_.network.bandwidth_bytes_per_second, 1);
  const std::int64_t bytes = config_.training.state_bytes / std::max(1U, part.parts);
  const Duration takes(math::mul_div(bytes, 1'000'000'000, rate));
  worker.fetching[part.part & 1U] = {timeline_.now, config_.network.latency + takes, bytes};
  const std::uint32_t payload = fetches_.put(FetchPart{part});
  schedule(worker, ProcessAction::kFetched, config_.network.latency + takes, worker.epoch, payload);
}

// Of a fill or load that is not swapped in yet.
std::uint64_t NativeTraining::arrived_bytes(Process& worker) {
  if (worker.load) return static_cast<std::uint64_t>(storage_.got(timeline_.now, worker.load));
  if (worker.machine.phase() != Worker::Phase::kFetching) return 0;
  std::int64_t bytes = 0;
  for (const Process::Fetching& part : worker.fetching) {
    if (part.takes <= Duration{}) continue;
    const Duration gone = std::min(timeline_.now - part.from, part.takes);
    bytes += math::mul_div(part.bytes, gone.count(), part.takes.count());
  }
  return static_cast<std::uint64_t>(bytes);
}

bool NativeTraining::fetched(Process& worker, const Event& event) {
  const FetchPart part = fetches_.take(event.payload);
  if (event.b != worker.epoch) return false;
  const Process* source = neighbour(worker, part.side);
  const bool same = source != nullptr && source != &worker && source->machine.holds_resume() &&
                    source->machine.placed() == part.round;
  const bool reached =
      same && !frozen(*source) &&
      (world_.connected(source->node(), worker.node()) || source->node() == worker.node());
  if (!reached) {
    worker.fetching[part.part & 1U] = {};
    run(worker, FetchFailed{part.round, part.side});
    return true;
  }
  if (!worker.shadow || worker.shadow->state != part.state) {
    worker.shadow = Shadow{};
    worker.shadow->state = part.state;
  }
  if (worker.shadow->parts == 0) worker.shadow->weights = worker.weights;
  for (std::size_t lane = part.part; lane < kLanes; lane += part.parts)
    worker.shadow->weights.lanes[lane] = source->weights.lanes[lane];
  worker.shadow->all_parts = part.parts;
  worker.shadow->progress = source->machine.progress();
  worker.shadow->parts |= 1U << part.part;
  run(worker, PartFetched{part.round, part.part});
  return true;
}

void NativeTraining::swap_in(Process& worker, const SwapIn& swap) {
  SwappedIn answer;
  answer.round = swap.round;
  answer.intact = worker.shadow && worker.shadow->state == swap.state && worker.shadow->whole();
  if (answer.intact) {
    worker.weights = worker.shadow->weights;
    answer.progress = worker.shadow->progress;
    WorkerEvent event{};
    event.kind = worker.load ? WorkerEventKind::kLoaded : WorkerEventKind::kFilled;
    event.state = swap.state;
    event.round = swap.round;
    event.digest = digest_of(worker.weights);
    tell(*hands_of(worker.agent), event);
  }
  worker.load = TransferId{};
  worker.shadow.reset();
  give(worker, answer, kSwapTakes);
}

// ---- Steps
// -----------------------------------------------------------------------------------------

// Applying takes next to nothing; once in a while it takes long enough for something to come in
// between.
void NativeTraining::apply_step(Process& worker, const ApplyStep& apply) {
  const StepApplied done{apply.round, apply.step};
  worker.rate = apply.rate;
  const math::Stream stream = Chance::stream(Purpose::kApply, worker.id);
  const std::uint64_t drawn_bits = chance_.draw(stream, worker.applies++);
  if ((drawn_bits & 15) == 0) {
    give(worker, done, Duration(math::between(drawn_bits, 1, kLongestApply.count())));
    return;
  }
  at_once_.emplace_back(worker.id, done);
  if (running_) return;
  running_ = true;
  while (!at_once_.empty()) {
    const auto [id, input] = at_once_.back();
    at_once_.pop_back();
    if (Process* one = process(id)) run(*one, input);
  }
  running_ = false;
}

// The update itself, before the machine is told that it is done.
void NativeTraining::applied(Process& worker, const StepApplied& done) {
  const auto& held = worker.machine.held();
  const bool expected = held && held->entered == done.round &&
                        held->step.value + 1 == done.step.value &&
                        (worker.machine.phase() == Worker::Phase::kApplying ||
                         worker.machine.phase() == Worker::Phase::kCatchingUp);
  if (!expected) return;
  apply(worker.weights, worker.reduced, worker.rate.q32);
}

// ---- Saves
// -----------------------------------------------------------------------------------------

void NativeTraining::copy_state(Process& worker, const CopyState& copy) {
  worker.copy = worker.weights;
  const Duration stall = config_.training.copy_stall;
  Hands& hands = *hands_of(worker.agent);
  if (worker.rank == 0) {
    WorkerEvent event{};
    event.kind = WorkerEventKind::kStall;
    event.round = copy.round;
    event.length = stall;
    tell(hands, event);
  }
  give(worker, CopyMade{copy.round, copy.step}, stall, false);
}

void NativeTraining::store(Process& worker, const StoreShare& storing) {
  if (!storing.copied) worker.copy = worker.weights;
  storage_.cancel(timeline_, worker.store_transfer);
  worker.store = storing;
  const std::int64_t bytes = config_.training.state_bytes / std::max(1U, storing.world_size);
  worker.store_transfer = storage_.start(timeline_, Storage::Way::kWrite, bytes);
  transfers_[worker.store_transfer] = worker.id;
}

void NativeTraining::stored(Process& worker) {
  const StoreShare done = *worker.store;
  worker.store.reset();
  SaveReport report = done.save;
  report.bytes =
      static_cast<std::uint64_t>(config_.training.state_bytes / std::max(1U, done.world_size));
  report.digest = next_lineage(report.lineage, report.step, report.round).value;
  const Storage::SaveKey key{report.step, report.round};
  storage_.share_stored(key, report.lineage, done.rank, done.world_size);
  saves_[key] = Saved{worker.copy, done.progress};
  WorkerEvent event{};
  event.kind = WorkerEventKind::kSaved;
  event.round = report.round;
  event.state = StatePoint{report.round, report.step, report.lineage};
  tell(*hands_of(worker.agent), event);
  run(worker, ShareStored{report});
}

void NativeTraining::load(Process& worker, const LoadSave& loading) {
  worker.shadow = Shadow{};
  worker.shadow->state = loading.state;
  worker.load = storage_.start(timeline_, Storage::Way::kRead, config_.training.state_bytes);
  transfers_[worker.load] = worker.id;
}

void NativeTraining::loaded(Process& worker) {
  if (!worker.shadow) return;
  const StatePoint& state = worker.shadow->state;
  const Storage::SaveKey key{state.step, state.entered};
  const auto save = saves_.find(key);
  const bool intact = storage_.intact(key, state.lineage) && save != saves_.end();
  if (intact) {
    worker.shadow->weights = save->second.weights;
    worker.shadow->progress = save->second.progress;
    worker.shadow->progress.since_save = {};
    worker.shadow->parts = worker.shadow->all_parts = 1;
  }
  run(worker, SaveLoaded{worker.machine.placed(), intact});
}

}  // namespace elastic::sim
