#include "chaos/report/progress.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "chaos/report/figures.h"
#include "chaos/report/look.h"

namespace elastic::chaos {

Progress::Progress()
    : terminal_(isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() +
            (terminal_ ? std::chrono::milliseconds(300) : std::chrono::seconds(10))) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& line) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_ || line == last_) return;
  last_ = line;
  if (terminal_) {
    std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
    next_ = now + std::chrono::milliseconds(200);
    shown_ = true;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
    next_ = now + std::chrono::seconds(10);
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_) return;
  std::fprintf(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

std::string time_left(std::uint64_t done, std::uint64_t total, std::int64_t elapsed_ms) {
  if (done == 0 || done >= total || elapsed_ms < 0) return {};
  const double left = static_cast<double>(elapsed_ms) / static_cast<double>(done) *
                      static_cast<double>(total - done);
  const auto seconds = static_cast<std::int64_t>(left / 1000) + 1;
  return seconds < 60 ? std::to_string(seconds) + " s" : span_text(std::chrono::seconds(seconds));
}

}  // namespace elastic::chaos
