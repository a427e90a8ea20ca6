// What theory says, as published: the other side of every comparison with the simulator. Pure
// functions of doubles; nothing here knows of the simulator. Times are seconds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace elastic::closed_forms {

// A job that trains, saves synchronously, and goes back to its last save at every failure. Failures
// are a Poisson process: they strike training, saves and restarts alike.
struct Daly {
  double mtbf = 0;     // M: mean time between failures of the job
  double restart = 0;  // R: from a failure to the next step, if no other failure comes between
  double save = 0;     // delta: training stands still
};

// Share of time that advances the job, with a save after every `interval` of training: tau / T with
//   T = M e^(R/M) (e^((tau+delta)/M) - 1),
// exact for exponential failures (J. T. Daly, "A higher order estimate of the optimum checkpoint
// interval for restart dumps", Future Generation Computer Systems 22, 2006).
double daly_goodput(const Daly& job, double interval);

// Daly's higher order estimate of the best interval (the same paper):
//   sqrt(2 delta M) (1 + sqrt(delta / 2M) / 3 + (delta / 2M) / 9) - delta,  and M from delta = 2M.
double daly_interval(double save, double mtbf);

// The interval that maximises daly_goodput, by bisection of its derivative.
double best_interval(const Daly& job);

// Restarts that take a different time by whom the failure hits enter T as 1 / E[e^(-R/M)] in the
// place of e^(R/M): a restart succeeds when no failure comes within it. Gives the R with that
// e^(R/M). `weights` sum to 1.
double effective_restart(std::span<const double> restarts, std::span<const double> weights,
                         double mtbf);

// Machines that fail and are repaired, both exponential, at most `repairers` in repair at a time,
// first come first served: a birth and death process, with one repairer the finite-source M/M/1
// queue ("machine repair", "machine interference"). One machine: mtbf / (mtbf + mttr).
struct Machines {
  std::uint32_t machines = 1;
  std::uint32_t repairers = 1;
  double mtbf = 0;  // of a machine, while it is up
  double mttr = 0;  // of a repair, without the wait for it
};
// Share of time with k machines up; index k, from 0 to all.
std::vector<double> machines_up(const Machines& machines);
// Share of time with at least `least` machines up.
double availability(const Machines& machines, std::uint32_t least);

// When the `least`th of `machines` has come, each after an exponential time of this mean: order
// statistics of exponentials, the mean of which is sum 1 / (n - i), i = 0 .. least - 1 (A. Renyi,
// "On the theory of order statistics", 1953).
struct Arrivals {
  std::uint32_t machines = 1;
  std::uint32_t least = 1;
  double mean = 0;
};
double mean_wait(const Arrivals& arrivals);
double wait_deviation(const Arrivals& arrivals);           // standard deviation
double wait_below(const Arrivals& arrivals, double wait);  // probability: distribution function

// Kolmogorov and Smirnov: the largest distance between the samples' distribution and `arrivals`.
double largest_distance(std::vector<double> waits, const Arrivals& arrivals);

// Where the parabola that fits best (least squares) has its vertex. At least three different xs.
double parabola_vertex(std::span<const double> xs, std::span<const double> ys);

}  // namespace elastic::closed_forms
