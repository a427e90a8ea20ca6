// What the checkpoint machines ask of a file system, and what it answers. Paths are relative to the
// job's checkpoint directory, which is "."; files hold what their FileFact says: the driver has the
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/checkpoint/manifest.h"
#include "core/types.h"

namespace elastic::checkpoint {

// Numbers the operations of one machine, from 1, so that a late answer is known as such.
using OpId = Id<struct DiskOpTag>;

// One that is there already is as good.
struct DiskMakeDir {
  OpId op;
  std::string path;
};
// Creates or empties the file, and writes all of `content`.
struct DiskWrite {
  OpId op;
  std::string path;
  FileFact content;
};
struct DiskSync {
  OpId op;
  std::string path;
};
struct DiskRename {
  OpId op;
  std::string from, to;
};
struct DiskSyncDir {
  OpId op;
  std::string path;
};
// Gives length and digest of what is there now.
struct DiskRead {
  OpId op;
  std::string path;
};
// Reads and parses; answered by ManifestAnswer.
struct DiskReadManifest {
  OpId op;
  std::string path;
};
// A file, or an empty directory.
struct DiskRemove {
  OpId op;
  std::string path;
};

enum class DiskOutcome : std::uint8_t {
  kOk,
  kFull,         // no space, or no quota: part of it may be there
  kUnavailable,  // nobody answered: it may have happened, or may still happen
  kIoError,      // part of it may be there
  kStale,        // the handle names nothing any more: a directory was lost or replaced
  kMissing,      // there is no such file
};

struct DiskAnswer {
  OpId op;
  DiskOutcome outcome = DiskOutcome::kOk;
  FileFact found;  // of a DiskRead that is ok
};
// A manifest that does not parse is none.
struct ManifestAnswer {
  OpId op;
  DiskOutcome outcome = DiskOutcome::kOk;
  std::optional<Manifest> manifest;
};

// A machine's one timer; arming it again replaces it.
struct ArmRetry {
  Duration after{};
};
struct RetryTimer {};

}  // namespace elastic::checkpoint
