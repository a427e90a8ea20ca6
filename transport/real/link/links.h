// All connections of one agent. Nodes are named by NodeId; where they are is found out here.
//
// An agent listens at a port of its own; the one that hosts the rendezvous listens at the endpoint.
// Everybody else keeps a connection to the endpoint, dialling again for as long as it takes. Whom
// the endpoint has seen, it can tell others: a node that is not known is asked for there, and at
// everybody else to whom a connection is open. Other connections are made when there is something
// to send, and then kept. Each pair may have two, one dialled by each: both are read, either is
// sent on.
//
// An address is one that worked: where the connection of that node came from, or what it was told
// to publish (--local-addr). Names are resolved only for the endpoint, anew for each dial, and
// never reverse.
//
// A message is sent, or waits (the newest 64 for each node) while a connection is made, or is lost.
// One that ends tells the owner `closed`, if it was the last one to that node: a hint.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/membership/messages.h"
#include "transport/real/link/connection.h"

namespace elastic::real {

struct Endpoint {
  std::string host;  // name or numeric address
  std::uint16_t port = 0;
};

struct LinksOptions {
  std::string job;
  Key key{};
  AgentId self;
  std::string host_name;             // for people
  std::string publish;               // numeric address to be reached at; empty: as seen
  std::optional<Endpoint> endpoint;  // to keep a connection to; none: this is the host
  ConnectionLimits limits;
  Duration connect_within{std::chrono::seconds(1)};       // one attempt at one address
  Duration shortest_wait{std::chrono::milliseconds(20)};  // between two dials, doubled up to
  Duration longest_wait{std::chrono::milliseconds(500)};
  std::size_t most_strangers = 1024;  // connections that have not proved anything yet
};

// Whoever runs the agent. All calls come from the loop.
class LinksOwner {
 public:
  virtual ~LinksOwner() = default;
  // What the job runs with, to tell others; none as long as this is not known.
  virtual std::optional<wire::RecordingHeader> settings() = 0;
  // The endpoint's: nothing, or why this node cannot be part of that job (final).
  virtual std::optional<std::string> check_settings(const wire::RecordingHeader& theirs) = 0;
  // The connection to the endpoint is open: `first`, for the first time.
  virtual void endpoint_reached(AgentId host, bool first) = 0;
  // The endpoint did not answer as it should; said again only when the text changes. `final`:
  // trying again is of no use.
  virtual void endpoint_trouble(const std::string& text, bool final) = 0;
  virtual void received(NodeId from, Message&& message) = 0;
  virtual void closed(NodeId peer) = 0;
  // A question other than for an address. `answer` may be kept and called later, or never.
  virtual void asked(Connection& connection, wire::Session&& question) = 0;
  // Something odd that a person may want to know, once for each text and peer.
  virtual void noticed(const std::string& text) = 0;
};

class Links final : public ConnectionOwner {
 public:
  Links(asio::io_context& loop, LinksOptions options, LinksOwner& owner);
  ~Links() override;
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Listens: at this port of every address (0: a free one). The error in words, or nothing.
  // v4 and v6 where the machine has both.
  std::optional<std::string> listen(std::uint16_t port);
  std::uint16_t port() const { return port_; }
  // Begins to dial the endpoint, if there is one.
  void start();
  // Closes everything; nothing is called any more.
  void stop();

  void send(NodeId to, const Message& message);
  // Sent on an open connection to that node, or false: then it is dialled, and to be asked again.
  bool ask(NodeId to, const wire::Session& question);
  // To every node to which a connection is open.
  std::size_t tell_all(const wire::Session& session);
  // Name of the node's machine, or its number.
  std::string name_of(NodeId node) const;
  AgentId host() const { return host_; }
  // An address of this machine that a connection of another machine uses; else of loopback.
  std::string own_ip() const;
  std::vector<NodeId> connected() const;
  // Nothing waits to be sent on an open connection.
  bool idle() const;

  // ConnectionOwner
  std::variant<wire::Challenge, wire::Refused> on_hello(Connection& connection,
                                                        const wire::Hello& hello) override;
  std::optional<std::string> on_challenge(Connection& connection,
                                          const wire::Challenge& challenge) override;
  void on_open(Connection& connection) override;
  void on_message(Connection& connection, Message&& message) override;
  void on_session(Connection& connection, wire::Session&& session) override;
  void on_ended(Connection& connection, const Ended& ended) override;

 private:
  // A node that is known, or looked for.
  struct Peer {
    AgentId agent;
    std::string name;
    wire::PeerAddress address;  // to dial; empty: not known
    std::vector<ConnectionPtr> open;
    std::deque<Message> waiting;
    bool dialling = false;
    Duration wait{};  // before the next dial; zero: at once
    std::unique_ptr<asio::steady_timer> timer;
    std::unique_ptr<asio::steady_timer> asking;  // for its address
  };

  void accept(tcp::acceptor& acceptor);
  void accepted(tcp::socket socket);
  void dial_endpoint();
  void dial_endpoint_later();
  void resolved(const tcp::resolver::results_type& found);
  void try_endpoint(std::vector<tcp::endpoint> addresses, std::size_t index, std::string failures);
  void reach(NodeId node);
  void dial(NodeId node);
  void dial_later(NodeId node);
  void look_for(NodeId node);
  void connect(const tcp::endpoint& to,
               std::function<void(boost::system::error_code, tcp::socket)>);
  void begin_dial(tcp::socket socket, NodeId node);
  void learn(AgentId agent, const std::string& name, const wire::PeerAddress& address);
  wire::PeerAddress address_for(const Connection& asker, const Peer& peer) const;
  wire::Hello greeting() const;
  wire::PeerAddress listens() const;
  void trouble(const std::string& text, bool final);
  void notice(const std::string& text);
  bool is_endpoint(const Connection& connection) const { return &connection == endpoint_.get(); }

  asio::io_context& loop_;
  LinksOptions options_;
  LinksOwner& owner_;
  std::vector<std::unique_ptr<tcp::acceptor>> acceptors_;
  std::uint16_t port_ = 0;
  tcp::resolver resolver_;
  asio::steady_timer endpoint_timer_;
  Duration endpoint_wait_{};
  ConnectionPtr endpoint_;  // dialled, from its connect to its end
  AgentId host_;
  bool reached_ = false;
  std::string last_trouble_;
  std::map<NodeId, Peer> peers_;
  std::set<ConnectionPtr> strangers_;            // handshake not over
  std::map<const Connection*, NodeId> dialled_;  // strangers that were dialled for a node
  std::set<ConnectionPtr> clients_;
  std::set<std::string> noticed_;
  bool stopped_ = false;
};

}  // namespace elastic::real
