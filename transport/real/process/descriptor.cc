#include "transport/real/process/descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace elastic::real {
namespace {
constexpr std::size_t kMaxFds = 253;  // the kernel's SCM_MAX_FD

int write_all(int fd, const std::string& content) {
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t wrote = ::write(fd, content.data() + done, content.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : EIO;
    done += static_cast<std::size_t>(wrote);
  }
  return 0;
}
}  // namespace

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Time monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Time(std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec));
}

std::string errno_text(const std::string& what, int error) {
  char text[128] = {};
  return what + ": " + ::strerror_r(error, text, sizeof text);
}

std::string read_small_file(const std::string& path, std::size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  std::string content;
  if (!file) return content;
  char buffer[4096];
  while (content.size() < limit) {
    const ssize_t got = ::read(file.get(), buffer, std::min(sizeof buffer, limit - content.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    content.append(buffer, static_cast<std::size_t>(got));
  }
  return content;
}

int replace_file(const std::string& path, const std::string& content, bool sync) {
  const std::string scratch = path + "." + std::to_string(::getpid());
  Descriptor file(
      ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno;
  int error = write_all(file.get(), content);
  if (error == 0 && sync && ::fsync(file.get()) != 0) error = errno;
  file.close();
  if (error == 0 && ::rename(scratch.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(scratch.c_str());
    return error;
  }
  if (!sync) return 0;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened && ::fsync(opened.get()) == 0 ? 0 : errno;
}

int send_packet(int socket, const void* data, std::size_t size, std::span<const int> fds) {
  iovec part{const_cast<void*>(data), size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))] = {};
  if (fds.size() > kMaxFds) return E2BIG;
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  for (;;) {
    if (::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

ReceivedPacket receive_packet(int socket, void* buffer, std::size_t capacity) {
  iovec part{buffer, capacity};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ReceivedPacket packet;
  ssize_t got = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  // A peer that left with something unread: told once, ahead of what it had sent.
  for (int tries = 0; tries < 3 && got < 0 && (errno == ECONNRESET || errno == EINTR); ++tries) {
    got = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  }
  if (got < 0) {
    const bool later = errno == EAGAIN || errno == EINTR;
    packet.kind = later ? ReceivedPacket::Kind::kNothing : ReceivedPacket::Kind::kClosed;
    return packet;
  }
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      packet.fds.emplace_back(fd);
    }
  }
  packet.kind = got == 0 ? ReceivedPacket::Kind::kClosed : ReceivedPacket::Kind::kData;
  packet.size = static_cast<std::size_t>(got);
  packet.truncated = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  return packet;
}

}  // namespace elastic::real
