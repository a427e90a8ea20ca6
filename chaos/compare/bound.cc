#include "chaos/compare/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "chaos/account/account.h"
#include "core/assert.h"
#include "core/math/integer.h"
#include "transport/sim/world.h"

namespace elastic::chaos {
namespace {

using sim::Fault;
using sim::FaultKind;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr Duration kApplyJitter = std::chrono::milliseconds(2);  // of the simulated workers
constexpr std::int64_t kMillion = 1'000'000;

// The machines of a plan, as World powers them on and off.
class Machines {
 public:
  Machines(const sim::WorldConfig& config, const sim::Plan& plan)
      : end_(Time{} + config.horizon), machines_(config.nodes.size()) {
    for (const Fault& fault : plan) push(fault.at, {.fault = &fault});
    for (std::size_t i = 0; i < config.nodes.size(); ++i) {
      if (config.nodes[i].present_at_start) push(Time{}, {.machine = i});
    }
  }

  std::vector<UpTime> run() {
    while (!queue_.empty() && queue_.begin()->first.first <= end_) {
      const Time now = queue_.begin()->first.first;
      const Event event = queue_.begin()->second;
      queue_.erase(queue_.begin());
      if (event.fault != nullptr) {
        begin(now, *event.fault);
      } else if (machines_[event.machine].life == event.life) {
        power_on(now, event.machine);
      }
    }
    for (std::size_t i = 0; i < machines_.size(); ++i) power_off(end_, i);
    std::sort(found_.begin(), found_.end(), [](const UpTime& a, const UpTime& b) {
      return std::pair(a.node, a.from) < std::pair(b.node, b.from);
    });
    return std::move(found_);
  }

 private:
  struct Machine {
    bool up = false;
    std::uint64_t life = 0;
    Time since{};
  };
  struct Event {
    const Fault* fault = nullptr;
    std::size_t machine = 0;  // without a fault: is powered on,
    std::uint64_t life = 0;   // unless it has gone down once more
  };

  void push(Time at, Event event) { queue_.emplace(std::pair(at, pushed_++), event); }

  void begin(Time now, const Fault& fault) {
    for (const NodeId node : fault.targets) {
      if (node.value == 0 || node.value > machines_.size()) continue;  // the coordinator
      const auto index = static_cast<std::size_t>(node.value - 1);
      if (fault.kind == FaultKind::kAdd) power_on(now, index);
      if (fault.kind == FaultKind::kReclaim) power_off(now, index);
      if (fault.kind != FaultKind::kCrash) continue;
      const bool was_up = machines_[index].up;
      power_off(now, index);
      if (fault.length > Duration{} && was_up) {
        push(now + fault.length, {.machine = index, .life = machines_[index].life});
      }
    }
  }

  void power_on(Time now, std::size_t index) {
    if (machines_[index].up) return;
    machines_[index].up = true;
    machines_[index].since = now;
  }

  void power_off(Time now, std::size_t index) {
    Machine& machine = machines_[index];
    if (!machine.up) return;
    machine.up = false;
    ++machine.life;
    if (now > machine.since) found_.push_back({NodeId{index + 1}, machine.since, now});
  }

