// The schedule of collectives among the ranks of a round, as a machine for one rank. It handles
// headers; the runtime holds the data and carries out the effects.
//
// Ranks stand in a ring: each sends to the next alone, and hears the previous alone. A buffer is
// cut into one segment per rank, a segment into chunks, and each chunk travels by itself: it is
// passed on as soon as it has arrived, so that a long buffer keeps all links busy.
//   all-reduce   segment s starts at rank s, is added to on its way round, and is whole at rank
//                s - 1 after W - 1 hops; from there it is copied round in W - 1 further hops. Each
//                rank sends 2(W - 1)/W of the buffer, which is the least possible (Patarasuk, Yuan
//                2009).
//   all-gather   segment s starts at rank s and is copied round. Each rank brings its own segment.
//   broadcast    the buffer is one segment, which starts at the root and is copied round; then an
//                empty chunk, the confirmation, goes round once more from the last rank.
// An empty segment still travels, as one empty chunk: so an all-reduce of 0 elements is a barrier.
//
// Alternatives rejected: a tree (fewer hops, but the inner ranks carry twice the bytes, and a rank
// has three peers to lose); a broadcast without confirmation (a root could run ahead of its
// neighbour without bound).
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "core/math/parts.h"
#include "core/types.h"

namespace elastic {

// In order of time: a rank starts collectives with growing ids.
struct CollectiveId {
  RoundId round;
  Step step;
  std::uint32_t bucket = 0;
  constexpr auto operator<=>(const CollectiveId&) const = default;
};

enum class CollectiveKind : std::uint8_t { kAllReduce, kBroadcast, kAllGather };

// The same on every rank of the round.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  CollectiveId id;
  std::uint64_t elements = 0;        // of the whole buffer; any number
  std::uint64_t chunk_elements = 1;  // at most, per chunk; at least 1
  std::uint32_t root = 0;            // kBroadcast: the rank that has the data
};

enum class ChunkPhase : std::uint8_t {
  kReduce,   // partial sums
  kCopy,     // final values
  kConfirm,  // nothing: every rank holds the broadcast
};

// Elements [offset, offset + length) of the buffer, on the hop'th hop of their way round.
struct ChunkHeader {
  CollectiveId id;
  ChunkPhase phase = ChunkPhase::kReduce;
  std::uint32_t hop = 0;  // 0: sent by the rank where the segment starts in this phase
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  constexpr auto operator<=>(const ChunkHeader&) const = default;
};

// What became of a chunk that arrived. All but the first two are refusals: its data is dropped.
enum class ChunkFate : std::uint8_t {
  kUsed,        // the effects say how
  kKept,        // of a collective to come: its data is kept until an effect names this header
  kStale,       // of a superseded or cancelled round, or of an earlier collective
  kTooEarly,    // beyond the next collective, or more than a collective can have
  kDuplicate,   // arrived before
  kWrongPhase,  // this kind of collective has no such phase, or its turn cannot have come yet
  kWrongHop,    // no chunk comes to this rank on that hop
  kWrongPlace,  // no chunk of that segment has this offset and length
};
constexpr std::size_t kChunkFates = 8;

// Effects, to be carried out in their order.
struct SendChunk {  // the elements in the own buffer, to the next rank
  ChunkHeader header;
};
struct ReduceChunk {  // add the data that came with this header to the own buffer
  ChunkHeader header;
};
struct StoreChunk {  // copy the data that came with this header to the own buffer
  ChunkHeader header;
};
struct DropChunk {  // the data that was kept for this header is not needed after all
  ChunkHeader header;
  ChunkFate why;
};
struct CollectiveDone {  // the own buffer is whole
  CollectiveId id;
};
using RingEffect = std::variant<SendChunk, ReduceChunk, StoreChunk, DropChunk, CollectiveDone>;
using RingEffects = std::vector<RingEffect>;

