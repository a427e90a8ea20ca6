// A file system that keeps only what was synced: the adversary of core/checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/disk_io.h"
#include "core/types.h"
#include "transport/sim/chance.h"

namespace elastic::sim {

// A file's bytes, modelled: their number and a few words that stand for them. What is torn or
// rotten has another digest.
struct DiskContent {
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> words;
  std::uint64_t flaw = 0;  // rot in a file without words
  bool operator==(const DiskContent&) const = default;

  checkpoint::FileFact fact() const;
  // The first `bytes_kept` bytes of it.
  DiskContent prefix(std::uint64_t bytes_kept) const;
};

struct DiskModel {
  Duration latency{std::chrono::milliseconds(1)};  // of each operation, plus up to `jitter`
  Duration jitter{std::chrono::milliseconds(1)};
  std::int64_t bytes_per_second = 1'000'000'000;
  std::uint64_t capacity = UINT64_MAX;                // bytes
  Duration latest_landing{std::chrono::seconds(60)};  // of an operation that nobody waits for
};

enum class DiskOpKind : std::uint8_t {
  kMakeDir,
  kWrite,
  kSync,
  kRename,  // within one directory
  kSyncDir,
  kRead,
  kRemove,
};

struct DiskRequest {
  NodeId client;
  DiskOpKind kind = DiskOpKind::kRead;
  std::string path;  // "." is the root
  std::string to;    // kRename
  DiskContent content;
};

struct DiskReply {
  checkpoint::DiskOutcome outcome = checkpoint::DiskOutcome::kOk;
  DiskContent found;  // of a read that is ok
};

using DiskTicket = Id<struct DiskTicketTag>;

// One file system, local (one client) or shared. It keeps no time: whoever drives it calls
// complete() `after` the submission.
//
// What each operation promises is what POSIX does, and no more:
//  1. A file's bytes are durable after its sync. What was not synced is, after a crash of its
//     writer, old, torn (a prefix) or whole, by a draw for each write.
//  2. An entry (a file made, renamed, removed; a directory made) is durable after a sync of its
//     directory. Of those that were not synced, a crash leaves any subset, by a draw for each:
//     later ones without earlier ones, entries without their bytes, bytes without their entries.
//  3. A rename is one change: no crash shows half of it.
//  4. An operation that was in flight when its client crashed, or when the file system could not be
//     reached, is lost or lands up to `latest_landing` later; nobody is told.
// Other clients see everything at once, synced or not (so what they have seen may vanish).
class Disk {
 public:
  Disk(const Chance& chance, std::uint64_t number, const DiskModel& model);

  struct Submitted {
    DiskTicket ticket;
    Duration after{};
  };
  Submitted submit(DiskRequest request);

  struct Completed {
    std::optional<DiskReply> reply;        // none: nobody waits for it any more
    std::optional<Submitted> lands_later;  // to be completed again
  };
  Completed complete(DiskTicket ticket);

  // The machine is gone. Gives what still lands of what it had in flight.
  std::vector<Submitted> crash(NodeId client);

  void set_available(bool available) { available_ = available; }
  void set_full(bool full) { full_ = full; }
  void set_slow(std::uint64_t ppm) { slow_ppm_ = ppm; }  // of the normal time
  // One bit flips in one of the files that were synced, picked by `drawn`. Its path, if there is
  // one.
  std::optional<std::string> rot(std::uint64_t drawn);
  // One bit flips in that file, if it is there and has bytes.
  bool rot_file(const std::string& path, std::uint64_t drawn);

  // Truth, for oracles and tests: what everybody sees, and what a crash of everybody would leave
  // for certain.
  std::optional<DiskContent> visible(const std::string& path) const;
  std::optional<DiskContent> durable(const std::string& path) const;
  std::vector<std::string> list(const std::string& directory) const;  // sorted

  void check() const;
  std::uint64_t digest() const;

 private:
  using Inode = std::uint64_t;  // zero: none
  static constexpr Inode kRoot = 1;

  struct Entry {
    Inode inode = 0;          // zero: removed
    std::uint64_t order = 0;  // of the change that made it so
  };
  using Entries = std::map<std::string, Entry>;
  // A change of a directory that is not durable yet.
  struct Change {
    std::uint64_t order = 0;
    NodeId client;
    std::uint64_t op = 0;  // the client's own number of it
    std::vector<std::pair<std::string, Inode>> sets;
  };
  struct Node {
    bool directory = false;
    DiskContent now, synced;
    bool dirty = false;
    NodeId writer;         // of `now`, if dirty
    std::uint64_t op = 0;  // its number of that write
    Entries visible_entries, durable_entries;
    std::vector<Change> pending;  // in order
  };
  struct Asked {
    DiskRequest request;
    std::uint64_t op = 0;
    bool waited_for = true;
  };
  struct Place {
    Inode parent = 0;  // zero: not there
    Inode inode = 0;
    std::string name;
  };

  std::uint64_t draw(Purpose purpose, NodeId client, std::uint64_t op) const;
  Submitted later(DiskTicket ticket, const Asked& asked) const;
  Place resolve(const std::string& path, bool as_synced = false) const;
  DiskReply execute(const Asked& asked);
  DiskReply make_directory(const Asked& asked, const Place& place);
  DiskReply write(const Asked& asked, const Place& place);
  DiskReply rename(const Asked& asked, const Place& place);
  DiskReply remove(const Asked& asked, const Place& place);
  void sync_directory(Node& directory);
  void change(Inode directory, const Asked& asked, std::vector<std::pair<std::string, Inode>> sets);
  static void apply(Entries& entries, const Change& change);
  void show(Node& directory);
  void crash_file(Node& node);
  void crash_directory(Node& node, NodeId client);
  static std::vector<Inode> inodes_of(const Node& directory);
  void drop_unnamed(Node& directory, std::vector<Inode> named);
  void forget(Inode inode);

  Chance chance_;
  std::uint64_t number_;
  DiskModel model_;
  bool available_ = true;
  bool full_ = false;
  std::uint64_t slow_ppm_ = 1'000'000;
  std::map<Inode, Node> nodes_;
  Inode last_inode_ = kRoot;
  std::uint64_t orders_ = 0;
  std::uint64_t tickets_ = 0;
  std::map<DiskTicket, Asked> asked_;
  std::map<NodeId, std::uint64_t> ops_;
  std::uint64_t used_ = 0;
};

}  // namespace elastic::sim
