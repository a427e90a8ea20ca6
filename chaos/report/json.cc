#include "chaos/report/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "chaos/run/event_log.h"

namespace elastic::chaos {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(std::uint64_t word) { return fmt::format("{:016x}", word); }
std::int64_t ns(Time at) { return at.time_since_epoch().count(); }

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json time_json(const TimeParts& time) {
  return {{"productive_ns", time.productive.count()},
          {"redone_ns", time.redone.count()},
          {"waiting_ns", time.waiting.count()},
          {"reconfiguring_ns", time.reconfiguring.count()},
          {"saving_ns", time.saving.count()},
          {"below_minimum_ns", time.below_minimum.count()},
          {"whole_ns", time.whole.count()}};
}

Json faults_json(const Summary& summary) {
  Json json = Json::object();
  for (std::size_t i = 0; i < summary.faults.size(); ++i) {
    if (summary.faults[i] == 0) continue;
    json[std::string(sim::name(static_cast<sim::FaultKind>(i)))] = summary.faults[i];
  }
  return json;
}

Json rounds_json(const Summary& summary) {
  Json causes = Json::object();
  for (std::size_t i = 0; i < kRoundCauses; ++i) {
    causes[std::string(name(static_cast<RoundCause>(i)))] = summary.rounds_by_cause[i];
  }
  return {{"count", summary.rounds}, {"by_cause", causes}};
}

Json sizes_json(const RunResult& result) {
  Json sizes = Json::array();
  for (const SizePoint& point : result.summary.sizes) {
    sizes.push_back({{"at_ns", ns(point.at)}, {"up", point.up}, {"training", point.training}});
  }
  return sizes;
}

Json expected_json(const std::vector<Judged>& expected) {
  Json json = Json::array();
  for (const Judged& one : expected) {
    json.push_back({{"wanted", one.wanted}, {"found", one.found}, {"ok", one.ok}});
  }
  return json;
}

Json oracles_json(const std::vector<OracleTally>& oracles) {
  Json json = Json::object();
  for (const OracleTally& one : oracles) json[one.name] = one.checks;
  return json;
}

Json story_json(const RunResult& result) {
  Json json = Json::array();
  for (const Happening& one : result.story) {
    json.push_back({{"at_ns", ns(one.at)}, {"event", one.event}, {"text", one.text}});
  }
  return json;
}

Json failure_json(const RunResult& result, const Commands& commands) {
  Json json;
  if (result.crash) {
    json = {{"oracle", "assertion"},          {"title", "an assertion of elastic failed"},
            {"at_ns", ns(result.crash_at)},   {"event", result.crash_event},
            {"expected", result.crash->what}, {"where", result.crash->where}};
  } else if (result.violation) {
    const Violation& violation = *result.violation;
    json = {{"oracle", violation.oracle},     {"title", violation.title},
            {"at_ns", ns(violation.at)},      {"event", violation.event},
            {"node", result.violation_node},  {"round", violation.round.number},
            {"expected", violation.expected}, {"found", violation.found}};
  } else {
    return nullptr;
  }
  json["in_liveness_phase"] = result.in_liveness_phase;
  json["before_it"] = story_json(result);
  json["repeat"] = commands.repeat;
  json["shrink"] = commands.shrink;
  return json;
}

Json liveness_json(const LivenessResult& liveness) {
  return {{"kind", name(liveness.kind)},
          {"moment_ns", ns(liveness.moment)},
          {"core_nodes", liveness.core.size()},
          {"bound_ns", liveness.bound.count()},
          {"took_ns", liveness.took.count()},
          {"assumption", liveness.assumption},
          {"proof", liveness.proof}};
}

Json summary_json(const RunResult& result) {
  const Summary& summary = result.summary;
  return {{"finished", summary.finished},
          {"end", end_words(result.outcome)},
          {"time", time_json(summary.time)},
          {"goodput_ppm", summary.goodput_ppm},
          {"capacity_microsteps", summary.capacity_microsteps},
          {"cost_microdollars", summary.cost_microdollars},
          {"cost_per_1000_steps_microdollars", summary.cost_per_1000_steps_microdollars},
          {"machine_time_ns", summary.machine_time.count()},
          {"steps_committed", summary.steps_committed},
          {"steps_lost", summary.steps_lost},
          {"steps_redone_in_part", summary.steps_redone_in_part},
          {"steps_redone_in_whole", summary.steps_redone_in_whole},
          {"samples_productive", summary.samples_productive},
          {"rounds", rounds_json(summary)},
          {"coordinators", summary.leads},
          {"checkpoints", summary.checkpoints},
          {"nodes_lost", summary.nodes_lost},
          {"loss_batches", summary.loss_batches},
          {"biggest_batch_nodes", summary.biggest_batch},
          {"nodes_joined", summary.nodes_joined},
          {"program_failures", summary.program_failures},
          {"workers_killed", summary.workers_killed},
          {"faults", faults_json(summary)},
          {"recoveries", summary.recoveries.size()},
          {"recovery_p50_ns", summary.recovery_p50.count()},
          {"recovery_p99_ns", summary.recovery_p99.count()},
          {"recovery_max_ns", summary.recovery_max.count()}};
}

Json spread_json(const BatchResult& batch, const std::function<std::int64_t(const Row&)>& field) {
  const Spread spread = spread_of(values_of(batch, field));
  return {{"p5", spread.p5}, {"p50", spread.p50}, {"p95", spread.p95}};
}

Json row_json(const Row& row) {
  Json json = to_json(row);
  json["trace_hash"] = hex(row.trace_hash);
  json.erase("checks");
  json.erase("running_digest");
  json.erase("digests");
  return json;
}

Json verify_json(const VerifyResult& verified) {
  Json differences = Json::array();
  for (const Difference& one : verified.differences) {
    differences.push_back({{"seed", one.seed},
                           {"fields", one.what},
                           {"first_event", one.event},
                           {"first_run", one.first},
                           {"second_run", one.second},
                           {"note", one.note}});
  }
  return {{"seeds_compared", verified.compared},
          {"complete", verified.complete},
          {"trouble", verified.trouble},
          {"differences", differences}};
}

}  // namespace

