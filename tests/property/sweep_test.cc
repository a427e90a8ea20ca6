#include "chaos/sweep/sweep.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "tests/support/property.h"

namespace elastic::chaos {
namespace {

// A job of seconds; `steps` decides whether it ends before the horizon.
Scenario small_job(std::uint64_t steps, std::uint32_t nodes) {
  const auto scenario =
      parse_scenario("# A job of seconds.\njob:\n  nodes: {min: 2, max: " + std::to_string(nodes) +
                         "}\n  model: resnet50\n  steps: " + std::to_string(steps) +
                         "\n  global_batch: 1024\n  journal: external\n"
                         "cluster:\n  zones:\n    a: {nodes: 4, price: $1/h}\n  horizon: 5min\n"
                         "faults:\n  - {kind: crash, every: 90s, chance: random, for: 10s}\n",
                     "small.yaml");
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
  return *scenario;
}

std::vector<std::vector<Row>> rows_with(unsigned jobs, const std::vector<std::uint64_t>& steps,
                                        const std::vector<std::uint32_t>& nodes, SeedRange seeds) {
  std::vector<SweepPoint> points;
  for (const std::uint64_t down : steps) {
    for (const std::uint32_t across : nodes) {
      points.push_back({.values = {std::to_string(down), std::to_string(across)},
                        .scenario = small_job(down, across)});
    }
  }
  SweepOptions options;
  options.seeds = seeds;
  options.jobs = jobs;
  options.run.liveness = false;
  SweepResult sweep = run_sweep({}, std::move(points), options);
  RC_ASSERT(!sweep.interrupted);
  for (std::vector<Row>& rows : sweep.rows) {
    for (Row& row : rows) row.wall_ms = 0;
  }
  std::uint64_t unfinished = 0;
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    const Interval finish = figure_of(Measure::kFinish, sweep, point);
    RC_ASSERT(finish.count == seeds.count());  // nothing here fails, and nothing is dropped
    unfinished += censored(sweep, point);
  }
  RC_CLASSIFY(unfinished > 0, "some do not finish");
  RC_CLASSIFY(unfinished < sweep.points.size() * seeds.count(), "some finish");
  return sweep.rows;
}

TEST(SweepProperty, every_point_and_seed_is_run_once_and_the_processes_do_not_matter) {
  test::check(
      "every (point, seed) appears once, censored or not, whatever the number of processes",
      {"some do not finish", "some finish", "several points and seeds"},
      [] {
        std::vector<std::uint64_t> steps;
        for (const std::uint64_t length : {20, 150, 4'000}) {
          if (*rc::gen::arbitrary<bool>()) steps.push_back(length);
        }
        if (steps.empty()) steps.push_back(20);
        const std::vector<std::uint32_t> nodes =
            *rc::gen::element(std::vector<std::uint32_t>{4}, std::vector<std::uint32_t>{2, 4});
        const auto first = static_cast<std::uint64_t>(*rc::gen::inRange(0, 1000));
        const auto more = static_cast<std::uint64_t>(*rc::gen::inRange(0, 3));
        const auto jobs = static_cast<unsigned>(*rc::gen::inRange(2, 6));
        const SeedRange seeds{.first = first, .last = first + more};
        RC_CLASSIFY(steps.size() * nodes.size() > 1 && more > 0, "several points and seeds");
        const auto alone = rows_with(1, steps, nodes, seeds);
        RC_ASSERT(alone.size() == steps.size() * nodes.size());
        for (const std::vector<Row>& rows : alone) {
          RC_ASSERT(rows.size() == seeds.count());
          for (std::size_t i = 0; i < rows.size(); ++i) RC_ASSERT(rows[i].seed == first + i);
        }
        RC_ASSERT(rows_with(jobs, steps, nodes, seeds) == alone);
      },
      {.max_success = 12});
}

}  // namespace
}  // namespace elastic::chaos
