#include "chaos/timing/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/assert.h"

namespace elastic::chaos {
namespace {

constexpr std::size_t kConstants = 10;
constexpr double kPenalty = 1e-4;
constexpr double kPicosecond = 1e-12;
using Point = std::array<double, kConstants>;

struct Constants {
  double compute, sample, local, local_more, pair, pair_more, net, net_more, shared, overlap;
};

double predict(const Constants& c, std::uint32_t nodes, std::uint32_t workers, double batch) {
  const double compute = c.compute + c.sample * batch;
  if (workers < 2) return compute;
  const double more = std::max(static_cast<double>(workers) - 2, 0.0);
  const double own = workers > nodes ? c.shared : 0;
  const double net = nodes < 2    ? c.local + c.local_more * more
                     : nodes == 2 ? own + c.pair + c.pair_more * more
                                  : own + c.net + c.net_more * more;
  const double longer = std::max(compute, net);
  if (longer <= 0) return 0;
  const double ratio = std::min(compute, net) / longer;
  return longer * std::pow(1 + std::pow(ratio, c.overlap), 1 / c.overlap);
}

// The search moves without bounds: times are e^x, the exponent is 1 + 9 / (1 + e^-x).
Constants at(const Point& x) {
  return {std::exp(x[0]), std::exp(x[1]),
          std::exp(x[2]), std::exp(x[3]),
          std::exp(x[4]), std::exp(x[5]),
          std::exp(x[6]), std::exp(x[7]),
          std::exp(x[8]), 1 + 9 / (1 + std::exp(-x[9]))};
}

double loss(const Point& x, const std::vector<Measured>& configurations) {
  const Constants c = at(x);
  double sum = 0;
  for (const Measured& one : configurations) {
    const double predicted = predict(c, one.nodes, one.workers, one.batch);
    const double error = std::log(std::max(predicted, kPicosecond) / one.seconds);
    sum += error * error;
  }
  const double above = c.overlap - 1;
  return sum / static_cast<double>(configurations.size()) + kPenalty * above * above;
}

// Nelder and Mead's simplex with the usual coefficients (1, 2, 1/2, 1/2), begun anew around the
// best point until that gains nothing.
class Simplex {
 public:
  explicit Simplex(const std::vector<Measured>& configurations) : configurations_(configurations) {}

  // Moves `best` to a minimum near it, and gives the loss there.
  double minimise(Point& best) {
    constexpr int kRounds = 40;
    constexpr int kMoves = 4'000;
    double found = loss(best, configurations_);
    for (int round = 0; round < kRounds; ++round) {
      spread(best, round % 2 == 0 ? 0.7 : -0.3);
      for (int i = 0; i < kMoves && !flat(); ++i) move();
      sort();
      const double gained = found - corners_[0].loss;
      if (gained > 0) {
        best = corners_[0].point;
        found = corners_[0].loss;
      }
      if (round > 6 && gained < 1e-9) break;
    }
    return found;
  }

 private:
  struct Corner {
    Point point{};
    double loss = 0;
  };

  void spread(const Point& middle, double by) {
    corners_[0] = corner(middle);
    for (std::size_t i = 0; i < kConstants; ++i) {
      Point point = middle;
      point[i] += by;
      corners_[i + 1] = corner(point);
    }
    sort();
  }
  // e^-40 of a second is nothing, and the exponent is at its bound long before.
  [[nodiscard]] Corner corner(Point point) const {
    for (double& x : point) x = std::clamp(x, -40.0, 12.0);
    return {point, loss(point, configurations_)};
  }
  void sort() {
    std::stable_sort(corners_.begin(), corners_.end(),
                     [](const Corner& a, const Corner& b) { return a.loss < b.loss; });
  }
  [[nodiscard]] bool flat() const { return corners_.back().loss - corners_[0].loss < 1e-14; }

