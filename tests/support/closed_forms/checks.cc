#include "tests/support/closed_forms/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

namespace elastic::closed_forms {
namespace {

using std::chrono::minutes;

constexpr double kGoodputTolerance = 0.02;        // of the closed form
constexpr double kIntervalTolerance = 0.05;       // of Daly's interval
constexpr double kBestTolerance = 0.002;          // of the best goodput of a sweep
constexpr std::uint64_t kSweepFailures = 10'000;  // a point, in the long form

bool is_long(const Way& way) { return way.form == Form::kLong; }

// To a whole number of milliseconds, so that it divides into steps.
Duration rounded(double s) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::lround(s * 1e3)));
}

RigidJob at_daly(std::uint32_t nodes, Duration mtbf, Duration save, Duration start_up) {
  RigidJob job{.nodes = nodes, .mtbf = mtbf, .save = save, .start_up = start_up, .interval = {}};
  job.interval = rounded(daly_interval(in_seconds(save), in_seconds(mtbf)));
  return job;
}

std::string words(const RigidJob& job) {
  return fmt::format(
      "{} nodes, a failure every {:g} s, saves of {:g} s, start-up {:g} s, interval "
      "{:g} s",
      job.nodes, in_seconds(job.mtbf), in_seconds(job.save), in_seconds(job.start_up),
      in_seconds(job.interval));
}

}  // namespace

// ---- Goodput

namespace {

using std::chrono::seconds;

// Jobs that run so many failures of a seed.
struct DalyGroup {
  std::uint32_t failures = 0;
  std::vector<RigidJob> jobs;
};

// The rarer failures are, the less hangs on their number, and the more there is to simulate.
std::vector<DalyGroup> daly_groups(Form form) {
  if (form == Form::kShort) {
    RigidJob seldom = at_daly(2, minutes(10), seconds(5), seconds(10));
    seldom.interval *= 2;
    RigidJob away = at_daly(1, minutes(20), seconds(10), seconds(10));
    away.away = minutes(5);
    return {{300,
             {seldom, at_daly(2, minutes(10), seconds(20), seconds(30)),
              at_daly(4, minutes(5), seconds(2), seconds(10)), away}}};
  }
  std::vector<DalyGroup> groups{{800, {}}, {300, {}}, {100, {}}, {300, {}}};
  const std::array<Duration, 3> mtbfs{minutes(10), minutes(30), minutes(120)};
  for (std::size_t i = 0; i < mtbfs.size(); ++i) {
    for (const Duration save : {seconds(2), seconds(10), seconds(30)}) {
      for (const Duration start_up : {seconds(10), seconds(120)}) {
        groups[i].jobs.push_back(at_daly(2, mtbfs[i], save, start_up));
      }
    }
  }
  std::vector<RigidJob>& others = groups.back().jobs;
  for (const double factor : {0.25, 0.5, 2.0, 4.0}) {
    others.push_back(at_daly(2, minutes(30), seconds(10), seconds(10)));
    others.back().interval = rounded(in_seconds(others.back().interval) * factor);
  }
  others.push_back(at_daly(4, minutes(30), seconds(10), seconds(10)));
  others.push_back(at_daly(8, minutes(30), seconds(10), seconds(10)));
  for (const Duration away : {minutes(2), minutes(10)}) {
    others.push_back(at_daly(1, minutes(30), seconds(10), seconds(10)));
    others.back().away = away;
  }
  return groups;
}

}  // namespace

DalyCheck check_daly(const Way& way) {
  DalyCheck check;
  for (const DalyGroup& group : daly_groups(way.form)) {
    const std::vector<RigidPoint> points = run_points(group.jobs, {.seeds = is_long(way) ? 10U : 4U,
                                                                   .failures = group.failures,
                                                                   .processes = way.processes,
                                                                   .tell = way.tell});
    check.points.insert(check.points.end(), points.begin(), points.end());
  }
  for (const RigidPoint& point : check.points) {
    if (!point.trouble.empty()) {
      check.wrong.push_back(fmt::format("{}: {}", words(point.job), point.trouble));
    } else if (std::abs(point.deviation()) > kGoodputTolerance) {
      check.wrong.push_back(fmt::format(
          "{}: goodput {:.2f} %, by the closed form {:.2f} %: {:+.1f} %", words(point.job),
          100 * point.found.mean, 100 * point.predicted, 100 * point.deviation()));
    }
  }
  return check;
}

