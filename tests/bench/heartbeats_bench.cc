// 1,000 hosts, one heartbeat a second each to one leader, one simulated hour, nothing skipped:
// bare heartbeats on the parts of the simulator, the same written for SimGrid, and the whole
// protocol, which acknowledges each beat after a journal read. Times are processor time.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/membership/messages.h"
#include "tests/bench/stage.h"
#include "transport/sim/chance.h"
#include "transport/sim/clock.h"
#include "transport/sim/network.h"
#include "transport/sim/timeline.h"
#include "transport/sim/world.h"

namespace elastic::bench {
namespace {

constexpr std::uint32_t kHosts = 1'000;
constexpr std::uint32_t kSeconds = 3'600;

// Timers on local clocks, a network with jitter, payloads in a slab: what World does for a beat,
// without the machines of core/.
class BareHeartbeats {
 public:
  BareHeartbeats() : network_({}, chance_, kHosts + 1), clocks_(kHosts + 2), timers_(kHosts + 2) {
    for (std::uint32_t host = 2; host <= kHosts + 1; ++host) {
      clocks_[host].start(Time{}, Time{});
      arm(host, std::chrono::milliseconds(host));
    }
  }

  std::uint64_t run() {
    const Time end = Time(std::chrono::seconds(kSeconds));
    while (!timeline_.queue.empty() && timeline_.queue.next_time() <= end) {
      const sim::EventQueue::Due due = timeline_.queue.pop();
      timeline_.now = due.at;
      if (due.event.kind == sim::EventKind::kTimer) {
        beat(due);
      } else {
        hear(due.event);
      }
    }
    return heard_;
  }

 private:
  void arm(std::uint32_t host, Duration after) {
    timers_[host].arm(timeline_.queue, clocks_[host], timeline_.now,
                      clocks_[host].local(timeline_.now) + after,
                      sim::Event{.kind = sim::EventKind::kTimer, .node = host});
  }
  void beat(const sim::EventQueue::Due& due) {
    const std::uint32_t host = due.event.node;
    if (timers_[host].popped(timeline_.queue, due) != sim::LazyTimer::Popped::kDue) return;
    const auto delivery = network_.send(NodeId{host}, NodeId{1}, timeline_.now);
    for (std::uint32_t copy = 0; copy < delivery.copies; ++copy) {
      sim::Event event{.kind = sim::EventKind::kMessage, .node = 1};
      event.a = host;
      event.payload = beats_.reserve();
      Beat& message = beats_.at(event.payload);
      message.from = AgentId{NodeId{host}, AgentLife{1}};
      ++message.number.value;
      timeline_.in(delivery.after[copy], event);
    }
    arm(host, std::chrono::seconds(1));
  }
  void hear(const sim::Event& event) {
    if (beats_.at(event.payload).from.node.value == event.a) ++heard_;
    beats_.drop(event.payload);
  }

  sim::Chance chance_{1};
  sim::Timeline timeline_;
  sim::Network network_;
  std::vector<sim::LocalClock> clocks_;
  std::vector<sim::LazyTimer> timers_;
  sim::Slab<Beat> beats_;
  std::uint64_t heard_ = 0;
};

double used_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Heartbeats_bare(benchmark::State& state) {
  double heard = 0;
  for (auto _ : state) {
    const double before = used_seconds(RUSAGE_SELF);
    heard += static_cast<double>(BareHeartbeats().run());
    state.SetIterationTime(used_seconds(RUSAGE_SELF) - before);
  }
  rate(state, "beats/s", heard);
}
BENCHMARK(Heartbeats_bare)->UseManualTime()->Unit(benchmark::kMillisecond);

void Heartbeats_simgrid(benchmark::State& state) {
  const std::string program = std::string(ELASTIC_BINARY_DIR) + "/elastic_simgrid_heartbeats";
  if (access(program.c_str(), X_OK) != 0) {
    state.SkipWithError("libsimgrid-dev is not installed");
    return;
  }
  const std::string command =
      program + " " + std::to_string(kHosts) + " " + std::to_string(kSeconds) + " >/dev/null 2>&1";
  double sent = 0;
  for (auto _ : state) {
    const double before = used_seconds(RUSAGE_CHILDREN);
    if (std::system(command.c_str()) != 0) state.SkipWithError("it has failed");
    state.SetIterationTime(used_seconds(RUSAGE_CHILDREN) - before);
    sent += double{kHosts} * kSeconds;
  }
  rate(state, "beats/s", sent);
}
BENCHMARK(Heartbeats_simgrid)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// Each beat is also acknowledged, after a journal read; workers train meanwhile.
void Heartbeats_whole_protocol(benchmark::State& state) {
  const sim::WorldConfig config = chaos::to_world(quiet_job(kHosts, "4s", "1h"), 1);
  double events = 0;
  double messages = 0;
  for (auto _ : state) {
    const double before = used_seconds(RUSAGE_SELF);
    sim::World world(config, {});
    const sim::Outcome outcome = world.run(Time{} + config.horizon);
    state.SetIterationTime(used_seconds(RUSAGE_SELF) - before);
    events += static_cast<double>(outcome.events);
    messages += static_cast<double>(outcome.messages);
  }
  rate(state, "events/s", events);
  rate(state, "messages/s", messages);
}
BENCHMARK(Heartbeats_whole_protocol)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace elastic::bench
