// The figures of a comparison, and what programs read of them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "chaos/compare/compare_report.h"
#include "core/math/quantiles.h"

namespace elastic::chaos {
namespace {

using Json = nlohmann::ordered_json;

struct Columns {
  std::vector<double> finish, goodput, cost, redone, of_bound;
};

std::int64_t finish_of(const PolicyComparison& comparison, bool finished, std::int64_t finish_ns) {
  return finished ? finish_ns : comparison.horizon.count();
}

Columns columns_of(const PolicyComparison& comparison, std::size_t policy) {
  Columns columns;
  for (const std::size_t i : comparison.complete()) {
    const PolicyRun& run = *comparison.runs[policy][i];
    columns.finish.push_back(
        static_cast<double>(finish_of(comparison, run.row.finished, run.row.finish_ns)));
    columns.goodput.push_back(static_cast<double>(run.row.goodput_ppm));
    columns.cost.push_back(static_cast<double>(run.row.cost_microdollars));
    columns.redone.push_back(static_cast<double>(run.row.steps_redone));
    const auto steps = static_cast<double>(run.row.steps_committed);
    columns.of_bound.push_back(run.bound_steps > 0 ? 1e6 * steps / run.bound_steps : 0);
  }
  return columns;
}

void count_finish(PolicyFigures& figures, const PolicyComparison& comparison, bool finished,
                  std::int64_t finish_ns) {
  ++figures.runs;
  if (!finished) return;
  ++figures.finished;
  figures.in_time += finish_ns <= comparison.deadline.value_or(comparison.horizon).count() ? 1 : 0;
}

std::int64_t median(const std::vector<double>& values) {
  std::vector<std::int64_t> whole;
  for (const double value : values) whole.push_back(static_cast<std::int64_t>(value));
  return math::quantile(std::move(whole), 500'000);
}

Json interval_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"half_width_95", interval.half}};
}

Json figures_json(const PolicyFigures& figures) {
  return {{"name", figures.name},
          {"runs", figures.runs},
          {"finished", figures.finished},
          {"censored", figures.censored()},
          {"in_time", figures.in_time},
          {"median_finish_ns", figures.median_finish_ns},
          {"finish_ns", interval_json(figures.finish_ns)},
          {"goodput_ppm", interval_json(figures.goodput_ppm)},
          {"of_bound_ppm", interval_json(figures.of_bound_ppm)},
          {"cost_microdollars", interval_json(figures.cost_microdollars)},
          {"steps_redone", interval_json(figures.steps_redone)}};
}

Json run_json(Policy policy, const PolicyRun& run) {
  return {{"seed", run.row.seed},
          {"policy", name(policy)},
          {"verdict", name(run.row.verdict)},
          {"finished", run.row.finished},
          {"end_ns", run.row.finish_ns},
          {"goodput_ppm", run.row.goodput_ppm},
          {"cost_microdollars", run.row.cost_microdollars},
          {"steps_committed", run.row.steps_committed},
          {"steps_redone", run.row.steps_redone},
          {"steps_lost", run.row.steps_lost},
          {"rounds", run.row.rounds},
          {"bound_steps", run.bound_steps},
          {"bound_finished", run.bound.finished},
          {"bound_end_ns", run.bound.finish.count()},
          {"bound_cost_microdollars", run.bound.cost_microdollars}};
}

}  // namespace

PolicyFigures figures_of(const PolicyComparison& comparison, std::size_t policy) {
  PolicyFigures figures;
  figures.name = name(comparison.policies[policy]);
  for (const std::size_t i : comparison.complete()) {
    const Row& row = comparison.runs[policy][i]->row;
    count_finish(figures, comparison, row.finished, row.finish_ns);
  }
  const Columns columns = columns_of(comparison, policy);
  figures.median_finish_ns = median(columns.finish);
  figures.finish_ns = interval_of(columns.finish);
  figures.goodput_ppm = interval_of(columns.goodput);
  figures.cost_microdollars = interval_of(columns.cost);
  figures.steps_redone = interval_of(columns.redone);
  figures.of_bound_ppm = interval_of(columns.of_bound);
  return figures;
}

PolicyFigures figures_of_bound(const PolicyComparison& comparison) {
  PolicyFigures figures;
  figures.name = "bound";
  Columns columns;
  for (const std::size_t i : comparison.complete()) {
    const BoundFigures& bound = comparison.runs.front()[i]->bound;
    count_finish(figures, comparison, bound.finished, bound.finish.count());
    columns.finish.push_back(
        static_cast<double>(finish_of(comparison, bound.finished, bound.finish.count())));
    columns.goodput.push_back(static_cast<double>(bound.goodput_ppm));
    columns.cost.push_back(static_cast<double>(bound.cost_microdollars));
    columns.redone.push_back(0);
    columns.of_bound.push_back(1e6);
  }
  figures.median_finish_ns = median(columns.finish);
  figures.finish_ns = interval_of(columns.finish);
  figures.goodput_ppm = interval_of(columns.goodput);
  figures.cost_microdollars = interval_of(columns.cost);
  figures.steps_redone = interval_of(columns.redone);
  figures.of_bound_ppm = interval_of(columns.of_bound);
  return figures;
}

