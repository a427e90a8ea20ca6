// The settings in a recording's header, and the frame of a step.
#include "transport/wire/convert.h"
#include "transport/wire/enums.h"

namespace elastic::wire {

static std::optional<Duration> duration_if(bool present, std::int64_t ns) {
  return present ? std::optional(Duration(ns)) : std::nullopt;
}

static void write(const DeclaredBounds& bounds, pb::DeclaredBounds& out) {
  const auto& [round_trip, journal, pause, start_up, transfer_stall, step] = bounds;
  out.set_round_trip_ns(round_trip.count());
  out.set_journal_ns(journal.count());
  out.set_pause_ns(pause.count());
  out.set_start_up_ns(start_up.count());
  out.set_transfer_stall_ns(transfer_stall.count());
  out.set_step_ns(step.count());
}

static DeclaredBounds read(const pb::DeclaredBounds& in) {
  return {.round_trip = Duration(in.round_trip_ns()),
          .journal = Duration(in.journal_ns()),
          .pause = Duration(in.pause_ns()),
          .start_up = Duration(in.start_up_ns()),
          .transfer_stall = Duration(in.transfer_stall_ns()),
          .step = Duration(in.step_ns())};
}

static void write(const policy::BackOff& back_off, pb::BackOff& out) {
  const auto& [base, cap] = back_off;
  out.set_base_ns(base.count());
  out.set_cap_ns(cap.count());
}

static policy::BackOff read(const pb::BackOff& in) {
  return {.base = Duration(in.base_ns()), .cap = Duration(in.cap_ns())};
}

static void write(const JobConfig& job, pb::JobConfig& out) {
  const auto& [min_nodes, max_nodes, node_unit, workers_per_node, workers, journal, journal_host,
               detection_target, bounds, orphan_bound, journal_lost_after, last_call, last_call_cap,
               join_timeout, growth, cool_down, resize_deadline, restart_policy, max_restarts,
               budget_reset, stop_grace, keep_saves, restart_back_off, churn_back_off, max_churn,
               no_progress, health, flaps, growth_pays] = job;
  out.set_min_nodes(min_nodes);
  out.set_max_nodes(max_nodes);
  out.set_node_unit(node_unit);
  out.set_workers_per_node(workers_per_node);
  out.set_workers(to_pb(workers));
  out.set_journal(to_pb(journal));
  out.set_journal_host(journal_host.value);
  out.set_detection_target_ns(detection_target.count());
  write(bounds, *out.mutable_bounds());
  if (orphan_bound) out.set_orphan_bound_ns(orphan_bound->count());
  out.set_journal_lost_after_ns(journal_lost_after.count());
  out.set_last_call_ns(last_call.count());
  out.set_last_call_cap_ns(last_call_cap.count());
  if (join_timeout) out.set_join_timeout_ns(join_timeout->count());
  out.set_growth(to_pb(growth));
  out.set_cool_down_ns(cool_down.count());
  out.set_resize_deadline_ns(resize_deadline.count());
  out.set_restart_policy(to_pb(restart_policy));
  out.set_max_restarts(max_restarts);
  out.set_budget_reset_ns(budget_reset.count());
  out.set_stop_grace_ns(stop_grace.count());
  out.set_keep_saves(keep_saves);
  pb::PolicyRules& rules = *out.mutable_policy();
  write(restart_back_off, *rules.mutable_restart());
  write(churn_back_off, *rules.mutable_churn());
  if (max_churn) rules.set_max_churn(*max_churn);
  const auto& [stuck_after] = no_progress;
  rules.set_no_progress(stuck_after);
  const auto& [min_healthy, grace] = health;
  rules.set_min_healthy(min_healthy);
  rules.set_min_healthy_grace_ns(grace.count());
  const auto& [tolerated, window, longest] = flaps;
  rules.set_flaps_tolerated(tolerated);
  rules.set_flap_window_ns(window.count());
  rules.set_flap_longest_ns(longest.count());
  const auto& [interval, horizon, margin_ppm, total_steps] = growth_pays;
  rules.set_growth_interval_ns(interval.count());
  rules.set_growth_horizon_ns(horizon.count());
  rules.set_growth_margin_ppm(margin_ppm);
  if (total_steps) rules.set_total_steps(*total_steps);
}

static GrowthPays read_growth(const pb::PolicyRules& rules) {
  GrowthPays pays;
  pays.interval = Duration(rules.growth_interval_ns());
  pays.horizon = Duration(rules.growth_horizon_ns());
  pays.margin_ppm = rules.growth_margin_ppm();
  if (rules.has_total_steps()) pays.total_steps = rules.total_steps();
  return pays;
}

static JobConfig read(const pb::JobConfig& in) {
  const pb::PolicyRules& rules = in.policy();
  return {.min_nodes = in.min_nodes(),
          .max_nodes = in.max_nodes(),
          .node_unit = in.node_unit(),
          .workers_per_node = in.workers_per_node(),
          .workers = from_pb<WorkerKind>(in.workers()),
          .journal = from_pb<JournalKind>(in.journal()),
          .journal_host = NodeId{in.journal_host()},
          .detection_target = Duration(in.detection_target_ns()),
          .bounds = read(in.bounds()),
          .orphan_bound = duration_if(in.has_orphan_bound_ns(), in.orphan_bound_ns()),
          .journal_lost_after = Duration(in.journal_lost_after_ns()),
          .last_call = Duration(in.last_call_ns()),
          .last_call_cap = Duration(in.last_call_cap_ns()),
          .join_timeout = duration_if(in.has_join_timeout_ns(), in.join_timeout_ns()),
          .growth = from_pb<Growth>(in.growth()),
          .cool_down = Duration(in.cool_down_ns()),
          .resize_deadline = Duration(in.resize_deadline_ns()),
          .restart_policy = from_pb<RestartPolicy>(in.restart_policy()),
          .max_restarts = in.max_restarts(),
          .budget_reset = Duration(in.budget_reset_ns()),
          .stop_grace = Duration(in.stop_grace_ns()),
          .keep_saves = in.keep_saves(),
          .restart_back_off = read(rules.restart()),
          .churn_back_off = read(rules.churn()),
          .max_churn = rules.has_max_churn() ? std::optional(rules.max_churn()) : std::nullopt,
          .no_progress = {rules.no_progress()},
          .health = {rules.min_healthy(), Duration(rules.min_healthy_grace_ns())},
          .flaps = {rules.flaps_tolerated(), Duration(rules.flap_window_ns()),
                    Duration(rules.flap_longest_ns())},
          .growth_pays = read_growth(rules)};
}

static void write(const Timeouts& timeouts, pb::Timeouts& out) {
  const auto& [beat, lost_after, election_min, election_max, canvass, journal_retry, lease, orphan,
               enter] = timeouts;
  out.set_beat_ns(beat.count());
  out.set_lost_after_ns(lost_after.count());
  out.set_election_min_ns(election_min.count());
  out.set_election_max_ns(election_max.count());
  out.set_canvass_ns(canvass.count());
  out.set_journal_retry_ns(journal_retry.count());
  out.set_lease_ns(lease.count());
  out.set_orphan_ns(orphan.count());
  out.set_enter_ns(enter.count());
}

static Timeouts read(const pb::Timeouts& in) {
  return {.beat = Duration(in.beat_ns()),
          .lost_after = Duration(in.lost_after_ns()),
          .election_min = Duration(in.election_min_ns()),
          .election_max = Duration(in.election_max_ns()),
          .canvass = Duration(in.canvass_ns()),
          .journal_retry = Duration(in.journal_retry_ns()),
          .lease = Duration(in.lease_ns()),
          .orphan = Duration(in.orphan_ns()),
          .enter = Duration(in.enter_ns())};
}

void write(const RecordingHeader& header, pb::RecordingHeader& out) {
  const auto& [version, job, timeouts, agent] = header;
  out.set_version(version);
  write(job, *out.mutable_job());
  write(timeouts, *out.mutable_timeouts());
  write(agent, *out.mutable_agent());
}

RecordingHeader read(const pb::RecordingHeader& in) {
  return {.version = in.version(),
          .job = read(in.job()),
          .timeouts = read(in.timeouts()),
          .agent = read(in.agent())};
}

void write(const RecordedStep& step, pb::RecordedStep& out) {
  const auto& [at, input, effects] = step;
  out.set_at_ns(at.time_since_epoch().count());
  write(input, *out.mutable_input());
  write_all(effects, *out.mutable_effects());
}

RecordedStep read(const pb::RecordedStep& in) {
  return {.at = Time(Duration(in.at_ns())),
          .input = read(in.input()),
          .effects = read_all(in.effects())};
}

}  // namespace elastic::wire
