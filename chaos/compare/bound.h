// What an oracle would do with the machines of one seed: it knows everything, loses nothing, starts
// and reconfigures for free, and sees no fault but that machines are not there.
//
// It is an upper bound on every policy of chaos/compare: it trains at each moment on the number of
// nodes (from min to max, in whole units) that is fastest among those that the machines up allow.
// To be a bound on what is simulated and not only on what is meant, a step is as short as the
// simulator can make it: up to 2 ms less than its nominal length (members apply it at slightly
// different times), on the fastest machines that the plan makes (a `slow` fault may be below 100
// %), and a machine that dies counts until the reduction that it may have been part of is over.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/sim/config.h"
#include "transport/sim/plan.h"

namespace elastic::chaos {

// One stretch of one machine being there, [from, to).
struct UpTime {
  NodeId node{};
  Time from{};
  Time to{};
  bool operator==(const UpTime&) const = default;
};
// What a plan makes of the machines up to the horizon, by node, then time. Exact where no fault
// aims at "the coordinator", who is only known in a run: such crashes are left out.
std::vector<UpTime> up_times(const sim::WorldConfig& config, const sim::Plan& plan);

struct BoundFigures {
  bool finished = false;
  Duration finish{};             // of all steps, or the horizon
  std::uint64_t steps = 0;       // by then
  std::int64_t goodput_ppm = 0;  // 1,000,000 by definition where any step was possible
  std::int64_t cost_microdollars = 0;
  bool operator==(const BoundFigures&) const = default;
};

class OracleBound {
 public:
  // The job's batch must be constant: steps of one number are then of one size.
  OracleBound(const sim::WorldConfig& config, const sim::Plan& plan);

  // Of the whole job.
  BoundFigures figures() const;
  // Steps that it has done after `length`, with a part of the one in work, if the work never ended.
  double steps_by(Duration length) const;

 private:
  struct Stretch {  // of one number of machines
    Time from{};
    Time to{};
    std::uint32_t up = 0;
  };
  struct Done {
    std::uint64_t steps = 0;
    double part = 0;
    Time at{};  // where it stopped: the limit of steps or of time
  };
  Done train(Time until, std::uint64_t steps) const;

  sim::WorldConfig config_;
  std::vector<UpTime> up_times_;
  std::vector<Stretch> stretches_;
  std::vector<double> full_;   // ns of a step with at most so many nodes; infinite: none
  std::vector<double> short_;  // of the last step of an epoch
  std::uint64_t steps_of_epoch_ = 0;
};

}  // namespace elastic::chaos
