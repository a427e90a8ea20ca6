// The chance in a plan: every number is a function of (seed, what it is for, how many came before).
#pragma once

#include <cstdint>
#include <string_view>

#include "core/math/random.h"
#include "core/types.h"

namespace elastic::chaos {

// Draws of one source of faults: a zone's market, a line under `faults`.
class Draws {
 public:
  // `what` and `number` name the source: "market", "kill_worker". Two lines of the same kind are
  // told apart by `number`, so that a line more of one kind leaves all other kinds as they were.
  Draws(std::uint64_t seed, std::string_view what, std::uint64_t number);

  // `use` names what the number is for; occurrences and their parts are counted by `index` and
  // `part`.
  [[nodiscard]] std::uint64_t draw(std::string_view use, std::uint64_t index,
                                   std::uint64_t part = 0) const;
  [[nodiscard]] std::uint64_t below(std::uint64_t bound, std::string_view use, std::uint64_t index,
                                    std::uint64_t part = 0) const;
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high, std::string_view use,
                                     std::uint64_t index) const;
  [[nodiscard]] math::Seed seed() const { return seed_; }
  [[nodiscard]] math::Stream stream() const { return stream_; }

 private:
  math::Seed seed_;
  math::Stream stream_;
};

}  // namespace elastic::chaos
