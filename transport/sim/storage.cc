#include "transport/sim/storage.h"

#include <algorithm>

namespace elastic::sim {

Storage::Storage(std::int64_t bytes_per_second)
    : full_speed_(std::max<std::int64_t>(bytes_per_second, 1)), bytes_per_second_(full_speed_) {}

void Storage::advance(Time now) {
  const auto passed = static_cast<std::uint64_t>((now - advanced_to_).count());
  advanced_to_ = now;
  if (!reachable_ || moving_.empty()) return;
  served_ += math::uint128{passed} * static_cast<std::uint64_t>(bytes_per_second_) / moving_.size();
}

void Storage::schedule(Timeline& timeline) {
  ++generation_;
  if (!reachable_ || moving_.empty()) return;
  const math::uint128 finish = moving_.begin()->first;
  const math::uint128 missing = finish > served_ ? finish - served_ : 0;
  const auto rate = static_cast<std::uint64_t>(bytes_per_second_);
  const math::uint128 wait = (missing * moving_.size() + rate - 1) / rate;
  Event event{.kind = EventKind::kTransfer};
  event.b = generation_;
  timeline.in(Duration(static_cast<std::int64_t>(wait)), event);
}

TransferId Storage::start(Timeline& timeline, Way way, std::int64_t bytes) {
  advance(timeline.now);
  const TransferId id{++last_transfer_};
  Transfer& transfer = transfers_[id];
  transfer.way = way;
  transfer.work =
      math::uint128{static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0))} * 1'000'000'000U;
  transfer.waits = way == Way::kWrite && full_;
  if (transfer.waits) return id;
  transfer.finish = served_ + transfer.work;
  moving_.emplace(transfer.finish, id);
  schedule(timeline);
  return id;
}

void Storage::cancel(Timeline& timeline, TransferId transfer) {
  const auto at = transfers_.find(transfer);
  if (at == transfers_.end()) return;
  advance(timeline.now);
  if (!at->second.waits) moving_.erase({at->second.finish, transfer});
  transfers_.erase(at);
  schedule(timeline);
}

std::int64_t Storage::got(Time now, TransferId transfer) {
  const auto at = transfers_.find(transfer);
  if (at == transfers_.end() || at->second.waits) return 0;
  advance(now);
  const Transfer& of = at->second;
  const math::uint128 missing = of.finish > served_ ? of.finish - served_ : 0;
  return static_cast<std::int64_t>((of.work - std::min(of.work, missing)) / 1'000'000'000U);
}

std::vector<TransferId> Storage::complete(Timeline& timeline, const Event& event) {
  std::vector<TransferId> through;
  if (event.b != generation_) return through;
  advance(timeline.now);
  while (!moving_.empty() && moving_.begin()->first <= served_) {
    through.push_back(moving_.begin()->second);
    transfers_.erase(through.back());
    moving_.erase(moving_.begin());
  }
  std::sort(through.begin(), through.end());
  schedule(timeline);
  return through;
}

void Storage::set_reachable(Timeline& timeline, bool reachable) {
  if (reachable == reachable_) return;
  advance(timeline.now);
  reachable_ = reachable;
  schedule(timeline);
}

void Storage::set_full(Timeline& timeline, bool full) {
  if (full == full_) return;
  advance(timeline.now);
  full_ = full;
  for (auto& [id, transfer] : transfers_) {
    if (transfer.way != Way::kWrite) continue;
    if (full) {
      moving_.erase({transfer.finish, id});
    } else {
      transfer.finish = served_ + transfer.work;
      moving_.emplace(transfer.finish, id);
    }
    transfer.waits = full;
  }
  schedule(timeline);
}

void Storage::set_speed(Timeline& timeline, std::int64_t ppm) {
  const std::int64_t speed = std::max<std::int64_t>(
      math::mul_div(full_speed_, std::max<std::int64_t>(ppm, 0), 1'000'000), 1);
  if (speed == bytes_per_second_) return;
  advance(timeline.now);
  bytes_per_second_ = speed;
  schedule(timeline);
}

bool Storage::share_stored(SaveKey key, Lineage lineage, std::uint32_t rank, std::uint32_t size) {
  Save& save = saves_[key];
  if (save.size == 0) {
    save.lineage = lineage;
    save.size = size;
    save.shares.assign(size, false);
  }
  if (save.lineage != lineage || rank >= save.size || save.shares[rank]) return save.whole();
  save.shares[rank] = true;
  ++save.stored;
  return save.whole();
}

void Storage::sweep(RoundId below, const std::vector<CommittedSave>& keep) {
  std::erase_if(saves_, [&](const auto& entry) {
    const SaveKey& key = entry.first;
    if (key.round.journal != below.journal || key.round >= below) return false;
    return std::none_of(keep.begin(), keep.end(), [&](const CommittedSave& save) {
      return save.checkpoint.step == key.step && save.checkpoint.round == key.round;
    });
  });
}

void Storage::rot(std::uint64_t back) {
  Save* found = nullptr;
  for (auto at = saves_.rbegin(); at != saves_.rend(); ++at) {
    if (!at->second.whole() || at->second.rotten) continue;
    found = &at->second;
    if (back-- == 0) break;
  }
  if (found != nullptr) found->rotten = true;
}

bool Storage::intact(SaveKey key, Lineage lineage) const {
  const auto at = saves_.find(key);
  if (at == saves_.end()) return false;
  return at->second.whole() && !at->second.rotten && at->second.lineage == lineage;
}

std::optional<std::pair<Storage::SaveKey, Lineage>> Storage::newest_whole() const {
  for (auto at = saves_.rbegin(); at != saves_.rend(); ++at) {
    if (at->second.whole()) return std::make_pair(at->first, at->second.lineage);
  }
  return std::nullopt;
}

void Storage::put_marker(const CommitMarker& marker) {
  const auto order = [](const CommitMarker& m) { return std::make_pair(m.journal, m.record); };
  if (!newest_marker_ || order(marker) > order(*newest_marker_)) newest_marker_ = marker;
}

}  // namespace elastic::sim
