#include "tests/closed_forms/tables.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "chaos/report/figures.h"

namespace elastic::closed_forms {
namespace {

using nlohmann::ordered_json;

// "90s", "10m", "2h": lengths that a person chose.
std::string brief(Duration length) {
  const double s = in_seconds(length);
  if (s < 0.01) return "0s";
  if (s < 120) return fmt::format("{:g}s", s);
  if (s < 7200) return fmt::format("{:g}m", s / 60);
  return fmt::format("{:g}h", s / 3600);
}

std::string percent(double share) { return fmt::format("{:.3f}%", 100 * share); }

// Nothing for a line that no run was made for.
std::string row(const RigidPoint& point) {
  if (point.found.count == 0) return "";
  const RigidJob& job = point.job;
  const std::string member = job.nodes == 1 ? "" : fmt::format("{:.1f}", point.restart.member);
  return fmt::format(
      "  {:>3}{:>6}{:>5}{:>6}{:>7}{:>6.1f}{:>9.1f}{:>8.2f}{:>7.2f}{:>5.2f}{:>7}{:>9}\n", job.nodes,
      brief(job.mtbf), brief(job.save), brief(job.away), member, point.restart.coordinator,
      in_seconds(job.interval), 100 * point.predicted, 100 * point.found.mean,
      100 * point.found.half, fmt::format("{:+.2f}%", 100 * point.deviation()),
      chaos::count_text(point.failures));
}

constexpr const char* kRigidHead =
    "    n  MTBF save  away      R  R(c) interval formula  found   +-    off failures\n";

ordered_json to_json(const chaos::Interval& found) {
  return {{"mean", found.mean}, {"half", found.half}, {"count", found.count}};
}

ordered_json to_json(const RigidPoint& point) {
  const RigidJob& job = point.job;
  return {{"nodes", job.nodes},
          {"mtbf", in_seconds(job.mtbf)},
          {"save", in_seconds(job.save)},
          {"start_up", in_seconds(job.start_up)},
          {"away", in_seconds(job.away)},
          {"interval", in_seconds(job.interval)},
          {"restart_of_member", point.restart.member},
          {"restart_of_coordinator", point.restart.coordinator},
          {"restart", point.restart.effective},
          {"formula", point.predicted},
          {"found", to_json(point.found)},
          {"failures", point.failures},
          {"events", point.events}};
}

ordered_json to_json(const std::vector<RigidPoint>& points) {
  ordered_json list = ordered_json::array();
  for (const RigidPoint& point : points) list.push_back(to_json(point));
  return list;
}

}  // namespace

std::string table(const DalyCheck& check) {
  std::string text =
      "daly: goodput under the policy rigid, with synchronous saves, against Daly's\n"
      "closed form; within 2%\n\n";
  text += kRigidHead;
  for (const RigidPoint& point : check.points) text += row(point);
  return text +
         "\n  n: nodes. MTBF: of the job. away: until a machine that failed is back.\n"
         "  R: from a failure to the next step, measured with failures far apart; R(c):\n"
         "  where it hits the coordinator. Seconds; interval, too. Goodput by the closed\n"
         "  form and found, and its 95% interval over seeds, in percent.\n";
}

std::string table(const IntervalCheck& check) {
  std::string text =
      "interval: a sweep over the checkpoint interval against Daly's interval;\n"
      "its vertex within 5%, goodput there within 0.2% of the best\n\n";
  for (const IntervalSweep& sweep : check.sweeps) {
    text += kRigidHead;
    for (const RigidPoint& point : sweep.sweep) text += row(point);
    text += row(sweep.at_daly);
    if (sweep.at_daly.found.count == 0) continue;
    text += fmt::format(
                "  Daly's interval (the last line): {:.2f} s; the best of his closed form: "
                "{:.2f} s\n",
                sweep.daly, sweep.exact) +
            fmt::format(
                "  vertex of the sweep: {:.2f} s, {:+.2f}%; of the formula at its points: "
                "{:.2f} s\n",
                sweep.vertex, 100 * (sweep.vertex / sweep.daly - 1), sweep.vertex_of_formula) +
            fmt::format("  goodput at Daly's interval: {} below the best line\n\n",
                        percent(sweep.below_best));
  }
  text.pop_back();
  return text;
}

std::string table(const AvailabilityCheck& check) {
  std::string text =
      "availability: share of time below the minimum, against birth and death\n"
      "processes; within twice the 95% interval\n\n"
      "  machines  least  repairers   MTBF   MTTR   formula     found     +-  failures\n";
  for (std::size_t i = 0; i < check.cases.size(); ++i) {
    const AvailabilityCase& one = check.cases[i];
    const Agreement& found = check.found[i];
    if (found.found.count == 0) continue;
    text += fmt::format("  {:>8}{:>7}{:>11}{:>7}{:>7}{:>10}{:>10}{:>7}{:>10}\n", one.machines,
                        one.least, one.repairers, brief(one.mtbf), brief(one.mttr),
                        percent(found.predicted), percent(found.found.mean),
                        fmt::format("{:.3f}", 100 * found.found.half),
                        chaos::count_text(found.samples));
  }
  return text;
}

std::string table(const WaitCheck& check) {
  std::string text =
      "wait: until the least number of nodes has come, each after an exponential time,\n"
      "against order statistics; mean within twice the 95% interval\n\n"
      "  machines  least   formula     found    +-     dev  found    KS    then\n";
  for (std::size_t i = 0; i < check.cases.size(); ++i) {
    const Wait& wait = check.found[i];
    if (wait.mean.samples == 0) continue;
    text += fmt::format("  {:>8}{:>7}{:>10.1f}{:>10.1f}{:>6.1f}{:>8.1f}{:>7.1f}{:>6.2f}{:>8}\n",
                        check.cases[i].machines, check.cases[i].least, wait.mean.predicted,
                        wait.mean.found.mean, wait.mean.found.half, wait.deviation_predicted,
                        wait.deviation_found, wait.distance,
                        fmt::format("{:.0f}-{:.0f}", wait.start_least, wait.start_most));
  }
  const std::uint64_t runs = check.found.empty() ? 0 : check.found.front().mean.samples;
  return text +
         fmt::format(
             "\n  Seconds. dev: standard deviation, by the formula and found. KS: distance of\n"
             "  Kolmogorov and Smirnov times the root of the {1} runs a line; at most {0:.2f}.\n"
             "  then: from the end of the wait to the first step.\n",
             kDistanceAllowed, chaos::count_text(runs));
}

ordered_json to_json(const DalyCheck& check) {
  return {{"points", to_json(check.points)}, {"wrong", check.wrong}};
}

ordered_json to_json(const IntervalCheck& check) {
  ordered_json sweeps = ordered_json::array();
  for (const IntervalSweep& sweep : check.sweeps) {
    sweeps.push_back({{"daly", sweep.daly},
                      {"best_of_closed_form", sweep.exact},
                      {"vertex", sweep.vertex},
                      {"vertex_of_formula", sweep.vertex_of_formula},
                      {"below_best", sweep.below_best},
                      {"at_daly", to_json(sweep.at_daly)},
                      {"sweep", to_json(sweep.sweep)}});
  }
  return {{"sweeps", sweeps}, {"wrong", check.wrong}};
}

ordered_json to_json(const AvailabilityCheck& check) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < check.cases.size(); ++i) {
    const AvailabilityCase& one = check.cases[i];
    list.push_back({{"machines", one.machines},
                    {"least", one.least},
                    {"repairers", one.repairers},
                    {"mtbf", in_seconds(one.mtbf)},
                    {"mttr", in_seconds(one.mttr)},
                    {"formula", check.found[i].predicted},
                    {"found", to_json(check.found[i].found)},
                    {"failures", check.found[i].samples}});
  }
  return {{"unavailability", list}, {"wrong", check.wrong}};
}

ordered_json to_json(const WaitCheck& check) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < check.cases.size(); ++i) {
    const Wait& wait = check.found[i];
    list.push_back({{"machines", check.cases[i].machines},
                    {"least", check.cases[i].least},
                    {"mean", in_seconds(check.cases[i].mean)},
                    {"formula", wait.mean.predicted},
                    {"found", to_json(wait.mean.found)},
                    {"deviation_by_formula", wait.deviation_predicted},
                    {"deviation_found", wait.deviation_found},
                    {"distance", wait.distance},
                    {"start_least", wait.start_least},
                    {"start_most", wait.start_most}});
  }
  return {{"waits", list}, {"wrong", check.wrong}};
}

}  // namespace elastic::closed_forms
