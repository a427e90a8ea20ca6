// The agent's end of one supervisor process.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "transport/real/process/process_table.h"
#include "transport/real/process/protocol.h"

namespace elastic::real {

// Handlers are called from the loop, never from within a call to this class. Dropping the last
// reference outside the loop's handlers is dropping the agent: the supervisor sees the socket
// close. close() first, so that no handler comes any more.
class SupervisorLink : public std::enable_shared_from_this<SupervisorLink> {
 public:
  struct Handlers {
    std::function<void(const SupervisorMessage&)> message;
    // The process is gone, and reaped; every message of it was handed over before. Last call.
    std::function<void()> ended;
  };

  // Starts `program` under the name `name`, with nothing of this process but its environment and
  // working directory. Nothing: it could not be started; `error` says why.
  static std::shared_ptr<SupervisorLink> start(boost::asio::io_context& loop,
                                               const std::string& program, const std::string& name,
                                               std::string& error);
  ~SupervisorLink();

  // From now on. Messages that came before wait.
  void listen(Handlers handlers);
  // Gives 0 or errno: EPIPE if it is gone. A message with descriptors is never queued (EAGAIN).
  int send(const SupervisorMessage& message, std::span<const int> fds = {});
  // SIGKILL to the supervisor itself, and so to its workers; for one that does not answer.
  void kill();
  // No handler is called any more; the supervisor takes it that the agent is gone.
  void close();

  ProcessName process() const { return process_; }

 private:
  explicit SupervisorLink(boost::asio::io_context& loop) : socket_(loop), pidfd_(loop) {}
  void await_messages();
  void await_end();
  void await_room();
  void drain();
  void flush();
  void on_end();

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor pidfd_;
  ProcessName process_;
  Handlers handlers_;
  std::deque<std::vector<std::byte>> outbox_;
  bool awaiting_room_ = false;
  bool told_empty_ = false;
  bool socket_ended_ = false;
  bool reaped_ = false;
  bool closed_ = false;
};

}  // namespace elastic::real
