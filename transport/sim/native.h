// Native workers in the simulated world: one core/worker machine per process, and around it what
// its runtime does in reality: processes, pipes, connections, compute and reduce times, fills,
// saves. Decides nothing.
//
// Two models of a step (WorldConfig::collectives). Modelled: the members compute and reduce
// together, in one event, and each has the sum at a slightly different time. Messages: each
// computes for itself, and every chunk of the ring is a message between two of them.
//
// native_process.cc: life and death of processes; native_worker.cc: inputs and effects of one
// worker; native_round.cc: the steps that the members of a round make together; native_ring.cc:
// the same, chunk by chunk.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/agent/crew.h"
#include "core/worker/ring.h"
#include "core/worker/worker.h"
#include "transport/sim/chance.h"
#include "transport/sim/clock.h"
#include "transport/sim/config.h"
#include "transport/sim/replica.h"
#include "transport/sim/storage.h"
#include "transport/sim/timeline.h"
#include "transport/sim/workforce.h"

namespace elastic::sim {

TrainingRules rules_of(const WorldConfig& config);

class NativeTraining final : public Workforce {
 public:
  NativeTraining(const WorldConfig& config, const Timeouts& timeouts, const Chance& chance,
                 Timeline& timeline, Surroundings& world);

  void prepare(AgentId agent) override;
  void enter(AgentId agent, const Placement& placement) override;
  void leave(AgentId agent, RoundId for_round, bool planned) override;
  void stop_workers(AgentId agent, bool kill) override;
  void kill_worker(AgentId agent, std::uint32_t rank) override;
  void renew(AgentId agent, const RenewLease& lease) override;
  void poll(AgentId agent) override;
  void kill_leftovers(AgentId agent) override;

  void agent_gone(AgentId agent) override;
  void machine_down(NodeId node) override;
  void machine_freezes(NodeId node) override;
  void machine_thawed(NodeId node) override;
  void kill_by_fault(NodeId node, std::uint32_t rank) override;
  void exit_by_itself(NodeId node, std::int32_t code) override;
  std::optional<FrozenWorker> freeze_worker(NodeId node, std::uint32_t rank) override;
  void thaw_worker(const FrozenWorker& worker) override;
  void thaw_all_workers(NodeId node) override;
  void surroundings_changed() override;
  void clock_changed(NodeId node) override;

  bool on_event(const EventQueue::Due& due) override;

  Storage& storage() override { return storage_; }
  std::optional<StatePoint> held_on(NodeId node) const override;

 private:
  // What is reduced: the gradient, and the flags as counters of 16 bits each.
  using Buffer = std::array<std::uint64_t, kLanes + 1>;
  struct Chunk {
    ChunkHeader header;
    Buffer data{};  // [0, header.length)
  };
  // State beside the process's own: a fill or a load that is not swapped in yet.
  struct Shadow {
    Weights weights;
    Progress progress;
    StatePoint state;
    std::uint32_t parts = 0;  // bit i: part i is there
    std::uint32_t all_parts = 0;
    bool whole() const { return all_parts > 0 && parts == (1U << all_parts) - 1; }
  };
  // One worker process. Index into processes_ is its id minus one; ids are never reused.
  struct Process {
    Process(const TrainingRules& rules, const Timeouts& timeouts) : machine(rules, timeouts) {}

    std::uint64_t id = 0;
    AgentId agent;
    std::uint32_t local_rank = 0;
    bool alive = true;
    bool by_agent = false;  // its agent ends it
    std::uint32_t freezes = 0;
    std::vector<Event> deferred;  // what came while it stood still
    Worker machine;
    LazyTimer orphan;
    std::uint64_t joint = 0;  // index of the round that it is connected in, plus one
    std::uint32_t rank = 0;   // there
    std::uint64_t epoch = 0;  // counts the rounds that it connected to or cancelled
    Weights weights;
    std::optional<Shadow> shadow;
    Lanes own{};                                  // gradient of its share of the step under way
    Lanes reduced{};                              // of all members
    policy::Factor rate;                          // of the update under way
    std::optional<std::pair<RoundId, Step>> due;  // a reduction is whole and on its way to it
    bool due_lost = false;                        // it had been cancelled before it was whole
    struct Fetching {
      Time from{};
      Duration takes{};
      std::int64_t bytes = 0;
    };
    std::array<Fetching, 2> fetching{};  // the parts of a fill
    TransferId load;
    std::optional<StoreShare> store;
    TransferId store_transfer;
    Weights copy;  // of a save
    std::uint64_t applies = 0;

