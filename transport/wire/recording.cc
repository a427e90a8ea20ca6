#include "transport/wire/recording.h"

#include <utility>

#include "transport/wire/codec.h"

namespace elastic::wire {

tl::expected<std::optional<RecordedStep>, std::string> RecordingReader::next() {
  for (;;) {
    const auto frame = frames_.next();
    const std::string where = header_ ? "step " + std::to_string(steps_ + 1) : "header";
    if (!frame) return tl::unexpected(where + ": " + frame.error().message);
    if (!*frame) return std::nullopt;
    const FrameKind wanted = header_ ? FrameKind::kRecordedStep : FrameKind::kRecordingHeader;
    if ((*frame)->kind != wanted) {
      return tl::unexpected(where + ": expected a frame of kind " +
                            std::to_string(static_cast<int>(wanted)) + ", found kind " +
                            std::to_string(static_cast<int>((*frame)->kind)) +
                            "; is this a recording?");
    }
    if (header_) {
      Decoded<RecordedStep> step = decode_recorded_step((*frame)->payload);
      if (!step) return tl::unexpected(where + ": " + step.error().message());
      ++steps_;
      return std::move(*step);
    }
    Decoded<RecordingHeader> header = decode_recording_header((*frame)->payload);
    if (!header) return tl::unexpected(where + ": " + header.error().message());
    header_ = std::move(*header);
  }
}

}  // namespace elastic::wire
