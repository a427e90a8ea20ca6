// Writes a run's recording (transport/wire/recording.h): what the node was given, and what it
// answered. Kept in memory for a moment and written by the loop: a recording that cannot be written
// ends, and says so; the job goes on.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "transport/wire/recording.h"

namespace elastic::real {

class Recorder {
 public:
  // The error in words, or a recorder. An existing file is replaced.
  static std::variant<std::unique_ptr<Recorder>, std::string> create(
      const std::string& path, const wire::RecordingHeader& header);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Nothing, or why the recording has ended (told once).
  std::optional<std::string> step(Time at, const Input& input, const Effects& effects);
  void flush();

 private:
  Recorder(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}

  std::FILE* file_;
  std::string path_;
};

}  // namespace elastic::real
