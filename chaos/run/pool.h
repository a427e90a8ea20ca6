// Work spread over forked processes, so that a crash loses one item and nothing else.
//
// Rejected: threads. An assertion or a stray pointer in one seed would end all of them, and the
// allocator would be shared, which hides dependence on addresses.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace elastic::chaos {

struct PoolOptions {
  std::size_t items = 0;
  unsigned jobs = 1;  // worker processes, at least 1
};

// What came of one item.
struct PoolResult {
  std::size_t item = 0;
  std::string payload;   // what the work emitted; empty when it ended without
  bool crashed = false;  // the process ended before it emitted, or these were its last words
  int status = 0;        // crashed: exit status, or 128 + signal
};

// Runs in a worker process: does the item and emits one payload. With `last_words` the process ends
// itself right after emitting.
using PoolEmit = std::function<void(const std::string& payload, bool last_words)>;
using PoolWork = std::function<void(std::size_t item, const PoolEmit& emit)>;

// Calls `work` once for each item, in worker processes; `done` in this process as they come, in any
// order; `tick` several times a second. Ends early when interrupted() or when `done` returns false;
// the workers are killed then. True when all items are done. Throws std::system_error when no
// process can be made.
bool run_pool(const PoolOptions& options, const PoolWork& work,
              const std::function<bool(const PoolResult&)>& done,
              const std::function<void()>& tick = {});

// Cores that this process may use.
unsigned usable_cores();

}  // namespace elastic::chaos