// ---- Intervals

namespace {

struct SweepPlan {
  RigidJob job;     // at Daly's interval
  Duration from{};  // the shortest interval; each next one is longer by one and the same factor
  double factor = 1;
  int points = 0;
};

std::vector<SweepPlan> sweep_plans(Form form) {
  if (form == Form::kShort) {
    return {{at_daly(2, minutes(2), seconds(1), seconds(10)), seconds(6), std::sqrt(2), 6}};
  }
  const double quarter = std::pow(2, 0.25);
  return {{at_daly(2, minutes(2), seconds(1), seconds(10)), seconds(6), quarter, 11},
          {at_daly(2, minutes(10), seconds(5), seconds(10)), seconds(30), quarter, 11},
          {at_daly(2, minutes(5), seconds(10), seconds(60)), seconds(28), quarter, 11}};
}

IntervalSweep swept(const SweepPlan& plan, const Effort& effort) {
  std::vector<RigidJob> jobs{plan.job};
  for (int i = 0; i < plan.points; ++i) {
    jobs.push_back(plan.job);
    jobs.back().interval = rounded(in_seconds(plan.from) * std::pow(plan.factor, i));
  }
  std::vector<RigidPoint> points = run_points(jobs, effort);
  IntervalSweep sweep;
  const double mtbf = in_seconds(plan.job.mtbf);
  const double save = in_seconds(plan.job.save);
  sweep.daly = daly_interval(save, mtbf);
  sweep.exact = best_interval({mtbf, 0, save});
  sweep.at_daly = std::move(points.front());
  points.erase(points.begin());
  sweep.sweep = std::move(points);
  sweep.vertex = vertex(sweep.sweep);
  sweep.vertex_of_formula = vertex_of_formula(sweep.sweep);
  double best = sweep.at_daly.found.mean;
  for (const RigidPoint& point : sweep.sweep) best = std::max(best, point.found.mean);
  sweep.below_best = 1 - sweep.at_daly.found.mean / best;
  return sweep;
}

void judge(const IntervalSweep& sweep, bool whole, std::vector<std::string>& wrong) {
  std::vector<RigidPoint> points = sweep.sweep;
  points.push_back(sweep.at_daly);
  for (const RigidPoint& point : points) {
    if (!point.trouble.empty()) {
      wrong.push_back(fmt::format("{}: {}", words(point.job), point.trouble));
      return;
    }
    if (whole && point.failures < kSweepFailures) {
      wrong.push_back(fmt::format("{}: {} failures are fewer than {}", words(point.job),
                                  point.failures, kSweepFailures));
    }
  }
  if (!(std::abs(sweep.vertex / sweep.daly - 1) <= kIntervalTolerance)) {
    wrong.push_back(fmt::format("the sweep has its best at {:.1f} s, Daly's interval is {:.1f} s",
                                sweep.vertex, sweep.daly));
  }
  if (sweep.below_best > kBestTolerance) {
    wrong.push_back(fmt::format("goodput at Daly's interval, {:.1f} s, is {:.2f} % below the best",
                                sweep.daly, 100 * sweep.below_best));
  }
}

}  // namespace

IntervalCheck check_intervals(const Way& way) {
  // 10,000 on average would be fewer for every other seed.
  const Effort effort{.seeds = is_long(way) ? 10U : 4U,
                      .failures = is_long(way) ? 1040U : 600U,
                      .processes = way.processes,
                      .tell = way.tell};
  IntervalCheck check;
  for (const SweepPlan& plan : sweep_plans(way.form)) {
    check.sweeps.push_back(swept(plan, effort));
    judge(check.sweeps.back(), is_long(way), check.wrong);
  }
  return check;
}

