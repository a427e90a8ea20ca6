#include "tests/support/closed_forms/formulas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/assert.h"

namespace elastic::closed_forms {

double daly_goodput(const Daly& job, double interval) {
  ELASTIC_ASSERT(interval > 0 && job.mtbf > 0);
  return interval / (job.mtbf * std::exp(job.restart / job.mtbf) *
                     std::expm1((interval + job.save) / job.mtbf));
}

double daly_interval(double save, double mtbf) {
  if (save >= 2 * mtbf) return mtbf;
  const double ratio = save / (2 * mtbf);
  return std::sqrt(2 * save * mtbf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - save;
}

double best_interval(const Daly& job) {
  // The derivative of tau / (e^((tau + delta)/M) - 1) has the sign of this, which falls.
  const auto rising = [&](double tau) {
    const double x = (tau + job.save) / job.mtbf;
    return -std::expm1(-x) > tau / job.mtbf;
  };
  double low = 0;
  double high = job.mtbf;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (rising(middle) ? low : high) = middle;
  }
  return low;
}

double effective_restart(std::span<const double> restarts, std::span<const double> weights,
                         double mtbf) {
  ELASTIC_ASSERT(!restarts.empty());
  ELASTIC_ASSERT(restarts.size() == weights.size());
  double survives = 0;
  for (std::size_t i = 0; i < restarts.size(); ++i) {
    survives += weights[i] * std::exp(-restarts[i] / mtbf);
  }
  return -mtbf * std::log(survives);
}

std::vector<double> machines_up(const Machines& machines) {
  ELASTIC_ASSERT(machines.repairers > 0);
  // Balance between `down` and `down` + 1: (n - down) / mtbf * p = min(down + 1, r) / mttr * p'.
  const std::uint32_t n = machines.machines;
  std::vector<double> up(n + 1);
  double p = 1;
  for (std::uint32_t down = 0; down <= n; ++down) {
    up[n - down] = p;
    const double at_work = std::min(down + 1, machines.repairers);
    p *= (n - down) * machines.mttr / (machines.mtbf * at_work);
  }
  const double sum = std::accumulate(up.begin(), up.end(), 0.0);
  for (double& one : up) one /= sum;
  return up;
}

double availability(const Machines& machines, std::uint32_t least) {
  const std::vector<double> up = machines_up(machines);
  double sum = 0;
  for (std::size_t k = least; k < up.size(); ++k) sum += up[k];
  return sum;
}

double mean_wait(const Arrivals& arrivals) {
  ELASTIC_ASSERT(arrivals.least <= arrivals.machines);
  double sum = 0;
  for (std::uint32_t i = 0; i < arrivals.least; ++i) sum += 1.0 / (arrivals.machines - i);
  return arrivals.mean * sum;
}

double wait_deviation(const Arrivals& arrivals) {
  double sum = 0;
  for (std::uint32_t i = 0; i < arrivals.least; ++i) {
    sum += std::pow(1.0 / (arrivals.machines - i), 2);
  }
  return arrivals.mean * std::sqrt(sum);
}

double wait_below(const Arrivals& arrivals, double wait) {
  if (wait <= 0) return 0;
  const double come = -std::expm1(-wait / arrivals.mean);
  const double n = arrivals.machines;
  double sum = 0;
  for (std::uint32_t k = arrivals.least; k <= arrivals.machines; ++k) {
    const double ways = std::lgamma(n + 1) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1);
    sum += std::exp(ways + k * std::log(come) - (n - k) * wait / arrivals.mean);
  }
  return std::min(sum, 1.0);
}

double largest_distance(std::vector<double> waits, const Arrivals& arrivals) {
  std::sort(waits.begin(), waits.end());
  const auto count = static_cast<double>(waits.size());
  double largest = 0;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const double below = wait_below(arrivals, waits[i]);
    largest = std::max({largest, below - static_cast<double>(i) / count,
                        static_cast<double>(i + 1) / count - below});
  }
  return largest;
}

double parabola_vertex(std::span<const double> xs, std::span<const double> ys) {
  ELASTIC_ASSERT(xs.size() == ys.size() && xs.size() >= 3);
  // Centred, so that the powers below stay small.
  const double centre = std::accumulate(xs.begin(), xs.end(), 0.0) / static_cast<double>(xs.size());
  std::array<double, 5> s{};  // sums of x^k
  std::array<double, 3> t{};  // sums of x^k y
  for (std::size_t i = 0; i < xs.size(); ++i) {
    double power = 1;
    for (std::size_t k = 0; k < s.size(); ++k) {
      s[k] += power;
      if (k < t.size()) t[k] += power * ys[i];
      power *= xs[i] - centre;
    }
  }
  // y = a + b x + c x^2 by Cramer's rule; the common determinant drops out of -b / 2c.
  const double b = s[0] * (t[1] * s[4] - t[2] * s[3]) - t[0] * (s[1] * s[4] - s[2] * s[3]) +
                   s[2] * (s[1] * t[2] - s[2] * t[1]);
  const double c = s[0] * (s[2] * t[2] - s[3] * t[1]) - s[1] * (s[1] * t[2] - s[2] * t[1]) +
                   t[0] * (s[1] * s[3] - s[2] * s[2]);
  return centre - b / (2 * c);
}

}  // namespace elastic::closed_forms