  Time end_;
  std::vector<Machine> machines_;
  std::map<std::pair<Time, std::uint64_t>, Event> queue_;
  std::uint64_t pushed_ = 0;
  std::vector<UpTime> found_;
};

// The shortest step of `batch` samples that the simulator can make, with at most so many nodes.
std::vector<double> shortest_steps(const sim::WorldConfig& config, std::uint64_t batch) {
  const std::uint32_t unit = std::max(1U, config.job.node_unit);
  std::vector<double> best(config.nodes.size() + 1, kNever);
  for (std::uint32_t nodes = 1; nodes < best.size(); ++nodes) {
    best[nodes] = best[nodes - 1];
    const bool usable = nodes >= config.job.min_nodes && nodes <= config.job.max_nodes;
    if (!usable || nodes % unit != 0) continue;
    const Duration nominal = undisturbed_step(config, nodes, batch);
    const Duration least = nominal - std::min(kApplyJitter, nominal / 4);
    best[nodes] = std::min(best[nodes], static_cast<double>(std::max(least, Duration(1)).count()));
  }
  return best;
}

}  // namespace

std::vector<UpTime> up_times(const sim::WorldConfig& config, const sim::Plan& plan) {
  return Machines(config, plan).run();
}

OracleBound::OracleBound(const sim::WorldConfig& config, const sim::Plan& plan)
    : config_(config), up_times_(up_times(config, plan)) {
  ELASTIC_ASSERT(config.training.batch_mode == policy::BatchMode::kConstant);
  std::int64_t fastest = kMillion;
  for (const Fault& fault : plan) {
    if (fault.kind == FaultKind::kSlow) fastest = std::min(fastest, fault.value);
  }
  sim::WorldConfig quick = config;
  quick.training.compute_per_sample =
      Duration(math::mul_div(config.training.compute_per_sample.count(), fastest, kMillion));
  const std::uint64_t batch = std::max<std::uint64_t>(config.training.global_batch, 1);
  const std::uint64_t dataset = config.training.dataset;
  steps_of_epoch_ = dataset == 0 ? 0 : math::ceil_div(dataset, batch);
  full_ = shortest_steps(quick, batch);
  short_ =
      steps_of_epoch_ == 0 ? full_ : shortest_steps(quick, dataset - (steps_of_epoch_ - 1) * batch);

  // +1 and -1; who dies counts for one more reduction.
  quick.training.compute_per_sample = quick.training.step_overhead = Duration{};
  const Duration grace =
      undisturbed_step(quick, std::max(1U, config.job.max_nodes), batch) + kApplyJitter;
  std::map<Time, std::int64_t> changes;
  for (std::size_t i = 0; i < up_times_.size(); ++i) {
    const bool again = i + 1 < up_times_.size() && up_times_[i + 1].node == up_times_[i].node;
    const Time until = up_times_[i].to + grace;
    ++changes[up_times_[i].from];
    --changes[again ? std::min(until, up_times_[i + 1].from) : until];
  }
  std::int64_t up = 0;
  for (auto at = changes.begin(); at != changes.end() && std::next(at) != changes.end(); ++at) {
    up += at->second;
    stretches_.push_back({at->first, std::next(at)->first, static_cast<std::uint32_t>(up)});
  }
}

OracleBound::Done OracleBound::train(Time until, std::uint64_t steps) const {
  Done done;
  done.at = until;
  for (const Stretch& stretch : stretches_) {
    if (stretch.from >= until) break;
    const double end = static_cast<double>((std::min(stretch.to, until) - Time{}).count());
    double now = static_cast<double>((stretch.from - Time{}).count());
    while (done.steps < steps) {
      const bool is_short = steps_of_epoch_ > 0 && (done.steps + 1) % steps_of_epoch_ == 0;
      const double length = (is_short ? short_ : full_)[stretch.up];
      if (length == kNever) break;
      const double needed = (1 - done.part) * length;
      if (now + needed > end) {
        done.part += (end - now) / length;
        break;
      }
      now += needed;
      done.part = 0;
      ++done.steps;
    }
    if (done.steps == steps) {
      done.at = std::min(until, Time(Duration(static_cast<std::int64_t>(std::floor(now)))));
      break;
    }
  }
  return done;
}

double OracleBound::steps_by(Duration length) const {
  const Done done = train(Time{} + length, std::numeric_limits<std::uint64_t>::max());
  return static_cast<double>(done.steps) + done.part;
}

BoundFigures OracleBound::figures() const {
  const std::uint64_t total = config_.training.total_steps;
  const Done done = train(Time{} + config_.horizon, total);
  BoundFigures figures;
  figures.finished = done.steps == total;
  figures.finish = done.at - Time{};
  figures.steps = done.steps;
  figures.goodput_ppm = done.steps > 0 ? kMillion : 0;
  constexpr std::int64_t kNsPerHour = 3'600'000'000'000;
  math::int128 cost = 0;
  for (const UpTime& up : up_times_) {
    if (up.from >= done.at) continue;
    const std::int64_t price = config_.nodes[up.node.value - 1].price_microdollars_per_hour;
    cost += math::int128{price} * (std::min(up.to, done.at) - up.from).count();
  }
  figures.cost_microdollars = static_cast<std::int64_t>((cost + kNsPerHour / 2) / kNsPerHour);
  return figures;
}

}  // namespace elastic::chaos
