// Machines that come and go, as scenarios of the simulator: how much of the time enough of them are
// there, and how long a job waits for the first time that they are.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "chaos/report/interval.h"
#include "tests/support/closed_forms/formulas.h"
#include "tests/support/closed_forms/runs.h"

namespace elastic::closed_forms {

// A job that needs `least` of `machines`. Failures and repairs are exponential and in one queue
// where there are fewer repairers than machines. Else each repair takes from half to three halves
// of mttr, evenly: then only its mean matters (insensitivity), and the scenario's own lines do.
struct AvailabilityCase {
  std::uint32_t machines = 1;
  std::uint32_t least = 1;
  std::uint32_t repairers = 1;
  Duration mtbf{};  // of a machine
  Duration mttr{};

  Machines as_formula() const { return {machines, repairers, in_seconds(mtbf), in_seconds(mttr)}; }
};

// A share, or a mean in seconds, with what theory says of it.
struct Agreement {
  double predicted = 0;
  chaos::Interval found;
  std::uint64_t samples = 0;  // failures, or waits
  std::string trouble;
  double deviation() const { return found.mean - predicted; }
  // The theory lies within twice the 95 % confidence interval: by chance it does not once in some
  // ten thousand times.
  bool agrees() const { return found.count >= 2 && std::abs(deviation()) <= 2 * found.half; }
};

// `horizon` is of each seed. Unavailability: the share of time with fewer than `least` machines.
struct AvailabilityEffort {
  std::uint64_t seeds = 20;
  std::uint32_t failures = 1000;  // of a seed, all machines together
  unsigned processes = 1;
  Tell tell;
};
std::vector<Agreement> unavailability(const std::vector<AvailabilityCase>& cases,
                                      const AvailabilityEffort& effort);

// A job under the policy rigid that needs `least` nodes; none is there at the start, and `machines`
// come after exponential times.
struct WaitCase {
  std::uint32_t machines = 1;
  std::uint32_t least = 1;
  Duration mean{};  // of a machine

  Arrivals as_formula() const { return {machines, least, in_seconds(mean)}; }
};

struct Wait {
  Agreement mean;
  double deviation_predicted = 0;  // standard deviations, seconds
  double deviation_found = 0;
  double distance = 0;  // Kolmogorov and Smirnov: times the root of the number of waits
  double start_least = 0, start_most = 0;  // from the end of the wait to the first step, seconds
};
// Exceeded with probability 0.001.
constexpr double kDistanceAllowed = 1.95;

std::vector<Wait> waits(const std::vector<WaitCase>& cases, std::uint64_t seeds, unsigned processes,
                        const Tell& tell);

}  // namespace elastic::closed_forms
