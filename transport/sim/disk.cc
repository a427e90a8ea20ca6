#include "transport/sim/disk.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/digest.h"
#include "core/math/integer.h"

namespace elastic::sim {
namespace {

using checkpoint::DiskOutcome;

constexpr std::uint64_t kMillion = 1'000'000;

DiskReply outcome(DiskOutcome what) { return {what, {}}; }

void flip_a_bit(DiskContent& content, std::uint64_t drawn) {
  if (content.words.empty()) {
    content.flaw ^= 1ULL << (drawn & 63U);
    return;
  }
  content.words[(drawn >> 6U) % content.words.size()] ^= 1ULL << (drawn & 63U);
}

}  // namespace

checkpoint::FileFact DiskContent::fact() const {
  math::Digest digest;
  digest.add(bytes);
  digest.add(flaw);
  for (const std::uint64_t word : words) digest.add(word);
  return {bytes, digest.value()};
}

DiskContent DiskContent::prefix(std::uint64_t bytes_kept) const {
  if (bytes_kept >= bytes) return *this;
  DiskContent part = *this;
  part.bytes = bytes_kept;
  part.words.resize(math::mul_div_u64(words.size(), bytes_kept, bytes));
  return part;
}

Disk::Disk(const Chance& chance, std::uint64_t number, const DiskModel& model)
    : chance_(chance), number_(number), model_(model) {
  nodes_[kRoot].directory = true;
}

std::uint64_t Disk::draw(Purpose purpose, NodeId client, std::uint64_t op) const {
  return chance_.draw(purpose, link_subject(NodeId{number_}, client), op);
}

Disk::Submitted Disk::submit(DiskRequest request) {
  const DiskTicket ticket{++tickets_};
  const std::uint64_t op = ++ops_[request.client];
  Duration after = model_.latency;
  const std::uint64_t drawn = draw(Purpose::kDiskTime, request.client, op);
  after += Duration(math::between(drawn, 0, model_.jitter.count()));
  const bool moves = request.kind == DiskOpKind::kWrite || request.kind == DiskOpKind::kSync;
  const std::uint64_t bytes = moves ? request.content.bytes : 0;
  const auto rate = static_cast<std::uint64_t>(std::max<std::int64_t>(model_.bytes_per_second, 1));
  const std::uint64_t moving = math::mul_div_u64(bytes, 1'000'000'000, rate);
  const std::uint64_t normal = math::add_sat_u64(static_cast<std::uint64_t>(after.count()), moving);
  const std::uint64_t time = math::mul_div_u64(normal, slow_ppm_, kMillion);
  constexpr std::uint64_t kLongest = 1'000'000'000'000'000;  // eleven days
  asked_.emplace(ticket, Asked{std::move(request), op, true});
  return {ticket, Duration(static_cast<std::int64_t>(std::min(time, kLongest)))};
}

Disk::Submitted Disk::later(DiskTicket ticket, const Asked& asked) const {
  const std::uint64_t drawn = draw(Purpose::kDiskLanding, asked.request.client, asked.op);
  return {ticket, Duration(math::between(drawn, 0, model_.latest_landing.count()))};
}

Disk::Completed Disk::complete(DiskTicket ticket) {
  const auto at = asked_.find(ticket);
  ELASTIC_ASSERT(at != asked_.end());
  Completed completed;
  if (available_) {
    const DiskReply reply = execute(at->second);
    if (at->second.waited_for) completed.reply = reply;
    asked_.erase(at);
    return completed;
  }
  // The asker is told that nobody answered; the operation has happened, or not, or still will.
  if (at->second.waited_for) completed.reply = outcome(DiskOutcome::kUnavailable);
  const std::uint64_t drawn = draw(Purpose::kDiskLate, at->second.request.client, at->second.op);
  switch (drawn % 3) {
    case 0:
      execute(at->second);
      asked_.erase(at);
      break;
    case 1:
      asked_.erase(at);
      break;
    default:
      at->second.waited_for = false;
      completed.lands_later = later(ticket, at->second);
  }
  return completed;
}

std::vector<Disk::Submitted> Disk::crash(NodeId client) {
  for (auto& [inode, node] : nodes_) {
    if (node.dirty && node.writer == client) crash_file(node);
  }
  std::vector<Inode> directories;
  for (const auto& [inode, node] : nodes_) {
    if (node.directory) directories.push_back(inode);
  }
  for (const Inode inode : directories) {  // one of them may vanish with another
    const auto at = nodes_.find(inode);
    if (at != nodes_.end()) crash_directory(at->second, client);
  }
  std::vector<Submitted> landing;
  for (auto at = asked_.begin(); at != asked_.end();) {
    Asked& asked = at->second;
    if (asked.request.client != client || !asked.waited_for) {
      ++at;
      continue;
    }
    const std::uint64_t drawn = draw(Purpose::kDiskLate, client, asked.op);
    if (drawn % 2 == 0) {
      at = asked_.erase(at);
      continue;
    }
    asked.waited_for = false;
    if (asked.request.kind == DiskOpKind::kWrite) {
      const std::uint64_t kept = draw(Purpose::kDiskTorn, client, asked.op);
      const std::uint64_t bytes = asked.request.content.bytes;
      asked.request.content = asked.request.content.prefix(math::below(kept, bytes + 1));
    }
    landing.push_back(later(at->first, asked));
    ++at;
  }
  return landing;
}

void Disk::crash_file(Node& node) {
  ELASTIC_ASSERT(node.dirty && !node.directory);
  const std::uint64_t drawn = draw(Purpose::kDiskLost, node.writer, node.op);
  const std::uint64_t kept = draw(Purpose::kDiskTorn, node.writer, node.op);
  used_ -= node.now.bytes;
  if (drawn % 4 == 0) {
    node.now = node.synced;
  } else if (drawn % 4 != 1) {
    node.now = node.now.prefix(math::below(kept, node.now.bytes + 1));
  }
  used_ += node.now.bytes;
  node.synced = node.now;
  node.dirty = false;
}

void Disk::crash_directory(Node& node, NodeId client) {
  std::vector<Change> others;
  std::vector<Inode> named = inodes_of(node);
  for (const Change& change : node.pending) {
    if (change.client != client) {
      others.push_back(change);
    } else if ((draw(Purpose::kDiskLost, client, change.op) >> 32U) % 2 == 0) {
      apply(node.durable_entries, change);
    }
  }
  if (others.size() == node.pending.size()) return;
  node.pending = std::move(others);
  show(node);
  drop_unnamed(node, std::move(named));
}

// ---- Names

Disk::Place Disk::resolve(const std::string& path, bool as_synced) const {
  Place place;
  if (path == ".") return {0, kRoot, "."};
  Inode directory = kRoot;
  std::size_t from = 0;
  while (true) {
    const std::size_t slash = path.find('/', from);
    const Node& node = nodes_.at(directory);
    const Entries& entries = as_synced ? node.durable_entries : node.visible_entries;
    const std::string name = path.substr(from, slash == std::string::npos ? slash : slash - from);
    const auto at = entries.find(name);
    const Inode inode = at == entries.end() ? 0 : at->second.inode;
    if (slash == std::string::npos) return {directory, inode, name};
    if (inode == 0 || !nodes_.at(inode).directory) return {};
    directory = inode;
    from = slash + 1;
  }
}

void Disk::apply(Entries& entries, const Change& change) {
  for (const auto& [name, inode] : change.sets) {
    Entry& entry = entries[name];
    if (entry.order < change.order) entry = {inode, change.order};
  }
}

// What everybody sees: what is durable, and then what is not.
void Disk::show(Node& directory) {
  directory.visible_entries = directory.durable_entries;
  for (const Change& change : directory.pending) apply(directory.visible_entries, change);
}

void Disk::change(Inode directory, const Asked& asked,
                  std::vector<std::pair<std::string, Inode>> sets) {
  Node& node = nodes_.at(directory);
  ELASTIC_ASSERT(node.directory);
  const Change made{++orders_, asked.request.client, asked.op, std::move(sets)};
  apply(node.visible_entries, made);
  if (asked.waited_for) {
    node.pending.push_back(made);
  } else {  // of a client that will not crash again: it is on the disk
    apply(node.durable_entries, made);
  }
}

void Disk::sync_directory(Node& directory) {
  std::vector<Inode> named = inodes_of(directory);
  for (const Change& change : directory.pending) apply(directory.durable_entries, change);
  directory.pending.clear();
  show(directory);
  drop_unnamed(directory, std::move(named));
}

std::vector<Disk::Inode> Disk::inodes_of(const Node& directory) {
  std::vector<Inode> inodes;
  for (const auto& [name, entry] : directory.visible_entries) inodes.push_back(entry.inode);
  for (const auto& [name, entry] : directory.durable_entries) inodes.push_back(entry.inode);
  for (const Change& change : directory.pending) {
    for (const auto& [name, inode] : change.sets) inodes.push_back(inode);
  }
  std::sort(inodes.begin(), inodes.end());
  inodes.erase(std::unique(inodes.begin(), inodes.end()), inodes.end());
  return inodes;
}

// Forgets what was named and is no more by anything in this directory: files never move to others.
void Disk::drop_unnamed(Node& directory, std::vector<Inode> named) {
  if (directory.pending.empty()) {  // no older change can come back: no need to remember removals
    const auto removed = [](const auto& entry) { return entry.second.inode == 0; };
    std::erase_if(directory.durable_entries, removed);
    std::erase_if(directory.visible_entries, removed);
  }
  const std::vector<Inode> left = inodes_of(directory);
  for (const Inode inode : named) {
    if (inode != 0 && !std::binary_search(left.begin(), left.end(), inode)) forget(inode);
  }
}

void Disk::forget(Inode inode) {
  const auto at = nodes_.find(inode);
  if (at == nodes_.end()) return;
  const std::vector<Inode> below = inodes_of(at->second);
  used_ -= at->second.now.bytes;
  nodes_.erase(at);
  for (const Inode child : below) {
    if (child != 0) forget(child);
  }
}

// ---- Operations

DiskReply Disk::execute(const Asked& asked) {
  const DiskRequest& request = asked.request;
  const Place place = resolve(request.path);
  const bool there = place.inode != 0;
  switch (request.kind) {
    case DiskOpKind::kMakeDir:
      return make_directory(asked, place);
    case DiskOpKind::kWrite:
      return write(asked, place);
    case DiskOpKind::kRename:
      return rename(asked, place);
    case DiskOpKind::kRemove:
      return remove(asked, place);
    case DiskOpKind::kSync: {
      if (!there) return outcome(DiskOutcome::kStale);
      Node& node = nodes_.at(place.inode);
      if (node.dirty && node.writer == request.client) {
        node.synced = node.now;
        node.dirty = false;
      }
      return {};
    }
    case DiskOpKind::kSyncDir:
      if (!there || !nodes_.at(place.inode).directory) return outcome(DiskOutcome::kStale);
      sync_directory(nodes_.at(place.inode));
      return {};
    case DiskOpKind::kRead:
      if (!there || nodes_.at(place.inode).directory) return outcome(DiskOutcome::kMissing);
      return {DiskOutcome::kOk, nodes_.at(place.inode).now};
  }
  return outcome(DiskOutcome::kIoError);
}

DiskReply Disk::make_directory(const Asked& asked, const Place& place) {
  if (place.inode != 0) {
    return outcome(nodes_.at(place.inode).directory ? DiskOutcome::kOk : DiskOutcome::kIoError);
  }
  if (place.parent == 0) return outcome(DiskOutcome::kStale);
  if (full_) return outcome(DiskOutcome::kFull);
  const Inode inode = ++last_inode_;
  nodes_[inode].directory = true;
  change(place.parent, asked, {{place.name, inode}});
  return {};
}

DiskReply Disk::write(const Asked& asked, const Place& place) {
  if (place.parent == 0) return outcome(DiskOutcome::kStale);
  Inode inode = place.inode;
  if (inode == 0) {
    inode = ++last_inode_;
    nodes_[inode] = {};
    change(place.parent, asked, {{place.name, inode}});
  }
  Node& node = nodes_.at(inode);
  if (node.directory) return outcome(DiskOutcome::kIoError);
  used_ -= node.now.bytes;
  const std::uint64_t capacity = full_ ? used_ : std::max(model_.capacity, used_);
  const std::uint64_t fits = capacity - used_;
  node.now = asked.request.content.prefix(fits);
  used_ += node.now.bytes;
  node.writer = asked.request.client;
  node.op = asked.op;
  node.dirty = asked.waited_for;
  if (!node.dirty) node.synced = node.now;  // of a client that will not crash again
  return outcome(asked.request.content.bytes <= fits ? DiskOutcome::kOk : DiskOutcome::kFull);
}

DiskReply Disk::rename(const Asked& asked, const Place& place) {
  const Place to = resolve(asked.request.to);
  if (place.parent == 0 || to.parent == 0) return outcome(DiskOutcome::kStale);
  if (place.inode == 0) return outcome(DiskOutcome::kMissing);
  if (place.parent != to.parent) return outcome(DiskOutcome::kIoError);
  if (to.inode != 0 && nodes_.at(to.inode).directory) return outcome(DiskOutcome::kIoError);
  if (place.name == to.name) return {};
  change(place.parent, asked, {{place.name, 0}, {to.name, place.inode}});
  return {};
}

DiskReply Disk::remove(const Asked& asked, const Place& place) {
  if (place.inode == 0) return outcome(DiskOutcome::kMissing);
  if (place.parent == 0) return outcome(DiskOutcome::kIoError);  // the root
  if (nodes_.at(place.inode).directory && !list(asked.request.path).empty()) {
    return outcome(DiskOutcome::kIoError);
  }
  change(place.parent, asked, {{place.name, 0}});
  return {};
}

// ---- Rot and truth

bool Disk::rot_file(const std::string& path, std::uint64_t drawn) {
  const Place place = resolve(path);
  if (place.inode == 0) return false;
  Node& node = nodes_.at(place.inode);
  if (node.directory || node.dirty || node.now.bytes == 0) return false;
  flip_a_bit(node.now, drawn);
  node.synced = node.now;
  return true;
}

std::optional<std::string> Disk::rot(std::uint64_t drawn) {
  std::vector<std::string> files;
  std::vector<std::string> directories{"."};
  while (!directories.empty()) {
    const std::string directory = directories.back();
    directories.pop_back();
    for (const std::string& name : list(directory)) {
      const std::string path = directory == "." ? name : directory + "/" + name;
      const Node& node = nodes_.at(resolve(path).inode);
      if (node.directory) {
        directories.push_back(path);
      } else if (!node.dirty && node.now.bytes > 0) {
        files.push_back(path);
      }
    }
  }
  if (files.empty()) return std::nullopt;
  const std::string path = files[math::below(drawn, files.size())];
  rot_file(path, math::mix(drawn));
  return path;
}

std::optional<DiskContent> Disk::visible(const std::string& path) const {
  const Place place = resolve(path);
  if (place.inode == 0 || nodes_.at(place.inode).directory) return std::nullopt;
  return nodes_.at(place.inode).now;
}

std::optional<DiskContent> Disk::durable(const std::string& path) const {
  const Place place = resolve(path, /*as_synced=*/true);
  if (place.inode == 0 || nodes_.at(place.inode).directory) return std::nullopt;
  return nodes_.at(place.inode).synced;
}

std::vector<std::string> Disk::list(const std::string& directory) const {
  std::vector<std::string> names;
  const Place place = resolve(directory);
  if (place.inode == 0) return names;
  for (const auto& [name, entry] : nodes_.at(place.inode).visible_entries) {
    if (entry.inode != 0) names.push_back(name);
  }
  return names;
}

void Disk::check() const {
  ELASTIC_ASSERT(nodes_.contains(kRoot));
  std::uint64_t used = 0;
  for (const auto& [inode, node] : nodes_) {
    used += node.now.bytes;
    ELASTIC_ASSERT(inode <= last_inode_);
    ELASTIC_ASSERT(node.dirty || node.now == node.synced);
    for (std::size_t i = 1; i < node.pending.size(); ++i) {
      ELASTIC_ASSERT(node.pending[i - 1].order < node.pending[i].order);
    }
    for (const auto& [name, entry] : node.visible_entries) {
      ELASTIC_ASSERT(entry.inode == 0 || nodes_.contains(entry.inode));
    }
    for (const auto& [name, entry] : node.durable_entries) {
      ELASTIC_ASSERT(entry.inode == 0 || nodes_.contains(entry.inode));
    }
  }
  ELASTIC_ASSERT(used == used_);
}

std::uint64_t Disk::digest() const {
  math::Digest digest;
  digest.add(available_);
  digest.add(full_);
  digest.add(slow_ppm_);
  digest.add(nodes_.size());
  for (const auto& [inode, node] : nodes_) {
    digest.add(inode);
    digest.add(node.now.fact().digest);
    digest.add(node.synced.fact().digest);
    digest.add(node.dirty);
    for (const auto* entries : {&node.visible_entries, &node.durable_entries}) {
      digest.add(entries->size());
      for (const auto& [name, entry] : *entries) {
        digest.add(std::string_view(name));
        digest.add(entry.inode);
        digest.add(entry.order);
      }
    }
    digest.add(node.pending.size());
    for (const Change& change : node.pending) digest.add(change.order);
  }
  digest.add(asked_.size());
  for (const auto& [ticket, asked] : asked_) digest.add(ticket.value);
  return digest.value();
}

}  // namespace elastic::sim
