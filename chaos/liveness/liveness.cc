#include "chaos/liveness/liveness.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "chaos/oracles/narrator.h"
#include "chaos/oracles/oracle_set.h"
#include "chaos/oracles/truth.h"
#include "core/assert.h"
#include "core/math/integer.h"
#include "core/math/random.h"
#include "transport/sim/world.h"

namespace elastic::chaos {
namespace {

using sim::FaultKind;
using sim::NodeEventKind;
using sim::WorkerEventKind;

constexpr math::Stream kMomentStream{0x6c6976656e657373};  // "liveness"
constexpr math::Stream kCoreStream{0x636f7265};            // "core"
// Draws of the core stream beyond the order of nodes.
constexpr std::uint64_t kDrawSize = 1'000'000;
constexpr std::uint64_t kDrawHost = 1'000'001;

// Steps that a healed core must make, so that one lucky last step of an old round is not taken for
// life.
constexpr std::uint32_t kStepsToShow = 2;

// Candidacies that may fail before one wins: two stand at once, then the back-off doubles; eight in
// a row have a chance below 2^-8 each time.
constexpr int kElections = 8;

// Changes of round that may follow each other: the round that runs at the moment is broken by the
// cut; the next may still count on members that are cut off while it forms; one more may be
// announced for joiners that come up late.
constexpr int kChanges = 3;

Duration transfer(std::int64_t bytes, std::int64_t bytes_per_second) {
  if (bytes_per_second <= 0) return {};
  return Duration(math::mul_div(bytes, 1'000'000'000, bytes_per_second));
}

}  // namespace

// Who has said what since the healing.
class LivenessCheck::Watch final : public sim::Observer {
 public:
  Watch(sim::World& world, NodeId host) : world_(world), host_(host) {}

  void start(std::vector<NodeId> core) {
    core_ = std::move(core);
    healed_ = true;
    healed_at_ = world_.now();
  }
  bool healed() const { return healed_; }
  bool done() const { return done_; }
  bool journal_lost() const { return journal_lost_; }
  bool over() const { return verdict_; }
  Time done_at() const { return done_at_; }
  const std::map<NodeId, ExitReason>& exits() const { return exits_; }
  std::optional<RoundId> newest() const {
    return worlds_.empty() ? std::nullopt : std::optional(worlds_.rbegin()->first);
  }

  void on_record(Time now, const NumberedRecord& record, JournalLife /*life*/) override {
    if (const auto* world = std::get_if<World>(&record.record.body)) worlds_[world->round] = *world;
    if (std::holds_alternative<Verdict>(record.record.body)) verdict_ = true;
    all_out(now);
  }
  void on_worker(Time now, const sim::WorkerEvent& event) override {
    if (!healed_ || done_ || event.kind != WorkerEventKind::kStepBegun) return;
    const auto world = worlds_.find(event.round);
    if (world == worlds_.end()) return;
    for (const Member& member : world->second.members) {
      if (std::find(core_.begin(), core_.end(), member.agent.node) == core_.end()) return;
    }
    steps_ = event.round == shown_ ? steps_ + 1 : 1;
    shown_ = event.round;
    if (steps_ > kStepsToShow) finish(now);
  }
  void on_node(Time now, const sim::NodeEvent& event) override {
    if (event.kind == NodeEventKind::kAgentUp) exits_.erase(event.node);
    if (event.kind == NodeEventKind::kAgentExit) exits_[event.node] = event.exit;
    all_out(now);
  }
  void on_fault(Time /*now*/, const sim::Fault& fault) override {
    const bool hits_host =
        std::find(fault.targets.begin(), fault.targets.end(), host_) != fault.targets.end();
    journal_lost_ = journal_lost_ || fault.kind == FaultKind::kJournalLost ||
                    (fault.kind == FaultKind::kReclaim && hits_host);
  }

 private:
  // The job has ended: once every core agent is out, nothing is to come.
  void all_out(Time now) {
    if (!healed_ || done_ || !verdict_) return;
    for (const NodeId node : core_) {
      if (world_.agent_running(node)) return;
    }
    finish(now);
  }
  void finish(Time now) {
    done_ = true;
    done_at_ = now;
    world_.stop();
  }

  sim::World& world_;
  NodeId host_;
  std::vector<NodeId> core_;
  std::map<RoundId, World> worlds_;
  std::map<NodeId, ExitReason> exits_;
  RoundId shown_;
  std::uint32_t steps_ = 0;
  bool healed_ = false;
  bool verdict_ = false;
  bool done_ = false;
  bool journal_lost_ = false;
  Time healed_at_{};
  Time done_at_{};
};

namespace {

// A random core: of nodes whose machine is up or can come up, min_nodes to all of them, a multiple
// of node_unit; in three of four draws with the host of the journal in it, if there is one.
std::vector<NodeId> draw_core(const sim::World& world, std::uint64_t key) {
  const sim::WorldConfig& config = world.config();
  const math::Seed seed{key};
  std::vector<std::pair<std::uint64_t, NodeId>> order;
  for (std::uint64_t node = 1; node <= config.nodes.size(); ++node) {
    if (!world.machine_up(NodeId{node})) continue;
    const std::uint64_t place = math::draw(seed, kCoreStream, node);
    order.emplace_back(place, NodeId{node});
  }
  for (std::uint64_t node = 1; node <= config.nodes.size(); ++node) {
    if (order.size() >= config.job.min_nodes) break;
    if (!world.machine_up(NodeId{node})) order.emplace_back(UINT64_MAX, NodeId{node});
  }
  const bool want_host = config.job.journal == JournalKind::kHosted &&
                         math::chance_ppm(math::draw(seed, kCoreStream, kDrawHost), 750'000);
  if (want_host) {
    for (auto& [place, node] : order) {
      if (node == config.job.journal_host) place = 0;
    }
  }
  std::sort(order.begin(), order.end());
  const std::uint32_t unit = std::max(1U, config.job.node_unit);
  const auto least = static_cast<std::int64_t>(math::ceil_div(config.job.min_nodes, unit));
  const auto most = static_cast<std::int64_t>(order.size() / unit);
  const std::uint64_t size_draw = math::draw(seed, kCoreStream, kDrawSize);
  const auto size = static_cast<std::size_t>(math::between(size_draw, least, most)) * unit;
  std::vector<NodeId> core;
  for (std::size_t i = 0; i < order.size() && i < size; ++i) core.push_back(order[i].second);
  std::sort(core.begin(), core.end());
  return core;
}

struct Voided {
  std::string assumption;
  std::string proof;
};

// Which assumption of docs/assumptions.md explains that nothing runs, with what shows it.
std::optional<Voided> voided(const sim::World& world, const std::map<NodeId, ExitReason>& exits,
                             bool journal_lost, const std::vector<NodeId>& core) {
  const JobConfig& job = world.config().job;
  const auto name_of = [&](NodeId node) { return world.config().nodes[node.value - 1].name; };
  const auto in_core = [&](NodeId node) {
    return std::find(core.begin(), core.end(), node) != core.end();
  };
  if (job.journal == JournalKind::kHosted && !in_core(job.journal_host)) {
    return Voided{"the host of a hosted journal comes back",
                  name_of(job.journal_host) + ", which hosts it, is not in the core"};
  }
  if (job.journal == JournalKind::kHosted && journal_lost) {
    return Voided{"the file of a hosted journal is not lost",
                  "a fault took the file or the machine of " + name_of(job.journal_host)};
  }
  std::uint32_t gone = 0;
  std::string who;
  for (const NodeId node : core) {
    const auto exit = exits.find(node);
    if (exit == exits.end() || world.agent_running(node)) continue;
    ++gone;
    who += (who.empty() ? "" : ", ") + name_of(node);
  }
  if (core.size() - gone < job.min_nodes) {
    return Voided{
        "at least min_nodes agents of the core stay in the job",
        fmt::format("{} of {} have exited by themselves before: {}", gone, core.size(), who)};
  }
  if (core.size() < job.min_nodes) {
    return Voided{"at least min_nodes machines exist", fmt::format("{} do", core.size())};
  }
  return std::nullopt;
}

std::string state_of(const sim::World& world, const std::vector<NodeId>& core) {
  std::string text;
  std::size_t told = 0;
  for (const NodeId id : core) {
    const Node* node = world.node(id);
    if (++told > 6) break;
    if (!text.empty()) text += ", ";
    text += world.config().nodes[id.value - 1].name + ": ";
    if (node == nullptr) {
      text += world.machine_up(id) ? "no agent" : "machine down";
    } else if (node->agent().entered()) {
      text += "in " + in_words(node->agent().entered());
    } else {
      text += fmt::format("waits (reason {}, state {})", static_cast<int>(node->agent().waiting()),
                          static_cast<int>(node->agent().state()));
    }
    if (node != nullptr && node->leading()) text += " and leads";
  }
  return text;
}

// No agent of the core runs any more, so that nothing is to come.
bool nobody(const sim::World& world, const std::vector<NodeId>& core) {
  return std::none_of(core.begin(), core.end(),
                      [&](NodeId node) { return world.agent_running(node); });
}

}  // namespace

std::string_view name(LivenessResult::Kind kind) {
  switch (kind) {
    case LivenessResult::Kind::kHeld:
      return "held";
    case LivenessResult::Kind::kJobOver:
      return "job over";
    case LivenessResult::Kind::kVoided:
      return "voided";
    case LivenessResult::Kind::kViolation:
      return "violation";
  }
  return "";
}

LivenessPlan plan_liveness(std::uint64_t seed, Duration span) {
  const std::uint64_t drawn = math::draw(math::Seed{seed}, kMomentStream, 0);
  const std::int64_t at = math::between(drawn, span.count() / 10, span.count() / 10 * 9);
  return {.moment = Time(Duration(at)), .core_key = math::draw(math::Seed{seed}, kMomentStream, 1)};
}

// The sum of everything that may come one after the other, each at its stated longest:
//  - machines of the core that were down start their agents; workers are stopped with the grace;
//  - the leader was cut off: silence, then kElections tries with doubled delays;
//  - proofs of death: the new leader counts leases from its Lead; where nobody of the last round
//  can
//    be reached, the orphan bound must pass; both with drift, and once more a lease for a leader
//    that hears too few and must stand down first;
//  - programs start, on machines where nothing runs yet;
//  - kChanges times: announced resize, grace, last call to its cap, append, entering (fills,
//  loads);
//  - members that sit out may be needed to reach min_nodes: the cool-down;
//  - the few steps that are to be shown.
Duration liveness_bound(const sim::WorldConfig& config, const Timeouts& t) {
  const JobConfig& job = config.job;
  const sim::TrainingModel& training = config.training;
  const Duration start_up =
      std::max(job.bounds.start_up, training.start_up + training.start_up_jitter);
  const Duration election =
      t.lost_after +
      (2 * t.election_max + t.canvass + t.journal_retry + job.bounds.journal * 4) * kElections;
  const Duration deaths = with_drift(t.lease) * 2 + with_drift(t.orphan) + t.lost_after;
  const Duration stop = with_drift(job.stop_grace) + training.stop_time * 2;
  const Duration state =
      transfer(training.state_bytes, config.network.bandwidth_bytes_per_second) *
          static_cast<std::int64_t>(std::max<std::size_t>(config.nodes.size(), 1)) +
      transfer(training.state_bytes, training.storage_bytes_per_second) *
          static_cast<std::int64_t>(std::max(1U, job.max_nodes));
  const Duration change = job.resize_deadline + stop + std::max(job.last_call_cap, job.last_call) +
                          std::max(t.enter, start_up) + training.reconfigure + state +
                          job.bounds.journal * 4 + t.journal_retry;
  const std::uint64_t workers = std::uint64_t{job.min_nodes} * std::max(1U, job.workers_per_node);
  const auto share = static_cast<std::int64_t>(math::ceil_div(training.global_batch, workers));
  const Duration step =
      training.compute_per_sample * share + training.step_overhead +
      transfer(2 * training.gradient_bytes, config.network.bandwidth_bytes_per_second);
  const Duration back_off = std::max(job.restart_back_off.cap, job.churn_back_off.cap) * kChanges;
  return config.agent_boot + back_off + stop + election + deaths + start_up + change * kChanges +
         job.cool_down + (step * 2 + training.copy_stall) * kStepsToShow;
}

LivenessCheck::LivenessCheck(sim::World& world, const LivenessPlan& plan, OracleSet& oracles)
    : world_(world),
      plan_(plan),
      oracles_(oracles),
      watch_(std::make_unique<Watch>(world, world.config().job.journal_host)) {
  ELASTIC_ASSERT(world.events() == 0);
  oracles_.accompany(watch_.get());
}

LivenessCheck::~LivenessCheck() { oracles_.accompany(nullptr); }

LivenessResult LivenessCheck::run() {
  LivenessResult result;
  result.moment = plan_.moment;
  result.bound = liveness_bound(world_.config(), world_.timeouts());
  const auto as = [&](LivenessResult::Kind kind) {
    result.kind = kind;
    return result;
  };
  const sim::Outcome before = world_.run(plan_.moment);
  const bool over = before.end == sim::Outcome::End::kVerdict ||
                    before.end == sim::Outcome::End::kAllExited || watch_->over();
  if (over || oracles_.violation() || world_.now() < plan_.moment) {
    return as(LivenessResult::Kind::kJobOver);
  }
  result.core = draw_core(world_, plan_.core_key);
  world_.heal_core_and_fail_rest(result.core);
  oracles_.heal_core(world_.now(), result.core);
  watch_->start(result.core);
  const Time deadline = plan_.moment + result.bound;
  world_.run(deadline);
  if (watch_->done()) {
    result.took = watch_->done_at() - plan_.moment;
    return as(LivenessResult::Kind::kHeld);
  }
  // A safety violation, or the user, ended it: nothing was shown.
  const bool interrupted =
      oracles_.violation() || (world_.now() < deadline && !nobody(world_, result.core));
  if (interrupted) return as(LivenessResult::Kind::kJobOver);
  if (const std::optional<Voided> why =
          voided(world_, watch_->exits(), watch_->journal_lost(), result.core)) {
    result.assumption = why->assumption;
    result.proof = why->proof;
    return as(LivenessResult::Kind::kVoided);
  }
  result.violation = Violation{
      .oracle = "liveness",
      .title = "a healed core did not come back",
      .kind = ViolationKind::kLiveness,
      .at = world_.now(),
      .event = world_.events(),
      .agent = {},
      .round = watch_->newest().value_or(RoundId{}),
      .expected = fmt::format("a round of the {} healed nodes alone makes steps within {}",
                              result.core.size(), in_words(result.bound)),
      .found = "none: " + state_of(world_, result.core)};
  oracles_.say(result.violation);
  return as(LivenessResult::Kind::kViolation);
}

}  // namespace elastic::chaos
