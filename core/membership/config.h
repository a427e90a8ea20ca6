// What a job's operator decides about membership, and the time-outs that follow from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/policy/flaps.h"
#include "core/policy/growth.h"
#include "core/policy/healthy.h"
#include "core/policy/progress.h"
#include "core/policy/restarts.h"
#include "core/types.h"

namespace elastic {

// How workers live through a change of membership (design section 3).
enum class WorkerKind : std::uint8_t {
  kNative,   // keep their state, cancel the collective, go on in the next round
  kForeign,  // any program: stopped and started again for every round
};

// Which exits of a worker count against the restart budget.
enum class RestartPolicy : std::uint8_t {
  kAnyFailure,  // every exit that is not 0
  kExitCode,    // codes 1..127 only: 128..255 and signals are the machine's doing, hence churn
};

// When a node that could join makes a running round change.
using Growth = policy::Growth;

// Where the journal lives.
enum class JournalKind : std::uint8_t {
  kHosted,    // in a file of the agent at the rendezvous endpoint
  kExternal,  // a service of its own (`dir:`, `etcd:`)
};

// Bounds that the operator declares; outside faults they hold (docs/assumptions.md).
struct DeclaredBounds {
  Duration round_trip{std::chrono::milliseconds(10)};  // message there and back, at most
  Duration journal{std::chrono::milliseconds(40)};     // one append or read, at most
  Duration pause{std::chrono::milliseconds(100)};      // a process does not run, at most
  Duration start_up{std::chrono::minutes(5)};          // program start to "prepared", at most
  Duration transfer_stall{std::chrono::seconds(10)};   // a fill or load shows no progress, at most
  Duration step{std::chrono::minutes(30)};             // a worker computes one step, at most
};

// Derived in one place (derive_timeouts) and nowhere else. All are lengths on the own clock.
struct Timeouts {
  Duration beat{};           // between two beats of an agent
  Duration lost_after{};     // silence after which a node is "lost": a suspicion, no proof of death
  Duration election_min{};   // silence after which an agent stands as candidate: drawn from
  Duration election_max{};   //   [election_min, election_max]
  Duration canvass{};        // a candidate waits this long for answers
  Duration journal_retry{};  // an unanswered journal request is repeated after this
  Duration lease{};   // a foreign worker runs this long after the sending of its last acked beat
  Duration orphan{};  // a worker ends itself this long after the sending of its last acked beat
  // A member of a new round has entered it within this, its fill or load included: those may take
  // this long in all, however well they progress.
  Duration enter{};
  bool operator==(const Timeouts&) const = default;
};

// Growth::kPays: what counts, see policy/growth.h.
struct GrowthPays {
  Duration interval{std::chrono::minutes(5)};  // no earlier than this after the last change
  Duration horizon{std::chrono::hours(1)};     // savings beyond this do not count
  std::uint32_t margin_ppm = 200'000;          // above the pause that the last change has cost
  std::optional<std::uint64_t> total_steps;    // of the whole training, where that is known
};

struct JobConfig {
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 1;
  std::uint32_t node_unit = 1;  // a round has a multiple of this many nodes
  std::uint32_t workers_per_node = 1;
  WorkerKind workers = WorkerKind::kNative;
  JournalKind journal = JournalKind::kHosted;
  NodeId journal_host;  // kHosted: the node at the rendezvous endpoint

  Duration detection_target{std::chrono::seconds(1)};
  DeclaredBounds bounds;
  std::optional<Duration> orphan_bound;  // default: derived
  // kHosted: an agent that has had a place, and for this long neither an answer of the journal that
  // its round was recorded in nor an acknowledgement of whoever leads by it, ends with
  // kJournalLost. Until then its workers go on, to their orphan bound; no new round forms without
  // the journal. (kExternal: an agent waits for its journal without a bound.)
  Duration journal_lost_after{std::chrono::minutes(10)};

  Duration last_call{std::chrono::seconds(10)};      // wait for further joiners, from the last one
  Duration last_call_cap{std::chrono::seconds(60)};  // and never longer than this from the first
  std::optional<Duration>
      join_timeout;  // give up after waiting this long for a round; default: never
  Growth growth = Growth::kAlways;
  // Sits out this long: after a round without a step the member with the most failed edges (of
  // equals the highest rank), a member that has not entered in time, a joiner that hears no orders;
  // never so many that fewer than min_nodes would be left.
  Duration cool_down{std::chrono::seconds(60)};
  // An announced change becomes a forced one: whoever has not stopped at a step boundary by then is
  // told to leave at once, and is ended if it does not.
  Duration resize_deadline{std::chrono::seconds(60)};

  RestartPolicy restart_policy = RestartPolicy::kAnyFailure;
  std::uint32_t max_restarts = 3;
  Duration budget_reset{std::chrono::hours(1)};   // a round that runs this long clears the budget
  Duration stop_grace{std::chrono::seconds(10)};  // SIGTERM to SIGKILL

  // Native: committed saves that stay; older ones are deleted when a newer one was read back
  // intact. 0: all stay, and none is read back.
  std::uint32_t keep_saves = 2;
  // Before the next round, after the second failure in a row and each further one.
  policy::BackOff restart_back_off{std::chrono::seconds(1), std::chrono::seconds(10)};
  policy::BackOff churn_back_off{Duration::zero(), std::chrono::seconds(10)};  // off
  std::optional<std::uint32_t> max_churn;                   // Budgets::churn; default: unlimited
  policy::ProgressRules no_progress;                        // off
  policy::HealthRules health{0, std::chrono::minutes(10)};  // off
  policy::FlapRules flaps;
  GrowthPays growth_pays;
};

// Why a configuration was refused: one sentence that says what was found and what to do.
struct Refusal {
  std::string message;
};

// Derives all time-outs from the detection target and the declared bounds, so that
//   2 beats + round trip + journal + pause <= detection target       (a live node is not lost)
//   election_max + canvass + append + one beat + pause < lease       (a new leader saves leases)
//   lease < orphan                                                   (first stopped, then killed)
// Refuses (with the smallest target that would do) where no such values exist, and refuses
// impossible settings (min > max, node_unit that divides nothing in min..max, zero lengths).
std::variant<Timeouts, Refusal> derive_timeouts(const JobConfig& job);

// A lease granted by somebody else is surely over after this length on the own clock: clocks drift
// less than 1 % (docs/assumptions.md), so 2 % between two of them, rounded up.
constexpr Duration with_drift(Duration d) { return d + d / 50 + Duration(1); }

}  // namespace elastic
