// One line of a batch: what a seed came to, small enough to keep thousands and to cross a pipe.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "chaos/run/result.h"

namespace elastic::chaos {

struct Row {
  std::uint64_t seed = 0;
  VerdictClass verdict = VerdictClass::kHolds;
  std::string oracle;      // that spoke; "assertion" after a crash
  std::string title;       // its words, or the condition that failed and where
  std::int64_t at_ns = 0;  // when
  std::uint64_t event = 0;
  bool in_liveness_phase = false;

  bool finished = false;
  std::int64_t finish_ns = 0;  // end of the job, or of the run
  std::int64_t goodput_ppm = 0;
  std::int64_t cost_microdollars = 0;
  std::int64_t recovery_p50_ns = 0;
  std::int64_t recovery_p99_ns = 0;
  std::int64_t recovery_max_ns = 0;
  std::uint64_t recoveries = 0;
  std::uint64_t steps_committed = 0;
  std::uint64_t steps_lost = 0;
  std::uint64_t steps_redone = 0;  // in part and in whole
  std::uint64_t rounds = 0;
  std::uint64_t nodes_lost = 0;
  std::uint64_t events = 0;
  std::vector<Judged> expected;

  std::string liveness;    // LivenessResult::Kind in words; empty when there was no such phase
  std::string assumption;  // voided
  std::int64_t liveness_took_ns = 0;

  std::vector<std::uint64_t> checks;  // by oracle, in the fixed order; empty after a crash
  std::uint64_t trace_hash = 0;
  std::uint64_t running_digest = 0;    // of all (event, hash) pairs
  std::vector<std::uint64_t> digests;  // World::running_digests(), hashes alone; only for --verify
  std::int64_t wall_ms = 0;
  bool operator==(const Row&) const = default;
};

// With `digests`, they come along.
Row row_of(const RunResult& result, bool digests = false);

// One line of JSON, and back; from_text throws std::exception for anything else.
std::string to_text(const Row& row);
Row row_from_text(const std::string& text);
nlohmann::ordered_json to_json(const Row& row);

}  // namespace elastic::chaos
