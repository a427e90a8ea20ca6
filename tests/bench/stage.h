// Jobs that benchmarks run, and the counters that they show.
#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "chaos/scenario/scenario.h"

namespace elastic::bench {

// A job of `nodes` machines that beat every quarter of `detection` and train steps of about a
// second, modelled, for as long as it is run.
inline chaos::Scenario quiet_job(std::uint32_t nodes, const std::string& detection,
                                 const std::string& horizon, const std::string& faults = "") {
  const std::string text = fmt::format(
      "job:\n  nodes: {{min: 2, max: {0}}}\n"
      "  model: {{compute_per_sample: 1ms, step_overhead: 500ms, gradient: 100MB, state: 1GB}}\n"
      "  steps: 1000000\n  global_batch: 4096\n  collectives: modelled\n"
      "  checkpoint: {{every: never, bandwidth: 20GB/s}}\n  journal: external\n"
      "  detection_target: {1}\n  start_up: 4s\n"
      "cluster:\n  zones:\n    a: {{nodes: {0}, price: $1/h}}\n  horizon: {2}\n"
      "network: {{bandwidth: 100Gbit/s}}\n{3}",
      nodes, detection, horizon, faults);
  auto scenario = chaos::parse_scenario(text, "bench.yaml");
  if (!scenario) throw std::runtime_error(scenario.error().text());
  return *scenario;
}

inline void rate(benchmark::State& state, const char* name, double count) {
  state.counters[name] = benchmark::Counter(count, benchmark::Counter::kIsRate);
}

}  // namespace elastic::bench
