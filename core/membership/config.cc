#include "core/membership/config.h"

#include <algorithm>
#include <string>

#include "core/assert.h"

namespace elastic {
namespace {

using std::chrono::milliseconds;

std::string in_ms(Duration d) {
  const auto ms = (d + milliseconds(1) - Duration(1)) / milliseconds(1);
  return std::to_string(ms) + "ms";
}

std::optional<Refusal> refuse_sizes(const JobConfig& job) {
  if (job.min_nodes == 0) return Refusal{"min nodes is 0; a round needs at least 1"};
  if (job.min_nodes > job.max_nodes) {
    return Refusal{"min nodes " + std::to_string(job.min_nodes) + " is above max nodes " +
                   std::to_string(job.max_nodes)};
  }
  if (job.node_unit == 0) return Refusal{"node_unit is 0; use 1 for any number of nodes"};
  if (job.max_nodes / job.node_unit * job.node_unit < job.min_nodes) {
    return Refusal{"no multiple of node_unit " + std::to_string(job.node_unit) + " lies between " +
                   std::to_string(job.min_nodes) + " and " + std::to_string(job.max_nodes) +
                   " nodes; change min, max or node_unit"};
  }
  if (job.workers_per_node == 0) return Refusal{"workers per node is 0; at least 1 is needed"};
  if (job.journal == JournalKind::kHosted && !job.journal_host) {
    return Refusal{"a hosted journal needs a host: name the node at the rendezvous endpoint"};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_lengths(const JobConfig& job) {
  const struct {
    const char* name;
    Duration length;
    bool may_be_zero;
  } lengths[] = {
      {"detection_target", job.detection_target, false},
      {"bounds.round_trip", job.bounds.round_trip, false},
      {"bounds.journal", job.bounds.journal, false},
      {"bounds.pause", job.bounds.pause, true},
      {"bounds.start_up", job.bounds.start_up, false},
      {"bounds.transfer_stall", job.bounds.transfer_stall, false},
      {"bounds.step", job.bounds.step, false},
      {"journal_lost_after", job.journal_lost_after, false},
      {"last_call", job.last_call, true},
      {"last_call_cap", job.last_call_cap, true},
      {"cool_down", job.cool_down, false},
      {"resize_deadline", job.resize_deadline, false},
      {"budget_reset", job.budget_reset, false},
      {"stop_grace", job.stop_grace, true},
      {"restart_back_off", job.restart_back_off.base, true},
      {"restart_back_off.cap", job.restart_back_off.cap, true},
      {"churn_back_off", job.churn_back_off.base, true},
      {"churn_back_off.cap", job.churn_back_off.cap, true},
      {"min_healthy_grace", job.health.grace, false},
      {"flaps.window", job.flaps.window, false},
      {"flaps.longest", job.flaps.longest, false},
      {"growth_pays.interval", job.growth_pays.interval, true},
      {"growth_pays.horizon", job.growth_pays.horizon, false},
  };
  for (const auto& [name, length, may_be_zero] : lengths) {
    if (length < Duration(0) || (length == Duration(0) && !may_be_zero)) {
      return Refusal{std::string(name) + " must be longer than zero"};
    }
    if (length > std::chrono::hours(24 * 365)) {
      return Refusal{std::string(name) + " is longer than a year"};
    }
  }
  if (job.last_call > job.last_call_cap) {
    return Refusal{"last_call (" + in_ms(job.last_call) + ") is above last_call_cap (" +
                   in_ms(job.last_call_cap) + "); raise the cap"};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_policy(const JobConfig& job) {
  const auto& flaps = job.flaps;
  if (flaps.tolerated > policy::kMaxTolerated) {
    return Refusal{"flaps.tolerated is " + std::to_string(flaps.tolerated) + "; at most " +
                   std::to_string(policy::kMaxTolerated) + ", or 0 for no damping"};
  }
  if (flaps.tolerated > 0 && flaps.longest < 3 * policy::half_life(flaps, 0)) {
    return Refusal{"flaps.longest (" + in_ms(flaps.longest) + ") is below 3/8 of flaps.window (" +
                   in_ms(flaps.window) + "), so damping would not bound what a flapper causes"};
  }
  for (const policy::BackOff& back_off : {job.restart_back_off, job.churn_back_off}) {
    if (back_off.base > back_off.cap) {
      return Refusal{"a back-off begins with " + in_ms(back_off.base) + ", above its cap of " +
                     in_ms(back_off.cap) + "; raise the cap"};
    }
  }
  if (job.health.min_healthy > job.max_nodes) {
    return Refusal{"min_healthy " + std::to_string(job.health.min_healthy) +
                   " is above max nodes " + std::to_string(job.max_nodes) +
                   ": the job would always end"};
  }
  if (job.growth == Growth::kPays && job.workers == WorkerKind::kForeign) {
    return Refusal{
        "growth pays needs native workers: the steps of foreign programs are not known; use always "
        "or never"};
  }
  if (job.no_progress.failures > 0 && job.workers == WorkerKind::kForeign) {
    return Refusal{
        "no_progress needs native workers: the steps of foreign programs are not known; use 0"};
  }
  return std::nullopt;
}

}  // namespace

std::variant<Timeouts, Refusal> derive_timeouts(const JobConfig& job) {
  if (auto refusal = refuse_sizes(job)) return *refusal;
  if (auto refusal = refuse_lengths(job)) return *refusal;
  if (auto refusal = refuse_policy(job)) return *refusal;
  const DeclaredBounds& b = job.bounds;
  const Duration target = job.detection_target;
  Timeouts t;
  t.beat = target / 4;
  // Two beats may be needed (one may be lost), and each may be late by a pause and a round trip.
  const Duration needed = 2 * t.beat + b.round_trip + b.journal + b.pause;
  if (needed > target || t.beat < milliseconds(1)) {
    const Duration least =
        std::max(2 * (b.round_trip + b.journal + b.pause), Duration(milliseconds(4)));
    return Refusal{
        "detection target " + in_ms(target) +
        " cannot tell a lost node from a slow one: with the declared bounds (round trip " +
        in_ms(b.round_trip) + ", journal " + in_ms(b.journal) + ", pause " + in_ms(b.pause) +
        ") at least " + in_ms(least) + " is needed"};
  }
  t.lost_after = target;
  t.election_min = target;
  t.election_max = target + target / 2;
  t.canvass = 2 * b.round_trip + b.pause;
  t.journal_retry = std::max(2 * b.journal + b.round_trip, Duration(milliseconds(5)));
  const Duration successor = t.election_max + b.journal + t.canvass + b.journal + t.beat +
                             b.round_trip + b.journal + b.pause;
  t.lease = successor + successor / 10;
  t.orphan = job.orphan_bound.value_or(std::max(6 * t.lease, Duration(std::chrono::minutes(5))));
  if (t.orphan <= with_drift(t.lease)) {
    return Refusal{"orphan_bound " + in_ms(t.orphan) + " must be above the lease, which is " +
                   in_ms(t.lease) + " for this detection target"};
  }
  t.enter = b.start_up + 3 * b.transfer_stall + b.pause;
  ELASTIC_ASSERT(t.election_max + t.canvass + b.journal + t.beat + b.pause < t.lease);
  ELASTIC_ASSERT(t.lease < t.orphan);
  return t;
}

}  // namespace elastic
