// Chance in the simulated world: pure functions of (seed, purpose, subject, index). A purpose has a
// stream of its own for each subject (node, link), so that what one subject draws never shifts
// another's draws.
#pragma once

#include <cstdint>

#include "core/math/random.h"
#include "core/types.h"

namespace elastic::sim {

enum class Purpose : std::uint64_t {
  kLife = 101,       // growth of agent lives; subject: node
  kAgentSeed,        // node
  kClockStart,       // node
  kBoot,             // node
  kThawOrder,        // node
  kLatency,          // link
  kLoss,             // link
  kDuplicate,        // link
  kReorder,          // link
  kDelay,            // link
  kJournalTime,      // node that asks
  kJournalUnknown,   // node that asks
  kJournalHappened,  // node that asks
  kJournalLate,      // node that asks
  kJournalLanding,   // node that asks
  kJournalLife,      // the service
  kFileTime,         // node
  kFileLanding,      // node
  kMarkerTime,       // node
  kStartUp,          // node
  kWorkerPipe,       // node
  kStopTime,         // node
  kReconfigure,      // node
  kApply,            // round and member
  kEdge,             // node
  kCompute,          // node
  kSaveTime = 159,   // node; index: step of a manifest, or record of a save that is read back
  kDiskTime = 160,   // disk and client
  kDiskLost,         // disk and client: what a crash leaves of its unsynced operations
  kDiskTorn,         // disk and client: how much of a file
  kDiskLate,         // disk and client: operations in flight at a crash, or unanswered
  kDiskLanding,      // disk and client: when such an operation lands
};

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : seed_(math::Seed{seed}) {}

  static math::Stream stream(Purpose purpose, std::uint64_t subject) {
    return math::substream(math::Stream{static_cast<std::uint64_t>(purpose)}, subject);
  }
  std::uint64_t draw(math::Stream stream, std::uint64_t index) const {
    return math::draw(seed_, stream, index);
  }
  std::uint64_t draw(Purpose purpose, std::uint64_t subject, std::uint64_t index) const {
    return math::draw(seed_, stream(purpose, subject), index);
  }
  // In [0, bound]; 0 where bound is negative.
  Duration up_to(Purpose purpose, std::uint64_t subject, std::uint64_t index,
                 Duration bound) const {
    return Duration(math::between(draw(purpose, subject, index), 0, bound.count()));
  }

 private:
  math::Seed seed_;
};

// The subject of what happens between two nodes, in one direction.
constexpr std::uint64_t link_subject(NodeId from, NodeId to) {
  return (from.value << 32) ^ to.value;
}

}  // namespace elastic::sim
