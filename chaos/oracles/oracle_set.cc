#include "chaos/oracles/oracle_set.h"

#include <utility>

#include "chaos/account/account.h"
#include "chaos/oracles/failures.h"
#include "chaos/oracles/journal.h"
#include "chaos/oracles/leases.h"
#include "chaos/oracles/rounds.h"
#include "chaos/oracles/steps.h"
#include "chaos/oracles/training.h"
#include "chaos/oracles/upkeep.h"
#include "chaos/oracles/verdict.h"
#include "chaos/oracles/world_view.h"
#include "core/assert.h"

namespace elastic::chaos {

// The oracles are made before a world is watched; until then, clocks stand at zero.
class OracleSet::Switchboard final : public WorldView {
 public:
  Time local_clock(NodeId node) const override {
    if (world_) return world_->local_clock(node);
    return view_ == nullptr ? Time{} : view_->local_clock(node);
  }
  std::optional<Told> told_by(NodeId node) const override {
    if (world_) return world_->told_by(node);
    return view_ == nullptr ? std::nullopt : view_->told_by(node);
  }
  bool intact(const Checkpoint& save) const override {
    if (world_) return world_->intact(save);
    return view_ == nullptr || view_->intact(save);
  }
  void connect(const WorldView& view) { view_ = &view; }
  void connect(const sim::World& world) { world_.emplace(world); }

 private:
  std::optional<SimView> world_;
  const WorldView* view_ = nullptr;
};

template <class O, class... More>
void OracleSet::add(More&&... more) {
  oracles_.push_back(std::make_unique<O>(bench(), std::forward<More>(more)...));
}

Bench OracleSet::bench() {
  return {config_, timeouts_, truth_, *view_,
          [this](Violation violation) { say(std::move(violation)); }};
}

OracleSet::OracleSet(const sim::WorldConfig& config, const Timeouts& timeouts,
                     const Account* account)
    : config_(config),
      timeouts_(timeouts),
      view_(std::make_unique<Switchboard>()),
      truth_(config_, timeouts_, *view_),
      narrator_(config_),
      account_(account) {
  add<JournalOracle>();
  add<AcknowledgementOracle>();
  add<RecordedWhenDeadOracle>();
  add<ExclusiveRoundsOracle>();
  add<RanksOracle>();
  add<RoundOrderOracle>();
  add<CommittedStepsOracle>();
  add<LineageOracle>();
  add<OneStepApartOracle>();
  add<SamplesOracle>();
  add<WeightsOracle>();
  add<CheckpointOracle>();
  add<LeasesOracle>();
  add<StopsOracle>();
  add<BudgetsOracle>();
  add<VerdictOracle>();
  add<DeathsOracle>();
  add<AccountedOracle>();
  add<MessagesOracle>();
  add<InvariantsOracle>();
  add<AccountOracle>(account_);
  enlist();
}

OracleSet::~OracleSet() = default;

void OracleSet::let_go_of_account() {
  account_ = nullptr;
  ELASTIC_ASSERT(oracles_.back()->name() == "account");
  oracles_.back() = std::make_unique<AccountOracle>(bench(), nullptr);
  for (auto& listeners : listeners_) listeners.clear();
  enlist();
}

void OracleSet::enlist() {
  for (const auto& oracle : oracles_) {
    for (std::size_t bit = 0; bit < listeners_.size(); ++bit) {
      if ((oracle->traits().interests & (1U << bit)) != 0) listeners_[bit].push_back(oracle.get());
    }
  }
}

void OracleSet::watch(sim::World& world) {
  ELASTIC_ASSERT(world_ == nullptr);
  world_ = &world;
  view_->connect(world);
  world.watch(*this);
}

void OracleSet::watch(const WorldView& view) {
  ELASTIC_ASSERT(world_ == nullptr);
  view_->connect(view);
}

void OracleSet::say(Violation violation) {
  if (violation_) return;
  violation_ = std::move(violation);
  if (world_ != nullptr && stop_at_violation_) world_->stop();
}

void OracleSet::finish(Time now) {
  if (violation_) return;
  for (const auto& oracle : oracles_) oracle->finish(now);
}

void OracleSet::heal_core(Time now, const std::vector<NodeId>& core) {
  truth_.heal_core(now, core);
}

std::vector<OracleCount> OracleSet::counts() const {
  std::vector<OracleCount> counts;
  counts.reserve(oracles_.size());
  for (const auto& oracle : oracles_) {
    counts.push_back({oracle->name(), oracle->promise(), oracle->checks()});
  }
  return counts;
}

std::uint64_t OracleSet::checks() const {
  std::uint64_t sum = 0;
  for (const auto& oracle : oracles_) sum += oracle->checks();
  return sum;
}

// After a violation nothing is judged any more: what follows may be its consequence, and the story
// is to end there.
void OracleSet::on_note(Time now, AgentId by, const Note& note) {
  if (violation_) return;
  narrator_.on_note(now, truth_.event(), by, note);
  for (Oracle* oracle : listeners_[0]) oracle->on_note(now, by, note);
}

void OracleSet::on_record(Time now, const NumberedRecord& record, JournalLife life) {
  if (violation_) return;
  narrator_.on_record(now, truth_.event(), record);
  for (Oracle* oracle : listeners_[1]) oracle->on_record(now, record, life);
  truth_.on_record(now, record, life);
  if (companion_ != nullptr) companion_->on_record(now, record, life);
}

void OracleSet::on_worker(Time now, const sim::WorkerEvent& event) {
  if (violation_) return;
  narrator_.on_worker(now, truth_.event(), event);
  for (Oracle* oracle : listeners_[2]) oracle->on_worker(now, event);
  truth_.on_worker(now, event);
  if (companion_ != nullptr) companion_->on_worker(now, event);
}

void OracleSet::on_node(Time now, const sim::NodeEvent& event) {
  if (violation_) return;
  narrator_.on_node(now, truth_.event(), event);
  for (Oracle* oracle : listeners_[3]) oracle->on_node(now, event);
  truth_.on_node(now, event);
  if (companion_ != nullptr) companion_->on_node(now, event);
}

void OracleSet::on_fault(Time now, const sim::Fault& fault) {
  if (violation_) return;
  narrator_.on_fault(now, truth_.event(), fault);
  for (Oracle* oracle : listeners_[4]) oracle->on_fault(now, fault);
  truth_.on_fault(now, fault);
  if (companion_ != nullptr) companion_->on_fault(now, fault);
}

void OracleSet::on_sent(Time now, NodeId from, NodeId to, const Message& message) {
  if (violation_) return;
  for (Oracle* oracle : listeners_[5]) oracle->on_sent(now, from, to, message);
  truth_.on_sent(now, from, to, message);
}

void OracleSet::on_delivered(Time now, NodeId from, NodeId to, const Message& message) {
  if (violation_) return;
  for (Oracle* oracle : listeners_[6]) oracle->on_delivered(now, from, to, message);
  truth_.on_delivered(now, from, to, message);
}

void OracleSet::after_event(Time now, std::uint64_t index, const sim::World& /*world*/) {
  end_event(now, index);
}

void OracleSet::end_event(Time now, std::uint64_t index) {
  if (violation_) return;
  for (Oracle* oracle : listeners_[7]) oracle->on_event(now);
  truth_.end_event(index);
}

}  // namespace elastic::chaos
