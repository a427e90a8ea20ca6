#include "chaos/scenario/random_faults.h"

#include <algorithm>

#include "core/math/integer.h"
#include "core/math/sampling.h"

namespace elastic::chaos {
namespace {

using sim::Fault;
using sim::FaultKind;

// How a swarm chooses, in one place. Shares are of 100.
constexpr std::uint64_t kCoordinatorHit = 15;  // a fault of a machine hits whoever coordinates
constexpr std::uint64_t kBatchHit = 12;        // or two to four machines together
constexpr std::uint64_t kZoneHit = 6;          // or, for reclaims, a whole zone
constexpr std::uint64_t kOneAgainstAll = 40;   // cuts: one machine from everybody else
constexpr std::uint64_t kZoneCut = 60;         // up to here: a zone from everybody else
constexpr std::uint64_t kHalves = 80;          // up to here: two random halves; then: one pair

class Generator {
 public:
  Generator(const Scenario& scenario, const FaultEntry& entry, const Draws& draws,
            const Selectors& selectors, const Presence& presence)
      : scenario_(scenario),
        entry_(entry),
        draws_(draws),
        selectors_(selectors),
        presence_(presence) {}

  sim::Plan run() {
    const Duration end = std::min(entry_.until.value_or(scenario_.horizon), scenario_.horizon);
    Duration at = entry_.from;
    for (std::uint64_t k = 0;; ++k) {
      const Duration gap =
          entry_.regular ? entry_.every : math::exponential(draws_.draw("when", k), entry_.every);
      at = Duration(math::add_sat(at.count(), std::max(gap, Duration(1)).count()));
      if (at > end) return std::move(plan_);
      present_ = presence_.at(at);
      occur(k, at);
    }
  }

 private:
  [[nodiscard]] bool swarm() const { return entry_.form == FaultForm::kSwarm; }

  FaultKind draw_kind(std::uint64_t k) const {
    if (!swarm()) return entry_.kind;
    if (!entry_.kinds.empty()) {
      return entry_.kinds[draws_.below(entry_.kinds.size(), "kind", k)];
    }
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < sim::kFaultKinds; ++i)
      total += info(static_cast<FaultKind>(i)).swarm_weight;
    std::uint64_t drawn = draws_.below(total, "kind", k);
    for (std::size_t i = 0; i < sim::kFaultKinds; ++i) {
      const KindInfo& one = info(static_cast<FaultKind>(i));
      if (drawn < one.swarm_weight) return one.kind;
      drawn -= one.swarm_weight;
    }
    return FaultKind::kCrash;
  }

  void occur(std::uint64_t k, Duration at) {
    Fault fault;
    fault.at = Time(at);
    fault.kind = draw_kind(k);
    const KindInfo& kind = info(fault.kind);
    if (!draw_targets(k, kind, fault)) return;
    const Duration length = draw_length(k, kind);
    fault.value = draw_value(k, kind);
    if (fault.kind == FaultKind::kReclaim) return reclaim(std::move(fault), length);
    fault.length = length;
    plan_.push_back(std::move(fault));
  }

  // The machines are announced, taken, and others take their places later.
  void reclaim(Fault fault, Duration away) {
    const Duration notice = swarm() ? scenario_.notice : entry_.notice;
    const Duration at = fault.at.time_since_epoch();
    const std::vector<NodeId> targets = fault.targets;
    if (notice > Duration{}) {
      const Duration announced = std::max(at - notice, Duration{});
      plan_.push_back({.at = Time(announced),
                       .kind = FaultKind::kNotice,
                       .targets = targets,
                       .others = {},
                       .length = at - announced});
    }
    plan_.push_back(std::move(fault));
    plan_.push_back(
        {.at = Time(at + away), .kind = FaultKind::kAdd, .targets = targets, .others = {}});
  }

  Duration draw_length(std::uint64_t k, const KindInfo& kind) const {
    if (kind.length == Need::kNo) return Duration{};
    if (entry_.length) {
      return Duration(
          draws_.between(entry_.length->low.count(), entry_.length->high.count(), "length", k));
    }
    constexpr std::int64_t kMs = 1'000'000;
    return Duration(
        draws_.between(kind.length_ms.low * kMs, kind.length_ms.high * kMs, "length", k));
  }

  std::int64_t draw_value(std::uint64_t k, const KindInfo& kind) const {
    if (kind.unit == ValueUnit::kNone) return 0;
    if (entry_.value) return *entry_.value;
    if (kind.unit == ValueUnit::kWorker) {
      return static_cast<std::int64_t>(draws_.below(scenario_.job.workers_per_node, "value", k));
    }
    return draws_.between(kind.value.low, kind.value.high, "value", k);
  }

