// What an oracle is: a watcher of the simulated world that knows the truth and keeps one promise of
// the design in view.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/membership/config.h"
#include "core/types.h"
#include "transport/sim/config.h"
#include "transport/sim/observer.h"

namespace elastic::chaos {

class Truth;

enum class ViolationKind : std::uint8_t { kSafety, kLiveness };

// What an oracle says when its promise was broken.
struct Violation {
  std::string oracle;  // Oracle::name()
  std::string title;   // the broken promise in a few words, for the headline
  ViolationKind kind = ViolationKind::kSafety;
  Time at{};                // true time
  std::uint64_t event = 0;  // index of the event that showed it, from 1
  AgentId agent{};          // zero: of no agent in particular
  RoundId round{};          // zero: of no round in particular
  std::string expected;
  std::string found;
};

// What oracles ask beyond the callbacks. The world answers it in a run (world_view.h), the hand in
// a test.
class WorldView {
 public:
  // What an agent would tell its operator.
  struct Told {
    AgentId self{};
    RoundId in_round{};  // zero: in none
    WaitReason wait = WaitReason::kNone;
    AgentState state = AgentState::kCleaning;
  };
  virtual ~WorldView() = default;
  // What the monotonic clock of `node` shows now.
  virtual Time local_clock(NodeId node) const = 0;
  // Nothing when there is no agent process on `node`.
  virtual std::optional<Told> told_by(NodeId node) const = 0;
  // That save lies on storage, whole and as it was written.
  virtual bool intact(const Checkpoint& save) const = 0;
};

// What all oracles of one run share. The referents outlive the oracles.
struct Bench {
  const sim::WorldConfig& config;
  const Timeouts& timeouts;
  const Truth& truth;
  const WorldView& view;
  std::function<void(Violation)> speak;
};

// Which callbacks an oracle wants; the others are not made.
enum Interest : unsigned {
  kOnNote = 1U << 0,
  kOnRecord = 1U << 1,
  kOnWorker = 1U << 2,
  kOnNode = 1U << 3,
  kOnFault = 1U << 4,
  kOnSent = 1U << 5,
  kOnDelivered = 1U << 6,
  kOnEvent = 1U << 7,
};

// Names are for reports and tests: snake case, unique.
struct OracleTraits {
  std::string_view name;     // "committed_steps"
  std::string_view title;    // "a committed step fell": what a violation means
  std::string_view promise;  // one sentence
  ViolationKind kind = ViolationKind::kSafety;
  unsigned interests = 0;
};

// One promise, judged from the ground truth alone (transport/sim/observer.h), never from what nodes
// believe. Callbacks come *before* Truth takes in the same happening, so `truth()` shows the world
// as it was just before; in on_event() and finish() it shows the present.
class Oracle : public sim::Observer {
 public:
  Oracle(OracleTraits traits, Bench bench) : traits_(traits), bench_(std::move(bench)) {}
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  const OracleTraits& traits() const { return traits_; }
  std::string_view name() const { return traits_.name; }
  std::string_view promise() const { return traits_.promise; }
  // Checks whose outcome was open, that is, which a broken system could have failed. Zero over a
  // batch of runs means that the oracle has shown nothing.
  std::uint64_t checks() const { return checks_; }

  // After each event, in the place of after_event(): oracles look at the world only through
  // WorldView.
  virtual void on_event(Time /*now*/) {}
  // The run is over: judge what only the end shows.
  virtual void finish(Time /*now*/) {}

 protected:
  struct Finding {
    AgentId agent{};
    RoundId round{};
    std::string expected;
    std::string found;
  };
  // Counts a check.
  void counted(std::uint64_t n = 1) { checks_ += n; }
  // Speaks. Only the first violation of a run is kept by the OracleSet.
  void violated(Time at, Finding finding);

  const sim::WorldConfig& config() const { return bench_.config; }
  const JobConfig& job() const { return bench_.config.job; }
  const Timeouts& timeouts() const { return bench_.timeouts; }
  const Truth& truth() const { return bench_.truth; }
  const WorldView& view() const { return bench_.view; }
  bool native() const { return bench_.config.job.workers == WorkerKind::kNative; }

 private:
  OracleTraits traits_;
  Bench bench_;
  std::uint64_t checks_ = 0;
};

}  // namespace elastic::chaos
