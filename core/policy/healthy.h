// Ends a job that has had too few machines for too long, instead of letting it wait for ever. Off
// by default: on a spot market, to wait is often what the operator wants.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace elastic::policy {

struct HealthRules {
  std::uint32_t min_healthy = 0;  // machines known to be alive; zero: off
  Duration grace{};               // fewer than that for longer than this
};

// Counts on the own clock: a new coordinator begins anew, so that a job never ends for a time that
// nobody has watched as a whole.
// Invariant: `short_since` is set exactly while fewer than min_healthy were alive when last told.
class HealthWatch {
 public:
  explicit HealthWatch(const HealthRules& rules) : rules_(rules) {}

  // So many machines are known to be alive now. True when that is the end of the job.
  bool step(Time now, std::uint32_t alive);
  // How long until it ends if nothing changes; Duration::max() if it does not.
  [[nodiscard]] Duration left(Time now) const;

  void check() const;
  [[nodiscard]] std::uint64_t digest() const;

 private:
  HealthRules rules_;
  std::uint32_t alive_ = UINT32_MAX;
  Time short_since_ = kEndOfTime;
};

}  // namespace elastic::policy
