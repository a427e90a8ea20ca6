// Several agents of one job may share a machine: each takes a slot, a folder that it holds locked
// for as long as it lives, and that its next life finds again. The slot keeps who the agent is.
//
//   $ELASTIC_STATE_DIR, else $XDG_RUNTIME_DIR/elastic, else /tmp/elastic-UID      (mode 0700)
//     HASH OF JOB AND MACHINE/
//       slot-0/  lock        held by flock(2); says the pid of the holder
//                identity    64 random bits, drawn once
//                life        the last AgentLife
//                supervisors (leftovers.h)
//       slot-1/  ...
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "core/types.h"
#include "transport/real/process/descriptor.h"

namespace elastic::real {

struct Slot {
  std::string job;
  std::string folder;
  unsigned number = 0;
  Descriptor lock;  // held until this is closed; not inherited by any child
};

// Errors are for people: what was found, and what to do.
template <class T>
using OrText = tl::expected<T, std::string>;

// The folder of this job's slots, made where it is missing. Refused: a folder in /tmp that is not
// ours alone (a link, of another owner, open to others).
OrText<std::string> job_folder(const std::string& job);

// The lowest free slot, or the one that is wanted.
OrText<Slot> take_slot(const std::string& job, std::optional<unsigned> wanted = std::nullopt);

// The same agent has the same node id in each life, and a life above the last one, which is on the
// disk when this returns. Node id: `order_key` (ranks of new members follow it), then 48 bits of
// XXH64 over host name, machine id, the slot's random identity, job and slot. Never zero.
// `unix_seconds` is the wall clock; that it goes back does no harm.
OrText<AgentId> next_life(const Slot& slot, std::uint16_t order_key, std::int64_t unix_seconds);
OrText<AgentId> next_life(const Slot& slot, std::uint16_t order_key);

// max(previous + 1, seconds since 2024-01-01), below 2^32. Nothing: there is none left.
std::optional<std::uint32_t> life_after(std::uint32_t previous, std::int64_t unix_seconds);

}  // namespace elastic::real
