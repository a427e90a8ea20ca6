// The heartbeats of tests/bench/heartbeats_bench.cc as a SimGrid user writes them: `hosts` actors
// send one message a second each to one leader, for `seconds` of simulated time.
// usage: elastic_simgrid_heartbeats HOSTS SECONDS     prints the messages that the leader got
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <string>

namespace sg = simgrid::s4u;

namespace {

constexpr std::uint64_t kBytes = 200;  // of a beat

sg::NetZone* star_of(int hosts) {
  sg::NetZone* zone = sg::create_star_zone("cluster");
  for (int i = 0; i <= hosts; ++i) {
    const std::string name = "host" + std::to_string(i);
    sg::Host* host = zone->create_host(name, "1Gf")->seal();
    sg::Link* link = zone->create_link("link" + std::to_string(i), "25Gbps");
    link->set_latency("60us")->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {sg::LinkInRoute(link)}, true);
  }
  zone->seal();
  return zone;
}

void beat(int seconds) {
  static int payload = 0;
  sg::Mailbox* leader = sg::Mailbox::by_name("leader");
  for (int i = 0; i < seconds; ++i) {
    sg::this_actor::sleep_for(1);
    leader->put_init(&payload, kBytes)->detach();
  }
}

std::uint64_t heard = 0;

void lead(std::uint64_t beats) {
  sg::Mailbox* mailbox = sg::Mailbox::by_name("leader");
  for (; heard < beats; ++heard) mailbox->get<int>();
}

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: elastic_simgrid_heartbeats HOSTS SECONDS\n");
    return 2;
  }
  const int hosts = std::atoi(argv[1]);
  const int seconds = std::atoi(argv[2]);
  star_of(hosts);
  const auto beats = static_cast<std::uint64_t>(hosts) * static_cast<std::uint64_t>(seconds);
  sg::Actor::create("leader", engine.host_by_name("host0"), [beats] { lead(beats); });
  for (int i = 1; i <= hosts; ++i) {
    sg::Actor::create("beat", engine.host_by_name("host" + std::to_string(i)), [seconds, i] {
      sg::this_actor::sleep_for(i * 1e-3);
      beat(seconds);
    });
  }
  engine.run();
  std::printf("%llu\n", static_cast<unsigned long long>(heard));
  return heard == beats ? 0 : 1;
}
