#include "chaos/run/row.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/math/digest.h"

namespace elastic::chaos {
namespace {

using Json = nlohmann::ordered_json;

VerdictClass verdict_from(const std::string& text) {
  for (const VerdictClass verdict :
       {VerdictClass::kHolds, VerdictClass::kMissed, VerdictClass::kLiveness, VerdictClass::kSafety,
        VerdictClass::kCrash, VerdictClass::kInterrupted}) {
    if (name(verdict) == text) return verdict;
  }
  throw std::invalid_argument("no verdict class: " + text);
}

// Every field but verdict and expectations, under its JSON key: written once, used both ways.
template <class R, class Visit>
void visit_fields(R& row, const Visit& visit) {
  visit("seed", row.seed);
  visit("oracle", row.oracle);
  visit("title", row.title);
  visit("at_ns", row.at_ns);
  visit("event", row.event);
  visit("in_liveness_phase", row.in_liveness_phase);
  visit("finished", row.finished);
  visit("finish_ns", row.finish_ns);
  visit("goodput_ppm", row.goodput_ppm);
  visit("cost_microdollars", row.cost_microdollars);
  visit("recovery_p50_ns", row.recovery_p50_ns);
  visit("recovery_p99_ns", row.recovery_p99_ns);
  visit("recovery_max_ns", row.recovery_max_ns);
  visit("recoveries", row.recoveries);
  visit("steps_committed", row.steps_committed);
  visit("steps_lost", row.steps_lost);
  visit("steps_redone", row.steps_redone);
  visit("rounds", row.rounds);
  visit("nodes_lost", row.nodes_lost);
  visit("events", row.events);
  visit("liveness", row.liveness);
  visit("assumption", row.assumption);
  visit("liveness_took_ns", row.liveness_took_ns);
  visit("checks", row.checks);
  visit("trace_hash", row.trace_hash);
  visit("running_digest", row.running_digest);
  visit("digests", row.digests);
  visit("wall_ms", row.wall_ms);
}

}  // namespace

Row row_of(const RunResult& result, bool digests) {
  const Summary& summary = result.summary;
  Row row;
  row.seed = result.seed;
  row.verdict = result.verdict;
  row.in_liveness_phase = result.in_liveness_phase;
  if (result.crash) {
    row.oracle = "assertion";
    row.title =
        result.crash->what + (result.crash->where.empty() ? "" : " (" + result.crash->where + ")");
    row.at_ns = result.crash_at.time_since_epoch().count();
    row.event = result.crash_event;
  } else if (result.violation) {
    row.oracle = result.violation->oracle;
    row.title = result.violation->title;
    row.at_ns = result.violation->at.time_since_epoch().count();
    row.event = result.violation->event;
  }
  row.finished = summary.finished;
  row.finish_ns = (summary.ended - summary.began).count();
  row.goodput_ppm = summary.goodput_ppm;
  row.cost_microdollars = summary.cost_microdollars;
  row.recovery_p50_ns = summary.recovery_p50.count();
  row.recovery_p99_ns = summary.recovery_p99.count();
  row.recovery_max_ns = summary.recovery_max.count();
  row.recoveries = summary.recoveries.size();
  row.steps_committed = summary.steps_committed;
  row.steps_lost = summary.steps_lost;
  row.steps_redone = summary.steps_redone_in_part + summary.steps_redone_in_whole;
  row.rounds = summary.rounds;
  row.nodes_lost = summary.nodes_lost;
  row.events = result.outcome.events;
  row.expected = result.expected;
  if (result.liveness) {
    row.liveness = name(result.liveness->kind);
    row.assumption = result.liveness->assumption;
    row.liveness_took_ns = result.liveness->took.count();
  }
  if (!result.crash) {
    for (const OracleTally& oracle : result.oracles) row.checks.push_back(oracle.checks);
  }
  row.trace_hash = result.outcome.trace_hash;
  math::Digest digest;
  for (const auto& [event, hash] : result.digests) {
    digest.add(event);
    digest.add(hash);
    if (digests) row.digests.push_back(hash);
  }
  row.running_digest = digest.value();
  row.wall_ms = result.wall_ms;
  return row;
}

Json to_json(const Row& row) {
  Json json;
  json["verdict"] = name(row.verdict);
  visit_fields(row, [&](const char* key, const auto& value) { json[key] = value; });
  json["expected"] = Json::array();
  for (const Judged& judged : row.expected) {
    json["expected"].push_back(
        {{"wanted", judged.wanted}, {"found", judged.found}, {"ok", judged.ok}});
  }
  return json;
}

std::string to_text(const Row& row) {
  return to_json(row).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Row row_from_text(const std::string& text) {
  const Json json = Json::parse(text);
  Row row;
  row.verdict = verdict_from(json.at("verdict").get<std::string>());
  visit_fields(row, [&](const char* key, auto& value) { json.at(key).get_to(value); });
  for (const Json& judged : json.at("expected")) {
    row.expected.push_back({.wanted = judged.at("wanted").get<std::string>(),
                            .found = judged.at("found").get<std::string>(),
                            .ok = judged.at("ok").get<bool>()});
  }
  return row;
}

}  // namespace elastic::chaos
