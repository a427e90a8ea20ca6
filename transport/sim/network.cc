#include "transport/sim/network.h"

#include <algorithm>

#include "core/assert.h"

namespace elastic::sim {

Network::Network(const NetworkModel& model, const Chance& chance, std::size_t nodes)
    : model_(model), chance_(chance), nodes_(nodes), links_(nodes + 1) {}

bool Network::concerns(FaultKind kind) {
  return kind >= FaultKind::kPartition && kind <= FaultKind::kReorder;
}

bool Network::Effect::between(NodeId from, NodeId to) const {
  const bool target = targets.empty() || targets.has(from);
  if (!target) return false;
  if (!others.empty()) return others.has(to);
  return targets.empty() || !targets.has(to);
}

bool Network::Effect::applies(NodeId from, NodeId to) const {
  if (between(from, to)) return true;
  return kind != FaultKind::kOneWay && between(to, from);
}

Network::Link& Network::link(NodeId from, NodeId to) {
  std::vector<Link>& out = links_[from.value];
  const auto at = std::lower_bound(out.begin(), out.end(), to.value,
                                   [](const Link& l, std::uint64_t id) { return l.to < id; });
  if (at != out.end() && at->to == to.value) return *at;
  Link fresh;
  fresh.to = to.value;
  return *out.insert(at, fresh);
}

Network::Rates Network::rates(NodeId from, NodeId to) const {
  Rates rates{model_.loss_ppm, model_.duplicate_ppm, model_.reorder_ppm, 0};
  for (const Effect& effect : effects_) {
    if (effect.kind <= FaultKind::kOneWay || !effect.applies(from, to)) continue;
    if (effect.kind == FaultKind::kLoss) rates.loss_ppm = std::max(rates.loss_ppm, effect.value);
    if (effect.kind == FaultKind::kDelay) rates.delay_ns = std::max(rates.delay_ns, effect.value);
    if (effect.kind == FaultKind::kDuplicate)
      rates.duplicate_ppm = std::max(rates.duplicate_ppm, effect.value);
    if (effect.kind == FaultKind::kReorder)
      rates.reorder_ppm = std::max(rates.reorder_ppm, effect.value);
  }
  return rates;
}

bool Network::blocked(NodeId from, NodeId to) const {
  if (from == to) return false;
  if (!inside_.empty() && !(inside_.has(from) && inside_.has(to))) return true;
  for (const Effect& effect : effects_) {
    if (effect.kind <= FaultKind::kOneWay && effect.applies(from, to)) return true;
  }
  return false;
}

Network::Delivery Network::send(NodeId from, NodeId to, Time now) {
  ++sent_;
  if (from == to) return {1, {kSelfDelay, Duration{}}};
  if (to.value == 0 || to.value > nodes_) return {};
  Link& used = link(from, to);
  const std::uint64_t index = used.count++;
  used.last = now;
  if (blocked(from, to)) return {};
  const std::uint64_t subject = link_subject(from, to);
  const Rates rate = rates(from, to);
  const auto happens = [&](Purpose purpose, std::int64_t ppm) {
    if (ppm <= 0) return false;
    return math::chance_ppm(chance_.draw(purpose, subject, index), static_cast<std::uint64_t>(ppm));
  };
  if (happens(Purpose::kLoss, rate.loss_ppm)) return {};
  Delivery result{1, {}};
  result.after[0] =
      model_.latency + chance_.up_to(Purpose::kLatency, subject, index, model_.jitter);
  if (rate.delay_ns > 0)
    result.after[0] += chance_.up_to(Purpose::kDelay, subject, index, Duration(rate.delay_ns));
  const Duration long_way = 20 * (model_.latency + model_.jitter);
  const std::uint64_t second = ~index;  // an index that counts down never meets one that counts up
  if (happens(Purpose::kReorder, rate.reorder_ppm))
    result.after[0] += chance_.up_to(Purpose::kReorder, subject, second, long_way);
  if (happens(Purpose::kDuplicate, rate.duplicate_ppm)) {
    result.copies = 2;
    result.after[1] =
        result.after[0] + chance_.up_to(Purpose::kDuplicate, subject, second, long_way);
  }
  return result;
}

void Network::begin(std::uint64_t number, const Fault& fault) {
  ELASTIC_ASSERT(concerns(fault.kind));
  effects_.push_back({number, fault.kind, NodeSet(fault.targets, nodes_),
                      NodeSet(fault.others, nodes_), fault.value});
}

void Network::end(std::uint64_t number) {
  std::erase_if(effects_, [&](const Effect& effect) { return effect.number == number; });
}

void Network::end_all() { effects_.clear(); }

void Network::cut_off_all_but(const std::vector<NodeId>& inside) {
  inside_ = NodeSet(inside, nodes_);
}

std::vector<NodeId> Network::peers(NodeId node, Time since) const {
  std::vector<NodeId> found;
  for (const Link& out : links_[node.value]) {
    if (out.last >= since) found.push_back(NodeId{out.to});
  }
  for (std::uint64_t other = 1; other <= nodes_; ++other) {
    const std::vector<Link>& out = links_[other];
    const auto at = std::lower_bound(out.begin(), out.end(), node.value,
                                     [](const Link& l, std::uint64_t id) { return l.to < id; });
    if (at != out.end() && at->to == node.value && at->last >= since)
      found.push_back(NodeId{other});
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace elastic::sim
