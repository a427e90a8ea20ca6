// Standard output and standard error of this process, written by threads of their own, so that a
// terminal that is stopped or a pipe that nobody reads never blocks who has something to say.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/types.h"

namespace elastic::real {

// Promises:
//  1. No call blocks, except flush(), which has a bound.
//  2. Takes whole lines and writes them in the order taken; lines of several processes on one pipe
//     do not mix within a line of up to 4,096 bytes (PIPE_BUF).
//  3. Holds at most `bound_bytes` and one offer more per target, plus kReserve of say().
//  4. A reader that is gone (EPIPE, a terminal that hung up) turns that target off: what is offered
//     from then on is taken and forgotten. Nothing ends because of it.
//  5. Does not change the flags of the descriptors that it was given (other processes share them).
// Where both targets are the same terminal or pipe they share one queue, so that the order among
// them is kept; otherwise a stuck standard output does not hold up standard error.
// A thread starts with the first line. A Console is a handle: copies share queues and threads, the
// last one waits up to kEndBound for what is queued. Thread-safe.
class Console {
 public:
  enum class Target : std::uint8_t { kOut, kErr };
  struct Options {
    int out = STDOUT_FILENO;
    int err = STDERR_FILENO;
    std::size_t bound_bytes = std::size_t{1} << 20;
  };
  static constexpr std::size_t kReserve = std::size_t{256} << 10;  // bytes
  static constexpr Duration kEndBound{500'000'000};

  Console() : Console(Options{}) {}
  explicit Console(const Options& options);

  // Takes `lines` (whole ones, each with its \n) and returns true; or takes nothing and returns
  // false because the queue is full: wait for on_room(), then offer again.
  bool offer(Target target, std::string_view lines);
  // The agent's own line, to which \n is added. Takes it even when the queue is full; beyond
  // kReserve it is left out, and the number of lines left out is told once there is room.
  void say(Target target, std::string_view line);
  // Calls `call` once, from a thread of the console, as soon as at most half of the bound is queued
  // or the target is off; at once, from this thread, if that is so now.
  void on_room(Target target, std::function<void()> call);
  // For how long the target has accepted no byte although some are queued; zero if none are.
  Duration stuck_for(Target target) const;
  bool off(Target target) const;
  // Waits until all that was taken is written or forgotten, at most `bound`. False: not all is.
  bool flush(Duration bound);

 private:
  struct Channels;
  std::shared_ptr<Channels> channels_;
};

}  // namespace elastic::real
