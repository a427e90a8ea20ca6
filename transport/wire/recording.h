// A recorded run of one node: what its machines were given, and what they answered. Fed to fresh
// machines it must give the same effects (design section 9).
//
// As bytes it is a sequence of frames (frame.h): one kRecordingHeader, then one kRecordedStep per
// step, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/agent/io.h"
#include "core/membership/config.h"
#include "core/types.h"
#include "transport/wire/decode_error.h"
#include "transport/wire/frame.h"

namespace elastic::wire {

// Grows when a recording made before can no longer be replayed.
constexpr std::uint32_t kRecordingVersion = 1;

struct RecordingHeader {
  std::uint32_t version = kRecordingVersion;
  JobConfig job;
  Timeouts timeouts;
  AgentId agent;
};

struct RecordedStep {
  Time at{};  // on the node's own clock
  Input input;
  Effects effects;
};

// Reads a recording from bytes in any portions. Invariant: no step comes before the header.
// Owner: the caller; one thread at a time.
class RecordingReader {
 public:
  void feed(std::string_view bytes) { frames_.feed(bytes); }
  // The next step; none: feed more, or it ends here. An error (in words) is final.
  tl::expected<std::optional<RecordedStep>, std::string> next();
  // Present as soon as next() has come upon it.
  const std::optional<RecordingHeader>& header() const { return header_; }
  // At the end of a file: true if its last frame is cut off (the recorder was killed).
  bool cut_off() const { return frames_.pending() != 0; }

 private:
  FrameReader frames_;
  std::optional<RecordingHeader> header_;
  std::uint64_t steps_ = 0;
};

}  // namespace elastic::wire
