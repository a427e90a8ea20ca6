// Writes one rank's share of a save, and reports it when it is durable.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/checkpoint/place_file.h"
#include "core/checkpoint/save_names.h"

namespace elastic::checkpoint {

struct ShareTask {
  ShareId share;
  AgentId writer;
  FileFact content;
};
using ShareInput = std::variant<ShareTask, DiskAnswer, RetryTimer, AbandonPlacing>;

struct ShareDurable {
  ShareId share;
  FileFact content;
};
using ShareEffect = std::variant<DiskMakeDir, DiskWrite, DiskSync, DiskRename, DiskSyncDir,
                                 DiskRemove, ArmRetry, ShareDurable, PlacingOver>;
using ShareEffects = std::vector<ShareEffect>;

// Goes on with growing pauses for as long as its round lives, whatever the disk says; the training
// does not wait for it. One machine for one share.
class ShareWriter {
 public:
  void step(Time now, const ShareInput& input, ShareEffects& effects);

  const ShareTask& task() const { return task_; }
  const PlaceFile& placing() const { return placing_; }

  void check() const { placing_.check(); }
  std::uint64_t digest() const { return placing_.digest(); }

 private:
  ShareTask task_;
  PlaceFile placing_;
};

}  // namespace elastic::checkpoint
