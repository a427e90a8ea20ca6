#include "apps/elastic-run/job.h"

#include <algorithm>

#include "core/assert.h"

namespace elastic::launch {

using std::chrono::milliseconds;

DeclaredBounds declared_bounds(const Options& options) {
  const Duration target = options.detection_target;
  const Tuning& tuning = options.tuning;
  DeclaredBounds bounds;
  bounds.round_trip = tuning.round_trip.value_or(std::min<Duration>(milliseconds(20), target / 20));
  bounds.journal = tuning.journal.value_or(std::min<Duration>(milliseconds(100), target / 5));
  bounds.pause = tuning.pause.value_or(std::min<Duration>(milliseconds(100), target / 5));
  bounds.start_up = tuning.start_up.value_or(bounds.start_up);
  return bounds;
}

JobConfig job_config(const Options& options, NodeId journal_host) {
  ELASTIC_ASSERT(options.action == Action::kRun);
  ELASTIC_ASSERT(options.growth != Growth::kPays);
  const Tuning& tuning = options.tuning;
  JobConfig job;
  job.min_nodes = options.min_nodes;
  job.max_nodes = options.max_nodes;
  job.node_unit = tuning.node_unit;
  job.workers_per_node = options.workers_per_node;
  job.workers = WorkerKind::kForeign;
  job.journal = JournalKind::kHosted;
  job.journal_host = journal_host;
  job.detection_target = options.detection_target;
  job.bounds = declared_bounds(options);
  job.orphan_bound = tuning.orphan_bound;
  job.journal_lost_after = tuning.journal_lost_after;
  job.last_call = tuning.last_call;
  job.last_call_cap = tuning.last_call_cap;
  job.join_timeout = tuning.join_timeout;
  job.growth = options.growth;
  job.cool_down = tuning.cool_down;
  job.resize_deadline = tuning.resize_deadline;
  job.restart_policy = options.restart_policy;
  job.max_restarts = options.max_restarts;
  job.budget_reset = tuning.budget_reset;
  job.stop_grace = options.shutdown_timeout;
  job.restart_back_off = {tuning.restart_back_off, tuning.restart_back_off_cap};
  job.max_churn = tuning.max_churn;
  job.health = {options.min_healthy, tuning.min_healthy_grace};
  return job;
}

}  // namespace elastic::launch
