// The whole protocol: what an event costs with the trace hash alone, and with all oracles.
#include <benchmark/benchmark.h>

#include "chaos/account/account.h"
#include "chaos/oracles/oracle_set.h"
#include "tests/bench/stage.h"
#include "transport/sim/world.h"

namespace elastic::bench {
namespace {

// Ten minutes of a job, from the start of its machines on.
void run_job(benchmark::State& state, bool judged) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const chaos::Scenario scenario = quiet_job(nodes, "4s", "10min");
  const sim::WorldConfig config = chaos::to_world(scenario, 1);
  double events = 0;
  for (auto _ : state) {
    sim::World world(config, {});
    chaos::Account account(config);
    chaos::OracleSet oracles(config, world.timeouts(), &account);
    if (judged) {
      world.watch(account);
      oracles.watch(world);
    }
    const sim::Outcome outcome = world.run(Time{} + config.horizon);
    if (oracles.violation()) state.SkipWithError("an oracle spoke");
    events += static_cast<double>(outcome.events);
  }
  rate(state, "events/s", events);
}

void Protocol_with_trace_hash(benchmark::State& state) { run_job(state, false); }
BENCHMARK(Protocol_with_trace_hash)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

void Protocol_with_trace_hash_and_all_oracles(benchmark::State& state) { run_job(state, true); }
BENCHMARK(Protocol_with_trace_hash_and_all_oracles)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

// Without Node::check() after every step.
void Protocol_without_invariants(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  sim::WorldConfig config = chaos::to_world(quiet_job(nodes, "4s", "10min"), 1);
  config.check_invariants = false;
  double events = 0;
  for (auto _ : state) {
    sim::World world(config, {});
    events += static_cast<double>(world.run(Time{} + config.horizon).events);
  }
  rate(state, "events/s", events);
}
BENCHMARK(Protocol_without_invariants)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace elastic::bench
