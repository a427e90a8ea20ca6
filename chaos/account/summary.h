// What a run came to, in plain figures: for the report, for JSON, for expectations.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/membership/records.h"
#include "core/types.h"
#include "transport/sim/plan.h"

namespace elastic::chaos {

// Where the job's time went (docs/simulator.md, "Where the time goes"). The parts sum to `whole`
// exactly.
struct TimeParts {
  Duration productive{};
  Duration redone{};
  Duration waiting{};
  Duration reconfiguring{};
  Duration saving{};
  Duration below_minimum{};
  Duration whole{};

  Duration sum() const {
    return productive + redone + waiting + reconfiguring + saving + below_minimum;
  }
  TimeParts& operator+=(const TimeParts& more) {
    productive += more.productive;
    redone += more.redone;
    waiting += more.waiting;
    reconfiguring += more.reconfiguring;
    saving += more.saving;
    below_minimum += more.below_minimum;
    whole += more.whole;
    return *this;
  }
  bool operator==(const TimeParts&) const = default;
};

// Cluster at one moment, until the next point. Indexed by zone.
struct SizePoint {
  Time at{};
  std::vector<std::uint32_t> up;        // machines
  std::vector<std::uint32_t> training;  // members of the round that trains; 0 while none does
  bool operator==(const SizePoint&) const = default;
};

constexpr std::size_t kRoundCauses = static_cast<std::size_t>(RoundCause::kSaveBroken) + 1;
constexpr std::size_t kFaultKindCount = sim::kFaultKinds;

struct Summary {
  TimeParts time;

  // Steps.
  std::uint64_t steps_committed = 0;        // at the end, along the lineage that survived
  std::uint64_t steps_lost = 0;             // were committed, and fell later
  std::uint64_t steps_redone_in_part = 0;   // were in work when their round ended, and not kept
  std::uint64_t steps_redone_in_whole = 0;  // were finished, and done again (the lost ones too)
  std::uint64_t samples_productive = 0;     // of the committed steps, at the constant global batch

  // What the same machines could have done undisturbed, in millionths of a step; and the share of
  // it that was done, in millionths.
  std::int64_t capacity_microsteps = 0;
  std::int64_t goodput_ppm = 0;

  // Money.
  std::int64_t cost_microdollars = 0;
  std::int64_t cost_per_1000_steps_microdollars = 0;  // 0 when no step was committed
  Duration machine_time{};                            // summed over machines

  // Rounds and nodes.
  std::uint64_t rounds = 0;
  std::array<std::uint64_t, kRoundCauses> rounds_by_cause{};
  std::uint64_t leads = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t nodes_lost = 0;    // machines that went down
  std::uint64_t loss_batches = 0;  // instants at which machines went down
  std::uint64_t biggest_batch = 0;
  std::uint64_t nodes_joined = 0;                       // machines that came up after the start
  std::array<std::uint64_t, kFaultKindCount> faults{};  // by FaultKind: what the plan did
  std::uint64_t program_failures = 0;  // workers that ended by themselves with a failing status
  std::uint64_t workers_killed = 0;    // workers that ended by a signal that no agent sent

  // From the event that stopped training to the next step begun, without the time below the
  // minimum.
  std::vector<Duration> recoveries;  // after losses and failures, in order of time
  std::vector<Duration> resizes;     // after announced changes
  Duration recovery_p50{}, recovery_p99{}, recovery_max{};

  // For charts; the first point is at the start.
  std::vector<SizePoint> sizes;

  std::uint64_t messages = 0;
  Time began{};
  Time ended{};           // Verdict recorded, or the end of the run
  bool finished = false;  // Verdict::kSucceeded recorded
};

}  // namespace elastic::chaos
