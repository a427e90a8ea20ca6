#include "transport/real/process/supervisor_link.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/assert.h"
#include "transport/real/process/own_children.h"
#include "transport/real/process/supervisor_main.h"

namespace elastic::real {
namespace {

using boost::system::error_code;
constexpr auto kReadable = boost::asio::posix::stream_descriptor::wait_read;
constexpr auto kWritable = boost::asio::posix::stream_descriptor::wait_write;

// posix_spawn: no page table is copied, however large the agent.
int spawn(const std::string& program, const std::string& name, int socket, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, socket, kSupervisorSocket);
  // Not even standard error: who reads it to its end would wait for the supervisor, too.
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kSupervisorSocket + 1);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);  // a Ctrl-C in the terminal is for the agent alone
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::string argument = name;
  std::array<char*, 2> argv = {argument.data(), nullptr};
  const int error =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

std::shared_ptr<SupervisorLink> SupervisorLink::start(boost::asio::io_context& loop,
                                                      const std::string& program,
                                                      const std::string& name, std::string& error) {
  reap_abandoned();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    error = errno_text("cannot make a socket pair", errno);
    return nullptr;
  }
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  pid_t pid = 0;
  if (const int failed = spawn(program, name, theirs.get(), pid); failed != 0) {
    error = errno_text("cannot start the supervisor (" + program + ")", failed);
    return nullptr;
  }
  declare_own_child(pid);
  Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const auto stat = read_stat(pid);
  if (!pidfd || !stat) {
    error = errno_text("cannot watch the supervisor", errno);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    forget_own_child(pid);
    return nullptr;
  }
  std::shared_ptr<SupervisorLink> link(new SupervisorLink(loop));
  link->process_ = {pid, stat->start};
  link->socket_.assign(ours.release());
  link->pidfd_.assign(pidfd.release());
  return link;
}

SupervisorLink::~SupervisorLink() { close(); }

void SupervisorLink::listen(Handlers handlers) {
  ELASTIC_ASSERT(!closed_);
  handlers_ = std::move(handlers);
  await_messages();
  await_end();
}

void SupervisorLink::await_messages() {
  socket_.async_wait(kReadable, [weak = weak_from_this()](const error_code& failed) {
    const auto self = weak.lock();
    if (!self || failed || self->closed_) return;
    self->drain();
    if (self->closed_) return;
    if (!self->socket_ended_) return self->await_messages();
    // It does not listen any more, and has not said that it is done.
    if (!self->told_empty_) self->kill();
  });
}

void SupervisorLink::drain() {
  std::array<std::byte, kMaxMessageBytes> buffer;
  while (!closed_ && !socket_ended_) {
    const ReceivedPacket packet =
        receive_packet(socket_.native_handle(), buffer.data(), buffer.size());
    if (packet.kind == ReceivedPacket::Kind::kNothing) return;
    socket_ended_ = packet.kind == ReceivedPacket::Kind::kClosed;
    if (socket_ended_) return;
    const auto message =
        packet.truncated ? std::nullopt : decode(std::span(buffer).first(packet.size));
    if (!message) {
      socket_ended_ = true;
      return;
    }
    told_empty_ = told_empty_ || std::holds_alternative<ToldEmpty>(*message);
    if (handlers_.message) handlers_.message(*message);
  }
}

void SupervisorLink::await_end() {
  pidfd_.async_wait(kReadable, [weak = weak_from_this()](const error_code& failed) {
    const auto self = weak.lock();
    if (self && !failed && !self->closed_) self->on_end();
  });
}

void SupervisorLink::on_end() {
  if (::waitpid(process_.pid, nullptr, WNOHANG) == 0) return await_end();
  reaped_ = true;
  forget_own_child(process_.pid);
  drain();
  if (closed_) return;
  const auto ended = std::move(handlers_.ended);
  close();
  if (ended) ended();
}

int SupervisorLink::send(const SupervisorMessage& message, std::span<const int> fds) {
  if (closed_ || socket_ended_) return EPIPE;
  std::vector<std::byte> bytes = encode(message);
  if (outbox_.empty()) {
    const int error = send_packet(socket_.native_handle(), bytes.data(), bytes.size(), fds);
    if (error == 0 || !fds.empty() || (error != EAGAIN && error != ENOBUFS)) return error;
  } else if (!fds.empty()) {
    return EAGAIN;
  } else if (std::holds_alternative<RenewTree>(message)) {
    // Of several that wait, the newest says it all.
    const auto last = decode(outbox_.back());
    if (last && std::holds_alternative<RenewTree>(*last)) outbox_.pop_back();
  }
  outbox_.push_back(std::move(bytes));
  await_room();
  return 0;
}

void SupervisorLink::await_room() {
  if (awaiting_room_ || closed_) return;
  awaiting_room_ = true;
  socket_.async_wait(kWritable, [weak = weak_from_this()](const error_code& failed) {
    const auto self = weak.lock();
    if (!self) return;
    self->awaiting_room_ = false;
    if (!failed && !self->closed_) self->flush();
  });
}

void SupervisorLink::flush() {
  while (!outbox_.empty()) {
    const std::vector<std::byte>& bytes = outbox_.front();
    const int error = send_packet(socket_.native_handle(), bytes.data(), bytes.size(), {});
    if (error == EAGAIN || error == ENOBUFS) return await_room();
    if (error != 0) return outbox_.clear();  // its end is told by the other way
    outbox_.pop_front();
  }
}

void SupervisorLink::kill() {
  if (!reaped_) ::kill(process_.pid, SIGKILL);
}

void SupervisorLink::close() {
  if (closed_) return;
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
  pidfd_.close(ignored);
  if (!reaped_ && process_.pid > 0) abandon_own_child(process_.pid);
}

}  // namespace elastic::real
