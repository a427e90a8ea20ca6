#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chaos/oracles/oracle_set.h"
#include "core/membership/config.h"
#include "transport/sim/config.h"
#include "transport/sim/native.h"
#include "transport/sim/observer.h"

namespace elastic::test {

// A hand-made history for oracles: a few calls, each one happening of the world at a given
// millisecond. Three machines (1, 2, 3), agents in life 1 unless said otherwise, an external
// journal of life 7.
class OracleStage final : public chaos::WorldView {
 public:
  explicit OracleStage(WorkerKind workers = WorkerKind::kNative, std::uint64_t total_steps = 1000)
      : config_(configured(workers)) {
    config_.training.total_steps = total_steps;
    timeouts_ = std::get<Timeouts>(derive_timeouts(config_.job));
    oracles_.emplace(config_, timeouts_);
    oracles_->watch(*this);
    for (std::uint64_t node = 1; node <= 3; ++node) boot(node);
  }

  static constexpr JournalLife journal_life{7};
  static AgentId agent(std::uint64_t node, std::uint64_t life = 1) {
    return {NodeId{node}, AgentLife{life}};
  }
  static RoundId round(std::uint64_t number) { return {journal_life, number}; }
  static StatePoint state(std::uint64_t in_round, std::uint64_t step, std::uint64_t lineage) {
    return {round(in_round), Step{step}, Lineage{lineage}};
  }

  // ---- Time; each call of these ends the event before.
  OracleStage& at_ms(std::int64_t ms) {
    tick();
    now_ = Time(std::chrono::milliseconds(ms));
    return *this;
  }
  Time now() const { return now_; }
  void skew(std::uint64_t node, Duration by) { skew_[node] = by; }

  // ---- Machines and workers
  void boot(std::uint64_t node, std::uint64_t life = 1) {
    if (life == 1) node_event(sim::NodeEventKind::kMachineUp, node, life);
    node_event(sim::NodeEventKind::kAgentUp, node, life);
  }
  void node_event(sim::NodeEventKind kind, std::uint64_t node, std::uint64_t life = 1,
                  bool whole_machine = false) {
    oracles_->on_node(now_, {kind, NodeId{node}, AgentLife{life}, whole_machine});
    tick();
  }
  void worker(sim::WorkerEventKind kind, std::uint64_t node, std::uint64_t in_round,
              StatePoint held = {}, std::uint64_t life = 1) {
    sim::WorkerEvent event{};
    event.kind = kind;
    event.node = NodeId{node};
    event.life = AgentLife{life};
    if (in_round != 0) event.round = round(in_round);
    event.state = held;
    if (kind == sim::WorkerEventKind::kApplied) train(event);
    if (spoil_) spoil_(event);
    oracles_->on_worker(now_, event);
    tick();
  }
  // Changes what the oracles are told of workers from now on.
  void spoil(std::function<void(sim::WorkerEvent&)> how) { spoil_ = std::move(how); }
  void exited(std::uint64_t node, std::uint64_t in_round, ExitStatus status,
              bool by_agent = false) {
    sim::WorkerEvent event{};
    event.kind = sim::WorkerEventKind::kExited;
    event.node = NodeId{node};
    event.life = AgentLife{1};
    event.round = round(in_round);
    event.local_rank = 0;
    event.status = status;
    event.by_agent = by_agent;
    oracles_->on_worker(now_, event);
    tick();
  }

  // ---- Records, notes, messages
  void record(std::uint64_t number, std::uint64_t writer, decltype(Record::body) body) {
    oracles_->on_record(now_, {RecordNo{number}, {agent(writer), number, std::move(body)}},
                        journal_life);
    tick();
  }
  void lead(std::uint64_t number, std::uint64_t node) { record(number, node, Lead{agent(node)}); }
  World world(std::uint64_t number, std::vector<std::uint64_t> nodes,
              ResumePoint resume = {}) const {
    World world;
    world.round = round(number);
    for (const std::uint64_t node : nodes) world.members.push_back({agent(node), 1});
    world.resume = resume;
    return world;
  }
  static ResumePoint from_holders(StatePoint held) {
    ResumePoint resume;
    resume.source = ResumePoint::Source::kHolders;
    resume.state = held;
    return resume;
  }
  void note(std::uint64_t by, Note note) {
    oracles_->on_note(now_, agent(by), note);
    tick();
  }
  void sent(std::uint64_t from, std::uint64_t to, const Message& message) {
    oracles_->on_sent(now_, NodeId{from}, NodeId{to}, message);
    tick();
  }
  void delivered(std::uint64_t from, std::uint64_t to, const Message& message) {
    oracles_->on_delivered(now_, NodeId{from}, NodeId{to}, message);
    tick();
  }
  void beat(std::uint64_t from, std::uint64_t to, const Beat& beat) {
    sent(from, to, beat);
    delivered(from, to, beat);
  }
  static Beat beat_of(std::uint64_t node, std::uint64_t number) {
    Beat beat{};
    beat.from = agent(node);
    beat.number = BeatNo{number};
    return beat;
  }
  static Order order_of(std::uint64_t leader, std::uint64_t lead_record) {
    Order order{};
    order.from = agent(leader);
    order.lead = {journal_life, RecordNo{lead_record}};
    return order;
  }
  // The sender's acknowledgement of `number`, from sending to arrival.
  void acknowledge(std::uint64_t leader, std::uint64_t lead_record, std::uint64_t node,
                   std::uint64_t number) {
    Order order = order_of(leader, lead_record);
    order.beat = BeatNo{number};
    sent(leader, node, order);
    delivered(leader, node, order);
  }

