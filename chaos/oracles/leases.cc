#include "chaos/oracles/leases.h"

#include <algorithm>

#include "chaos/oracles/narrator.h"
#include "chaos/oracles/truth.h"

namespace elastic::chaos {
namespace {

constexpr Duration kLookEvery{std::chrono::seconds(1)};

}  // namespace

using sim::WorkerEventKind;

// ---- leases
// --------------------------------------------------------------------------------------

LeasesOracle::LeasesOracle(Bench bench)
    : Oracle(
          {.name = "leases",
           .title = "a worker ran without a lease",
           .promise = "No foreign worker executes past its lease, and no native one applies a step "
                      "past its orphan bound, on the own clock.",
           .interests = kOnWorker | kOnDelivered | kOnEvent},
          std::move(bench)) {}

// Called where the execution of a tree ends, where its lease is prolonged, and now and then
// between.
void LeasesOracle::judge(Time now, const Group& group) {
  if (!truth().executes(group)) return;
  const Machine& machine = truth().machine(group.agent.node);
  if (machine.life != group.agent.life && machine.agent_up)
    return;  // its grant is not known any more
  const Time from = machine.grant.any ? machine.grant.from : machine.agent_since_local;
  const Duration age = view().local_clock(group.agent.node) - from;
  counted();
  if (age <= timeouts().lease + Duration(1)) return;
  if (now - machine.awake_since <= job().bounds.pause) return;
  violated(now, {.agent = group.agent,
                 .round = group.round,
                 .expected = "no worker executes " + in_words(timeouts().lease) +
                             " after the last acknowledged beat was sent",
                 .found = "one does after " + in_words(age)});
}

void LeasesOracle::judge_all(Time now) {
  for (std::uint64_t node = 1; node < truth().machines(); ++node) {
    const Group* group = truth().newest_group(NodeId{node});
    if (group != nullptr && group->alive) judge(now, *group);
  }
}

void LeasesOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  const AgentId agent{event.node, event.life};
  if (native()) {
    if (event.kind != WorkerEventKind::kApplied) return;
    counted();
    if (!truth().past_orphan(agent)) return;
    violated(now, {.agent = agent,
                   .round = event.round,
                   .expected = "no step is applied past the orphan bound, " +
                               in_words(timeouts().orphan) + " after the last acknowledged beat",
                   .found = "step " + grouped(event.state.step.value) + " is"});
    return;
  }
  const bool ends = event.kind == WorkerEventKind::kStopped ||
                    event.kind == WorkerEventKind::kGone || event.kind == WorkerEventKind::kFrozen;
  const Group* group = truth().group(agent);
  if (ends && group != nullptr && group->alive) judge(now, *group);
}

void LeasesOracle::on_delivered(Time now, NodeId /*from*/, NodeId to, const Message& message) {
  if (native()) return;
  const auto* order = std::get_if<Order>(&message);
  if (order == nullptr || !order->beat) return;
  const Group* group = truth().newest_group(to);
  if (group != nullptr && group->alive) judge(now, *group);
}

void LeasesOracle::on_event(Time now) {
  if (native() || now < look_at_) return;
  look_at_ = now + kLookEvery;
  judge_all(now);
}

void LeasesOracle::finish(Time now) {
  if (!native()) judge_all(now);
}

// ---- stops
// ---------------------------------------------------------------------------------------

StopsOracle::StopsOracle(Bench bench)
    : Oracle({.name = "stops",
              .title = "a worker that was to stop went on",
              .promise = "Workers that are to stop are gone within the grace and a little more.",
              .kind = ViolationKind::kLiveness,
              .interests = kOnDelivered | kOnEvent},
             std::move(bench)) {}

void StopsOracle::on_delivered(Time now, NodeId /*from*/, NodeId to, const Message& message) {
  if (native()) return;
  const auto* order = std::get_if<Order>(&message);
  if (order == nullptr || !order->leave_for) return;
  if (order->lead.journal != truth().journal_life() ||
      order->lead.record != truth().newest_lead()) {
    return;
  }
  const Group* group = truth().newest_group(to);
  const Machine& machine = truth().machine(to);
  if (group == nullptr || !group->alive || group->agent.life != machine.life) return;
  if (!group->round || order->leave_for <= group->round) return;
  const auto old = asked_.find(to);
  if (old != asked_.end() && old->second.life == machine.life &&
      old->second.round == group->round && (order->planned || !old->second.planned)) {
    return;
  }
  asked_[to] = Asked{machine.life, group->round, now, order->planned};
}

void StopsOracle::on_event(Time now) {
  if (asked_.empty() || now < look_at_) return;
  look_at_ = now + kLookEvery;
  for (auto it = asked_.begin(); it != asked_.end();) {
    const auto& [node, asked] = *it;
    const Group* group = truth().newest_group(node);
    const Machine& machine = truth().machine(node);
    const bool gone = group == nullptr || !group->alive || group->round != asked.round;
    if (gone || !machine.up || machine.life != asked.life || !machine.agent_up) {
      counted();
      it = asked_.erase(it);
      continue;
    }
    const Duration bound = with_drift(job().stop_grace) + job().bounds.pause +
                           (asked.planned ? with_drift(job().resize_deadline) : Duration::zero()) +
                           kLookEvery;
    const bool awake = !machine.agent_frozen && !machine.machine_frozen;
    if (awake && now - std::max(asked.at, machine.awake_since) > bound) {
      violated(now, {.agent = group->agent,
                     .round = asked.round,
                     .expected = "its workers are gone " + in_words(bound) + " after the order",
                     .found = "they are not after " + in_words(now - asked.at)});
      it = asked_.erase(it);
      continue;
    }
    ++it;
  }
}

}  // namespace elastic::chaos
