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

}  // namespace

std::variant<Timeouts, Refusal> derive_timeouts(const JobConfig& job) {
  if (auto refusal = refuse_sizes(job)) return *refusal;
  if (auto refusal = refuse_lengths(job)) return *refusal;
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