  void move() {
    sort();
    Point middle{};
    for (std::size_t i = 0; i < kConstants; ++i) {
      for (std::size_t k = 0; k < kConstants; ++k) middle[k] += corners_[i].point[k] / kConstants;
    }
    const auto along = [&](double by) {
      Point point{};
      for (std::size_t k = 0; k < kConstants; ++k) {
        point[k] = middle[k] + by * (corners_.back().point[k] - middle[k]);
      }
      return corner(point);
    };
    const Corner reflected = along(-1);
    if (reflected.loss < corners_[0].loss) {
      const Corner expanded = along(-2);
      corners_.back() = expanded.loss < reflected.loss ? expanded : reflected;
    } else if (reflected.loss < corners_[kConstants - 1].loss) {
      corners_.back() = reflected;
    } else {
      const Corner inner = along(reflected.loss < corners_.back().loss ? -0.5 : 0.5);
      if (inner.loss < std::min(reflected.loss, corners_.back().loss)) {
        corners_.back() = inner;
      } else {
        shrink();
      }
    }
  }
  void shrink() {
    for (std::size_t i = 1; i <= kConstants; ++i) {
      Point point{};
      for (std::size_t k = 0; k < kConstants; ++k) {
        point[k] = (corners_[0].point[k] + corners_[i].point[k]) / 2;
      }
      corners_[i] = corner(point);
    }
  }

  const std::vector<Measured>& configurations_;
  std::array<Corner, kConstants + 1> corners_;
};

double quantile(const std::vector<double>& sorted, double q) {
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted.at(std::max<std::size_t>(rank, 1) - 1);
}

std::int64_t picoseconds(double seconds) { return std::llround(seconds / kPicosecond); }

}  // namespace

double step_seconds(const StepFit& fit, std::uint32_t nodes, std::uint32_t workers, double batch) {
  ELASTIC_ASSERT(nodes >= 1);
  ELASTIC_ASSERT(workers >= nodes);
  const auto seconds = [](std::int64_t ps) { return static_cast<double>(ps) * kPicosecond; };
  return predict({seconds(fit.compute_ps), seconds(fit.sample_ps), seconds(fit.local_ps),
                  seconds(fit.local_more_ps), seconds(fit.pair_ps), seconds(fit.pair_more_ps),
                  seconds(fit.net_ps), seconds(fit.net_more_ps), seconds(fit.shared_ps),
                  static_cast<double>(fit.overlap_milli) / 1000},
                 nodes, workers, batch);
}

bool held_out(const Measured& configuration) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c :
       fmt::format("{},{},{}", configuration.nodes, configuration.workers, configuration.batch)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  // FNV alone puts neighbours into the same quarter: a finalizer (that of splitmix64) parts them.
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111eb;
  return (hash ^ (hash >> 31U)) % 4 == 0;
}

StepFit fit_steps(const std::vector<Measured>& configurations) {
  ELASTIC_ASSERT(!configurations.empty());
  double least = configurations[0].seconds;
  double most_batch = 1;
  for (const Measured& one : configurations) {
    least = std::min(least, one.seconds);
    most_batch = std::max(most_batch, static_cast<double>(one.batch));
  }
  Simplex search(configurations);
  Point best{};
  double found = -1;
  for (const double overlap : {-2.0, 0.0}) {
    for (const double share : {0.1, 0.9}) {  // of the shortest step that does not grow with samples
      const double base = std::log(least);
      Point point = {base + std::log(share),
                     base - std::log(most_batch) + 1,
                     base - 1,
                     base - 4,
                     base,
                     base - 4,
                     base,
                     base - 4,
                     base - 2,
                     overlap};
      const double reached = search.minimise(point);
      if (found >= 0 && reached >= found) continue;
      best = point;
      found = reached;
    }
  }
  const Constants c = at(best);
  return {picoseconds(c.compute), picoseconds(c.sample),
          picoseconds(c.local),   picoseconds(c.local_more),
          picoseconds(c.pair),    picoseconds(c.pair_more),
          picoseconds(c.net),     picoseconds(c.net_more),
          picoseconds(c.shared),  std::llround(c.overlap * 1000)};
}

FitErrors errors_of(const StepFit& fit, const std::vector<Measured>& configurations) {
  std::vector<double> errors;
  errors.reserve(configurations.size());
  for (const Measured& one : configurations) {
    const double predicted = step_seconds(fit, one.nodes, one.workers, one.batch);
    errors.push_back(std::abs(predicted / one.seconds - 1));
  }
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  return {errors.size(), quantile(errors, 0.5), quantile(errors, 0.9), errors.back()};
}

}  // namespace elastic::chaos
