#include "transport/real/link/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <utility>

#include "core/assert.h"

namespace elastic::real {
namespace {

using boost::system::error_code;

constexpr std::size_t kWaiting = 64;     // messages for one node without a connection
constexpr std::size_t kKnown = 1 << 16;  // nodes that are remembered
constexpr std::size_t kClients = 256;    // operators' connections
constexpr std::size_t kNotices = 256;    // texts that are remembered as said
constexpr Duration kAskAgain = std::chrono::milliseconds(200);

std::string text_of(const wire::PeerAddress& address) {
  const bool v6 = address.ip.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", address.ip, v6 ? "]" : "", address.port);
}

std::string text_of(const tcp::endpoint& endpoint) {
  return text_of(wire::PeerAddress{endpoint.address().to_string(), endpoint.port()});
}

bool is_loopback(const std::string& ip) {
  error_code error;
  const auto address = asio::ip::make_address(ip, error);
  return !error && address.is_loopback();
}

}  // namespace

Links::Links(asio::io_context& loop, LinksOptions options, LinksOwner& owner)
    : loop_(loop),
      options_(std::move(options)),
      owner_(owner),
      resolver_(loop),
      endpoint_timer_(loop) {
  ELASTIC_ASSERT(options_.self);
}

Links::~Links() { stop(); }

// ---- Listening

std::optional<std::string> Links::listen(std::uint16_t port) {
  ELASTIC_ASSERT(acceptors_.empty());
  std::string failures;
  for (const tcp& protocol : {tcp::v6(), tcp::v4()}) {
    auto acceptor = std::make_unique<tcp::acceptor>(loop_);
    error_code error;
    acceptor->open(protocol, error);
    if (error) continue;  // the machine does not have it
    acceptor->set_option(asio::socket_base::reuse_address(true), error);
    if (protocol == tcp::v6()) acceptor->set_option(asio::ip::v6_only(true), error);
    acceptor->bind({protocol, port_ != 0 ? port_ : port}, error);
    if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      failures += fmt::format("{}port {}: {}", failures.empty() ? "" : "; ", port, error.message());
      // A port that is taken for one family is no port of this agent.
      if (error == asio::error::address_in_use) break;
      continue;
    }
    port_ = acceptor->local_endpoint().port();
    acceptors_.push_back(std::move(acceptor));
  }
  const bool taken =
      !failures.empty() && acceptors_.size() < 2 && failures.find("in use") != std::string::npos;
  if (acceptors_.empty() || taken) {
    acceptors_.clear();
    port_ = 0;
    return failures.empty() ? "this machine has neither IPv4 nor IPv6" : failures;
  }
  for (const auto& acceptor : acceptors_) accept(*acceptor);
  return std::nullopt;
}

void Links::accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([this, &acceptor](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || stopped_) return;
    if (error) {
      // Out of descriptors, mostly: it passes.
      notice(fmt::format("no connection can be accepted: {}", error.message()));
      auto timer = std::make_shared<asio::steady_timer>(loop_, std::chrono::milliseconds(100));
      timer->async_wait([this, &acceptor, timer](error_code failed) {
        if (!failed && !stopped_) accept(acceptor);
      });
      return;
    }
    accepted(std::move(socket));
    accept(acceptor);
  });
}

void Links::accepted(tcp::socket socket) {
  // So that a flood of strangers cannot use up what the job needs; the oldest would be fairer, but
  // each has its own deadline anyway.
  if (strangers_.size() >= options_.most_strangers) {
    error_code ignored;
    socket.close(ignored);
    notice("too many connections that have not said who they are; new ones are refused for now");
    return;
  }
  auto connection = std::make_shared<Connection>(loop_, std::move(socket), Side::kAcceptor,
                                                 options_.key, options_.limits, *this);
  strangers_.insert(connection);
  connection->accept();
}

