// All oracles of a run, and the story that is told when one of them speaks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/oracles/narrator.h"
#include "chaos/oracles/oracle.h"
#include "chaos/oracles/truth.h"

namespace elastic::sim {
class World;
}

namespace elastic::chaos {

class Account;

struct OracleCount {
  std::string_view name;
  std::string_view promise;
  std::uint64_t checks = 0;
};

// Use:
//   sim::World world(config, plan);
//   Account account(config);            // optional: chaos/account/account.h
//   OracleSet oracles(config, world.timeouts(), &account);
//   world.watch(account);               // before the oracles
//   oracles.watch(world);
//   world.run(...);                     // ends early after the first violation
//   account.finish(world.now());
//   oracles.finish(world.now());
// Keeps the first violation; later ones are often its consequences.
class OracleSet final : public sim::Observer {
 public:
  OracleSet(const sim::WorldConfig& config, const Timeouts& timeouts,
            const Account* account = nullptr);
  ~OracleSet() override;

  // Watches `world`, asks it for clocks, and stops it at the first violation (see
  // stop_at_violation).
  void watch(sim::World& world);
  // For tests without a world.
  void watch(const WorldView& view);
  void stop_at_violation(bool stop) { stop_at_violation_ = stop; }
  // A violation that the caller found by itself, for instance of liveness.
  void say(Violation violation);
  // One more observer, for as long as the caller needs it (a world keeps its observers for good,
  // this set lets go of it at accompany(nullptr)). Told after Truth.
  void accompany(sim::Observer* companion) { companion_ = companion; }

  // The account is not kept any more: what it showed so far does not count.
  void let_go_of_account();

  // What after_event() does; for tests without a world.
  void end_event(Time now, std::uint64_t index);
  // The liveness phase has begun: bounds count from here for the core, and for nobody else.
  void heal_core(Time now, const std::vector<NodeId>& core);
  // The run is over (true time `now`). To be called once.
  void finish(Time now);

  const std::optional<Violation>& violation() const { return violation_; }
  // In the order of construction, which is fixed.
  std::vector<OracleCount> counts() const;
  std::uint64_t checks() const;
  // The last notable happenings before the violation (or before now), oldest first.
  const std::deque<Happening>& story() const { return narrator_.story(); }
  const Truth& truth() const { return truth_; }
  // "a3", or "node 7" where there is no such machine.
  std::string node_name(NodeId node) const { return narrator_.node_name(node); }

  void on_note(Time now, AgentId by, const Note& note) override;
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_node(Time now, const sim::NodeEvent& event) override;
  void on_fault(Time now, const sim::Fault& fault) override;
  void on_sent(Time now, NodeId from, NodeId to, const Message& message) override;
  void on_delivered(Time now, NodeId from, NodeId to, const Message& message) override;
  void after_event(Time now, std::uint64_t index, const sim::World& world) override;

 private:
  class Switchboard;  // the WorldView that the oracles hold: passes on to the one watched

  template <class O, class... More>
  void add(More&&... more);
  Bench bench();
  void enlist();

  sim::WorldConfig config_;
  Timeouts timeouts_;
  std::unique_ptr<Switchboard> view_;
  Truth truth_;
  Narrator narrator_;
  std::vector<std::unique_ptr<Oracle>> oracles_;
  std::array<std::vector<Oracle*>, 8> listeners_;  // by bit of Interest
  std::optional<Violation> violation_;
  const Account* account_;
  sim::World* world_ = nullptr;
  sim::Observer* companion_ = nullptr;
  bool stop_at_violation_ = true;
};

}  // namespace elastic::chaos
