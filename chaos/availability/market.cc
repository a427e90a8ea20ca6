#include "chaos/availability/market.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "core/math/integer.h"

namespace elastic::chaos {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

// What a number is drawn for: each use has a stream of its own.
enum class Use : std::uint64_t { kInstant, kSize, kWhom, kAway, kLife };

math::QuantileTable table(std::span<const math::QuantileTable::Point> points) {
  auto made = math::QuantileTable::from({points.begin(), points.end()});
  if (!made) throw std::logic_error("a table of markets.cc breaks the invariants of QuantileTable");
  return *std::move(made);
}

Duration seconds(std::int64_t count) { return Duration(math::mul_sat(count, 1'000'000'000)); }

Duration later(Duration at, Duration by) { return Duration(math::add_sat(at.count(), by.count())); }

class Generator {
 public:
  Generator(const MarketData& market, const Pool& pool, math::Seed seed, math::Stream stream)
      : market_(market), pool_(pool), seed_(seed), stream_(stream), away_(table(market.away)) {
    if (!market.age.empty()) age_ = table(market.age);
    for (std::uint32_t i = 0; i < pool.machines; ++i) alive_.push_back({i, Duration{}});
  }

  std::vector<PoolEvent> run() {
    switch (market_.process) {
      case MarketProcess::kBatches:
        run_batches();
        break;
      case MarketProcess::kLives:
        run_lives();
        break;
      case MarketProcess::kFaults:
        run_faults();
        break;
    }
    return events();
  }

 private:
  struct Machine {
    std::uint32_t number;
    Duration since;
  };

  std::uint64_t draw(Use use, std::uint64_t entity, std::uint64_t index) const {
    const math::Stream family = math::substream(stream_, static_cast<std::uint64_t>(use));
    return math::draw(seed_, math::substream(family, entity), index);
  }

  // Machines that are back by `now` are alive again, the youngest first in the list.
  void bring_back(Duration now) {
    while (!returning_.empty() && returning_.begin()->first <= now) {
      const auto [at, number] = *returning_.begin();
      returning_.erase(returning_.begin());
      alive_.insert(alive_.begin(), {number, at});
    }
  }

  // Takes `machine`, the `nth` of the instant `index`, `notice` after `now`.
  void take(std::size_t position, Duration now, std::uint64_t index, std::uint64_t nth) {
    const std::uint32_t number = alive_[position].number;
    alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(position));
    const Duration gone = later(now, pool_.notice);
    const Duration back = later(gone, seconds(away_.at(draw(Use::kAway, index, nth))));
    losses_[gone].push_back(number);
    returns_[std::max(back, later(gone, Duration(1)))].push_back(number);
    returning_.insert({std::max(back, later(gone, Duration(1))), number});
  }

  void run_batches() {
    const math::QuantileTable between = table(market_.between);
    const math::QuantileTable sizes = table(market_.sizes);
    Duration now{};
    for (std::uint64_t k = 0;; ++k) {
      now = later(now, std::max(seconds(between.at(draw(Use::kInstant, 0, k))), seconds(1)));
      if (later(now, pool_.notice) > pool_.horizon) return;
      bring_back(now);
      // A share of a small pool is rounded by chance, so that pools of all sizes have the same
      // hazard.
      const std::int64_t share =
          sizes.at(draw(Use::kSize, 0, k)) * static_cast<std::int64_t>(alive_.size());
      const bool up =
          math::chance_ppm(draw(Use::kSize, 1, k), static_cast<std::uint64_t>(share % kMillion));
      const std::int64_t size = share / kMillion + (up ? 1 : 0);
      for (std::int64_t i = 0; i < size && !alive_.empty(); ++i) take_one(now, k, i);
    }
  }

  // Whom the market takes: by rank of age where that was measured, else anyone.
  void take_one(Duration now, std::uint64_t k, std::int64_t nth) {
    const auto index = static_cast<std::uint64_t>(nth);
    const std::uint64_t drawn = draw(Use::kWhom, k, index);
    std::uint64_t position = math::below(drawn, alive_.size());
    if (age_) {
      const auto rank = static_cast<std::uint64_t>(age_->at(drawn));
      position = (rank * (alive_.size() - 1) + kMillion / 2) / kMillion;
      position = among_equals(position, draw(Use::kWhom, k, index + (std::uint64_t{1} << 32)));
    }
    take(position, now, k, index);
  }

  // Those that came at the same instant have no order of age: any of them.
  std::size_t among_equals(std::size_t position, std::uint64_t drawn) const {
    const Duration since = alive_[position].since;
    std::size_t first = position;
    std::size_t last = position;
    while (first > 0 && alive_[first - 1].since == since) --first;
    while (last + 1 < alive_.size() && alive_[last + 1].since == since) ++last;
    return first + math::below(drawn, last - first + 1);
  }

  void run_faults() {
    const math::QuantileTable sizes = table(market_.sizes);
    if (pool_.machines == 0) return;
    const Duration mean = mean_time_between_losses(market_, pool_.machines);
    Duration now{};
    for (std::uint64_t k = 0;; ++k) {
      now = later(now, later(math::exponential(draw(Use::kInstant, 0, k), mean), Duration(1)));
      if (later(now, pool_.notice) > pool_.horizon) return;
      bring_back(now);
      const std::int64_t size = sizes.at(draw(Use::kSize, 0, k));
      for (std::int64_t i = 0; i < size && !alive_.empty(); ++i) {
        const auto nth = static_cast<std::uint64_t>(i);
        take(math::below(draw(Use::kWhom, k, nth), alive_.size()), now, k, nth);
      }
    }
  }

  void run_lives() {
    const math::QuantileTable life = table(market_.life);
    for (std::uint32_t machine = 0; machine < pool_.machines; ++machine) {
      Duration born{};
      for (std::uint64_t k = 0;; ++k) {
        const Duration lived =
            seconds(std::max<std::int64_t>(1, life.at(draw(Use::kLife, machine, k))));
        const Duration gone = later(born, std::max(lived, pool_.notice));
        if (gone > pool_.horizon) break;
        losses_[gone].push_back(machine);
        born =
            later(gone, seconds(std::max<std::int64_t>(1, away_.at(draw(Use::kAway, machine, k)))));
        returns_[born].push_back(machine);
      }
    }
  }

  std::vector<PoolEvent> events() {
    std::vector<PoolEvent> out;
    const auto append = [&](std::map<Duration, std::vector<std::uint32_t>>& from, bool add) {
      for (auto& [at, machines] : from) {
        if (at > pool_.horizon) break;
        std::sort(machines.begin(), machines.end());
        out.push_back({at, add, std::move(machines)});
      }
    };
    append(losses_, false);
    append(returns_, true);
    std::stable_sort(out.begin(), out.end(),
                     [](const PoolEvent& a, const PoolEvent& b) { return a.at < b.at; });
    return out;
  }

  const MarketData& market_;
  const Pool pool_;
  const math::Seed seed_;
  const math::Stream stream_;
  const math::QuantileTable away_;
  std::optional<math::QuantileTable> age_;
  std::vector<Machine> alive_;  // the youngest first
  std::multimap<Duration, std::uint32_t> returning_;
  std::map<Duration, std::vector<std::uint32_t>> losses_;
  std::map<Duration, std::vector<std::uint32_t>> returns_;
};

// The mean of what a table gives, seconds, by sampling it evenly.
std::int64_t mean_of(std::span<const math::QuantileTable::Point> points) {
  constexpr std::uint64_t kSamples = 1000;
  const math::QuantileTable sampled = table(points);
  std::int64_t sum = 0;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    sum += sampled.at(UINT64_MAX / kSamples * i + UINT64_MAX / kSamples / 2);
  }
  return std::max<std::int64_t>(1, sum / static_cast<std::int64_t>(kSamples));
}

}  // namespace

std::vector<std::string_view> market_names() {
  std::vector<std::string_view> names;
  for (const MarketData& market : market_data()) names.push_back(market.name);
  return names;
}

std::optional<MarketData> find_market(std::string_view name) {
  for (const MarketData& market : market_data()) {
    if (market.name == name) return market;
  }
  return std::nullopt;
}

Duration mean_time_between_losses(const MarketData& market, std::uint32_t machines) {
  const std::int64_t count = std::max<std::int64_t>(1, machines);
  switch (market.process) {
    case MarketProcess::kBatches:
      return seconds(mean_of(market.between));
    case MarketProcess::kLives:
      return seconds(mean_of(market.life)) / count;
    case MarketProcess::kFaults:
      break;
  }
  return seconds(market.machine_seconds) / count;
}

std::vector<PoolEvent> generate(const MarketData& market, const Pool& pool, math::Seed seed,
                                math::Stream stream) {
  return Generator(market, pool, seed, stream).run();
}

}  // namespace elastic::chaos
