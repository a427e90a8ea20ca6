// Where the programs of a round meet: MASTER_ADDR and MASTER_PORT. The agent of group rank 0 picks
// a free port of its machine for each round; the others ask it, over a connection whose address is
// thereby known to work. Everything is keyed by the round.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/membership/messages.h"
#include "transport/real/link/links.h"

namespace elastic::real {

// A port that nobody listens at, of any address; outside the range from which the kernel serves
// outgoing connections where there is room; none of `except`.
std::optional<std::uint16_t> free_port(const std::set<std::uint16_t>& except);

class Meeting {
 public:
  // `except`: ports that are never given. `publish`: the address of this node, if the operator
  // named one.
  Meeting(asio::io_context& loop, Links& links, AgentId self, std::set<std::uint16_t> except,
          std::string publish);

  // `found` is called once, with the address that programs of this node are to use; not if another
  // round is asked for, or forget() is called, before.
  void find(const Placement& placement, std::function<void(wire::PeerAddress)> found);
  void forget();

  void asked(Connection& connection, const wire::RoundAsk& ask);
  void answered(const wire::RoundAnswer& answer);

 private:
  void ask();
  void answer(Connection& connection) const;

  asio::io_context& loop_;
  Links& links_;
  AgentId self_;
  std::set<std::uint16_t> except_;
  std::string publish_;
  asio::steady_timer again_;
  Placement placement_;                           // newest that was asked for
  std::optional<std::uint16_t> port_;             // of that round, if this node is the first
  std::function<void(wire::PeerAddress)> found_;  // not found yet
  std::vector<std::pair<RoundId, std::weak_ptr<Connection>>> waiting_;  // ask for a round to come
};

}  // namespace elastic::real
