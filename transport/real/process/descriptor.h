// File descriptors, and bytes with descriptors over a socket.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/types.h"

namespace elastic::real {

// Owns one file descriptor. Every one made here is closed on exec.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

// CLOCK_MONOTONIC: the same for all processes of one machine.
Time monotonic_now();

// "what: text of errno".
std::string errno_text(const std::string& what, int error);

// A whole file of at most `limit` bytes; empty where it cannot be read. Works on /proc.
std::string read_small_file(const std::string& path, std::size_t limit = 1 << 20);

// Writes the whole of a file beside `path` and renames it into place. `sync`: it is on the disk on
// return. Gives 0 or errno.
int replace_file(const std::string& path, const std::string& content, bool sync);

// One datagram on a SOCK_SEQPACKET socket, with descriptors. Never blocks, never raises SIGPIPE.
// Gives 0 or errno.
int send_packet(int socket, const void* data, std::size_t size, std::span<const int> fds);

struct ReceivedPacket {
  enum class Kind { kData, kNothing, kClosed } kind = Kind::kNothing;
  std::size_t size = 0;    // bytes put into the buffer
  bool truncated = false;  // more bytes or descriptors had been sent
  std::vector<Descriptor> fds;
};
ReceivedPacket receive_packet(int socket, void* buffer, std::size_t capacity);

}  // namespace elastic::real
