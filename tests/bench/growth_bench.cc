// How time, memory, messages and bytes grow with the number of nodes, from 10 to 10,000: two
// minutes of a job in which one member is lost. The exponents are those of a least-squares line
// through the logarithms.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/stage.h"
#include "transport/sim/observer.h"
#include "transport/sim/world.h"
#include "transport/wire/codec.h"

namespace elastic::bench {
namespace {

class Bytes final : public sim::Observer {
 public:
  void on_sent(Time /*now*/, NodeId /*from*/, NodeId /*to*/, const Message& message) override {
    sum_ += wire::encode(message).size();
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

struct Cost {
  double cpu_seconds = 0;
  double peak_bytes = 0;
  double messages = 0;
  double bytes = 0;
};

sim::Outcome run_once(std::uint32_t nodes, Bytes* bytes) {
  const chaos::Scenario scenario =
      quiet_job(nodes, "20s", "2min", "faults:\n  - {at: 1min, kind: crash, node: a5}\n");
  const sim::WorldConfig config = chaos::to_world(scenario, 1);
  sim::World world(config, chaos::make_plan(scenario, 1));
  if (bytes != nullptr) world.watch(*bytes);
  return world.run(Time{} + config.horizon);
}

// In a process of its own, so that its memory is its own.
Cost cost_of(std::uint32_t nodes) {
  Cost cost;
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return cost;
  const pid_t pid = fork();
  if (pid == 0) {
    const auto messages = static_cast<double>(run_once(nodes, nullptr).messages);
    const bool written = write(ends[1], &messages, sizeof messages) == sizeof messages;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  if (read(ends[0], &cost.messages, sizeof cost.messages) != sizeof cost.messages)
    cost.messages = 0;
  close(ends[0]);
  rusage usage{};
  wait4(pid, nullptr, 0, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  cost.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  Bytes bytes;
  run_once(nodes, &bytes);
  cost.bytes = static_cast<double>(bytes.sum());
  return cost;
}

double exponent(const std::vector<std::pair<double, double>>& points) {
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const auto& [nodes, value] : points) {
    x += std::log(nodes);
    y += std::log(value);
    xx += std::log(nodes) * std::log(nodes);
    xy += std::log(nodes) * std::log(value);
  }
  const auto n = static_cast<double>(points.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

void Growth(benchmark::State& state) {
  static std::map<std::uint32_t, Cost> costs;
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) {
    const Cost cost = costs[nodes] = cost_of(nodes);
    state.SetIterationTime(cost.cpu_seconds);
    state.counters["peak_MiB"] = cost.peak_bytes / (1 << 20);
    state.counters["messages"] = cost.messages;
    state.counters["bytes"] = cost.bytes;
  }
  if (costs.size() < 2) return;
  std::array<std::vector<std::pair<double, double>>, 4> points;
  for (const auto& [size, cost] : costs) {
    const std::array values{cost.cpu_seconds, cost.peak_bytes, cost.messages, cost.bytes};
    for (std::size_t i = 0; i < values.size(); ++i) points[i].emplace_back(size, values[i]);
  }
  // Of all sizes so far.
  state.counters["exp_time"] = exponent(points[0]);
  state.counters["exp_memory"] = exponent(points[1]);
  state.counters["exp_messages"] = exponent(points[2]);
  state.counters["exp_bytes"] = exponent(points[3]);
}
BENCHMARK(Growth)->Arg(10)->Arg(100)->Arg(1'000)->Arg(10'000)->UseManualTime()->Iterations(1)->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace elastic::bench
