// A sweep for programs: JSON and CSV.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "chaos/sweep/sweep_report.h"

namespace elastic::chaos {
namespace {

using Json = nlohmann::ordered_json;

std::string key_of(Measure measure) {
  const std::string key(name(measure));
  switch (measure) {
    case Measure::kGoodput:
    case Measure::kInTime:
      return key + "_percent";
    case Measure::kCost:
      return key + "_dollars";
    case Measure::kFinish:
    case Measure::kRecoveryP99:
    case Measure::kRecoveryMax:
      return key + "_seconds";
    case Measure::kRedone:
    case Measure::kLost:
      return key + "_steps";
    case Measure::kRounds:
      break;
  }
  return key;
}

Json interval_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"half_width", interval.half}, {"runs", interval.count}};
}

Json point_json(const SweepResult& sweep, Measure of, std::optional<std::size_t> best,
                std::size_t point) {
  Json json;
  for (std::size_t i = 0; i < sweep.settings.size(); ++i) {
    json["values"][sweep.settings[i].path] = sweep.points[point].values[i];
  }
  json["runs"] = sweep.rows[point].size();
  json["unfinished"] = censored(sweep, point);
  for (const std::string_view text : measure_names()) {
    const Measure measure = *find_measure(text);
    json["figures"][key_of(measure)] = interval_json(figure_of(measure, sweep, point));
  }
  json["best"] = best == point;
  json["as_good_as_best"] = best && as_good(of, sweep, *best, point);
  json["difference_to_best"] =
      best ? interval_json(difference(of, sweep, point, *best)) : Json(nullptr);
  json["rows"] = Json::array();
  for (const Row& row : sweep.rows[point]) {
    Json one = to_json(row);
    one["trace_hash"] = fmt::format("{:016x}", row.trace_hash);
    for (const char* key : {"checks", "running_digest", "digests"}) one.erase(key);
    json["rows"].push_back(std::move(one));
  }
  return json;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string sweep_json(const SweepResult& sweep, Measure of, const SweepCommands& commands) {
  const VerdictClass verdict = verdict_of(sweep);
  const auto best = best_point(of, sweep);
  Json json{{"scenario", sweep.scenario},
            {"first_seed", sweep.seeds.first},
            {"last_seed", sweep.seeds.last},
            {"interrupted", sweep.interrupted},
            {"verdict", name(verdict)},
            {"exit_status", exit_status(verdict)},
            {"of", name(of)}};
  json["settings"] = Json::array();
  for (const Setting& setting : sweep.settings) {
    json["settings"].push_back({{"path", setting.path}, {"values", setting.values}});
  }
  json["points"] = Json::array();
  json["failing"] = Json::array();
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    json["points"].push_back(point_json(sweep, of, best, point));
    for (const Row& row : sweep.rows[point]) {
      if (counts(row)) continue;
      json["failing"].push_back({{"point", point},
                                 {"seed", row.seed},
                                 {"verdict", name(row.verdict)},
                                 {"oracle", row.oracle},
                                 {"title", row.title},
                                 {"repeat", commands(point, row.seed).repeat}});
    }
  }
  json["processes"] = sweep.jobs;
  json["wall_ms"] = sweep.wall_ms;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string sweep_csv(const SweepResult& sweep) {
  std::string text;
  for (const Setting& setting : sweep.settings) text += csv_field(setting.path) + ",";
  text +=
      "seed,verdict,finished,in_time,finish_ns,goodput_ppm,cost_microdollars,steps_redone,"
      "steps_lost,recovery_p99_ns,recovery_max_ns,rounds,nodes_lost\n";
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    for (const Row& row : sweep.rows[point]) {
      for (const std::string& value : sweep.points[point].values) text += csv_field(value) + ",";
      const bool in_time = value_of(Measure::kInTime, row, sweep.points[point].scenario) > 0;
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", row.seed, name(row.verdict),
                          row.finished ? 1 : 0, in_time ? 1 : 0, row.finish_ns, row.goodput_ppm,
                          row.cost_microdollars, row.steps_redone, row.steps_lost,
                          row.recovery_p99_ns, row.recovery_max_ns, row.rounds, row.nodes_lost);
    }
  }
  return text;
}

}  // namespace elastic::chaos
