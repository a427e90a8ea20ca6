// The inside of World: one struct, its parts by file. world.cc: the loop and the trace;
// world_agents.cc: agent processes, their inputs and effects; world_faults.cc: machines and faults.
#pragma once

#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/membership/hash.h"
#include "transport/sim/chance.h"
#include "transport/sim/journal_service.h"
#include "transport/sim/machine.h"
#include "transport/sim/network.h"
#include "transport/sim/timeline.h"
#include "transport/sim/workforce.h"
#include "transport/sim/world.h"

namespace elastic::sim {

// Folds the words of one event: one multiplication each, a third of what math::Digest takes, for
// the millions of events of a run. The trace itself is a math::Digest of the mixed values.
class EventFold {
 public:
  void add(std::uint64_t word) { state_ = (std::rotl(state_, 25) ^ word) * 0xd1342543de82ef95ULL; }
  std::uint64_t value() const { return math::mix(state_); }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3ULL;
};

// A fault in progress: what has to be undone at its end.
struct RunningFault {
  Fault fault;                              // targets resolved
  std::vector<std::uint64_t> incarnations;  // of the target machines
  std::vector<std::uint32_t> processes;     // of their agents
  std::vector<std::optional<FrozenWorker>> workers;
};

struct World::Impl final : Surroundings {
  Impl(World& owner, const WorldConfig& config, Plan plan);

  // world.cc
  static std::unique_ptr<Workforce> workforce(Impl& impl);
  Outcome run(Time until);
  bool ended() const;
  bool dispatch(const EventQueue::Due& due);
  template <class... Parts>
  void trace(const Event& event, const Parts&... parts);
  void landed(const NumberedRecord& record);
  void new_journal_life(JournalLife life);

  // Surroundings
  void tell_agent(AgentId agent, Duration after, Input input) override;
  void tell_observers(const WorkerEvent& event) override;
  const LocalClock& clock(NodeId node) const override { return at(node).clock; }
  bool machine_up(NodeId node) const override { return at(node).up; }
  bool machine_frozen(NodeId node) const override { return at(node).freezes > 0; }
  bool connected(NodeId a, NodeId b) const override;
  std::int64_t slow_ppm(NodeId node) const override;

  // world_agents.cc
  void order_start(NodeId node, Duration after);
  bool start_agent(const Event& event);
  void end_agent(NodeId node, bool tell_peers);
  void exit_agent(NodeId node, ExitReason reason);
  void step(NodeId node, const Input& input);
  void carry_out(NodeId node, Effect& effect);
  void send(NodeId from, Send& message);
  void ask_journal(NodeId node, AskJournal& ask);
  void start_file_read(NodeId node);
  void empty_records(NodeId node, const EmptyRecords& emptied);
  void start_file_write(NodeId node, const WriteJournalFile& write);
  void put_marker(NodeId node, const CommitMarker& marker);
  void write_manifest(NodeId node, const ManifestOrder& order);
  void verify_save(NodeId node, const CommittedSave& save);
  void delete_saves(const std::vector<CommittedSave>& saves);
  void answer_save(AgentId agent, Duration after, Input input);
  void land_write(NodeId node);
  void lose_writes(NodeId node);
  bool on_timer(const EventQueue::Due& due);
  bool on_input(const Event& event);
  bool on_message(const Event& event);
  bool on_peer_closed(const Event& event);
  bool on_journal(const Event& event);
  bool on_file(const Event& event);
  bool on_marker(const Event& event);
  void storage_back();
  void begin_storage(const Fault& fault, std::uint64_t number);
  void end_storage(const Fault& fault, std::uint64_t number);
  void set_storage();
  void drop_inbox(Machine& machine);
  void thaw_agent(NodeId node);
  std::optional<std::size_t> running_agent(NodeId node) const;
  void tell_node(NodeId node, NodeEventKind kind, bool whole = false);

  // world_faults.cc
  void power_on(NodeId node);
  void power_off(NodeId node, bool disk_kept);
  void begin_fault(std::size_t index);
  bool end_fault(std::uint64_t number);
  void undo(const RunningFault& fault);
  std::vector<NodeId> resolve(const std::vector<NodeId>& nodes) const;
  void hit(RunningFault& running, std::uint64_t number, NodeId node);
  void hit_agent(RunningFault& running, NodeId node);
  void begin_wide(const Fault& fault, std::uint64_t number);
  void freeze_machine(NodeId node);
  void thaw_machine(NodeId node);
  void set_drift(NodeId node);
  void give_notice(NodeId node, Duration length);
  void lose_journal();
  void heal_node(NodeId node);
  void heal_core_and_fail_rest(const std::vector<NodeId>& core);

  Machine& at(NodeId node) { return machines[node.value]; }
  const Machine& at(NodeId node) const { return machines[node.value]; }
  bool valid(NodeId node) const { return node.value >= 1 && node.value < machines.size(); }
  bool hosted() const { return config.job.journal == JournalKind::kHosted; }

  World& owner;
  WorldConfig config;
  Plan plan;
  Timeouts timeouts;
  Chance chance;
  Timeline timeline;
  Network network;
  JournalService service;
  std::vector<Machine> machines;  // by NodeId; [0] is nobody
  std::unique_ptr<Workforce> training;
  std::vector<Observer*> observers;
  Slab<Input> payloads;
  std::vector<CommitMarker> markers;  // by index of the write
  std::vector<Event> waiting_for_storage;
  std::vector<std::pair<AgentId, Input>> saves_waiting;  // answers, until storage can be reached
  std::map<std::uint64_t, RunningFault> running_faults;
  std::uint64_t last_fault = 0;
  std::uint32_t storage_unreachable = 0;  // faults that run
  std::uint32_t storage_full = 0;
  std::vector<std::pair<std::uint64_t, std::int64_t>> storage_slow;  // their numbers and ppm
  bool plan_dropped = false;
  std::size_t adds_left = 0;       // kAdd faults not executed yet
  std::size_t agents_running = 0;  // not counting those that are cut off
  std::size_t starts_pending = 0;  // likewise
  Effects effects;
  bool stopping = false;

  std::vector<NumberedRecord> records;  // of the newest life
  JournalLife journal_life;
  std::optional<AgentId> newest_leader;
  std::optional<Verdict> verdict;

  std::uint64_t events = 0;
  math::Digest trace_digest;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> running_digests;
  std::uint64_t hash_first = 0, hash_last = 0;
  std::vector<std::uint64_t> event_hashes;
};

// Folds one event that really happens into the trace: when, what, whom, and what it brings.
template <class... Parts>
void World::Impl::trace(const Event& event, const Parts&... parts) {
  BasicHash<EventFold> hash;
  hash(timeline.now, event.kind, event.detail, event.node, parts...);
  const std::uint64_t value = hash.value();
  ++events;
  trace_digest.add(value);
  if (events % 4096 == 0) running_digests.emplace_back(events, trace_digest.value());
  if (events >= hash_first && events < hash_last) event_hashes.push_back(value);
}

}  // namespace elastic::sim
