#include "transport/real/runtime/meeting.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <random>
#include <utility>

#include "core/assert.h"

namespace elastic::real {
namespace {

constexpr Duration kAskAgain = std::chrono::milliseconds(50);
constexpr std::size_t kWaiting = 4096;
constexpr std::uint16_t kLowest = 20000;
constexpr int kTries = 200;

bool bind_to(int family, std::uint16_t port) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno == EAFNOSUPPORT;  // what the machine lacks cannot be taken
  bool bound = false;
  if (family == AF_INET) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  } else {
    const int only = 1;
    (void)::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
            errno == EADDRNOTAVAIL;
  }
  ::close(fd);
  return bound;
}

// The kernel's range for outgoing connections begins here.
std::uint16_t ephemeral_from() {
  unsigned low = 32768;
  unsigned high = 60999;
  if (std::FILE* file = std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "re")) {
    if (std::fscanf(file, "%u %u", &low, &high) != 2) low = 32768;
    std::fclose(file);
  }
  return static_cast<std::uint16_t>(std::min(low, 65535U));
}

}  // namespace

std::optional<std::uint16_t> free_port(const std::set<std::uint16_t>& except) {
  std::random_device random;
  const std::uint16_t end = ephemeral_from();
  // With too little room below, anywhere above the ports of services.
  const bool room = end > kLowest + 1000;
  std::uniform_int_distribution<unsigned> pick(room ? kLowest : 1024U, room ? end - 1U : 65535U);
  for (int i = 0; i < kTries; ++i) {
    const auto port = static_cast<std::uint16_t>(pick(random));
    if (except.count(port) == 0 && bind_to(AF_INET, port) && bind_to(AF_INET6, port)) return port;
  }
  return std::nullopt;
}

Meeting::Meeting(asio::io_context& loop, Links& links, AgentId self, std::set<std::uint16_t> except,
                 std::string publish)
    : loop_(loop),
      links_(links),
      self_(self),
      except_(std::move(except)),
      publish_(std::move(publish)),
      again_(loop) {}

void Meeting::find(const Placement& placement, std::function<void(wire::PeerAddress)> found) {
  ELASTIC_ASSERT(placement.round > placement_.round);
  placement_ = placement;
  port_.reset();
  found_ = std::move(found);
  again_.cancel();
  if (placement.first.node != self_.node) return ask();

  port_ = free_port(except_);
  const bool alone = placement.group_size == 1;
  for (const auto& [round, asker] : std::exchange(waiting_, {})) {
    const ConnectionPtr connection = asker.lock();
    if (connection && round == placement.round) answer(*connection);
  }
  // The programs of this node reach the port at any of its addresses.
  const std::string here = alone ? "127.0.0.1" : publish_.empty() ? links_.own_ip() : publish_;
  asio::post(loop_, [this, round = placement.round, here] {
    if (!found_ || placement_.round != round) return;
    std::exchange(found_, nullptr)({here, port_.value_or(0)});
  });
}

void Meeting::forget() {
  found_ = nullptr;
  again_.cancel();
}

void Meeting::ask() {
  (void)links_.ask(placement_.first.node, wire::RoundAsk{placement_.round});
  again_.expires_after(kAskAgain);
  again_.async_wait([this](boost::system::error_code failed) {
    if (!failed && found_) ask();
  });
}

void Meeting::asked(Connection& connection, const wire::RoundAsk& ask) {
  if (ask.round == placement_.round && port_) return answer(connection);
  if (ask.round <= placement_.round) return;
  // It has heard of its place before this node.
  if (waiting_.size() >= kWaiting) waiting_.erase(waiting_.begin());
  waiting_.emplace_back(ask.round, connection.weak_from_this());
}

void Meeting::answer(Connection& connection) const {
  const std::string ip = publish_.empty() ? connection.here().ip : publish_;
  (void)connection.send(wire::RoundAnswer{placement_.round, {ip, port_.value_or(0)}});
}

void Meeting::answered(const wire::RoundAnswer& answer) {
  if (answer.round != placement_.round || !found_) return;
  again_.cancel();
  std::exchange(found_, nullptr)(answer.master);
}

}  // namespace elastic::real