std::variant<wire::Challenge, wire::Refused> Links::on_hello(Connection& connection,
                                                             const wire::Hello& hello) {
  using Kind = wire::Refused::Kind;
  if (hello.job != options_.job) {
    const std::string text =
        fmt::format("here runs job \"{}\", not \"{}\"", options_.job, hello.job);
    notice(fmt::format("{} asks for another job: {}", text_of(connection.there()), text));
    return wire::Refused{Kind::kOtherJob, text};
  }
  if (hello.role == wire::Role::kAgent) {
    if (!hello.agent || !hello.agent.life) {
      return wire::Refused{Kind::kSettings, "an agent must say which node it is"};
    }
    const auto known = peers_.find(hello.agent.node);
    const bool superseded = known != peers_.end() && known->second.agent.life > hello.agent.life;
    if (superseded || hello.agent.node == options_.self.node) {
      return wire::Refused{Kind::kSuperseded,
                           fmt::format("a later agent of this node is known ({}); two agents share "
                                       "one state folder, or an old one has come back",
                                       name_of(hello.agent.node))};
    }
    if (peers_.size() >= kKnown) return wire::Refused{Kind::kSettings, "too many nodes are known"};
  }
  const std::optional<wire::RecordingHeader> settings = owner_.settings();
  if (!settings)
    return wire::Refused{Kind::kNotReady, "this agent has not reached the job itself yet"};
  wire::Challenge challenge;
  challenge.settings = *settings;
  challenge.host_name = options_.host_name;
  challenge.listens = listens();
  return challenge;
}

// ---- Dialling the endpoint

void Links::start() {
  if (options_.endpoint) dial_endpoint();
}

void Links::dial_endpoint() {
  if (stopped_) return;
  ELASTIC_ASSERT(options_.endpoint.has_value());
  resolver_.async_resolve(options_.endpoint->host, std::to_string(options_.endpoint->port),
                          [this](error_code error, const tcp::resolver::results_type& found) {
                            if (error == asio::error::operation_aborted || stopped_) return;
                            if (!error) return resolved(found);
                            trouble(fmt::format("the name {} is not known ({}); trying again",
                                                options_.endpoint->host, error.message()),
                                    false);
                            dial_endpoint_later();
                          });
}

void Links::dial_endpoint_later() {
  endpoint_wait_ = std::clamp(endpoint_wait_ * 2, options_.shortest_wait, options_.longest_wait);
  endpoint_timer_.expires_after(endpoint_wait_);
  endpoint_timer_.async_wait([this](error_code failed) {
    if (!failed) dial_endpoint();
  });
}

void Links::resolved(const tcp::resolver::results_type& found) {
  std::vector<tcp::endpoint> addresses;
  for (const auto& entry : found) addresses.push_back(entry.endpoint());
  try_endpoint(std::move(addresses), 0, "");
}

void Links::try_endpoint(std::vector<tcp::endpoint> addresses, std::size_t index,
                         std::string failures) {
  if (index == addresses.size()) {
    trouble(fmt::format("nobody answers at {}:{} ({}); trying again", options_.endpoint->host,
                        options_.endpoint->port, failures),
            false);
    dial_endpoint_later();
    return;
  }
  const tcp::endpoint to = addresses[index];
  connect(to, [this, to, addresses = std::move(addresses), index, failures = std::move(failures)](
                  error_code error, tcp::socket socket) mutable {
    if (error) {
      failures +=
          fmt::format("{}{}: {}", failures.empty() ? "" : ", ", text_of(to), error.message());
      try_endpoint(std::move(addresses), index + 1, std::move(failures));
      return;
    }
    endpoint_ = std::make_shared<Connection>(loop_, std::move(socket), Side::kDialler, options_.key,
                                             options_.limits, *this);
    strangers_.insert(endpoint_);
    endpoint_->dial(greeting());
  });
}

// One attempt, within a bound.
void Links::connect(const tcp::endpoint& to, std::function<void(error_code, tcp::socket)> done) {
  auto socket = std::make_shared<tcp::socket>(loop_);
  auto timer = std::make_shared<asio::steady_timer>(loop_, options_.connect_within);
  auto late = std::make_shared<bool>(false);
  timer->async_wait([socket, late](error_code failed) {
    if (failed) return;
    *late = true;
    error_code ignored;
    socket->close(ignored);
  });
  socket->async_connect(to, [this, socket, timer, late, done = std::move(done)](error_code error) {
    timer->cancel();
    if (stopped_) return;
    if (*late) error = asio::error::timed_out;
    done(error, std::move(*socket));
  });
}

