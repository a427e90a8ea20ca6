// The job that Daly's closed form speaks of, as a scenario of the simulator: all nodes or nothing
// (the policy rigid), saves for which training stands still until they are durable, machines that
// fail at exponential times, and what one failure costs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "chaos/report/interval.h"
#include "chaos/scenario/scenario.h"
#include "tests/support/closed_forms/formulas.h"
#include "tests/support/closed_forms/runs.h"

namespace elastic::closed_forms {

struct RigidJob {
  std::uint32_t nodes = 2;
  Duration mtbf{};      // of the job: each node fails every nodes * mtbf on average
  Duration save{};      // also of the storage: the state is written exactly so long
  Duration start_up{};  // of the programs; each node then loads the state, at nodes * save in all
  Duration interval{};  // of training between saves
  // A machine that fails is there again after this, with an empty memory; failures in between are
  // none.
  Duration away{std::chrono::milliseconds(1)};
};

// At most `horizon`, and it does not finish before.
chaos::Scenario scenario_of(const RigidJob& job, Duration horizon);

// What a failure costs when no other comes near it: from it to the next step, without the time that
// the machine is away. Means, in seconds. Measured in a run of its own, so that the closed form is
// told nothing of the run that it is compared with.
struct RestartCost {
  double member = 0;       // it hit a node that did not coordinate
  double coordinator = 0;  // it hit the coordinator: others must notice and elect one
  double known = 0;        // what the scenario names of it: start-up and load
  double effective = 0;    // R of the closed form, see effective_restart()
  std::string trouble;     // why it could not be measured
};
// Of each job, by `failures` failures far from each other, of nodes drawn at random. Jobs that
// differ in mtbf and interval alone share their measurements.
std::vector<RestartCost> restart_costs(const std::vector<RigidJob>& jobs, std::uint32_t failures,
                                       unsigned processes);

// One job against Daly's closed form. Goodput: training time that counts in the end over all time.
struct RigidPoint {
  RigidJob job;
  RestartCost restart;
  double predicted = 0;         // goodput
  chaos::Interval found;        // over seeds
  std::vector<double> by_seed;  // goodput
  chaos::Interval reported;  // goodput as reports have it, which leaves out time below the minimum
  std::uint64_t failures = 0;  // of all seeds
  std::uint64_t events = 0;
  std::string trouble;  // the point does not count
  double deviation() const { return found.mean / predicted - 1; }
};

struct Effort {
  std::uint64_t seeds = 10;
  std::uint32_t failures = 1000;  // of a seed, on average
  unsigned processes = 1;
  Tell tell;
};

// The same seeds at every point; failures come at the same times where nodes and mtbf are the same.
// Fewer seeds than asked for where the user has interrupted. A job whose machines stay away needs
// to be one of a single node: then T has the mean of `away` more for each failure.
std::vector<RigidPoint> run_points(const std::vector<RigidJob>& jobs, const Effort& effort);

// Where a sweep over the interval has its best, by a parabola through goodput over the logarithm of
// the interval, in which the closed form is nearly symmetric; in seconds.
double vertex(const std::vector<RigidPoint>& sweep);
// The same for the closed form at the same intervals: what the method itself gets wrong.
double vertex_of_formula(const std::vector<RigidPoint>& sweep);

}  // namespace elastic::closed_forms
