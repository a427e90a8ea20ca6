#include "transport/real/link/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <utility>

#include "core/assert.h"

namespace elastic::real {
namespace {

using boost::system::error_code;

constexpr std::size_t kHandshakePayload = std::size_t{64} << 10;  // before the peer is known
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxJobId = 1024;

// v4 addresses that came in through a v6 socket are v4.
wire::PeerAddress address_of(const tcp::endpoint& endpoint) {
  asio::ip::address ip = endpoint.address();
  if (ip.is_v6() && ip.to_v6().is_v4_mapped()) {
    ip = asio::ip::make_address_v4(asio::ip::v4_mapped, ip.to_v6());
  }
  return {.ip = ip.to_string(), .port = endpoint.port()};
}

void set_options(tcp::socket& socket, Duration unacknowledged) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int ms =
      static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(unacknowledged).count());
  const int idle_s = 5;
  const int fd = socket.native_handle();
  // Where the kernel does not know them, a dead peer is noticed later: nothing else depends on it.
  (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof idle_s);
}

}  // namespace

Connection::Connection(asio::io_context& loop, tcp::socket socket, Side side, const Key& key,
                       const ConnectionLimits& limits, ConnectionOwner& owner)
    : socket_(std::move(socket)),
      deadline_(loop),
      side_(side),
      key_(key),
      limits_(limits),
      owner_(&owner),
      frames_(kHandshakePayload),
      buffer_(kReadBytes) {}

void Connection::begin() {
  ELASTIC_ASSERT(state_ == State::kNew);
  error_code error;
  const tcp::endpoint here = socket_.local_endpoint(error);
  const tcp::endpoint there = socket_.remote_endpoint(error);
  here_ = address_of(here);
  there_ = address_of(there);
  set_options(socket_, limits_.unacknowledged);
  deadline_.expires_after(limits_.handshake);
  deadline_.async_wait([self = shared_from_this()](error_code failed) {
    if (failed || self->state_ == State::kOpen || self->state_ == State::kEnded) return;
    self->close({Ended::Why::kSlow, "it did not finish the handshake in time", {}});
  });
}

void Connection::accept() {
  ELASTIC_ASSERT(side_ == Side::kAcceptor);
  begin();
  state_ = State::kHello;
  read();
}

void Connection::dial(wire::Hello hello) {
  ELASTIC_ASSERT(side_ == Side::kDialler);
  begin();
  hello_ = std::move(hello);
  hello_.nonce = random_bytes(kNonceBytes);
  said_.hello = wire::encode(wire::Session(hello_));
  state_ = State::kChallenge;
  send_plain(hello_);
  read();
}

wire::Role Connection::role() const {
  return side_ == Side::kAcceptor ? hello_.role : wire::Role::kAgent;
}

AgentId Connection::peer() const {
  return side_ == Side::kAcceptor ? hello_.agent : challenge_.settings.agent;
}

const std::string& Connection::host_name() const {
  return side_ == Side::kAcceptor ? hello_.host_name : challenge_.host_name;
}

// ---- In

void Connection::read() {
  socket_.async_read_some(
      asio::buffer(buffer_), [self = shared_from_this()](error_code error, std::size_t count) {
        if (self->state_ == State::kEnded) return;
        if (error) {
          const bool slow = error == asio::error::timed_out;
          self->close({slow ? Ended::Why::kSlow : Ended::Why::kPeer, error.message(), {}});
          return;
        }
        self->frames_.feed({self->buffer_.data(), count});
        for (;;) {
          auto frame = self->frames_.next();
          if (!frame) {
            self->violated(frame.error().message);
            return;
          }
          if (!*frame) break;
          if (!self->on_frame(**frame) || self->state_ == State::kEnded) return;
        }
        self->read();
      });
}

bool Connection::violated(std::string text) {
  close({Ended::Why::kViolation, std::move(text), {}});
  return false;
}

bool Connection::on_frame(const wire::Frame& frame) {
  if (state_ == State::kOpen) return deliver(frame);
  if (frame.kind != wire::FrameKind::kSession)
    return violated("it speaks before it has said who it is");
  const auto said = wire::decode_session(frame.payload);
  if (!said) return violated(said.error().message());
  return on_handshake(*said);
}

bool Connection::on_handshake(const wire::Session& said) {
  if (const auto* refused = std::get_if<wire::Refused>(&said);
      refused != nullptr && side_ == Side::kDialler) {
    close({Ended::Why::kRefused, refused->reason, *refused});
    return false;
  }
  if (const auto* hello = std::get_if<wire::Hello>(&said);
      hello != nullptr && state_ == State::kHello) {
    return on_hello(*hello);
  }
  if (const auto* challenge = std::get_if<wire::Challenge>(&said);
      challenge != nullptr && state_ == State::kChallenge) {
    return on_challenge(*challenge);
  }
  if (const auto* proof = std::get_if<wire::Proof>(&said);
      proof != nullptr && state_ == State::kProof) {
    if (!equal(proof->proof, proof_of(key_, said_, Side::kDialler))) {
      const wire::Refused refused{wire::Refused::Kind::kNoToken, "this job has another token"};
      send_plain(refused);
      close({Ended::Why::kNoProof, "it does not have the job's token", {}});
      return false;
    }
    send_plain(wire::Accepted{});
    opened();
    return true;
  }
  if (std::holds_alternative<wire::Accepted>(said) && state_ == State::kAccepted) {
    opened();
    return true;
  }
  return violated("it says something else than the handshake has at this point");
}

