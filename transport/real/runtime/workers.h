// What a runtime asks of whoever runs the workers of its node. The effects of core/agent/io.h that
// concern workers, one function each; what happens comes back as core's inputs.
#pragma once

#include <functional>

#include "core/agent/io.h"

namespace elastic::real {

// Everything on the loop's thread; nothing blocks.
class Workers {
 public:
  virtual ~Workers() = default;
  // Answered by LeftoversKilled.
  virtual void kill_leftovers() = 0;
  virtual void prepare() = 0;
  // `lease_from`: sending of the beat whose acknowledgement allows it.
  virtual void enter(const Placement& placement) = 0;
  virtual void leave(const LeaveRound& order) = 0;
  virtual void stop(bool kill) = 0;
  virtual void kill_worker(std::uint32_t local_rank) = 0;
  virtual void renew(const RenewLease& renewal) = 0;
  virtual void poll() = 0;
  // The agent ends: nothing may be left, and what workers printed is out. Then `done`; also
  // within a bound if something cannot be killed.
  virtual void finish(std::function<void()> done) = 0;
};

}  // namespace elastic::real