std::vector<PolicyDifference> differences(const PolicyComparison& comparison) {
  std::vector<PolicyDifference> found;
  const auto at =
      std::find(comparison.policies.begin(), comparison.policies.end(), Policy::kElastic);
  if (at == comparison.policies.end() || comparison.complete().empty()) return found;
  const auto elastic = static_cast<std::size_t>(at - comparison.policies.begin());
  const Columns ours = columns_of(comparison, elastic);
  for (std::size_t p = 0; p < comparison.policies.size(); ++p) {
    if (p == elastic) continue;
    const Columns theirs = columns_of(comparison, p);
    PolicyDifference one;
    one.name = name(comparison.policies[p]);
    one.finish_ns = paired_difference(theirs.finish, ours.finish);
    one.goodput_ppm = paired_difference(theirs.goodput, ours.goodput);
    one.cost_microdollars = paired_difference(theirs.cost, ours.cost);
    one.steps_redone = paired_difference(theirs.redone, ours.redone);
    one.censored = figures_of(comparison, p).censored();
    one.censored_elastic = figures_of(comparison, elastic).censored();
    found.push_back(one);
  }
  return found;
}

std::string compare_json(const PolicyComparison& comparison, const RepeatPolicy& repeat) {
  const VerdictClass verdict = verdict_of(comparison);
  Json json{{"scenario", comparison.scenario},
            {"first_seed", comparison.seeds.first},
            {"last_seed", comparison.seeds.last},
            {"runs_done", comparison.done()},
            {"seeds_compared", comparison.complete().size()},
            {"interrupted", comparison.interrupted},
            {"verdict", name(verdict)},
            {"exit_status", exit_status(verdict)},
            {"horizon_ns", comparison.horizon.count()}};
  json["deadline_ns"] = comparison.deadline ? Json(comparison.deadline->count()) : Json(nullptr);
  json["policies"] = Json::array();
  for (std::size_t p = 0; p < comparison.policies.size(); ++p) {
    Json one = figures_json(figures_of(comparison, p));
    one["settings"] = comparison.changes[p];
    json["policies"].push_back(std::move(one));
  }
  json["bound"] = figures_json(figures_of_bound(comparison));
  json["against_elastic"] = Json::array();
  for (const PolicyDifference& one : differences(comparison)) {
    json["against_elastic"].push_back({{"name", one.name},
                                       {"censored", one.censored},
                                       {"censored_elastic", one.censored_elastic},
                                       {"finish_ns", interval_json(one.finish_ns)},
                                       {"goodput_ppm", interval_json(one.goodput_ppm)},
                                       {"cost_microdollars", interval_json(one.cost_microdollars)},
                                       {"steps_redone", interval_json(one.steps_redone)}});
  }
  json["failing"] = Json::array();
  json["runs"] = Json::array();
  for (std::size_t i = 0; i < comparison.seeds.count(); ++i) {
    for (std::size_t p = 0; p < comparison.policies.size(); ++p) {
      const auto& run = comparison.runs[p][i];
      if (!run) continue;
      json["runs"].push_back(run_json(comparison.policies[p], *run));
      if (counts(*run)) continue;
      json["failing"].push_back({{"seed", run->row.seed},
                                 {"policy", name(comparison.policies[p])},
                                 {"verdict", name(run->row.verdict)},
                                 {"oracle", run->row.oracle},
                                 {"title", run->row.title},
                                 {"repeat", repeat(comparison.policies[p], run->row.seed)}});
    }
  }
  json["processes"] = comparison.jobs;
  json["wall_ms"] = comparison.wall_ms;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string compare_csv(const PolicyComparison& comparison) {
  std::string text;
  for (std::size_t i = 0; i < comparison.seeds.count(); ++i) {
    for (std::size_t p = 0; p < comparison.policies.size(); ++p) {
      if (!comparison.runs[p][i]) continue;
      const Json run = run_json(comparison.policies[p], *comparison.runs[p][i]);
      std::string keys;
      std::string values;
      for (const auto& [key, value] : run.items()) {
        keys += (keys.empty() ? "" : ",") + key;
        values += (values.empty() ? "" : ",") +
                  (value.is_string() ? value.get<std::string>() : value.dump());
      }
      if (text.empty()) text = keys + "\n";
      text += values + "\n";
    }
  }
  return text;
}

}  // namespace elastic::chaos