std::string seed_json(const RunResult& result, const Commands& commands,
                      const VerifyResult* verified) {
  Json json{{"scenario", result.scenario},
            {"seed", result.seed},
            {"verdict", name(result.verdict)},
            {"exit_status", exit_status(result.verdict)},
            {"failure", failure_json(result, commands)}};
  if (!result.crash) {
    json["simulated_ns"] = ns(result.outcome.at);
    json["events"] = result.outcome.events;
    json["messages"] = result.outcome.messages;
    json["trace_hash"] = hex(result.outcome.trace_hash);
    json["summary"] = summary_json(result);
    json["zones"] = Json::array();
    for (const ZoneInfo& zone : result.zones) {
      json["zones"].push_back({{"name", zone.name}, {"machines", zone.capacity}});
    }
    json["world_size"] = sizes_json(result);
    json["expected"] = expected_json(result.expected);
    json["liveness"] = result.liveness ? liveness_json(*result.liveness) : Json(nullptr);
    json["oracles"] = oracles_json(result.oracles);
  }
  if (verified != nullptr) json["verify"] = verify_json(*verified);
  json["wall_ms"] = result.wall_ms;
  return dump(json);
}

std::string batch_json(const BatchResult& batch, const CommandsFor& commands,
                       const VerifyResult* verified) {
  const VerdictClass verdict = verdict_of(batch);
  Json json{{"scenario", batch.scenario},         {"first_seed", batch.seeds.first},
            {"last_seed", batch.seeds.last},      {"seeds_run", batch.rows.size()},
            {"interrupted", batch.interrupted},   {"verdict", name(verdict)},
            {"exit_status", exit_status(verdict)}};
  json["spread"] = {
      {"finish_ns", spread_json(batch, [](const Row& r) { return r.finish_ns; })},
      {"goodput_ppm", spread_json(batch, [](const Row& r) { return r.goodput_ppm; })},
      {"cost_microdollars", spread_json(batch, [](const Row& r) { return r.cost_microdollars; })},
      {"recovery_p50_ns", spread_json(batch, [](const Row& r) { return r.recovery_p50_ns; })},
      {"recovery_p99_ns", spread_json(batch, [](const Row& r) { return r.recovery_p99_ns; })},
      {"recovery_max_ns", spread_json(batch, [](const Row& r) { return r.recovery_max_ns; })}};
  json["failing"] = Json::array();
  for (const Row& row : batch.rows) {
    if (row.verdict == VerdictClass::kHolds) continue;
    json["failing"].push_back({{"seed", row.seed},
                               {"verdict", name(row.verdict)},
                               {"oracle", row.oracle},
                               {"title", row.title},
                               {"repeat", commands(row.seed).repeat}});
  }
  json["oracles"] = oracles_json(batch.oracles);
  json["rows"] = Json::array();
  for (const Row& row : batch.rows) json["rows"].push_back(row_json(row));
  if (verified != nullptr) json["verify"] = verify_json(*verified);
  json["processes"] = batch.jobs;
  json["wall_ms"] = batch.wall_ms;
  return dump(json);
}

}  // namespace elastic::chaos