    // Messages only.
    Ring ring;
    Buffer buffer{};
    std::map<ChunkHeader, Buffer> arrived;  // data that the ring has not used yet
    std::vector<Chunk> outbox;              // for a neighbour that cannot be reached
    Time link_free{};                       // when the link to the next rank has sent everything
    Time computes_until{};
    std::uint64_t computation = 0;  // generation
    Time stands_since{};            // frozen since

    NodeId node() const { return agent.node; }
  };
  // The processes of one agent life on one node.
  struct Hands {
    Hands(const JobConfig& job, const Timeouts& timeouts) : crew(job, timeouts) {}

    AgentId agent;
    Crew crew;
    std::vector<std::uint64_t> processes;  // ids by local rank; 0: none
    std::uint32_t preparation = 0;
    bool terminating = false;  // SIGTERM has reached them: they contribute nothing more
    bool inside = false;       // in a round, as far as observers were told
    RoundId placed;
    std::pair<RoundId, Step> applied;  // newest that observers were told of
  };
  // What the members of a round do together.
  struct Joint {
    enum class Phase : std::uint8_t {
      kGathering,  // not every member has begun the step
      kStepping,   // `remaining` of the step is left; runs while `active`
    };
    std::uint64_t index = 0;
    RoundId round;
    Phase phase = Phase::kGathering;
    bool live = true;
    bool broken = false;  // a member has left or died: no further step
    bool active = false;
    std::vector<std::uint64_t> slots;  // process ids by rank; 0: not (or no longer) here
    std::vector<NodeId> nodes;
    std::vector<std::optional<Time>> closed_since;  // edge i: between rank i and i + 1
    std::vector<StartStep> begun;                   // by rank; step 0: not begun
    std::uint32_t begun_count = 0;
    std::uint32_t applied_count = 0;
    Step applied_step;
    Duration length{};
    Duration remaining{};
    Time ends_at{};
    std::uint64_t generation = 0;
    std::uint32_t reduced_count = 0;
    std::uint32_t flags = 0;
  };

  static constexpr std::uint64_t kAnyEpoch = UINT64_MAX;
  enum class ProcessAction : std::uint8_t {
    kInput,       // payload: the input; b: epoch that it needs, or kAnyEpoch
    kPrepared,    // b: preparation
    kTerminated,  // end of SIGTERM's handling
    kKilled,      // SIGKILL has done its work
    kFetched,     // payload: FetchPart, in inputs_; b: epoch
    kThrough,     // storage; b: transfer
    kComputed,    // messages: its share of the step; b: computation
    kChunk,       // messages: payload: the chunk, in chunks_
  };
  enum class RoundAction : std::uint8_t {
    kDecide,  // the step's reduction is complete; b: generation
    kEdge,    // b: edge that was closed for lost_after
  };

  // native_process.cc
  Hands* hands_of(AgentId agent);
  Hands* hands_on(NodeId node);
  Process* process(std::uint64_t id);
  Process& create(Hands& hands, std::uint32_t local_rank);
  bool frozen(const Process& process) const;
  void end_process(Process& process, ExitStatus status, bool silent);
  void forget_if_empty(AgentId agent);
  void signal_kill(Process& process);
  void thawed(Process& process);
  void crew_step(Hands& hands, const CrewInput& input, Duration after);
  void drop_payload(const Event& event);
  bool on_process(const EventQueue::Due& due);
  bool on_orphan(const EventQueue::Due& due);
  bool on_transfers(const std::vector<TransferId>& through);

