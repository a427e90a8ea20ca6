// The last lines of a stream, for the failure report.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::real {

constexpr std::size_t kTailBytes = std::size_t{16} << 10;
constexpr std::size_t kTailLines = 64;

// The last lines of `bytes`, oldest first: at most kTailLines, without trailing empty ones. Of a
// line that was drawn over with \r, what was drawn last. `whole`: `bytes` begins with a line.
std::vector<std::string> last_lines(std::string_view bytes, bool whole);

// The last lines of a file, of which at most kTailBytes are read; none if it cannot be read.
std::vector<std::string> last_lines_of_file(const std::string& path);

// Keeps the last kTailBytes of a stream. Thread-safe: one thread appends while others read.
class Tail {
 public:
  void append(std::string_view bytes);
  std::vector<std::string> lines() const;

 private:
  mutable std::mutex mutex_;
  std::string bytes_;  // at most 2 * kTailBytes
  bool whole_ = true;  // nothing was dropped yet
};

}  // namespace elastic::real
