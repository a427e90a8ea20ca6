#include "transport/sim/storage.h"

#include <algorithm>

namespace elastic::sim {

Storage::Storage(std::int64_t bytes_per_second)
    : bytes_per_second_(std::max<std::int64_t>(bytes_per_second, 1)) {}

void Storage::advance(Time now) {
  const auto passed = static_cast<std::uint64_t>((now - advanced_to_).count());
  advanced_to_ = now;
  if (!reachable_ || transfers_.empty()) return;
  served_ +=
      math::uint128{passed} * static_cast<std::uint64_t>(bytes_per_second_) / transfers_.size();
}

void Storage::schedule(Timeline& timeline) {
  ++generation_;
  if (!reachable_ || transfers_.empty()) return;
  const math::uint128 finish = transfers_.begin()->first.first;
  const math::uint128 missing = finish > served_ ? finish - served_ : 0;
  const auto rate = static_cast<std::uint64_t>(bytes_per_second_);
  const math::uint128 wait = (missing * transfers_.size() + rate - 1) / rate;
  Event event{.kind = EventKind::kTransfer};
  event.b = generation_;
  timeline.in(Duration(static_cast<std::int64_t>(wait)), event);
}

TransferId Storage::start(Timeline& timeline, std::int64_t bytes) {
  advance(timeline.now);
  const TransferId transfer{++last_transfer_};
  const math::uint128 work =
      math::uint128{static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0))} * 1'000'000'000U;
  finish_[transfer] = served_ + work;
  transfers_.emplace(std::make_pair(served_ + work, transfer), true);
  schedule(timeline);
  return transfer;
}

void Storage::cancel(Timeline& timeline, TransferId transfer) {
  const auto at = finish_.find(transfer);
  if (at == finish_.end()) return;
  advance(timeline.now);
  transfers_.erase({at->second, transfer});
  finish_.erase(at);
  schedule(timeline);
}

std::vector<TransferId> Storage::complete(Timeline& timeline, const Event& event) {
  std::vector<TransferId> through;
  if (event.b != generation_) return through;
  advance(timeline.now);
  while (!transfers_.empty() && transfers_.begin()->first.first <= served_) {
    through.push_back(transfers_.begin()->first.second);
    finish_.erase(through.back());
    transfers_.erase(transfers_.begin());
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

bool Storage::holds(Step step, Lineage lineage) const {
  for (auto at = saves_.lower_bound({step, RoundId{}});
       at != saves_.end() && at->first.step == step; ++at) {
    if (at->second.lineage == lineage && at->second.whole()) return true;
  }
  return false;
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
