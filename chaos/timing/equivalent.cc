#include "chaos/timing/equivalent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::chaos {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kMillion = 1'000'000;
constexpr std::size_t kUnknowns = 3;
using Numbers = std::array<double, kUnknowns>;

// Per sample, whatever the world, per byte; each over the time of the point.
struct Row {
  Numbers factor{};
  double wanted = 0;
};

Duration hops(const sim::NetworkModel& network, std::uint32_t nodes) {
  return Duration(math::mul_sat(2 * (std::int64_t{nodes} - 1), network.latency.count()));
}

double rate(const sim::NetworkModel& network) {
  return static_cast<double>(std::max<std::int64_t>(network.bandwidth_bytes_per_second, 1));
}

std::vector<Row> rows_of(const std::vector<StepPoint>& points, const sim::NetworkModel& network) {
  std::vector<Row> rows;
  rows.reserve(points.size());
  for (const StepPoint& point : points) {
    ELASTIC_ASSERT(point.time > Duration{});
    const auto time = static_cast<double>(point.time.count());
    const double nodes = point.nodes;
    const auto rest =
        static_cast<double>(std::max(Duration{}, point.time - hops(network, point.nodes)).count());
    rows.push_back({{static_cast<double>(point.share) / time, 1 / time,
                     2 * (nodes - 1) / nodes * kNsPerSecond / rate(network) / time},
                    rest / time});
  }
  return rows;
}

// Least squares over the unknowns in `used`, by the normal equations; nothing when they do not
// determine them, or one of them would be negative.
std::optional<Numbers> solve(const std::vector<Row>& rows, const std::vector<std::size_t>& used) {
  constexpr double kSingular = 1e-10;
  Numbers scale{};
  for (const Row& row : rows) {
    for (const std::size_t i : used) scale[i] = std::max(scale[i], row.factor[i]);
  }
  const std::size_t n = used.size();
  std::array<std::array<double, kUnknowns + 1>, kUnknowns> m{};
  for (std::size_t i = 0; i < n; ++i) {
    if (scale[used[i]] <= 0) return std::nullopt;
    for (const Row& row : rows) {
      const double mine = row.factor[used[i]] / scale[used[i]];
      for (std::size_t k = 0; k < n; ++k) m[i][k] += mine * row.factor[used[k]] / scale[used[k]];
      m[i][n] += mine * row.wanted;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (m[i][i] < kSingular * static_cast<double>(rows.size())) return std::nullopt;
    for (std::size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const double by = m[k][i] / m[i][i];
      for (std::size_t j = i; j <= n; ++j) m[k][j] -= by * m[i][j];
    }
  }
  Numbers out{};
  for (std::size_t i = 0; i < n; ++i) {
    out[used[i]] = m[i][n] / m[i][i] / scale[used[i]];
    if (out[used[i]] < 0) return std::nullopt;
  }
  return out;
}

double loss(const std::vector<Row>& rows, const Numbers& numbers) {
  double sum = 0;
  for (const Row& row : rows) {
    double error = -row.wanted;
    for (std::size_t i = 0; i < kUnknowns; ++i) error += row.factor[i] * numbers[i];
    sum += error * error;
  }
  return sum;
}

std::int64_t whole(double value) {
  constexpr double kMost = 1e15;
  return static_cast<std::int64_t>(std::min(value, kMost) + 0.5);
}

}  // namespace

Duration simulated_step(const sim::TrainingModel& training, const sim::NetworkModel& network,
                        std::uint32_t nodes, std::uint64_t share) {
  ELASTIC_ASSERT(nodes >= 1);
  const auto samples = static_cast<std::int64_t>(share);
  const std::int64_t compute = math::mul_sat(training.compute_per_sample.count(), samples);
  const std::int64_t bytes =
      math::mul_div(training.gradient_bytes, 2 * (std::int64_t{nodes} - 1), nodes);
  const std::int64_t reduce = math::mul_div(
      bytes, kNsPerSecond, std::max<std::int64_t>(network.bandwidth_bytes_per_second, 1));
  const std::int64_t rest = math::add_sat(reduce, hops(network, nodes).count());
  return Duration(math::add_sat(math::add_sat(compute, rest), training.step_overhead.count()));
}

void set_equivalent(const std::vector<StepPoint>& points, const sim::NetworkModel& network,
                    sim::TrainingModel& training) {
  ELASTIC_ASSERT(!points.empty());
  // Where several are as near, the first: time that machines compute, then time that they reduce.
  static const std::array<std::vector<std::size_t>, 6> kUses{
      {{0, 1, 2}, {0, 2}, {0, 1}, {1, 2}, {0}, {1}}};
  constexpr double kAsNear = 1e-9;
  const std::vector<Row> rows = rows_of(points, network);
  Numbers best{};
  double found = -1;
  for (const std::vector<std::size_t>& used : kUses) {
    const std::optional<Numbers> numbers = solve(rows, used);
    if (!numbers) continue;
    const double here = loss(rows, *numbers);
    if (found >= 0 && here > found - kAsNear) continue;
    best = *numbers;
    found = here;
  }
  training.compute_per_sample = Duration(whole(best[0]));
  training.step_overhead = Duration(whole(best[1]));
  training.gradient_bytes = std::max<std::int64_t>(1, whole(best[2]));
}

std::int64_t worst_difference_ppm(const std::vector<StepPoint>& points,
                                  const sim::TrainingModel& training,
                                  const sim::NetworkModel& network) {
  std::int64_t worst = 0;
  for (const StepPoint& point : points) {
    const std::int64_t here =
        simulated_step(training, network, point.nodes, point.share).count() - point.time.count();
    const std::int64_t size = here < 0 ? -here : here;
    const std::int64_t time = point.time.count();
    worst = std::max(worst, math::add_sat(math::mul_div(size, kMillion, time), 1));
  }
  return worst;
}

}  // namespace elastic::chaos
