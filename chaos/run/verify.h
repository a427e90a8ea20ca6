// Is a seed the same run every time? Each is run again in a new process with another allocator
// (other addresses, fresh and freed memory filled with another pattern); what depends on either
// shows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chaos/run/batch.h"
#include "chaos/run/row.h"

namespace elastic::chaos {

// How to start this program again: arguments for the same scenario, without seeds and output
// options.
struct SelfCall {
  std::vector<std::string> arguments;
  unsigned jobs = 1;
};

// Hidden options by which the second process is asked (see apps/elastic-sim/README.md).
constexpr const char* kRowsOption = "--rows";            // print one Row per line
constexpr const char* kWindowOption = "--event-window";  // FIRST..LAST: hash and lines per event

struct Difference {
  std::uint64_t seed = 0;
  std::string what;                // "trace", "goodput_ppm, cost_microdollars", ...
  std::uint64_t event = 0;         // first event that differs; 0: none could be named
  std::vector<std::string> first;  // what it did in each run, as lines of --events
  std::vector<std::string> second;
  std::string note;  // when no event could be named: why
};

struct VerifyResult {
  std::uint64_t compared = 0;  // seeds
  std::vector<Difference> differences;
  bool complete = true;  // false: interrupted, or the second process failed
  std::string trouble;   // the latter: how
};

// Compares `rows` (made with digests) with those that a second process makes of `seeds`, and looks
// for the first event that differs in at most kMaxSearched seeds.
VerifyResult verify(const std::vector<Row>& rows, SeedRange seeds, const SelfCall& self,
                    const std::function<void(std::uint64_t done)>& progress = {});
constexpr std::size_t kMaxSearched = 3;

// Events [first, last) of the run with `seed`, as the second process prints them: a JSON object
// with "hashes" and "lines" (by event).
std::string event_window(const Scenario& scenario, std::uint64_t seed, std::uint64_t first,
                         std::uint64_t last);

// Compares what event_window gave for the same events, from `first` on, in two processes, and names
// the first event that differs in `difference`. Throws std::exception when either is not such a
// text.
void compare_windows(Difference& difference, std::uint64_t first, const std::string& one,
                     const std::string& two);

// Fields in which two rows of one seed differ, but for wall_ms: empty when none.
std::string differing_fields(const Row& first, const Row& second);
// First event of the 4,096 in which two runs part; 0 when their digests agree throughout.
std::uint64_t differing_window(const Row& first, const Row& second);

}  // namespace elastic::chaos
