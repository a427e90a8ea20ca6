// What the simulator is told of a table of step times. It knows a step as
//
//   compute_per_sample * share + step_overhead + 2 (N-1)/N gradient / bandwidth + 2 (N-1) latency
//
// and is given the compute_per_sample, step_overhead and gradient, none negative, that come nearest
// to the table over all worlds that the job may have (least squares of the relative errors). The
// gradient is an equivalent one: as many bytes as cost that time on the simulated network.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.h"
#include "transport/sim/config.h"

namespace elastic::chaos {

// One world: `share` samples for the worker with most of them.
struct StepPoint {
  std::uint32_t nodes = 0;
  std::uint64_t share = 0;
  Duration time{};
};

// The simulator's step in a world, as above.
Duration simulated_step(const sim::TrainingModel& training, const sim::NetworkModel& network,
                        std::uint32_t nodes, std::uint64_t share);

// Sets the three in `training`. Requires at least one point, and times above 0. Only +, -, *, / of
// IEEE 754 doubles, so that every machine finds the same.
void set_equivalent(const std::vector<StepPoint>& points, const sim::NetworkModel& network,
                    sim::TrainingModel& training);

// The largest relative difference of simulated_step from the points, in millionths, rounded up.
std::int64_t worst_difference_ppm(const std::vector<StepPoint>& points,
                                  const sim::TrainingModel& training,
                                  const sim::NetworkModel& network);

}  // namespace elastic::chaos
