// Reads a whole save back and says whether it is what was committed.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/checkpoint/disk_io.h"
#include "core/checkpoint/save_names.h"

namespace elastic::checkpoint {

struct VerifyTask {
  SaveId save;
  std::uint64_t manifest_digest = 0;  // of the Checkpoint record
};
using VerifyInput = std::variant<VerifyTask, DiskAnswer, ManifestAnswer, RetryTimer>;

struct SaveJudged {
  SaveId save;
  std::string why;  // what was found, and what was expected; empty: the save is intact
  bool intact() const { return why.empty(); }
};
using VerifyEffect = std::variant<DiskReadManifest, DiskRead, ArmRetry, SaveJudged>;
using VerifyEffects = std::vector<VerifyEffect>;

// Invariants:
//  1. It judges once. Intact means that manifest and every file were read with the lengths and
//     digests that the record and the manifest name.
//  2. A file system that does not answer, or answers with an error, is asked again with growing
//     pauses and never taken for a broken save; only what was read, or is missing, counts.
class SaveVerifier {
 public:
  void step(Time now, const VerifyInput& input, VerifyEffects& effects);

  bool judged() const { return judged_; }

  void check() const;
  std::uint64_t digest() const;

 private:
  void read_next(VerifyEffects& effects);
  void retry_later(VerifyEffects& effects);
  void judge(const std::string& why, VerifyEffects& effects);
  void on_manifest(const ManifestAnswer& answer, VerifyEffects& effects);
  void on_file(const DiskAnswer& answer, VerifyEffects& effects);

  VerifyTask task_;
  bool has_task_ = false;
  std::uint64_t ops_ = 0;
  bool in_flight_ = false;
  std::uint32_t failures_in_row_ = 0;
  std::vector<FileEntry> files_;  // of the manifest, once it was read
  bool has_manifest_ = false;
  std::size_t next_file_ = 0;
  bool judged_ = false;
};

}  // namespace elastic::checkpoint
