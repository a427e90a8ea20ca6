// Ranks in a ring with real numbers in their buffers: carries out the effects of core/worker/ring.h
// over links that deliver in their order. Who moves next is the test's choice.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/worker/ring.h"

namespace elastic::test {

using Numbers = std::vector<std::uint64_t>;

// What a collective makes of the buffers that the ranks bring.
inline Numbers result_of(const Collective& collective, const std::vector<Numbers>& buffers) {
  const auto world = static_cast<std::uint32_t>(buffers.size());
  Numbers result(collective.elements);
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    const math::Range own = math::cut(collective.elements, {rank, world});
    for (std::uint64_t i = 0; i < collective.elements; ++i) {
      const std::uint64_t value = buffers[rank].at(i);
      const bool in_own = own.first <= i && i < own.end();
      if (collective.kind == CollectiveKind::kAllReduce) result[i] += value;
      if (collective.kind == CollectiveKind::kAllGather && in_own) result[i] = value;
      if (collective.kind == CollectiveKind::kBroadcast && rank == collective.root) {
        result[i] = value;
      }
    }
  }
  return result;
}

class RingNet {
 public:
  struct Packet {
    ChunkHeader header;
    Numbers data;
    bool has_data = false;  // else read from the sender's buffer on arrival
  };
  struct Rank {
    Ring ring;
    std::map<CollectiveId, Numbers> buffers;
    std::deque<Packet> sent;  // to the next rank, not yet delivered
    std::map<ChunkHeader, Numbers> kept;
    std::set<CollectiveId> done;
    std::set<ChunkHeader> heard;
    std::uint64_t elements_sent = 0;
    std::uint64_t refused = 0;
  };

  // `late_reads`: the data of a chunk is read when it arrives at the next rank, not when it is
  // sent, as by a runtime that sends from the buffer without a copy (promise 4 of Ring).
  RingNet(std::uint32_t world, RoundId round, bool late_reads = false)
      : ranks_(world), late_reads_(late_reads) {
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      RingEffects effects;
      ranks_[rank].ring.enter(round, {rank, world}, effects);
      carry_out(rank, effects, nullptr);
    }
  }

  std::uint32_t world() const { return static_cast<std::uint32_t>(ranks_.size()); }
  Rank& operator[](std::uint32_t rank) { return ranks_.at(rank); }
  const Rank& operator[](std::uint32_t rank) const { return ranks_.at(rank); }
  std::uint32_t previous(std::uint32_t rank) const { return (rank + world() - 1) % world(); }

  void start(std::uint32_t rank, const Collective& collective, Numbers buffer) {
    ranks_.at(rank).buffers[collective.id] = std::move(buffer);
    RingEffects effects;
    ranks_[rank].ring.start(collective, effects);
    carry_out(rank, effects, nullptr);
  }

  // The oldest chunk on the link to `rank` arrives.
  bool can_deliver(std::uint32_t rank) const { return !ranks_.at(previous(rank)).sent.empty(); }
  ChunkHeader deliver(std::uint32_t rank) {
    Rank& from = ranks_.at(previous(rank));
    Packet packet = from.sent.front();
    from.sent.pop_front();
    if (!packet.has_data) packet.data = read(from, packet.header);
    hand(rank, packet.header, packet.data);
    return packet.header;
  }
  ChunkFate hand(std::uint32_t rank, const ChunkHeader& header, const Numbers& data) {
    Rank& to = ranks_.at(rank);
    RingEffects effects;
    const ChunkFate fate = to.ring.on_chunk(header, effects);
    if (fate == ChunkFate::kKept) to.kept[header] = data;
    if (fate != ChunkFate::kKept && fate != ChunkFate::kUsed) ++to.refused;
    if (fate == ChunkFate::kUsed) to.heard.insert(header);
    carry_out(rank, effects, &data);
    return fate;
  }

  // Leaves the round; of what it had not sent yet, only the first `still_sent` chunks go out.
  void cancel(std::uint32_t rank, std::size_t still_sent) {
    RingEffects effects;
    ranks_.at(rank).ring.cancel(effects);
    carry_out(rank, effects, nullptr);
    std::deque<Packet>& sent = ranks_[rank].sent;
    for (Packet& packet : sent) {
      if (!packet.has_data) packet.data = read(ranks_[rank], packet.header);
      packet.has_data = true;
    }
    if (sent.size() > still_sent) sent.resize(still_sent);
  }

 private:
  static Numbers read(const Rank& rank, const ChunkHeader& header) {
    const Numbers& buffer = rank.buffers.at(header.id);
    const auto begin = buffer.begin() + static_cast<std::ptrdiff_t>(header.offset);
    return Numbers(begin, begin + static_cast<std::ptrdiff_t>(header.length));
  }

  // `data` came with the chunk that caused these effects; others come from what was kept.
  void carry_out(std::uint32_t index, const RingEffects& effects, const Numbers* data) {
    Rank& rank = ranks_[index];
    rank.ring.check();
    for (const RingEffect& effect : effects) {
      if (const auto* send = std::get_if<SendChunk>(&effect)) {
        Packet packet{send->header, {}, !late_reads_};
        if (packet.has_data) packet.data = read(rank, send->header);
        rank.sent.push_back(std::move(packet));
        rank.elements_sent += send->header.length;
      } else if (const auto* reduce = std::get_if<ReduceChunk>(&effect)) {
        write(rank, reduce->header, data, true);
      } else if (const auto* store = std::get_if<StoreChunk>(&effect)) {
        write(rank, store->header, data, false);
      } else if (const auto* drop = std::get_if<DropChunk>(&effect)) {
        ++rank.refused;
        rank.kept.erase(drop->header);
      } else {
        rank.done.insert(std::get<CollectiveDone>(effect).id);
      }
    }
  }
  static void write(Rank& rank, const ChunkHeader& header, const Numbers* arrived, bool add) {
    const auto kept = rank.kept.find(header);
    const Numbers values = kept != rank.kept.end() ? kept->second : *arrived;
    if (kept != rank.kept.end()) {
      rank.heard.insert(header);
      rank.kept.erase(kept);
    }
    Numbers& buffer = rank.buffers.at(header.id);
    for (std::uint64_t i = 0; i < header.length; ++i) {
      std::uint64_t& place = buffer.at(header.offset + i);
      place = add ? place + values.at(i) : values.at(i);
    }
  }

  std::vector<Rank> ranks_;
  bool late_reads_;
};

// "reduce 0 [2,3)": phase, hop, elements.
inline std::string in_words(const ChunkHeader& header) {
  static const char* const phases[] = {"reduce", "copy", "confirm"};
  return std::string(phases[static_cast<std::size_t>(header.phase)]) + " " +
         std::to_string(header.hop) + " [" + std::to_string(header.offset) + "," +
         std::to_string(header.offset + header.length) + ")";
}

}  // namespace elastic::test