std::optional<std::string> Links::on_challenge(Connection& connection,
                                               const wire::Challenge& challenge) {
  if (is_endpoint(connection)) return owner_.check_settings(challenge.settings);
  const auto wanted = dialled_.find(&connection);
  if (wanted != dialled_.end() && wanted->second != challenge.settings.agent.node) {
    return "another node answers at this address";
  }
  return std::nullopt;
}

void Links::trouble(const std::string& text, bool final) {
  if (text == last_trouble_ && !final) return;
  last_trouble_ = text;
  owner_.endpoint_trouble(text, final);
}

void Links::notice(const std::string& text) {
  if (noticed_.size() >= kNotices || !noticed_.insert(text).second) return;
  owner_.noticed(text);
}

// ---- Open and ended connections

void Links::on_open(Connection& connection) {
  const ConnectionPtr held = connection.shared_from_this();
  strangers_.erase(held);
  if (const auto wanted = dialled_.find(&connection); wanted != dialled_.end()) {
    peers_[wanted->second].dialling = false;
    dialled_.erase(wanted);
  }
  if (connection.role() == wire::Role::kClient) {
    if (clients_.size() >= kClients) return connection.close({});
    clients_.insert(held);
    return;
  }
  const AgentId agent = connection.peer();
  wire::PeerAddress address;
  if (connection.side() == Side::kAcceptor) {
    address = connection.hello().listens;
    if (address.ip.empty()) address.ip = connection.there().ip;
  } else {
    address = connection.challenge().listens;
    if (address.ip.empty()) address.ip = connection.there().ip;
  }
  learn(agent, connection.host_name(), address);
  Peer& peer = peers_[agent.node];
  if (peer.agent != agent) return connection.close({});  // of an earlier life
  peer.open.push_back(held);
  peer.wait = {};
  if (is_endpoint(connection)) {
    const bool first = !reached_;
    if (host_ && host_.node != agent.node) {
      notice(fmt::format("the endpoint is now {}, another node than before", name_of(agent.node)));
    }
    host_ = agent;
    reached_ = true;
    endpoint_wait_ = {};
    last_trouble_.clear();
    owner_.endpoint_reached(agent, first);
  }
  while (!peer.waiting.empty() && connection.open()) {
    (void)connection.send(peer.waiting.front());
    peer.waiting.pop_front();
  }
}

void Links::on_message(Connection& connection, Message&& message) {
  if (connection.role() == wire::Role::kClient) {
    return connection.close({Ended::Why::kViolation, "a command is no node of the job", {}});
  }
  owner_.received(connection.peer().node, std::move(message));
}

void Links::on_session(Connection& connection, wire::Session&& session) {
  if (const auto* ask = std::get_if<wire::AddressAsk>(&session)) {
    const auto known = peers_.find(ask->node);
    if (known == peers_.end() || !known->second.address) return;
    (void)connection.send(wire::AddressAnswer{
        known->second.agent, address_for(connection, known->second), known->second.name});
    return;
  }
  if (const auto* answer = std::get_if<wire::AddressAnswer>(&session)) {
    if (!answer->agent || answer->agent.node == options_.self.node) return;
    const auto peer = peers_.find(answer->agent.node);
    if (peer == peers_.end()) return;  // nobody asked
    learn(answer->agent, answer->host_name, answer->address);
    if (!peer->second.waiting.empty() || peer->second.asking) {
      peer->second.asking.reset();
      reach(answer->agent.node);
    }
    return;
  }
  owner_.asked(connection, std::move(session));
}

