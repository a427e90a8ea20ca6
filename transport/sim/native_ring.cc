// Steps chunk by chunk: each worker computes for itself, and the ring's chunks are messages.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/math/integer.h"
#include "transport/sim/native.h"

namespace elastic::sim {
namespace {

// Flags ride in one element of the buffer, each as a counter: their sum says who raised which.
constexpr int kFlagBits = 3;
constexpr int kFlagWidth = 16;

std::uint64_t counters(std::uint32_t flags) {
  std::uint64_t sum = 0;
  for (int bit = 0; bit < kFlagBits; ++bit) {
    if ((flags >> bit & 1U) != 0) sum |= std::uint64_t{1} << (bit * kFlagWidth);
  }
  return sum;
}

std::uint32_t raised(std::uint64_t sum) {
  std::uint32_t flags = 0;
  for (int bit = 0; bit < kFlagBits; ++bit) {
    if ((sum >> (bit * kFlagWidth) & 0xFFFF) != 0) flags |= 1U << bit;
  }
  return flags;
}

}  // namespace

void NativeTraining::compute(Process& worker, const StartStep& start) {
  const Duration takes = std::max(compute_length(worker, start.share.size), Duration(1'000));
  const Duration jitter = drawn(Purpose::kCompute, worker.node(), takes / 50);
  worker.computes_until = timeline_.now + takes + jitter;
  schedule(worker, ProcessAction::kComputed, takes + jitter, ++worker.computation);
}

// What it was computing takes up where it stood.
void NativeTraining::stands_still(Process& worker) {
  if (!frozen(worker)) worker.stands_since = timeline_.now;
}

void NativeTraining::goes_on(Process& worker) {
  if (!messages_ || worker.machine.phase() != Worker::Phase::kComputing) return;
  if (worker.computes_until <= worker.stands_since) return;
  const Duration left = worker.computes_until - worker.stands_since;
  worker.computes_until = timeline_.now + left;
  schedule(worker, ProcessAction::kComputed, left, ++worker.computation);
}

void NativeTraining::computed(Process& worker) {
  if (worker.machine.phase() != Worker::Phase::kComputing) return;
  const Step step{worker.machine.held()->step.value + 1};
  run(worker, StepComputed{worker.machine.placed(), step});
}

void NativeTraining::start_ring(Process& worker, const ReduceStep& reducing) {
  if (joint_of(worker) == nullptr || worker.ring.round() != reducing.round) return;
  if (hands_of(worker.agent)->terminating) return;  // after SIGTERM it contributes nothing
  std::copy(worker.own.begin(), worker.own.end(), worker.buffer.begin());
  worker.buffer.back() = counters(reducing.flags);
  Collective collective;
  collective.kind = CollectiveKind::kAllReduce;
  collective.id = CollectiveId{reducing.round, reducing.step, 0};
  collective.elements = worker.buffer.size();
  collective.chunk_elements = 1;
  RingEffects effects;
  worker.ring.start(collective, effects);
  if (config_.check_invariants) worker.ring.check();
  carry_out(worker, effects);
}

void NativeTraining::carry_out(Process& worker, const RingEffects& effects) {
  for (const RingEffect& effect : effects) {
    if (const auto* send = std::get_if<SendChunk>(&effect)) {
      Chunk chunk{send->header, {}};
      for (std::uint64_t i = 0; i < send->header.length; ++i)
        chunk.data[i] = worker.buffer[send->header.offset + i];
      send_chunk(worker, chunk);
    } else if (const auto* reduce = std::get_if<ReduceChunk>(&effect)) {
      const Buffer& data = worker.arrived.at(reduce->header);
      for (std::uint64_t i = 0; i < reduce->header.length; ++i)
        worker.buffer[reduce->header.offset + i] += data[i];
      worker.arrived.erase(reduce->header);
    } else if (const auto* store = std::get_if<StoreChunk>(&effect)) {
      const Buffer& data = worker.arrived.at(store->header);
      for (std::uint64_t i = 0; i < store->header.length; ++i)
        worker.buffer[store->header.offset + i] = data[i];
      worker.arrived.erase(store->header);
    } else if (const auto* drop = std::get_if<DropChunk>(&effect)) {
      worker.arrived.erase(drop->header);
    } else if (const auto* done = std::get_if<CollectiveDone>(&effect)) {
      std::copy(worker.buffer.begin(), worker.buffer.end() - 1, worker.reduced.begin());
      // An event of its own: orders that wait in the process's queue come first or later, as it
      // happens.
      give(worker,
           StepReduced{done->id.round, done->id.step, raised(worker.buffer.back()),
                       stats_of(worker.reduced)},
           drawn(Purpose::kCompute, worker.node(), std::chrono::microseconds(50)));
    }
  }
}

// Bytes leave one after the other; a neighbour that cannot be reached gets them later, or never.
void NativeTraining::send_chunk(Process& worker, const Chunk& chunk) {
  worker.outbox.push_back(chunk);
  flush(worker);
}

void NativeTraining::flush(Process& worker) {
  if (worker.outbox.empty() || frozen(worker)) return;
  Process* next = neighbour(worker, Side::kNext);
  if (next == nullptr) return;
  const bool local = next->node() == worker.node();
  if (!local && !world_.connected(worker.node(), next->node())) return;
  const std::int64_t rate = std::max<std::int64_t>(config_.network.bandwidth_bytes_per_second, 1);
  for (const Chunk& chunk : worker.outbox) {
    const std::int64_t bytes = math::mul_div(config_.training.gradient_bytes,
                                             static_cast<std::int64_t>(chunk.header.length),
                                             static_cast<std::int64_t>(worker.buffer.size()));
    const Duration takes(local ? 0 : math::mul_div(bytes, 1'000'000'000, rate));
    worker.link_free = std::max(worker.link_free, timeline_.now) + takes;
    const Duration latency = local ? Duration(1'000) : config_.network.latency;
    const std::uint32_t payload = chunks_.put(Chunk{chunk});
    schedule(*next, ProcessAction::kChunk, worker.link_free - timeline_.now + latency, 0, payload);
  }
  worker.outbox.clear();
}

void NativeTraining::flush_all(Joint& joint) {
  if (!messages_) return;
  for (const std::uint64_t id : joint.slots) {
    if (Process* worker = process(id)) flush(*worker);
  }
}

bool NativeTraining::on_chunk(Process& worker, const Chunk& chunk) {
  worker.arrived[chunk.header] = chunk.data;
  RingEffects effects;
  const ChunkFate fate = worker.ring.on_chunk(chunk.header, effects);
  if (config_.check_invariants) worker.ring.check();
  if (fate != ChunkFate::kUsed && fate != ChunkFate::kKept) worker.arrived.erase(chunk.header);
  carry_out(worker, effects);
  return true;
}

}  // namespace elastic::sim
