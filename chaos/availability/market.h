// Spot markets and clusters as generators of availability: when machines are taken, how many at
// once, and when others take their place, with hazards measured from public traces (markets.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "chaos/availability/availability.h"
#include "core/math/random.h"
#include "core/math/sampling.h"
#include "core/types.h"

namespace elastic::chaos {

enum class MarketProcess : std::uint8_t {
  kBatches,  // the market takes a share of what is alive, at instants of its own
  kLives,    // each machine has a life time of its own
  kFaults,   // faults come at a constant rate per machine, some hit several machines
};

// The numbers of one market as they were measured. Times are seconds.
struct MarketData {
  std::string_view name;   // as written in a scenario
  std::string_view words;  // what it is, for people
  MarketProcess process = MarketProcess::kBatches;
  std::int64_t machine_seconds = 0;  // kFaults: machine time between two fault instants
  std::span<const math::QuantileTable::Point> between = {};  // kBatches: between two instants
  std::span<const math::QuantileTable::Point> sizes =
      {};  // kBatches: ppm of the alive; kFaults: how many
  std::span<const math::QuantileTable::Point> age =
      {};  // kBatches: whom, 0 youngest, 1,000,000 oldest
  std::span<const math::QuantileTable::Point> life = {};  // kLives
  std::span<const math::QuantileTable::Point> away = {};  // from the loss until a machine returns
};

// All markets that there are, in a fixed order.
std::vector<MarketData> market_data();
std::vector<std::string_view> market_names();
std::optional<MarketData> find_market(std::string_view name);

// The mean time between two instants at which a pool of `machines` loses some: for checkpoint
// intervals.
Duration mean_time_between_losses(const MarketData& market, std::uint32_t machines);

// What happens to one pool of machines, numbered from 0 and all there at the start. A removal is
// announced `notice` ahead at the latest, and happens at `at`. Sorted by `at`; at one instant
// removals come before returns.
struct PoolEvent {
  Duration at{};
  bool add = false;
  std::vector<std::uint32_t> machines;  // ascending
  bool operator==(const PoolEvent&) const = default;
};

struct Pool {
  std::uint32_t machines = 0;
  Duration notice{};
  Duration horizon{};  // nothing happens after it
};

// Draws from (seed, stream) alone. A machine that was announced as lost is not chosen again before
// it has returned; nobody is taken within `notice` of a return.
std::vector<PoolEvent> generate(const MarketData& market, const Pool& pool, math::Seed seed,
                                math::Stream stream);

}  // namespace elastic::chaos
