// How often to save.
//
// Sources: J. W. Young, "A first order approximation to the optimum checkpoint interval" (CACM
// 1974): sqrt(2 C M); J. T. Daly, "A higher order estimate of the optimum checkpoint interval for
// restart dumps" (FGCS 2006), equation 37, used here: with s = sqrt(2 C M) and r = sqrt(C / 2M),
//   interval = s (1 + r / 3 + r^2 / 9) - C   if C < 2M, else M,
// where C is the time that one save costs the training and M the mean time between failures of the
// whole job.
#pragma once

#include <cstdint>
#include <optional>

#include "core/types.h"

namespace elastic::checkpoint {

// Daly's interval, without bounds. Rounded down to within a few nanoseconds; 0 where the cost is 0.
// REQUIRES: cost >= 0, mtbf > 0.
Duration daly_interval(Duration cost, Duration mtbf);

struct IntervalRule {
  Duration shortest{std::chrono::seconds(30)};
  Duration longest{std::chrono::hours(1)};
  // What is believed before the first failure: the estimate begins with one failure in this time.
  Duration assumed_mtbf{std::chrono::hours(4)};
};

struct Measured {
  std::optional<Duration> save_cost;  // time that a save kept the training waiting, lately
  std::uint64_t failures = 0;         // rounds that were lost: churn and failures of the program
  Duration running{};                 // during so much time in rounds
};

// (assumed_mtbf + running) / (1 + failures): needs no case for "none yet", and forgets what was
// assumed as the job goes on.
Duration estimated_mtbf(const IntervalRule& rule, const Measured& measured);

// Work between the end of one save and the start of the next. Before the cost of a save was
// measured: `shortest`, so that it soon is.
Duration save_interval(const IntervalRule& rule, const Measured& measured);

}  // namespace elastic::checkpoint
