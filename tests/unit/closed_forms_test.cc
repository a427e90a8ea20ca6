// The closed forms themselves, and the simulator against them in short; the program
// elastic_closed_forms has the long form.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "chaos/run/pool.h"
#include "tests/support/closed_forms/checks.h"
#include "tests/support/closed_forms/formulas.h"

namespace elastic::closed_forms {
namespace {

std::string in_lines(const std::vector<std::string>& wrong) {
  return std::accumulate(wrong.begin(), wrong.end(), std::string(),
                         [](std::string all, const std::string& one) { return all + one + "\n"; });
}

Way in_short() { return {.form = Form::kShort, .processes = chaos::usable_cores(), .tell = {}}; }

// ---- The formulas

TEST(ClosedForms, dalys_interval_is_the_best_of_his_closed_form) {
  for (const double save : {0.01, 0.1, 1.0, 10.0, 50.0}) {
    const Daly job{.mtbf = 100, .restart = 7, .save = save};
    const double best = best_interval(job);
    const double at_best = daly_goodput(job, best);
    EXPECT_GT(at_best, daly_goodput(job, best * 1.01));
    EXPECT_GT(at_best, daly_goodput(job, best * 0.99));
    // The estimate is a series in delta / 2M.
    EXPECT_NEAR(daly_interval(save, 100), best, 0.02 * best) << save;
  }
  EXPECT_EQ(daly_interval(200, 100), 100);
}

TEST(ClosedForms, without_failures_only_saves_cost) {
  const Daly job{.mtbf = 1e12, .restart = 100, .save = 5};
  EXPECT_NEAR(daly_goodput(job, 95), 0.95, 1e-9);
}

// T of the paper, put together from its parts: a segment takes (M + T_restart)(e^(w/M) - 1), and a
// restart, too, is repeated until it passes without a failure.
TEST(ClosedForms, dalys_time_is_that_of_segments_and_restarts_that_are_repeated) {
  const Daly job{.mtbf = 300, .restart = 45, .save = 12};
  const double restarts = job.mtbf * std::expm1(job.restart / job.mtbf);
  const double segment = (job.mtbf + restarts) * std::expm1((80 + job.save) / job.mtbf);
  EXPECT_NEAR(daly_goodput(job, 80), 80 / segment, 1e-12);
}

TEST(ClosedForms, a_restart_of_one_length_is_its_own_effective_length) {
  const std::vector<double> same{40, 40}, different{30, 50}, weights{0.25, 0.75};
  EXPECT_NEAR(effective_restart(same, weights, 100), 40, 1e-12);
  EXPECT_LT(effective_restart(different, weights, 100), 45);  // below the mean, by convexity
  EXPECT_NEAR(effective_restart(different, weights, 1e9), 45, 1e-5);
}

TEST(ClosedForms, availability_is_that_of_the_textbook) {
  EXPECT_NEAR(availability({1, 1, 90, 10}, 1), 0.9, 1e-12);
  // Machines of their own repairers are independent.
  EXPECT_NEAR(availability({2, 2, 90, 10}, 1), 1 - 0.1 * 0.1, 1e-12);
  EXPECT_NEAR(availability({3, 3, 90, 10}, 2), 0.9 * 0.9 * 0.9 + 3 * 0.9 * 0.9 * 0.1, 1e-12);
  // M/M/1 with two sources and load 1/2: 1, 1, 1/2.
  const std::vector<double> up = machines_up({2, 1, 20, 10});
  EXPECT_NEAR(up[2], 1 / 2.5, 1e-12);
  EXPECT_NEAR(up[1], 1 / 2.5, 1e-12);
  EXPECT_NEAR(up[0], 0.5 / 2.5, 1e-12);
}

TEST(ClosedForms, waits_are_order_statistics_of_exponentials) {
  EXPECT_NEAR(mean_wait({1, 1, 60}), 60, 1e-12);
  EXPECT_NEAR(mean_wait({4, 2, 60}), 60 * (1.0 / 4 + 1.0 / 3), 1e-12);
  EXPECT_NEAR(wait_deviation({1, 1, 60}), 60, 1e-12);
  EXPECT_NEAR(wait_below({1, 1, 60}, 60), 1 - std::exp(-1), 1e-12);
  // The mean again, as the area above the distribution function.
  double area = 0;
  for (double t = 0.05; t < 2000; t += 0.1) area += 0.1 * (1 - wait_below({8, 6, 60}, t));
  EXPECT_NEAR(area, mean_wait({8, 6, 60}), 1e-3);
  EXPECT_EQ(wait_below({8, 6, 60}, -1), 0);
}

TEST(ClosedForms, the_largest_distance_tells_another_distribution) {
  std::vector<double> waits;
  for (int i = 0; i < 1000; ++i) waits.push_back(-60 * std::log1p(-(i + 0.5) / 1000));
  EXPECT_NEAR(largest_distance(waits, {1, 1, 60}), 0.0005, 1e-6);
  EXPECT_GT(largest_distance(waits, {1, 1, 70}), 0.05);
  EXPECT_GT(largest_distance(waits, {2, 2, 40}), 0.05);  // the same mean
}

TEST(ClosedForms, the_vertex_of_a_parabola_is_found) {
  const std::vector<double> xs{-3, -1, 2, 4, 7, 11};
  std::vector<double> ys;
  for (const double x : xs) ys.push_back(5 - 0.25 * (x - 3.5) * (x - 3.5));
  EXPECT_NEAR(parabola_vertex(xs, ys), 3.5, 1e-9);
}

// ---- The simulator

TEST(ClosedForms, goodput_under_rigid_is_dalys_within_two_percent) {
  const DalyCheck check = check_daly(in_short());
  EXPECT_EQ(check.wrong, std::vector<std::string>()) << in_lines(check.wrong);
  for (const RigidPoint& point : check.points) {
    EXPECT_EQ(point.found.count, 4U);
    EXPECT_GT(point.failures, 1000U);
    // What reports call goodput is the same, but for time with machines away.
    const double there = in_seconds(point.job.mtbf) / in_seconds(point.job.mtbf + point.job.away);
    EXPECT_NEAR(point.reported.mean * there, point.found.mean, 0.02 * point.found.mean);
    // A restart takes what the scenario names, and not a minute more.
    EXPECT_GT(point.restart.effective, point.restart.known);
    EXPECT_LT(point.restart.effective, point.restart.known + 60);
    // A closed form that is a little off would be noticed.
    Daly off{in_seconds(point.job.mtbf), 0, in_seconds(point.job.save)};
    EXPECT_GT(there * daly_goodput(off, in_seconds(point.job.interval)), 1.02 * point.found.mean);
    off.restart = 2 * point.restart.effective;
    EXPECT_LT(there * daly_goodput(off, in_seconds(point.job.interval)), 0.98 * point.found.mean);
    if (point.job.nodes == 1) continue;
    EXPECT_LT(point.restart.member, point.restart.known + 3);
    EXPECT_GT(point.restart.coordinator, point.restart.member);
  }
}

TEST(ClosedForms, a_sweep_has_its_best_at_dalys_interval) {
  const IntervalCheck check = check_intervals(in_short());
  EXPECT_EQ(check.wrong, std::vector<std::string>()) << in_lines(check.wrong);
  ASSERT_EQ(check.sweeps.size(), 1U);
  // The sweep is wide enough to have its ends well below its best.
  const IntervalSweep& sweep = check.sweeps.front();
  EXPECT_LT(sweep.sweep.front().found.mean, 0.97 * sweep.at_daly.found.mean);
  EXPECT_LT(sweep.sweep.back().found.mean, 0.97 * sweep.at_daly.found.mean);
}

TEST(ClosedForms, time_with_too_few_machines_is_that_of_birth_and_death) {
  const AvailabilityCheck check = check_availability(in_short());
  EXPECT_EQ(check.wrong, std::vector<std::string>()) << in_lines(check.wrong);
}

TEST(ClosedForms, the_first_nodes_come_when_order_statistics_say) {
  const WaitCheck check = check_waits(in_short());
  EXPECT_EQ(check.wrong, std::vector<std::string>()) << in_lines(check.wrong);
  for (const Wait& wait : check.found) {
    EXPECT_GT(wait.start_least, 5);                 // programs take 5 s to start
    EXPECT_LT(wait.start_most, 5 + 8 * 22.5 + 10);  // eight silences at most, see core's Election
  }
}

}  // namespace
}  // namespace elastic::closed_forms
