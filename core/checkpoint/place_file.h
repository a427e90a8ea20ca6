// The one way in which a file becomes durable: make the directory and sync its parent, write under
// a temporary name, sync the file, rename it, sync the directory.
//
// An operation that failed is never repeated alone: the whole file is written again under another
// temporary name. After a failed sync the kernel may have dropped what was to be written and call
// the next sync a success (Linux; see PostgreSQL's "fsyncgate" of 2018), and after an unknown
// outcome the operation may still land. Alternative rejected: writing in place; a torn file would
// have its final name.
//
// Invariants:
//  1. A rename follows only a successful sync of the same attempt's temporary file.
//  2. `durable` is told only after every operation of one attempt has succeeded, in order.
//  3. At most one operation is in flight.
//  4. It removes nothing but its own temporary files and, where the save can surely never be
//     committed, its own final one. The save's directory stays, since others write there, too.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/checkpoint/disk_io.h"
#include "core/types.h"

namespace elastic::checkpoint {

struct PlaceTask {
  std::string directory;  // directly below the checkpoint directory
  std::string name;       // in it, when the file is whole
  AgentId writer;
  FileFact content;
};

// The round of the save is dead, or the save is no longer wanted. `never_committed`: a newer World
// is in the journal and no Checkpoint before it names this save, so none ever will.
struct AbandonPlacing {
  bool never_committed = false;
};
using PlaceInput = std::variant<PlaceTask, DiskAnswer, RetryTimer, AbandonPlacing>;

struct FileDurable {
  FileFact content;
};
// Nothing more will be done; what could be removed is.
struct PlacingOver {};
using PlaceEffect = std::variant<DiskMakeDir, DiskWrite, DiskSync, DiskRename, DiskSyncDir,
                                 DiskRemove, ArmRetry, FileDurable, PlacingOver>;
using PlaceEffects = std::vector<PlaceEffect>;

constexpr Duration kFirstRetry = std::chrono::milliseconds(100);
constexpr Duration kFirstRetryWhenFull = std::chrono::seconds(5);
constexpr Duration kLastRetry = std::chrono::seconds(30);

class PlaceFile {
 public:
  enum class Stage : std::uint8_t {
    kIdle,
    kRemoveOld,  // the last attempt's temporary file: it may be what fills the disk
    kMakeDir,
    kSyncParent,  // the directory's own entry
    kWrite,
    kSync,
    kRename,
    kSyncDir,
    kBackOff,
    kDurable,  // removes what earlier attempts left
    kAbandoned,
    kOver,
  };
  enum class SyncFirst : bool { kNo, kYes };  // kNo is a planted bug's

  explicit PlaceFile(SyncFirst sync_first = SyncFirst::kYes) : sync_first_(sync_first) {}

  void step(Time now, const PlaceInput& input, PlaceEffects& effects);

  Stage stage() const { return stage_; }
  bool durable() const { return durable_; }
  // Why the last attempt failed; kOk: none has. For `status`.
  DiskOutcome last_failure() const { return last_failure_; }
  std::uint64_t attempts() const { return attempt_; }

  void check() const;
  std::uint64_t digest() const;

 private:
  void begin_attempt(PlaceEffects& effects);
  void go(Stage stage, PlaceEffects& effects);
  void on_answer(const DiskAnswer& answer, PlaceEffects& effects);
  void failed(DiskOutcome outcome, PlaceEffects& effects);
  void abandon(PlaceEffects& effects);
  void clean(PlaceEffects& effects);
  std::string path(const std::string& name) const { return task_.directory + "/" + name; }
  std::string temporary(std::uint64_t attempt) const;
  OpId next() { return OpId{++ops_}; }

  SyncFirst sync_first_;
  PlaceTask task_;
  Stage stage_ = Stage::kIdle;
  std::uint64_t ops_ = 0;
  bool in_flight_ = false;
  std::uint64_t attempt_ = 0;
  std::uint32_t failures_in_row_ = 0;
  DiskOutcome last_failure_ = DiskOutcome::kOk;
  bool synced_ = false;        // the present attempt's file
  bool rename_asked_ = false;  // in any attempt: the final name may be there
  bool durable_ = false;
  bool abandoned_ = false;
  bool never_committed_ = false;
  std::vector<std::string> to_remove_;  // at most kMaxLeftovers + 1
};

}  // namespace elastic::checkpoint
