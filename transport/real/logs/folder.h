// Where the logs of one life of an agent lie:
//
//   <log dir>/<job>_<start>/round-<N>/rank-<R>/{stdout.log,stderr.log,error.json,where.json}
//   <log dir>/<job>_<start>/round-<N>/filtered_{stdout,stderr}.log
//
// R is the global rank. Nothing is ever deleted or overwritten: every life of an agent makes its
// own <job>_<start>, every round its own folder, and a name that is taken gets a number behind it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "core/types.h"

namespace elastic::real {

// `job` as the name of a folder: letters, digits, '.', '_' and '-' stay, anything else becomes '_';
// at most 64 bytes, never empty and never starting with a dot.
std::string safe_name(std::string_view job);

// One worker in one round.
struct LogPlace {
  RoundId round;
  int local_rank = 0;
  int rank = 0;  // global
};

struct JobFolderOptions {
  std::string log_dir;  // empty: a new folder for temporary files; "/dev/null": no log files
  std::string job;
  std::string node;  // name of this node, as people know it
  std::string host;  // name of the machine
};

class JobFolder {
 public:
  // Makes the folder of this life. The error says what could not be made, and why.
  static tl::expected<JobFolder, std::string> make(const JobFolderOptions& options);

  // False with "/dev/null": only error files are kept, in a temporary folder.
  bool has_logs() const { return has_logs_; }
  const std::string& path() const { return path_; }

  // The folder of one worker, newly made.
  tl::expected<std::string, std::string> make_rank(const LogPlace& placement) const;
  // Creates a file that must not exist yet and opens it for appending (and reading, so that the
  // console can follow it). Close-on-exec.
  static tl::expected<int, std::string> create_file(const std::string& path);
  // Opens for appending what several workers of a round share.
  tl::expected<int, std::string> shared_file(RoundId round, std::string_view name) const;
  // Says on disk which node, process and rank a rank's folder belongs to (where.json). A file that
  // is there is replaced at once, never half. False if it cannot be written.
  bool write_where(const std::string& rank_folder, const LogPlace& placement,
                   std::optional<pid_t> pid) const;
  // Removes the temporary folder of error files. Log files are never removed.
  void remove_if_temporary() const;

 private:
  JobFolderOptions options_;
  std::string path_;
  bool has_logs_ = true;
};

}  // namespace elastic::real