// ---- Machines

namespace {

std::string words(const AvailabilityCase& one) {
  return fmt::format("{} of {} machines, {} repairers, {:g} s up and {:g} s in repair", one.least,
                     one.machines, one.repairers, in_seconds(one.mtbf), in_seconds(one.mttr));
}

std::vector<AvailabilityCase> availability_cases(Form form) {
  std::vector<AvailabilityCase> cases{{1, 1, 1, minutes(10), minutes(2)},
                                      {2, 1, 1, minutes(10), minutes(4)},
                                      {4, 3, 4, minutes(10), minutes(1)}};
  if (form == Form::kShort) return cases;
  cases.insert(cases.end(), {{1, 1, 1, minutes(60), minutes(3)},
                             {2, 1, 2, minutes(10), minutes(3)},
                             {8, 6, 8, minutes(20), minutes(3)},
                             {4, 3, 1, minutes(10), minutes(1)},
                             {8, 6, 2, minutes(20), minutes(3)},
                             {8, 6, 1, minutes(20), minutes(2)}});
  return cases;
}

}  // namespace

AvailabilityCheck check_availability(const Way& way) {
  AvailabilityCheck check;
  check.cases = availability_cases(way.form);
  check.found = unavailability(check.cases, {.seeds = is_long(way) ? 20U : 10U,
                                             .failures = is_long(way) ? 1000U : 120U,
                                             .processes = way.processes,
                                             .tell = way.tell});
  // An interval so wide that anything lies in it would show nothing.
  const double widest = is_long(way) ? 0.08 : 0.25;
  for (std::size_t i = 0; i < check.cases.size(); ++i) {
    const Agreement& found = check.found[i];
    const std::string about = words(check.cases[i]);
    if (!found.trouble.empty()) {
      check.wrong.push_back(fmt::format("{}: {}", about, found.trouble));
    } else if (found.found.half > widest * found.predicted) {
      check.wrong.push_back(fmt::format("{}: too few failures to say anything", about));
    } else if (!found.agrees()) {
      check.wrong.push_back(fmt::format(
          "{}: below the minimum {:.3f} ± {:.3f} % of the time, by "
          "the formula {:.3f} %",
          about, 100 * found.found.mean, 100 * found.found.half, 100 * found.predicted));
    }
  }
  return check;
}

WaitCheck check_waits(const Way& way) {
  WaitCheck check;
  check.cases = {{1, 1, minutes(10)},
                 {4, 4, minutes(10)},
                 {8, 6, minutes(10)},
                 {32, 8, minutes(10)},
                 {32, 32, minutes(10)}};
  check.found = waits(check.cases, is_long(way) ? 2000 : 150, way.processes, way.tell);
  const double widest = is_long(way) ? 0.06 : 0.2;
  for (std::size_t i = 0; i < check.cases.size(); ++i) {
    const Wait& wait = check.found[i];
    const std::string about =
        fmt::format("{} of {} machines", check.cases[i].least, check.cases[i].machines);
    if (!wait.mean.trouble.empty()) {
      check.wrong.push_back(fmt::format("{}: {}", about, wait.mean.trouble));
    } else if (wait.mean.found.half > widest * wait.mean.predicted) {
      check.wrong.push_back(fmt::format("{}: too few runs to say anything", about));
    } else if (!wait.mean.agrees()) {
      check.wrong.push_back(fmt::format("{}: come after {:.1f} ± {:.1f} s, by the formula {:.1f} s",
                                        about, wait.mean.found.mean, wait.mean.found.half,
                                        wait.mean.predicted));
    } else if (wait.distance > kDistanceAllowed) {
      check.wrong.push_back(
          fmt::format("{}: waits are not distributed as the formula says: "
                      "distance {:.2f}, above {:.2f}",
                      about, wait.distance, kDistanceAllowed));
    }
  }
  return check;
}

}  // namespace elastic::closed_forms
