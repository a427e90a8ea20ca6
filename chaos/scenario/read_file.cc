#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "chaos/scenario/tree.h"

namespace elastic::chaos {
namespace {

// Closes what it holds.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

tl::unexpected<Errors> fail(const std::string& path, std::string message) {
  Errors errors;
  errors.add({path, 0, 0}, std::move(message));
  return tl::unexpected(errors);
}

}  // namespace

tl::expected<std::string, Errors> read_regular_file(const std::string& path,
                                                    std::size_t max_bytes) {
  if (path.find('\0') != std::string::npos) return fail(path, "not a file name");
  // O_NONBLOCK: opening a pipe without a writer must not wait.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return fail(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) {
    return fail(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) return fail(path, "is a directory, not a file");
  if (!S_ISREG(info.st_mode)) return fail(path, "is not a regular file");
  const auto too_large = [&] {
    return fail(path, fmt::format("is larger than {} MiB", max_bytes >> 20U));
  };
  if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) > max_bytes) return too_large();
  std::string text;
  char buffer[1U << 16U];
  while (true) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) return text;
    // A file may grow, and some (in /proc) say that they are empty.
    if (text.size() + static_cast<std::size_t>(got) > max_bytes) return too_large();
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace elastic::chaos