void Links::on_ended(Connection& connection, const Ended& ended) {
  const ConnectionPtr held = connection.shared_from_this();
  const bool was_stranger = strangers_.erase(held) > 0;
  clients_.erase(held);
  const auto dialled = dialled_.find(&connection);
  const NodeId dialled_for = dialled == dialled_.end() ? NodeId{} : dialled->second;
  if (dialled != dialled_.end()) dialled_.erase(dialled);
  const bool endpoint = is_endpoint(connection);
  if (endpoint) endpoint_.reset();
  if (stopped_) return;
  if (ended.why == Ended::Why::kViolation || (ended.why == Ended::Why::kNoProof && !endpoint)) {
    notice(fmt::format("{} was cut off: {}", text_of(connection.there()), ended.text));
  }
  if (endpoint) {
    const bool refused = ended.refused && ended.refused->kind != wire::Refused::Kind::kNotReady &&
                         ended.refused->kind != wire::Refused::Kind::kOtherJob;
    const bool final =
        refused || ended.why == Ended::Why::kNoProof || ended.why == Ended::Why::kUnsuitable;
    const bool quiet = ended.refused && ended.refused->kind == wire::Refused::Kind::kNotReady;
    if (!quiet) {
      trouble(fmt::format("the connection to {}:{} ended: {}{}", options_.endpoint->host,
                          options_.endpoint->port, ended.text, final ? "" : "; trying again"),
              final);
    }
    if (stopped_) return;
    if (!final) dial_endpoint_later();
  }
  if (was_stranger) {
    if (dialled_for) {
      peers_[dialled_for].dialling = false;
      if (!peers_[dialled_for].waiting.empty()) dial_later(dialled_for);
    }
    return;
  }
  const auto peer = peers_.find(connection.peer().node);
  if (peer == peers_.end()) return;
  auto& open = peer->second.open;
  const auto gone = std::find(open.begin(), open.end(), held);
  if (gone == open.end()) return;
  open.erase(gone);
  if (open.empty() && peer->second.agent == connection.peer())
    owner_.closed(connection.peer().node);
}

// ---- Other nodes

void Links::learn(AgentId agent, const std::string& name, const wire::PeerAddress& address) {
  Peer& peer = peers_[agent.node];
  if (agent.life < peer.agent.life) return;
  if (agent.life > peer.agent.life) {  // its earlier life is over, whatever its connections say
    const std::vector<ConnectionPtr> old = std::exchange(peer.open, {});
    peer.agent = agent;
    for (const ConnectionPtr& connection : old) connection->close({});
  }
  if (!name.empty()) peer.name = name;
  if (address) peer.address = address;
}

// A node on this machine was seen at a loopback address: others find it where they find this one.
wire::PeerAddress Links::address_for(const Connection& asker, const Peer& peer) const {
  wire::PeerAddress address = peer.address;
  if (is_loopback(address.ip) && !is_loopback(asker.here().ip)) address.ip = asker.here().ip;
  return address;
}

void Links::send(NodeId to, const Message& message) {
  if (stopped_) return;
  ELASTIC_ASSERT(to != options_.self.node);
  Peer& peer = peers_[to];
  for (auto at = peer.open.rbegin(); at != peer.open.rend(); ++at) {
    if ((*at)->open()) {
      (void)(*at)->send(message);
      return;
    }
  }
  if (peer.waiting.size() >= kWaiting) peer.waiting.pop_front();
  peer.waiting.push_back(message);
  reach(to);
}

bool Links::ask(NodeId to, const wire::Session& question) {
  if (stopped_) return false;
  ELASTIC_ASSERT(to != options_.self.node);
  Peer& peer = peers_[to];
  for (auto at = peer.open.rbegin(); at != peer.open.rend(); ++at) {
    if ((*at)->open()) return (*at)->send(question);
  }
  reach(to);
  return false;
}

std::size_t Links::tell_all(const wire::Session& session) {
  std::size_t told = 0;
  for (auto& [node, peer] : peers_) {
    if (!peer.open.empty() && peer.open.back()->send(session)) ++told;
  }
  return told;
}

void Links::reach(NodeId node) {
  Peer& peer = peers_[node];
  if (peer.dialling || !peer.open.empty()) return;
  // The host is dialled at the endpoint, and nowhere else: it may have moved.
  if (options_.endpoint && host_ && node == host_.node) return;
  if (!peer.address) return look_for(node);
  if (peer.timer) return;  // a dial is due
  dial(node);
}

