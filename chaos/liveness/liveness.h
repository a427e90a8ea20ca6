// Does the job come back? After a drawn moment a random core is healed, everything else fails for
// good, and a running round on that core must follow within a stated bound.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chaos/oracles/oracle.h"
#include "core/membership/config.h"
#include "core/types.h"
#include "transport/sim/config.h"
#include "transport/sim/plan.h"

namespace elastic::sim {
class World;
}

namespace elastic::chaos {

class OracleSet;

struct LivenessResult {
  enum class Kind : std::uint8_t {
    kHeld,       // a running round of core nodes alone made steps, or a Verdict was followed by all
                 // exits
    kJobOver,    // the job had ended before the moment: nothing to show
    kVoided,     // it did not, and a voided assumption explains it
    kViolation,  // it did not, and nothing explains it
  };
  Kind kind = Kind::kHeld;
  Time moment{};  // of the healing, true time
  std::vector<NodeId> core;
  Duration bound{};
  Duration took{};         // kHeld: from the moment on
  std::string assumption;  // kVoided: which assumption of docs/assumptions.md
  std::string proof;       // kVoided: what shows that it was voided
  Violation violation;     // kViolation

  bool failed() const { return kind == Kind::kViolation; }
};
std::string_view name(LivenessResult::Kind kind);

// When and on whom, drawn from (seed, scenario): removing a fault from the plan leaves both as they
// were.
struct LivenessPlan {
  Time moment{};
  std::uint64_t core_key = 0;
};
// `span` is the time that the plan's faults fill; the moment lies between 10 % and 90 % of it.
LivenessPlan plan_liveness(std::uint64_t seed, Duration span);

// How long a healed core may take to make steps, and why.
Duration liveness_bound(const sim::WorldConfig& config, const Timeouts& timeouts);

// To be made before `world` runs; `oracles` watch it already, as in any run. Both outlive this.
class LivenessCheck {
 public:
  LivenessCheck(sim::World& world, const LivenessPlan& plan, OracleSet& oracles);
  ~LivenessCheck();
  LivenessCheck(const LivenessCheck&) = delete;
  LivenessCheck& operator=(const LivenessCheck&) = delete;

  // Runs the world, which has not passed the moment, to it, heals the core, and runs on until
  // progress or the bound. The oracles get the violation too. A safety violation ends the run
  // early: then the kind is kJobOver.
  LivenessResult run();

 private:
  class Watch;

  sim::World& world_;
  LivenessPlan plan_;
  OracleSet& oracles_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace elastic::chaos
