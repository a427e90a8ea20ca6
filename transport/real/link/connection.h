// One TCP connection: handshake, then frames in both directions, each with its check of origin.
//
// A connection owns its socket and is owned by who holds a shared_ptr; pending operations hold one,
// too, so it lives until they are over. All of it runs on the loop's one thread. After closed()
// nothing is called any more.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/types.h"
#include "transport/real/link/seal.h"
#include "transport/wire/codec.h"
#include "transport/wire/frame.h"

namespace elastic::real {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

class Connection;
using ConnectionPtr = std::shared_ptr<Connection>;

// Why a connection ended.
struct Ended {
  enum class Why : std::uint8_t {
    kPeer,       // it closed, or its machine reset the connection
    kSelf,       // close() was called
    kRefused,    // the other side refused; `refused` says why
    kNoProof,    // the other side does not have the job's key
    kViolation,  // what it sent is not our protocol
    kSlow,       // the handshake took too long, or nothing was acknowledged for too long
    kUnsuitable  // the dialler's owner does not accept the challenge; `text` is what it said
  };
  Why why = Why::kSelf;
  std::string text;  // for people
  std::optional<wire::Refused> refused;
};

// What the owner of connections decides and hears.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  // Acceptor: the answer to a Hello (nonce, proof and seen_at are filled in by the connection).
  virtual std::variant<wire::Challenge, wire::Refused> on_hello(Connection& connection,
                                                                const wire::Hello& hello) = 0;
  // Dialler: nothing, or why the connection is of no use.
  virtual std::optional<std::string> on_challenge(Connection& connection,
                                                  const wire::Challenge& challenge) = 0;
  virtual void on_open(Connection& connection) = 0;
  virtual void on_message(Connection& connection, Message&& message) = 0;
  virtual void on_session(Connection& connection, wire::Session&& session) = 0;
  virtual void on_ended(Connection& connection, const Ended& ended) = 0;
};

struct ConnectionLimits {
  Duration handshake{std::chrono::seconds(5)};
  // What was sent is acknowledged by the other machine within this, or the connection is given up
  // (TCP_USER_TIMEOUT): after a partition a new one is there sooner than an old one recovers.
  Duration unacknowledged{std::chrono::seconds(4)};
  std::size_t queued_bytes = std::size_t{8} << 20;  // waiting to be sent; more is dropped
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::io_context& loop, tcp::socket socket, Side side, const Key& key,
             const ConnectionLimits& limits, ConnectionOwner& owner);

  // Acceptor: waits for Hello. Dialler: says it. The nonce is drawn here.
  void accept();
  void dial(wire::Hello hello);

  // Queued; dropped (false) while the handshake is not over, after the end, or when too much waits.
  bool send(const Message& message);
  bool send(const wire::Session& session);
  // What the socket has not taken yet is lost. The owner is told, once.
  void close(Ended ended);
  // The owner is going away: closes, and calls nothing any more.
  void abandon();

  bool open() const { return state_ == State::kOpen; }
  // The socket has taken everything.
  bool idle() const { return out_.empty(); }
  Side side() const { return side_; }
  // What the other side has said of itself, once it has.
  const wire::Hello& hello() const { return hello_; }
  const wire::Challenge& challenge() const { return challenge_; }
  wire::Role role() const;
  AgentId peer() const;
  const std::string& host_name() const;
  // Numeric, of this end and of the other one, as this machine sees them.
  const wire::PeerAddress& here() const { return here_; }
  const wire::PeerAddress& there() const { return there_; }

 private:
  enum class State : std::uint8_t { kNew, kHello, kChallenge, kProof, kAccepted, kOpen, kEnded };

  void begin();
  void read();
  bool on_frame(const wire::Frame& frame);
  bool on_handshake(const wire::Session& said);
  bool on_hello(const wire::Hello& hello);
  bool on_challenge(const wire::Challenge& challenge);
  void opened();
  bool deliver(const wire::Frame& frame);
  void send_plain(const wire::Session& session);
  bool enqueue(wire::FrameKind kind, std::string_view payload);
  void write();
  bool violated(std::string text);

  tcp::socket socket_;
  asio::steady_timer deadline_;
  Side side_;
  Key key_;
  ConnectionLimits limits_;
  ConnectionOwner* owner_;
  State state_ = State::kNew;
  wire::FrameReader frames_;
  std::vector<char> buffer_;
  std::deque<std::string> out_;
  std::size_t out_bytes_ = 0;
  bool writing_ = false;
  bool reading_in_ = false;  // inside a handler of read(): `this` must not be torn down
  wire::Hello hello_;
  wire::Challenge challenge_;
  Transcript said_;
  std::optional<Seal> mine_, theirs_;
  wire::PeerAddress here_, there_;
};

}  // namespace elastic::real
