#include "core/policy/flaps.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/digest.h"
#include "core/math/integer.h"

namespace elastic::policy {
namespace {

constexpr std::uint32_t kForgotten = kDeparture / 16;
constexpr std::uint32_t kMaxDoublings = 6;
// ln 2, rounded up, in millionths.
constexpr std::uint64_t kLn2Ppm = 693'148;

std::uint32_t most(const FlapRules& rules) { return suppressed_at(rules) + kDeparture; }

// Until a score has decayed from `high` to `low`, rounded up.
Duration time_to_decay(std::uint32_t high, std::uint32_t low, Duration half) {
  if (high <= low) return Duration::zero();
  const std::int64_t halvings_q32 = math::log2_q32(high) - math::log2_q32(low) + 1;
  return Duration(math::add_sat(math::mul_div(half.count(), halvings_q32, math::kOneQ32), 1));
}

}  // namespace

Duration half_life(const FlapRules& rules, std::uint32_t suppressions) {
  const std::uint32_t doublings = suppressions == 0 ? 0 : std::min(suppressions - 1, kMaxDoublings);
  const Duration first = std::max(rules.window / 8, Duration(1));
  return Duration(math::mul_sat(first.count(), Duration::rep{1} << doublings));
}

std::uint32_t suppressed_at(const FlapRules& rules) {
  ELASTIC_ASSERT(rules.tolerated <= kMaxTolerated);
  return rules.tolerated * (kDeparture + kDeparture / 128);
}

std::uint32_t taken_again_at(const FlapRules& rules) { return suppressed_at(rules) / 4; }

std::uint64_t most_departures(const FlapRules& rules, Duration length) {
  ELASTIC_ASSERT(rules.tolerated > 0);
  ELASTIC_ASSERT(length >= Duration::zero());
  const std::uint64_t limit = most(rules);
  const auto half = static_cast<std::uint64_t>(half_life(rules, 0).count());
  const std::uint64_t lives_ppm =
      math::mul_div_u64(static_cast<std::uint64_t>(length.count()), kLn2Ppm, half) + 1;
  // One more for what is rounded.
  return math::mul_div_u64(limit, math::add_sat_u64(1'000'000, lives_ppm),
                           std::uint64_t{kDeparture} * 1'000'000) +
         1;
}

std::uint32_t FlapTable::decayed(const Entry& entry, Time now) const {
  if (now <= entry.as_of) return entry.score;
  const Duration half = half_life(rules_, entry.suppressions);
  const std::int64_t halvings_q32 =
      math::mul_div((now - entry.as_of).count(), math::kOneQ32, half.count());
  return static_cast<std::uint32_t>(math::mul_exp2(entry.score, -halvings_q32));
}

void FlapTable::settle(Time now, Entry& entry) const {
  if (!entry.until || now < *entry.until) return;
  entry.score = std::min(decayed(entry, *entry.until), taken_again_at(rules_));
  entry.as_of = *entry.until;
  entry.until.reset();
}

void FlapTable::settle(Time now) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    settle(now, it->second);
    const bool gone = !it->second.until && decayed(it->second, now) < kForgotten;
    it = gone ? entries_.erase(it) : std::next(it);
  }
  ELASTIC_ASSERT(rules_.tolerated > 0 || entries_.empty());
}

void FlapTable::restore(Time now, const std::vector<FlapScore>& scores, Duration age) {
  entries_.clear();
  if (rules_.tolerated == 0) return;
  for (const FlapScore& old : scores) {
    if (!old.node) continue;  // what a record says is no invariant of this table
    Entry entry;
    entry.score = std::min(old.score, most(rules_));
    entry.as_of = now - age;
    entry.suppressions = old.suppressions;
    if (old.left > Duration::zero()) entry.until = now - age + std::min(old.left, rules_.longest);
    entries_[old.node] = entry;
  }
  ELASTIC_ASSERT(entries_.size() <= scores.size());
  settle(now);
  check();
}

void FlapTable::departed(Time now, NodeId node) {
  if (rules_.tolerated == 0) return;
  ELASTIC_ASSERT(node);
  Entry& entry = entries_[node];
  settle(now, entry);
  entry.score = std::min(decayed(entry, now) + kDeparture, most(rules_));
  entry.as_of = now;
  if (entry.score < suppressed_at(rules_)) return;
  entry.suppressions = std::min(entry.suppressions + 1, kMaxDoublings + 1);
  const Duration half = half_life(rules_, entry.suppressions);
  const Duration length = time_to_decay(entry.score, taken_again_at(rules_), half);
  entry.until = now + std::min(length, rules_.longest);
  ELASTIC_ASSERT(suppressed(now, node));
}

bool FlapTable::suppressed(Time now, NodeId node) const {
  return left(now, node) > Duration::zero();
}

Duration FlapTable::left(Time now, NodeId node) const {
  const auto at = entries_.find(node);
  if (at == entries_.end() || !at->second.until) return Duration::zero();
  return std::max(*at->second.until - now, Duration::zero());
}

std::uint32_t FlapTable::score(Time now, NodeId node) const {
  const auto at = entries_.find(node);
  if (at == entries_.end()) return 0;
  Entry entry = at->second;
  settle(now, entry);
  return decayed(entry, now);
}

std::vector<FlapScore> FlapTable::scores(Time now) const {
  std::vector<FlapScore> all;
  for (const auto& [node, entry] : entries_) {
    const FlapScore one{node, score(now, node), entry.suppressions, left(now, node)};
    if (one.score >= kForgotten || one.left > Duration::zero()) all.push_back(one);
  }
  return all;
}

void FlapTable::check() const {
  for (const auto& [node, entry] : entries_) {
    ELASTIC_ASSERT(node);
    ELASTIC_ASSERT(entry.score <= most(rules_));
    ELASTIC_ASSERT(!entry.until || *entry.until - entry.as_of <= rules_.longest);
  }
}

std::uint64_t FlapTable::digest() const {
  math::Digest digest;
  for (const auto& [node, entry] : entries_) {
    digest.add(node.value);
    digest.add(entry.score);
    digest.add(static_cast<std::uint64_t>(entry.as_of.time_since_epoch().count()));
    digest.add(entry.suppressions);
    const Time until = entry.until.value_or(kEndOfTime);
    digest.add(static_cast<std::uint64_t>(until.time_since_epoch().count()));
  }
  return digest.value();
}

}  // namespace elastic::policy