  // native_worker.cc
  void give(Process& process, WorkerInput input, Duration after, bool any_epoch = true);
  void run(Process& process, const WorkerInput& input);
  void take(Process& process, const WorkerEffect& effect);
  void told_agent(Process& process, const WorkerSays& says);
  void tell_peer(Process& process, const TellPeer& message);
  void connect(Process& process, const Connect& connect);
  void fetch(Process& process, const FetchPart& part);
  bool fetched(Process& process, const Event& event);
  std::uint64_t arrived_bytes(Process& process);
  void swap_in(Process& process, const SwapIn& swap);
  void apply_step(Process& process, const ApplyStep& apply);
  void applied(Process& process, const StepApplied& applied);
  void store(Process& process, const StoreShare& store);
  void stored(Process& process);
  void load(Process& process, const LoadSave& load);
  void loaded(Process& process);
  void cancel(Process& process);
  void copy_state(Process& process, const CopyState& copy);
  Process* neighbour(const Process& process, Side side);

  // native_ring.cc
  void compute(Process& process, const StartStep& start);
  void computed(Process& process);
  void start_ring(Process& process, const ReduceStep& reduce);
  void carry_out(Process& process, const RingEffects& effects);
  void send_chunk(Process& process, const Chunk& chunk);
  void flush(Process& process);
  void flush_all(Joint& joint);
  bool on_chunk(Process& process, const Chunk& chunk);
  void stands_still(Process& process);
  void goes_on(Process& process);

  // native_round.cc
  Joint& joint_for(RoundId round, std::uint32_t world_size);
  Joint* joint_of(const Process& process);
  void join(Process& process, const Connect& connect);
  void drop_from_joint(Process& process, bool closed);
  void begin_step(Process& process, const StartStep& start);
  void reduce(Process& process, const ReduceStep& reduce);
  bool can_go_on(Joint& joint);
  void refresh(Joint& joint);
  void decide(Joint& joint);
  // The machine before an input.
  struct Before {
    bool catching_up = false;
    Lineage lineage;
    data::Batch batch;
  };
  void member_applied(Process& process, Step step, const Before& before);
  Duration compute_length(const Process& process, std::uint64_t samples) const;
  Duration reduce_length(std::size_t ranks) const;
  Duration step_length(Joint& joint);
  void tell_begun(Joint& joint, Duration length);
  void watch_edges(Joint& joint);
  void watch_edge(Joint& joint, std::size_t edge);
  void edge_failed(Joint& joint, std::size_t edge);
  void greet_again(Joint& joint);
  bool on_round(const Event& event);

  // shared
  std::optional<policy::GradientStats> stats_of(const Lanes& sum) const;
  void schedule(const Process& process, ProcessAction action, Duration after, std::uint64_t b,
                std::uint32_t payload = kNoPayload);
  static Event orphan_event(const Process& process);
  void schedule(const Joint& joint, RoundAction action, Duration after, std::uint64_t b);
  Duration drawn(Purpose purpose, NodeId node, Duration bound);
  void tell(const Hands& hands, WorkerEvent event);

  struct Saved {
    Weights weights;
    Progress progress;
  };

  WorldConfig config_;
  TrainingRules rules_;
  Timeouts timeouts_;
  Chance chance_;
  Timeline& timeline_;
  Surroundings& world_;
  Storage storage_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::vector<std::unique_ptr<Hands>>> hands_;  // by node; oldest first
  std::vector<std::unique_ptr<Joint>> joints_;
  std::map<RoundId, std::uint64_t> joint_index_;
  std::vector<std::uint64_t> live_joints_;
  std::map<TransferId, std::uint64_t> transfers_;  // to process
  std::map<Storage::SaveKey, Saved> saves_;
  std::vector<std::array<std::uint64_t, 8>> draws_;  // taken so far, by node and purpose
  std::vector<std::pair<AgentLife, Time>> renewed_;
  Slab<WorkerInput> inputs_;
  Slab<FetchPart> fetches_;
  Slab<Chunk> chunks_;
  bool messages_ = false;
  std::vector<std::pair<std::uint64_t, WorkerInput>> at_once_;  // follow in the same event
  bool running_ = false;
};

}  // namespace elastic::sim