bool Connection::on_hello(const wire::Hello& hello) {
  if (hello.nonce.size() != kNonceBytes || hello.job.size() > kMaxJobId) {
    return violated("its greeting has a nonce or a job id of a wrong length");
  }
  hello_ = hello;
  auto answer = owner_->on_hello(*this, hello);
  if (const auto* refused = std::get_if<wire::Refused>(&answer)) {
    send_plain(*refused);
    close({Ended::Why::kSelf, refused->reason, *refused});
    return false;
  }
  challenge_ = std::get<wire::Challenge>(std::move(answer));
  challenge_.nonce = random_bytes(kNonceBytes);
  challenge_.proof.clear();
  challenge_.seen_at = there_;
  said_.hello = wire::encode(wire::Session(hello_));
  said_.challenge = wire::encode(wire::Session(challenge_));
  challenge_.proof = proof_of(key_, said_, Side::kAcceptor);
  state_ = State::kProof;
  send_plain(challenge_);
  return true;
}

bool Connection::on_challenge(const wire::Challenge& challenge) {
  challenge_ = challenge;
  wire::Challenge bare = challenge;
  bare.proof.clear();
  said_.challenge = wire::encode(wire::Session(bare));
  if (!equal(challenge.proof, proof_of(key_, said_, Side::kAcceptor))) {
    close({Ended::Why::kNoProof, "it does not have this job's token", {}});
    return false;
  }
  if (auto unsuitable = owner_->on_challenge(*this, challenge_)) {
    close({Ended::Why::kUnsuitable, std::move(*unsuitable), {}});
    return false;
  }
  if (state_ == State::kEnded) return false;
  state_ = State::kAccepted;
  send_plain(wire::Proof{proof_of(key_, said_, Side::kDialler)});
  return true;
}

void Connection::opened() {
  ELASTIC_ASSERT(state_ == State::kProof || state_ == State::kAccepted);
  deadline_.cancel();
  const Key session = session_key(key_, said_);
  const Side other = side_ == Side::kDialler ? Side::kAcceptor : Side::kDialler;
  mine_.emplace(session, side_);
  theirs_.emplace(session, other);
  frames_.allow(wire::kMaxPayload);
  state_ = State::kOpen;
  owner_->on_open(*this);
}

bool Connection::deliver(const wire::Frame& frame) {
  const auto content = theirs_->open(frame.kind, frame.payload);
  if (!content) return violated("a frame does not carry the check of its origin");
  if (frame.kind == wire::FrameKind::kMessage) {
    auto message = wire::decode_message(*content);
    if (!message) return violated(message.error().message());
    owner_->on_message(*this, std::move(*message));
    return true;
  }
  if (frame.kind == wire::FrameKind::kSession) {
    auto session = wire::decode_session(*content);
    if (!session) return violated(session.error().message());
    owner_->on_session(*this, std::move(*session));
    return true;
  }
  return violated("a frame of this kind has no place on a connection");
}

// ---- Out

void Connection::send_plain(const wire::Session& session) {
  ELASTIC_ASSERT(state_ != State::kOpen);
  (void)enqueue(wire::FrameKind::kSession, wire::encode(session));
}

bool Connection::send(const Message& message) {
  if (state_ != State::kOpen || out_bytes_ > limits_.queued_bytes) return false;
  return enqueue(wire::FrameKind::kMessage,
                 mine_->close(wire::FrameKind::kMessage, wire::encode(message)));
}

bool Connection::send(const wire::Session& session) {
  if (state_ != State::kOpen || out_bytes_ > limits_.queued_bytes) return false;
  return enqueue(wire::FrameKind::kSession,
                 mine_->close(wire::FrameKind::kSession, wire::encode(session)));
}

bool Connection::enqueue(wire::FrameKind kind, std::string_view payload) {
  auto bytes = wire::frame(kind, payload);
  if (!bytes) {  // the seal has counted it: the other side would miss one
    close({Ended::Why::kSelf, bytes.error().message, {}});
    return false;
  }
  out_bytes_ += bytes->size();
  out_.push_back(std::move(*bytes));
  if (!writing_) write();
  return true;
}

void Connection::write() {
  ELASTIC_ASSERT(!out_.empty());
  writing_ = true;
  asio::async_write(
      socket_, asio::buffer(out_.front()),
      [self = shared_from_this()](error_code error, std::size_t) {
        self->writing_ = false;
        if (self->state_ == State::kEnded) return;
        if (error) {
          const bool slow = error == asio::error::timed_out;
          self->close({slow ? Ended::Why::kSlow : Ended::Why::kPeer, error.message(), {}});
          return;
        }
        self->out_bytes_ -= self->out_.front().size();
        self->out_.pop_front();
        if (!self->out_.empty()) self->write();
      });
}

void Connection::close(Ended ended) {
  if (state_ == State::kEnded) return;
  const auto self = shared_from_this();
  state_ = State::kEnded;
  deadline_.cancel();
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  if (owner_ != nullptr) owner_->on_ended(*this, ended);
}

void Connection::abandon() {
  owner_ = nullptr;
  if (state_ != State::kEnded) close({});
}

}  // namespace elastic::real
