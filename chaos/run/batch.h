// Many seeds of one scenario, over worker processes. Rows come in the order of seeds, whatever the
// scheduling; a crash of one seed is that seed's result and nobody else's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chaos/run/row.h"
#include "chaos/run/run.h"

namespace elastic::chaos {

struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t last = 1;  // included; at least first
  std::uint64_t count() const { return last - first + 1; }
};
constexpr std::uint64_t kMaxSeeds = 1'000'000;  // rows are kept: about 1 KiB each

struct BatchProgress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::uint64_t failed = 0;  // crash, safety or liveness
  std::uint64_t missed = 0;
  std::int64_t wall_ms = 0;
};

struct BatchOptions {
  SeedRange seeds;
  unsigned jobs = 1;
  RunOptions run;                                      // its on_crash is replaced
  bool digests = false;                                // rows carry all running digests
  std::function<void(const BatchProgress&)> progress;  // several times a second
  std::function<void(const Row&)> on_row;              // as they come, in any order
};

struct BatchResult {
  std::string scenario;
  SeedRange seeds;
  std::vector<Row> rows;             // of the seeds that were run, ascending
  std::vector<OracleTally> oracles;  // sums over all rows
  bool interrupted = false;
  unsigned jobs = 1;
  std::int64_t wall_ms = 0;
};

BatchResult run_batch(const Scenario& scenario, const BatchOptions& options);

// The row of a seed whose process died without saying why: exit status, or 128 + signal.
Row crashed_row(std::uint64_t seed, int status);

// The worst class of any row; kInterrupted only when nothing worse than an expectation missed is
// known.
VerdictClass verdict_of(const BatchResult& batch);

}  // namespace elastic::chaos
