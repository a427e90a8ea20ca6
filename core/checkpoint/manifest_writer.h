// Writes a save's manifest, and reports it when it is durable: the last thing that is missing
// before the save can be committed.
#pragma once

#include <cstdint>
#include <set>
#include <variant>
#include <vector>

#include "core/checkpoint/place_file.h"
#include "core/checkpoint/save_names.h"

namespace elastic::checkpoint {

struct ManifestTask {
  SaveId save;
  std::uint32_t writers = 1;  // shares that must be durable
  AgentId writer;
};
// That rank has reported its share durable.
struct ShareKnown {
  std::uint32_t rank = 0;
};
// The manifest that names them all: its text, and the digest of its value.
struct ManifestText {
  FileFact content;
  std::uint64_t digest = 0;
};
using ManifestInput =
    std::variant<ManifestTask, ShareKnown, ManifestText, DiskAnswer, RetryTimer, AbandonPlacing>;

struct ManifestDurable {
  SaveId save;
  std::uint64_t digest = 0;
};
using ManifestEffect = std::variant<DiskMakeDir, DiskWrite, DiskSync, DiskRename, DiskSyncDir,
                                    DiskRemove, ArmRetry, ManifestDurable, PlacingOver>;
using ManifestEffects = std::vector<ManifestEffect>;

// Invariants:
//  1. It asks nothing of the disk before every share is known durable and the text is there.
//  2. What it reports durable is what it was given.
class ManifestWriter {
 public:
  ManifestWriter();

  void step(Time now, const ManifestInput& input, ManifestEffects& effects);

  bool all_shares_known() const { return task_.writers == known_.size(); }
  const PlaceFile& placing() const { return placing_; }

  void check() const;
  std::uint64_t digest() const;

 private:
  void begin_if_ready(Time now, PlaceEffects& placed);

  ManifestTask task_;
  bool has_task_ = false;
  std::set<std::uint32_t> known_;
  bool has_text_ = false;
  ManifestText text_;
  PlaceFile placing_;
};

}  // namespace elastic::checkpoint