// One rank, one collective at a time.
//
// Promises:
//  1. Done means that the own buffer holds the result, and that every rank has started the
//     collective (each passed something on that this rank waited for).
//  2. So the previous rank is at most one collective ahead: to send a chunk of the next but one it
//     must be done with the next, which this rank has not started.
//  3. Each chunk is added or stored once, however often it arrives, and the chunks of a collective
//     may overtake each other; a chunk must not overtake those of an earlier collective on its
//     link. A refused one changes nothing but a counter. (A header that is right with data that is
//     wrong is the transport's to find.)
//  4. In a chunk's range nothing is written between the effect that sends it and its arrival at the
//     next rank. So the runtime may send from the buffer without a copy, if after CollectiveDone
//     it leaves the buffer alone until everything is sent.
//  5. Sums are added in the order of ranks along the ring, which is the same in every run of the
//     same world.
// When a rank leaves, by the one input cancel(): what it has sent still counts. A rank that gets
// all chunks is done, even if all others have left meanwhile. A rank that leaves before it is done
// has a torn buffer: some ranges hold own values, some partial sums, some results. What must
// outlive a cancelled collective (the state, the gradients for a repetition) is kept elsewhere.
// Owned by one worker; a plain value, copying it is its snapshot.
class Ring {
 public:
  // Chunks of one collective, each counted once; bounds what a neighbour can make this rank keep.
  static constexpr std::uint32_t kMaxChunks = 1U << 16;

  // This worker is rank.index of the rank.of members of `round`, which is newer than the one
  // before. Whatever belonged to older rounds is over.
  void enter(RoundId round, math::Part rank, RingEffects& effects);

  // REQUIRES: in a round and not left it; not running; an id of this round above those started
  // before; chunks_of(collective, W) <= kMaxChunks; root < W.
  void start(const Collective& collective, RingEffects& effects);

  // A chunk of any collective came from the previous rank, or from anybody.
  ChunkFate on_chunk(const ChunkHeader& header, RingEffects& effects);

  // Leaves the round: no further chunk of it is used, kept or passed on. The runtime drops what it
  // has not sent. Harmless when repeated.
  void cancel(RingEffects& effects);

  // Started, and neither done nor cancelled.
  bool running() const { return collective_.has_value() && !done_ && !left_; }
  // The collective started last in this round is whole here; stays so when the rank leaves.
  bool done() const { return done_; }
  RoundId round() const { return round_; }
  // Chunks that met this fate, or that were dropped with it, over the life of this machine.
  std::uint64_t count(ChunkFate fate) const { return fates_[static_cast<std::size_t>(fate)]; }

  void check() const;
  std::uint64_t digest() const;

  static std::uint64_t chunks_of(const Collective& collective, std::uint32_t world);

 private:
  // A chunk of the present collective.
  struct Place {
    ChunkPhase phase = ChunkPhase::kReduce;
    std::uint32_t index = 0;  // over all segments
  };

  std::uint32_t world() const { return rank_.of; }
  std::uint32_t behind(std::uint32_t rank, std::uint32_t by) const;
  std::uint32_t start_of(ChunkPhase phase, std::uint32_t segment) const;
  bool has_phase(ChunkPhase phase) const;
  math::Range chunk(std::uint32_t segment, std::uint64_t index) const;
  bool has(Place place) const;
  std::uint64_t expected() const;
  std::uint64_t received() const;

  ChunkFate find(const ChunkHeader& header, Place& place) const;
  bool turn_has_come(Place place, std::uint32_t segment) const;
  void use(const ChunkHeader& header, Place place, RingEffects& effects);
  void pass_on(const ChunkHeader& header, RingEffects& effects) const;
  void send_own(RingEffects& effects) const;
  void finish_if_whole(RingEffects& effects);
  ChunkFate keep(const ChunkHeader& header, RingEffects& effects);
  void drop_kept(ChunkFate why, RingEffects& effects);
  ChunkFate tally(ChunkFate fate);

  RoundId round_;
  math::Part rank_;
  bool left_ = false;
  bool done_ = false;
  std::optional<Collective> collective_;    // started last in this round
  std::vector<std::uint32_t> first_chunk_;  // of each segment, and one past the last
  // Per phase and chunk: it has arrived. The chunks that start here never arrive.
  std::array<std::vector<bool>, 3> arrived_;
  std::uint64_t missing_ = 0;   // chunks still to arrive
  std::set<ChunkHeader> kept_;  // all of one collective, to come
  std::array<std::uint64_t, kChunkFates> fates_{};
};

}  // namespace elastic
