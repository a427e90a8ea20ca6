// Long runs and many runs, as a user has them: with trace hash, account and all oracles.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <string>

#include "chaos/run/run.h"
#include "tests/bench/stage.h"

namespace elastic::bench {
namespace {

void run_and_count(benchmark::State& state, const chaos::Scenario& scenario, bool liveness) {
  chaos::RunOptions options;
  options.liveness = liveness;
  double events = 0;
  std::uint64_t seed = 0;
  for (auto _ : state) {
    const chaos::RunResult result = chaos::run_seed(scenario, ++seed, options);
    if (result.violation || result.crash) state.SkipWithError("an oracle spoke, or it has crashed");
    events += static_cast<double>(result.outcome.events);
  }
  rate(state, "events/s", events);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void run_file(benchmark::State& state, const std::string& file, Duration horizon) {
  auto scenario = chaos::load_scenario(std::string(ELASTIC_SOURCE_DIR) + "/scenarios/" + file);
  if (!scenario) return state.SkipWithError("the scenario cannot be read");
  if (horizon > Duration::zero()) scenario->horizon = horizon;
  run_and_count(state, *scenario, false);
}

// 32 spot machines for nine hours; one iteration is one seed, without its liveness phase.
void Long_spot_churn(benchmark::State& state) { run_file(state, "spot_churn.yaml", {}); }
BENCHMARK(Long_spot_churn)->Iterations(3)->Unit(benchmark::kMillisecond);

// 1,000 machines, measured faults: an hour of the day.
void Long_thousand_nodes_an_hour(benchmark::State& state) {
  run_file(state, "thousand_nodes.yaml", std::chrono::hours(1));
}
BENCHMARK(Long_thousand_nodes_an_hour)->Iterations(1)->Unit(benchmark::kMillisecond);

void Long_thousand_nodes_a_day(benchmark::State& state) {
  run_file(state, "thousand_nodes.yaml", std::chrono::hours(24));
}
BENCHMARK(Long_thousand_nodes_a_day)->Iterations(1)->Unit(benchmark::kMillisecond);

// 10,000 machines that beat every 5 s, none lost.
void Long_ten_thousand_nodes_an_hour(benchmark::State& state) {
  run_and_count(state, quiet_job(10'000, "20s", "1h"), false);
}
BENCHMARK(Long_ten_thousand_nodes_an_hour)->Iterations(1)->Unit(benchmark::kMillisecond);

// 8 machines, ten minutes, random faults of any kind, and the question whether the job comes back:
// one iteration is one of the 5,000 runs.
void Long_eight_nodes_ten_minutes(benchmark::State& state) {
  run_and_count(state, quiet_job(8, "4s", "10min", "faults:\n  - {kind: swarm, every: 1min}\n"),
                true);
}
BENCHMARK(Long_eight_nodes_ten_minutes)->Iterations(50)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace elastic::bench
