#include "core/worker/ring.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/math/integer.h"
#include "core/membership/hash.h"
#include "core/mutants.h"

namespace elastic {
namespace {

std::uint32_t segments_of(const Collective& collective, std::uint32_t world) {
  return collective.kind == CollectiveKind::kBroadcast ? 1 : world;
}

// An empty segment is one empty chunk.
std::uint64_t chunks_in(std::uint64_t segment_elements, std::uint64_t chunk_elements) {
  return std::max<std::uint64_t>(1, math::ceil_div(segment_elements, chunk_elements));
}

ChunkHeader confirmation(const CollectiveId& id) {
  return {.id = id, .phase = ChunkPhase::kConfirm, .hop = 0, .offset = 0, .length = 0};
}

}  // namespace

std::uint64_t Ring::chunks_of(const Collective& collective, std::uint32_t world) {
  std::uint64_t chunks = 0;
  const std::uint32_t segments = segments_of(collective, world);
  for (std::uint32_t segment = 0; segment < segments; ++segment) {
    const std::uint64_t size = math::cut(collective.elements, {segment, segments}).size;
    chunks = math::add_sat_u64(chunks, chunks_in(size, collective.chunk_elements));
  }
  return chunks;
}

void Ring::enter(RoundId round, math::Part rank, RingEffects& effects) {
  ELASTIC_ASSERT(round > round_);
  ELASTIC_ASSERT(rank.index < rank.of);
  round_ = round;
  rank_ = rank;
  left_ = false;
  done_ = false;
  collective_.reset();
  first_chunk_.clear();
  arrived_ = {};
  missing_ = 0;
  if (!kept_.empty() && kept_.begin()->id.round < round) drop_kept(ChunkFate::kStale, effects);
}

void Ring::start(const Collective& collective, RingEffects& effects) {
  ELASTIC_ASSERT(round_);
  ELASTIC_ASSERT(!left_);
  ELASTIC_ASSERT(!running());
  ELASTIC_ASSERT(collective.id.round == round_);
  ELASTIC_ASSERT(!collective_ || collective.id > collective_->id);
  ELASTIC_ASSERT(collective.chunk_elements > 0);
  ELASTIC_ASSERT(collective.root < world());
  ELASTIC_ASSERT(chunks_of(collective, world()) <= kMaxChunks);
  collective_ = collective;
  done_ = false;
  const std::uint32_t segments = segments_of(collective, world());
  first_chunk_.assign(1, 0);
  for (std::uint32_t segment = 0; segment < segments; ++segment) {
    const std::uint64_t size = math::cut(collective.elements, {segment, segments}).size;
    const std::uint64_t chunks = chunks_in(size, collective.chunk_elements);
    first_chunk_.push_back(first_chunk_.back() + static_cast<std::uint32_t>(chunks));
  }
  for (std::size_t phase = 0; phase < arrived_.size(); ++phase) {
    const bool confirms = static_cast<ChunkPhase>(phase) == ChunkPhase::kConfirm;
    const bool used = has_phase(static_cast<ChunkPhase>(phase));
    arrived_[phase].assign(!used ? 0 : confirms ? 1 : first_chunk_.back(), false);
  }
  missing_ = expected();

  send_own(effects);
  if (!kept_.empty() && kept_.begin()->id == collective.id) {
    for (const ChunkHeader& header : std::exchange(kept_, {})) {
      Place place;
      const ChunkFate fate = tally(find(header, place));
      if (fate == ChunkFate::kUsed) {
        use(header, place, effects);
      } else {
        effects.push_back(DropChunk{header, fate});
      }
    }
  } else if (!kept_.empty() && kept_.begin()->id < collective.id) {
    drop_kept(ChunkFate::kStale, effects);
  }
  finish_if_whole(effects);
}

ChunkFate Ring::on_chunk(const ChunkHeader& header, RingEffects& effects) {
  const CollectiveId& id = header.id;
  if (!id.round || id.round < round_) return tally(ChunkFate::kStale);
  if (id.round == round_ && left_) return tally(ChunkFate::kStale);
  if (id.round > round_ || !collective_ || id > collective_->id) {
    return tally(keep(header, effects));
  }
  if (id < collective_->id) return tally(ChunkFate::kStale);
  Place place;
  const ChunkFate fate = tally(find(header, place));
  if (fate == ChunkFate::kUsed) {
    use(header, place, effects);
    finish_if_whole(effects);
  }
  return fate;
}

void Ring::cancel(RingEffects& effects) {
  left_ = true;
  if (!kept_.empty() && kept_.begin()->id.round <= round_) drop_kept(ChunkFate::kStale, effects);
  ELASTIC_ASSERT(!running());
  ELASTIC_ASSERT(kept_.empty() || kept_.begin()->id.round > round_);
}

// The rank `by` places before `rank` in the ring.
std::uint32_t Ring::behind(std::uint32_t rank, std::uint32_t by) const {
  return by <= rank ? rank - by : world() - (by - rank);
}

// The rank that sends the chunks of a segment first in this phase.
std::uint32_t Ring::start_of(ChunkPhase phase, std::uint32_t segment) const {
  if (phase == ChunkPhase::kConfirm) return behind(collective_->root, 1 % world());
  switch (collective_->kind) {
    case CollectiveKind::kBroadcast:
      return collective_->root;
    case CollectiveKind::kAllGather:
      return segment;
    case CollectiveKind::kAllReduce:
      break;
  }
  return phase == ChunkPhase::kReduce ? segment : behind(segment, 1 % world());
}

bool Ring::has_phase(ChunkPhase phase) const {
  switch (phase) {
    case ChunkPhase::kReduce:
      return collective_->kind == CollectiveKind::kAllReduce;
    case ChunkPhase::kCopy:
      return true;
    case ChunkPhase::kConfirm:
      return collective_->kind == CollectiveKind::kBroadcast;
  }
  return false;
}

// The elements of the index'th chunk of a segment.
math::Range Ring::chunk(std::uint32_t segment, std::uint64_t index) const {
  const std::uint32_t segments = segments_of(*collective_, world());
  const math::Range whole = math::cut(collective_->elements, {segment, segments});
  const std::uint64_t first = whole.first + index * collective_->chunk_elements;
  ELASTIC_ASSERT(first <= whole.end());
  return {first, std::min(collective_->chunk_elements, whole.end() - first)};
}

bool Ring::has(Place place) const {
  return arrived_[static_cast<std::size_t>(place.phase)].at(place.index);
}

// Chunks that must arrive before the collective is whole here: in each phase those of the segments
// that do not start here.
std::uint64_t Ring::expected() const {
  if (world() == 1) return 0;
  std::uint64_t chunks = 0;
  for (const ChunkPhase phase : {ChunkPhase::kReduce, ChunkPhase::kCopy}) {
    if (!has_phase(phase)) continue;
    for (std::uint32_t segment = 0; segment + 1 < first_chunk_.size(); ++segment) {
      if (start_of(phase, segment) == rank_.index) continue;
      chunks += first_chunk_[segment + 1] - first_chunk_[segment];
    }
  }
  const bool confirmed = has_phase(ChunkPhase::kConfirm);
  return chunks + (confirmed && start_of(ChunkPhase::kConfirm, 0) != rank_.index ? 1 : 0);
}

std::uint64_t Ring::received() const {
  std::uint64_t chunks = 0;
  for (const std::vector<bool>& phase : arrived_) {
    chunks += static_cast<std::uint64_t>(std::count(phase.begin(), phase.end(), true));
  }
  return chunks;
}

// What a header of the present collective means here: kUsed and its place, or why it is refused.
ChunkFate Ring::find(const ChunkHeader& header, Place& place) const {
  ELASTIC_ASSERT(collective_ && header.id == collective_->id);
  const ChunkPhase phase = header.phase;
  if (static_cast<std::size_t>(phase) >= arrived_.size() || !has_phase(phase)) {
    return ChunkFate::kWrongPhase;
  }
  if (world() == 1 || header.hop > world() - 2) return ChunkFate::kWrongHop;
  const std::uint32_t from = behind(rank_.index, header.hop + 1);
  std::uint32_t segment = 0;
  if (collective_->kind == CollectiveKind::kAllGather || phase == ChunkPhase::kReduce) {
    segment = from;
  } else if (collective_->kind == CollectiveKind::kAllReduce) {
    segment = from + 1 == world() ? 0 : from + 1;
  }
  if (start_of(phase, segment) != from) return ChunkFate::kWrongHop;
  place = {phase, 0};
  if (phase == ChunkPhase::kConfirm) {
    if (header.offset != 0 || header.length != 0) return ChunkFate::kWrongPlace;
  } else {
    const std::uint64_t first = chunk(segment, 0).first;
    const std::uint64_t chunks = first_chunk_[segment + 1] - first_chunk_[segment];
    if (header.offset < first) return ChunkFate::kWrongPlace;
    const std::uint64_t index = (header.offset - first) / collective_->chunk_elements;
    if (index >= chunks) return ChunkFate::kWrongPlace;
    if (chunk(segment, index) != math::Range{header.offset, header.length}) {
      return ChunkFate::kWrongPlace;
    }
    place.index = first_chunk_[segment] + static_cast<std::uint32_t>(index);
  }
  if (has(place)) return ChunkFate::kDuplicate;
  return turn_has_come(place, segment) ? ChunkFate::kUsed : ChunkFate::kWrongPhase;
}

// Results come after this rank has given its part to them.
bool Ring::turn_has_come(Place place, std::uint32_t segment) const {
  if (place.phase == ChunkPhase::kConfirm) return missing_ == 1;
  if (place.phase != ChunkPhase::kCopy || !has_phase(ChunkPhase::kReduce)) return true;
  return segment == rank_.index || has({ChunkPhase::kReduce, place.index});
}

void Ring::use(const ChunkHeader& header, Place place, RingEffects& effects) {
  ELASTIC_ASSERT(missing_ > 0);
  ELASTIC_ASSERT(!has(place));
  arrived_[static_cast<std::size_t>(place.phase)][place.index] = true;
  --missing_;
  const bool lost = ELASTIC_MUTANT("applied_before_all_is_reduced") && header.offset == 0;
  if (header.phase == ChunkPhase::kReduce && !lost) effects.push_back(ReduceChunk{header});
  if (header.phase == ChunkPhase::kCopy) effects.push_back(StoreChunk{header});
  pass_on(header, effects);
  const bool last_of_broadcast = header.phase == ChunkPhase::kCopy &&
                                 has_phase(ChunkPhase::kConfirm) &&
                                 start_of(ChunkPhase::kConfirm, 0) == rank_.index;
  if (last_of_broadcast && missing_ == 0) {
    effects.push_back(SendChunk{confirmation(collective_->id)});
  }
}

void Ring::pass_on(const ChunkHeader& header, RingEffects& effects) const {
  ELASTIC_ASSERT(header.hop + 2 <= world());
  ChunkHeader onward = header;
  if (header.hop + 2 < world()) {
    onward.hop += 1;
  } else if (header.phase == ChunkPhase::kReduce) {
    onward.phase = ChunkPhase::kCopy;  // every rank has added to it
    onward.hop = 0;
  } else {
    return;  // the next rank is where it started
  }
  effects.push_back(SendChunk{onward});
}

// The chunks that start here without anything having to arrive first.
void Ring::send_own(RingEffects& effects) const {
  if (world() == 1) return;
  const bool broadcast = collective_->kind == CollectiveKind::kBroadcast;
  if (broadcast && collective_->root != rank_.index) return;
  const bool reduces = has_phase(ChunkPhase::kReduce);
  const ChunkPhase phase = reduces ? ChunkPhase::kReduce : ChunkPhase::kCopy;
  const std::uint32_t segment = broadcast ? 0 : rank_.index;
  ELASTIC_ASSERT(start_of(phase, segment) == rank_.index);
  const std::uint64_t chunks = first_chunk_[segment + 1] - first_chunk_[segment];
  for (std::uint64_t index = 0; index < chunks; ++index) {
    const math::Range range = chunk(segment, index);
    effects.push_back(SendChunk{{collective_->id, phase, 0, range.first, range.size}});
  }
}

void Ring::finish_if_whole(RingEffects& effects) {
  ELASTIC_ASSERT(collective_.has_value());
  ELASTIC_ASSERT(!left_);
  if (done_ || missing_ > 0) return;
  done_ = true;
  effects.push_back(CollectiveDone{collective_->id});
}

// Of chunks to come, those of one collective are kept: in the newest round heard of (the older ones
// are dead once somebody acts in it), and there with the lowest id heard of, since the previous
// rank cannot be further (promise 2). Before that collective has started here, no more can be told.
ChunkFate Ring::keep(const ChunkHeader& header, RingEffects& effects) {
  if (!kept_.empty()) {
    const CollectiveId held = kept_.begin()->id;
    if (header.id.round < held.round) return ChunkFate::kStale;
    if (header.id.round > held.round) {
      drop_kept(ChunkFate::kStale, effects);
    } else if (header.id < held) {
      drop_kept(ChunkFate::kTooEarly, effects);
    } else if (header.id > held) {
      return ChunkFate::kTooEarly;
    }
  }
  if (kept_.contains(header)) return ChunkFate::kDuplicate;
  if (kept_.size() >= kMaxChunks) return ChunkFate::kTooEarly;
  kept_.insert(header);
  return ChunkFate::kKept;
}

void Ring::drop_kept(ChunkFate why, RingEffects& effects) {
  ELASTIC_ASSERT(why != ChunkFate::kUsed);
  ELASTIC_ASSERT(why != ChunkFate::kKept);
  for (const ChunkHeader& header : kept_) effects.push_back(DropChunk{header, tally(why)});
  kept_.clear();
}

ChunkFate Ring::tally(ChunkFate fate) {
  ++fates_[static_cast<std::size_t>(fate)];
  return fate;
}

void Ring::check() const {
  ELASTIC_ASSERT(rank_.index < rank_.of);
  ELASTIC_ASSERT(collective_.has_value() || !done_);
  ELASTIC_ASSERT(kept_.size() <= kMaxChunks);
  if (!kept_.empty()) {
    ELASTIC_ASSERT(kept_.begin()->id == kept_.rbegin()->id);
    ELASTIC_ASSERT(kept_.begin()->id.round >= round_);
    ELASTIC_ASSERT(!left_ || kept_.begin()->id.round > round_);
    ELASTIC_ASSERT(!collective_ || kept_.begin()->id > collective_->id);
  }
  if (!collective_) return;
  ELASTIC_ASSERT(collective_->id.round == round_);
  ELASTIC_ASSERT(received() + missing_ == expected());
  ELASTIC_ASSERT(done_ == (missing_ == 0));
}

std::uint64_t Ring::digest() const {
  Hash hash;
  hash(round_, rank_.index, rank_.of, left_, done_, collective_.has_value());
  if (collective_) {
    const Collective& c = *collective_;
    hash(c.kind, c.id.round, c.id.step, c.id.bucket, c.elements, c.chunk_elements, c.root);
  }
  for (const std::vector<bool>& phase : arrived_) hash(phase);
  hash(missing_, kept_.size());
  for (const ChunkHeader& h : kept_) {
    hash(h.id.round, h.id.step, h.id.bucket, h.phase, h.hop, h.offset, h.length);
  }
  for (const std::uint64_t fate : fates_) hash(fate);
  return hash.value();
}

}  // namespace elastic