void Links::look_for(NodeId node) {
  Peer& peer = peers_[node];
  if (peer.asking) return;
  for (auto& [other, entry] : peers_) {
    if (other != node && !entry.open.empty()) (void)entry.open.back()->send(wire::AddressAsk{node});
  }
  peer.asking = std::make_unique<asio::steady_timer>(loop_, kAskAgain);
  peer.asking->async_wait([this, node](error_code failed) {
    if (failed || stopped_) return;
    Peer& again = peers_[node];
    again.asking.reset();
    if (!again.address && !again.waiting.empty()) look_for(node);
  });
}

void Links::dial(NodeId node) {
  Peer& peer = peers_[node];
  error_code error;
  const auto ip = asio::ip::make_address(peer.address.ip, error);
  if (error || peer.address.port > UINT16_MAX) {
    notice(
        fmt::format("{} has no address that can be dialled: {}", name_of(node), peer.address.ip));
    peer.address = {};
    return;
  }
  peer.dialling = true;
  connect({ip, static_cast<std::uint16_t>(peer.address.port)},
          [this, node](error_code failed, tcp::socket socket) {
            if (!failed) return begin_dial(std::move(socket), node);
            Peer& again = peers_[node];
            again.dialling = false;
            // It may have moved, or be gone: its address is asked for again.
            look_for(node);
            if (!again.waiting.empty()) dial_later(node);
          });
}

void Links::begin_dial(tcp::socket socket, NodeId node) {
  auto connection = std::make_shared<Connection>(loop_, std::move(socket), Side::kDialler,
                                                 options_.key, options_.limits, *this);
  strangers_.insert(connection);
  dialled_[connection.get()] = node;
  connection->dial(greeting());
}

void Links::dial_later(NodeId node) {
  Peer& peer = peers_[node];
  if (peer.timer) return;
  peer.wait = std::clamp(peer.wait * 2, options_.shortest_wait, options_.longest_wait);
  peer.timer = std::make_unique<asio::steady_timer>(loop_, peer.wait);
  peer.timer->async_wait([this, node](error_code failed) {
    if (failed || stopped_) return;
    Peer& again = peers_[node];
    again.timer.reset();
    // What is older than this was said again since.
    if (again.open.empty() && !again.waiting.empty()) reach(node);
  });
}

wire::PeerAddress Links::listens() const { return {.ip = options_.publish, .port = port_}; }

wire::Hello Links::greeting() const {
  wire::Hello hello;
  hello.job = options_.job;
  hello.role = wire::Role::kAgent;
  hello.agent = options_.self;
  hello.host_name = options_.host_name;
  hello.listens = listens();
  return hello;
}

std::string Links::name_of(NodeId node) const {
  if (node == options_.self.node) return options_.host_name;
  const auto peer = peers_.find(node);
  if (peer != peers_.end() && !peer->second.name.empty()) return peer->second.name;
  return fmt::format("node {:x}", node.value);
}

std::string Links::own_ip() const {
  for (const auto& [node, peer] : peers_) {
    for (const ConnectionPtr& connection : peer.open) {
      if (!is_loopback(connection->here().ip)) return connection->here().ip;
    }
  }
  return "127.0.0.1";
}

std::vector<NodeId> Links::connected() const {
  std::vector<NodeId> nodes;
  for (const auto& [node, peer] : peers_) {
    if (!peer.open.empty()) nodes.push_back(node);
  }
  return nodes;
}

bool Links::idle() const {
  for (const auto& [node, peer] : peers_) {
    for (const ConnectionPtr& connection : peer.open) {
      if (!connection->idle()) return false;
    }
  }
  return true;
}

void Links::stop() {
  if (stopped_) return;
  stopped_ = true;
  error_code ignored;
  for (const auto& acceptor : acceptors_) acceptor->close(ignored);
  resolver_.cancel();
  endpoint_timer_.cancel();
  std::set<ConnectionPtr> all = strangers_;
  all.insert(clients_.begin(), clients_.end());
  for (auto& [node, peer] : peers_) {
    all.insert(peer.open.begin(), peer.open.end());
    peer.timer.reset();
    peer.asking.reset();
  }
  if (endpoint_) all.insert(endpoint_);
  for (const ConnectionPtr& connection : all) connection->abandon();
  strangers_.clear();
  clients_.clear();
  endpoint_.reset();
}

}  // namespace elastic::real