  // ---- A job that runs: lead 1 of node 1, round 1 of all three as record 2, entered, `steps`
  // done. Lineage of step s is 100 + s.
  void run_round_one(std::uint64_t steps) {
    using sim::WorkerEventKind;
    lead(1, 1);
    record(2, 1, world(1, {1, 2, 3}));
    const bool foreign = config_.job.workers == WorkerKind::kForeign;
    for (std::uint64_t node = 1; node <= 3; ++node) {
      worker(WorkerEventKind::kStarted, node, foreign ? 1 : 0);
      worker(WorkerEventKind::kEntered, node, 1, state(1, 0, 0));
    }
    for (std::uint64_t step = 1; step <= steps; ++step) {
      worker(WorkerEventKind::kStepBegun, 1, 1, state(1, step - 1, 0));
      for (std::uint64_t node = 1; node <= 3; ++node) {
        worker(WorkerEventKind::kApplied, node, 1, state(1, step, 100 + step));
      }
      worker(WorkerEventKind::kCommitted, 1, 1, state(1, step, 100 + step));
    }
  }

  // Ends the present event. The oracles look at no world here.
  void tick() { oracles_->end_event(now_, ++events_); }
  void finish() { oracles_->finish(now_); }

  const sim::WorldConfig& config() const { return config_; }
  sim::WorldConfig& config() { return config_; }
  const Timeouts& timeouts() const { return timeouts_; }
  chaos::OracleSet& oracles() { return *oracles_; }
  // Name of the oracle that spoke, or "".
  std::string spoke() const {
    const auto& violation = oracles_->violation();
    return violation ? violation->oracle : std::string();
  }
  std::uint64_t checks(std::string_view name) const {
    for (const chaos::OracleCount& count : oracles_->counts()) {
      if (count.name == name) return count.checks;
    }
    return 0;
  }

  // ---- WorldView
  Time local_clock(NodeId node) const override {
    const auto at = skew_.find(node.value);
    return now_ + (at == skew_.end() ? Duration{} : at->second);
  }
  std::optional<Told> told_by(NodeId node) const override {
    const auto at = told_.find(node.value);
    return at == told_.end() ? std::nullopt : std::optional(at->second);
  }
  void tell(std::uint64_t node, Told told) { told_[node] = told; }
  bool intact(const Checkpoint& save) const override { return !rotten_.contains(save.step); }
  void rot(std::uint64_t step) { rotten_.insert(Step{step}); }

 private:
  // What a worker has that applies a step as it should: to the state of the step before, whose
  // lineage is one less (states are named 100 + step here).
  struct Trained {
    sim::Weights weights;
    data::Cursor next;
  };
  void train(sim::WorkerEvent& event) {
    const TrainingRules rules = sim::rules_of(config_);
    const std::uint64_t step = event.state.step.value;
    event.before = step <= 1 ? Lineage{} : Lineage{99 + step};
    trained_.try_emplace(Lineage{}, Trained{sim::initial_weights(rules.data.seed), {}});
    const auto before = trained_.find(event.before);
    if (before == trained_.end()) return;
    Trained after = before->second;
    event.batch = data::batch_at(rules.data, after.next, rules.batch.reference_batch);
    const data::Share whole{event.batch.first, event.batch.size};
    sim::apply(after.weights,
               sim::gradient(after.weights, rules.data.seed, event.batch.epoch, whole),
               policy::kUnchanged.q32);
    after.next = data::advance(rules.data, after.next, event.batch);
    event.digest = sim::digest_of(after.weights);
    event.cursor = after.next;
    trained_[event.state.lineage] = after;
  }

  static sim::WorldConfig configured(WorkerKind workers) {
    sim::WorldConfig config;
    config.job.min_nodes = 2;
    config.job.max_nodes = 3;
    config.job.workers = workers;
    config.job.journal = JournalKind::kExternal;
    config.job.max_restarts = 2;
    config.zones = {"a"};
    for (int i = 0; i < 3; ++i) {
      config.nodes.push_back({.name = "a" + std::to_string(i),
                              .zone = 0,
                              .price_microdollars_per_hour = 1'000'000,
                              .present_at_start = true});
    }
    return config;
  }

  sim::WorldConfig config_;
  Timeouts timeouts_;
  std::map<Lineage, Trained> trained_;
  std::function<void(sim::WorkerEvent&)> spoil_;
  std::optional<chaos::OracleSet> oracles_;
  Time now_{};
  std::uint64_t events_ = 0;
  std::map<std::uint64_t, Duration> skew_;
  std::set<Step> rotten_;
  std::map<std::uint64_t, Told> told_;
};

}  // namespace elastic::test
