// Fits the time of a training step to measured ones, in the form of Pollux (OSDI 2021, section 3):
//
//   T_acc(m)    = a_c + b_c m                       forward and backward of m samples
//   T_net(N, K) = 0                                 with K = 1 worker (K workers on N nodes)
//               = a_l + b_l max(K-2, 0)             within one node
//               = a_p + b_p max(K-2, 0) + d [K > N] between two nodes
//               = a_n + b_n max(K-2, 0) + d [K > N] between more
//   T(m, N, K)  = (T_acc^g + T_net^g)^(1/g), 1 <= g <= 10, as the two overlap in part
//   With s passes of accumulation before: s T_acc(m) + T(m, N, K).
//
// Pollux has neither d (workers of a node share its network) nor constants of their own for two
// nodes; without them the measurements there are missed by a third.
// All constants but g are at least 0. What is minimised is the mean square of the logarithm of
// predicted over measured time, plus 1e-4 (g - 1)^2: Pollux's RMSLE with L2 on g. The search
// (Nelder and Mead, 1965, from a fixed grid of starts) draws nothing by chance: the same
// measurements give the same constants.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "chaos/scenario/problem.h"

namespace elastic::chaos {

// One configuration, and the median over its measurements. Seconds.
struct Measured {
  std::uint32_t nodes = 0;
  std::uint32_t workers = 0;  // on all nodes together
  std::uint32_t batch = 0;    // samples of one worker in one pass
  double seconds = 0;
  bool operator==(const Measured&) const = default;
};

// Times in picoseconds, the exponent in thousandths: what is written down is what is used.
struct StepFit {
  std::int64_t compute_ps = 0;        // a_c
  std::int64_t sample_ps = 0;         // b_c
  std::int64_t local_ps = 0;          // a_l
  std::int64_t local_more_ps = 0;     // b_l, each worker from the third on
  std::int64_t pair_ps = 0;           // a_p
  std::int64_t pair_more_ps = 0;      // b_p
  std::int64_t net_ps = 0;            // a_n
  std::int64_t net_more_ps = 0;       // b_n
  std::int64_t shared_ps = 0;         // d
  std::int64_t overlap_milli = 1000;  // g
  bool operator==(const StepFit&) const = default;
};

// Relative errors |predicted / measured - 1|, over `count` configurations. Quantiles by rank
// ceil(q n).
struct FitErrors {
  std::size_t count = 0;
  double median = 0;
  double p90 = 0;
  double worst = 0;
};

// Of one step without accumulation. Seconds; requires nodes >= 1 and workers >= nodes.
double step_seconds(const StepFit& fit, std::uint32_t nodes, std::uint32_t workers, double batch);

// Whether a configuration is held out from the fit: a quarter of them, by a hash of
// "nodes,workers,batch" alone (FNV-1a in 64 bits, the finalizer of splitmix64, modulo 4).
bool held_out(const Measured& configuration);

// Requires at least one configuration.
StepFit fit_steps(const std::vector<Measured>& configurations);
FitErrors errors_of(const StepFit& fit, const std::vector<Measured>& configurations);

// Reads the measurements of one model: FOLDER/scalability.csv (num_nodes, num_replicas, local_bsz,
// step_time, sync_time) and FOLDER/placements.csv (placement, local_bsz, step_time, sync_time),
// where each digit of a placement is a node and says how many workers it has. Sorted by nodes,
// workers and batch.
tl::expected<std::vector<Measured>, Errors> read_measured(const std::string& folder);

}  // namespace elastic::chaos
