#include "transport/real/logs/tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace elastic::real {

std::vector<std::string> last_lines(std::string_view bytes, bool whole) {
  if (bytes.size() > kTailBytes) {
    bytes.remove_prefix(bytes.size() - kTailBytes);
    whole = false;
  }
  if (!whole) {
    // The first line is torn: left out, unless there is no other.
    const std::size_t first_end = bytes.find('\n');
    if (first_end != std::string_view::npos && first_end + 1 < bytes.size()) {
      bytes.remove_prefix(first_end + 1);
    }
  }
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string_view line = bytes.substr(at, end - at);
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::size_t drawn = line.rfind('\r');
    if (drawn != std::string_view::npos) line.remove_prefix(drawn + 1);
    lines.emplace_back(line);
    at = end + 1;
  }
  while (!lines.empty() && lines.back().find_first_not_of(" \t") == std::string::npos) {
    lines.pop_back();
  }
  if (lines.size() > kTailLines) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kTailLines));
  }
  return lines;
}

std::vector<std::string> last_lines_of_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  struct stat found {};
  std::string bytes;
  if (::fstat(file, &found) == 0 && S_ISREG(found.st_mode)) {
    const auto from = std::max<off_t>(0, found.st_size - static_cast<off_t>(kTailBytes));
    bytes.resize(kTailBytes);
    std::size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t got =
          ::pread(file, bytes.data() + have, bytes.size() - have, from + static_cast<off_t>(have));
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
  }
  ::close(file);
  return last_lines(bytes, found.st_size <= static_cast<off_t>(kTailBytes));
}

void Tail::append(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes.size() >= kTailBytes) {
    whole_ = whole_ && bytes_.empty() && bytes.size() == kTailBytes;
    bytes_.assign(bytes.substr(bytes.size() - kTailBytes));
    return;
  }
  bytes_.append(bytes);
  if (bytes_.size() > 2 * kTailBytes) {
    bytes_.erase(0, bytes_.size() - kTailBytes);
    whole_ = false;
  }
}

std::vector<std::string> Tail::lines() const {
  const std::lock_guard lock(mutex_);
  return last_lines(bytes_, whole_);
}

}  // namespace elastic::real
