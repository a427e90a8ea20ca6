// The simulated world: executes a Plan on machines that run core/'s Node, until the job ends, the
// horizon is reached, or the caller stops.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/node.h"
#include "transport/sim/config.h"
#include "transport/sim/observer.h"
#include "transport/sim/plan.h"

namespace elastic::sim {

// The target "whoever coordinates at that instant" in a Fault.
constexpr NodeId kCoordinator{0xFFFFFFFFU};

struct Outcome {
  enum class End : std::uint8_t { kVerdict, kAllExited, kHorizon, kStopped };
  End end = End::kHorizon;
  std::optional<Verdict> verdict;
  Time at{};
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t trace_hash = 0;
};

// Promises: the same (config, plan) gives the same sequence of events, whatever observers watch and
// whatever the build. Integers only. Faults draw from streams of their own: removing one leaves
// every other draw as it was.
class World {
 public:
  World(const WorldConfig& config, Plan plan);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Observers are called in the order of addition; they must outlive the world.
  void watch(Observer& observer);
  // Nobody watches any more.
  void dismiss_observers();

  // Runs up to and including `until`, or until the job has ended and every agent has exited. May be
  // called again with a later time.
  Outcome run(Time until);
  // Ends run() after the present event (for observers that have seen enough).
  void stop();

  // For the liveness phase: from now on, the rest of the plan is dropped, what is wrong with the
  // nodes of `core` and the links and journal among them is healed, everything else is cut off for
  // good.
  void heal_core_and_fail_rest(const std::vector<NodeId>& core);

  // Ground truth for oracles.
  Time now() const;  // true time
  std::uint64_t events() const;
  const WorldConfig& config() const;
  const Timeouts& timeouts() const;
  bool machine_up(NodeId node) const;
  bool agent_running(NodeId node) const;               // process exists (frozen or not)
  bool frozen(NodeId node) const;                      // agent or machine
  bool intact(const Checkpoint& save) const;           // that save, on the simulated storage
  const Node* node(NodeId node) const;                 // nullptr when no agent process
  Time local_clock(NodeId node) const;                 // what its monotonic clock shows
  const std::vector<NumberedRecord>& journal() const;  // newest life; landed records
  JournalLife journal_life() const;
  std::optional<AgentId> leader() const;  // of the newest Lead, if its agent process exists

  // A digest of the run so far; also taken every 4,096 events.
  std::uint64_t trace_hash() const;
  // (event index, hash) pairs at each multiple of 4,096 events.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& running_digests() const;
  // Hash of each event with an index in [first, last), for finding the first event that differs.
  void record_event_hashes(std::uint64_t first, std::uint64_t last);
  const std::vector<std::uint64_t>& event_hashes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace elastic::sim
