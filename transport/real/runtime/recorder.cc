#include "transport/real/runtime/recorder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "transport/wire/codec.h"
#include "transport/wire/frame.h"

namespace elastic::real {
namespace {

bool put(std::FILE* file, wire::FrameKind kind, const std::string& payload) {
  const auto bytes = wire::frame(kind, payload);
  return bytes && std::fwrite(bytes->data(), 1, bytes->size(), file) == bytes->size();
}

}  // namespace

std::variant<std::unique_ptr<Recorder>, std::string> Recorder::create(
    const std::string& path, const wire::RecordingHeader& header) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) {
    return fmt::format("the recording {} cannot be written: {}", path, std::strerror(errno));
  }
  std::unique_ptr<Recorder> recorder(new Recorder(file, path));
  if (!put(file, wire::FrameKind::kRecordingHeader, wire::encode(header)) ||
      std::fflush(file) != 0) {
    return fmt::format("the recording {} cannot be written: {}", path, std::strerror(errno));
  }
  return recorder;
}

Recorder::~Recorder() {
  if (file_ != nullptr) std::fclose(file_);
}

std::optional<std::string> Recorder::step(Time at, const Input& input, const Effects& effects) {
  if (file_ == nullptr) return std::nullopt;
  if (put(file_, wire::FrameKind::kRecordedStep,
          wire::encode(wire::RecordedStep{at, input, effects}))) {
    return std::nullopt;
  }
  const std::string text =
      fmt::format("the recording {} ends here: {}", path_, std::strerror(errno));
  std::fclose(file_);
  file_ = nullptr;
  return text;
}

void Recorder::flush() {
  if (file_ != nullptr) std::fflush(file_);
}

}  // namespace elastic::real