  // False when there is nobody to hit.
  bool draw_targets(std::uint64_t k, const KindInfo& kind, Fault& fault) {
    if (!entry_.targets.empty()) {
      fault.targets = selectors_.all(entry_.targets);
      fault.others = selectors_.all(entry_.others);
      return !fault.targets.empty() && (entry_.others.empty() || !fault.others.empty());
    }
    switch (kind.reach) {
      case Reach::kNobody:
        return true;
      case Reach::kAnyone:
        if (draws_.below(2, "everybody", k) == 0) return true;
        return pick(k, 1, fault.targets);
      case Reach::kCut:
        return draw_cut(k, fault);
      case Reach::kNodes:
        break;
    }
    return draw_machines(k, fault);
  }

  bool draw_machines(std::uint64_t k, Fault& fault) {
    const std::uint64_t drawn = swarm() ? draws_.below(100, "whom", k) : 100;
    const bool comes_and_goes =
        fault.kind == FaultKind::kReclaim || fault.kind == FaultKind::kNotice;
    if (drawn < kCoordinatorHit && !comes_and_goes) {
      fault.targets = {kCoordinator};
      return true;
    }
    if (drawn < kZoneHit && comes_and_goes) {
      fault.targets = draw_zone(k);
      return !fault.targets.empty();
    }
    const bool batch = drawn >= kCoordinatorHit && drawn < kCoordinatorHit + kBatchHit;
    return pick(k, batch ? 2 + draws_.below(3, "batch", k) : 1, fault.targets);
  }

  std::vector<NodeId> draw_zone(std::uint64_t k) const {
    const std::uint64_t zone = draws_.below(scenario_.zones.size(), "zone", k);
    const std::vector<NodeId>* found = selectors_.find("zone " + scenario_.zones[zone].name);
    return found == nullptr ? std::vector<NodeId>() : *found;
  }

  // `count` different machines among those present, or all of them if there are fewer.
  bool pick(std::uint64_t k, std::uint64_t count, std::vector<NodeId>& out) {
    std::vector<NodeId> left = present_;
    for (std::uint64_t i = 0; i < count && !left.empty(); ++i) {
      const std::uint64_t index = draws_.below(left.size(), "machine", k, i);
      out.push_back(left[index]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(index));
    }
    std::sort(out.begin(), out.end());
    return !out.empty();
  }

  bool draw_cut(std::uint64_t k, Fault& fault) {
    if (present_.size() < 2) return false;
    const std::uint64_t drawn = draws_.below(100, "cut", k);
    if (drawn < kOneAgainstAll) return pick(k, 1, fault.targets);
    if (drawn < kZoneCut && scenario_.zones.size() > 1) {
      fault.targets = draw_zone(k);
      return !fault.targets.empty();
    }
    if (drawn < kHalves) return pick(k, present_.size() / 2, fault.targets);
    std::vector<NodeId> pair;
    pick(k, 2, pair);
    const std::uint64_t first = draws_.below(2, "direction", k);
    fault.targets = {pair[first]};
    fault.others = {pair[1 - first]};
    return true;
  }

  const Scenario& scenario_;
  const FaultEntry& entry_;
  const Draws& draws_;
  const Selectors& selectors_;
  Presence::Cursor presence_;
  std::vector<NodeId> present_;
  sim::Plan plan_;
};

}  // namespace

Presence::Presence(const std::vector<sim::NodeSpec>& nodes, const sim::Plan& plan) {
  for (const sim::NodeSpec& node : nodes) at_start_.push_back(node.present_at_start);
  for (const Fault& fault : plan) {
    const bool add = fault.kind == FaultKind::kAdd;
    if (!add && fault.kind != FaultKind::kReclaim) continue;
    changes_.push_back({fault.at.time_since_epoch(), add, fault.targets});
  }
}

std::vector<NodeId> Presence::Cursor::at(Duration at) {
  for (; next_ < presence_->changes_.size() && presence_->changes_[next_].at <= at; ++next_) {
    const Change& change = presence_->changes_[next_];
    for (const NodeId node : change.nodes) up_[node.value - 1] = change.add;
  }
  std::vector<NodeId> present;
  for (std::size_t i = 0; i < up_.size(); ++i) {
    if (up_[i]) present.push_back(NodeId{i + 1});
  }
  return present;
}

sim::Plan random_faults(const Scenario& scenario, const FaultEntry& entry, const Draws& draws,
                        const Selectors& selectors, const Presence& presence) {
  return Generator(scenario, entry, draws, selectors, presence).run();
}

}  // namespace elastic::chaos
