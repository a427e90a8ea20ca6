#include "chaos/run/run.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "chaos/account/account.h"
#include "chaos/oracles/oracle_set.h"
#include "chaos/run/branch.h"
#include "chaos/run/branched_liveness.h"
#include "chaos/run/interrupt.h"
#include "core/assert.h"
#include "core/membership/config.h"

namespace elastic::chaos {
namespace {

using sim::Fault;
using sim::FaultKind;

// Looks for the user's interruption, and keeps the faults that deserve a mark.
class Watcher final : public sim::Observer {
 public:
  Watcher(sim::World& world, std::vector<PlannedMark>* marks, const RunOptions& options)
      : world_(world), marks_(marks), options_(options) {
    const auto nodes = world.config().nodes.size();
    notable_batch_ = std::max<std::size_t>(3, nodes / 8);
  }

  void on_fault(Time now, const Fault& fault) override {
    constexpr std::size_t kMaxMarks = 4096;
    if (marks_ == nullptr || marks_->size() >= kMaxMarks) return;
    const bool churn = fault.kind == FaultKind::kReclaim || fault.kind == FaultKind::kNotice ||
                       fault.kind == FaultKind::kAdd;
    if (churn && (fault.kind != FaultKind::kReclaim || fault.targets.size() < notable_batch_)) {
      return;
    }
    marks_->push_back(
        {.at = now, .kind = fault.kind, .label = fault_label(fault, world_.config())});
  }

  void after_event(Time now, std::uint64_t index, const sim::World& /*world*/) override {
    constexpr std::uint64_t kLook = 256;
    constexpr std::uint64_t kTell = 65'536;
    if (index % kLook == 0 && interrupted()) world_.stop();
    if (index % kTell == 0 && options_.progress) options_.progress(now);
  }

 private:
  sim::World& world_;
  std::vector<PlannedMark>* marks_;
  const RunOptions& options_;
  std::size_t notable_batch_ = 0;
};

// What is being run right now, so that a crash can tell of it.
struct Session {
  RunResult result;
  const sim::World* world = nullptr;
  const OracleSet* oracles = nullptr;
};

void tell_crash(Session& session, const Crash& crash, const RunOptions& options) {
  RunResult& result = session.result;
  result.verdict = VerdictClass::kCrash;
  result.crash = crash;
  if (session.world != nullptr) {
    result.crash_at = session.world->now();
    result.crash_event = session.world->events();
  }
  if (session.oracles != nullptr) {
    result.story.assign(session.oracles->story().begin(), session.oracles->story().end());
  }
  if (options.on_crash) options.on_crash(result);
}

void add_counts(RunResult& result, const OracleSet& oracles) {
  const std::vector<OracleCount> counts = oracles.counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i == result.oracles.size()) {
      result.oracles.push_back(
          {.name = std::string(counts[i].name), .promise = std::string(counts[i].promise)});
    }
    result.oracles[i].checks += counts[i].checks;
  }
}

void take_violation(RunResult& result, const OracleSet& oracles) {
  if (!oracles.violation().has_value()) return;
  result.violation = oracles.violation();
  if (result.violation->agent) {
    result.violation_node = oracles.node_name(result.violation->agent.node);
  }
  result.story.assign(oracles.story().begin(), oracles.story().end());
  result.verdict = result.violation->kind == ViolationKind::kSafety ? VerdictClass::kSafety
                                                                    : VerdictClass::kLiveness;
}

std::vector<ZoneInfo> zones_of(const sim::WorldConfig& config) {
  std::vector<ZoneInfo> zones;
  for (const std::string& zone : config.zones) zones.push_back({.name = zone, .capacity = 0});
  for (const sim::NodeSpec& node : config.nodes) {
    if (node.zone < zones.size()) ++zones[node.zone].capacity;
  }
  return zones;
}

// The time that the plan's faults fill, and what a core healed at the drawn moment may take: a
// bound that passed the end of the scenario would show nothing.
sim::WorldConfig for_liveness(sim::WorldConfig config, const LivenessPlan& when) {
  const auto timeouts = derive_timeouts(config.job);
  ELASTIC_ASSERT(std::holds_alternative<Timeouts>(timeouts));
  const Duration bound = liveness_bound(config, std::get<Timeouts>(timeouts));
  config.horizon = std::max(config.horizon, when.moment - Time{} + bound);
  return config;
}

// Runs to the moment and leaves the liveness phase to a copy of this process.
std::unique_ptr<Branch> branch_off(sim::World& world, const LivenessPlan& when, OracleSet& oracles,
                                   sim::Outcome& outcome) {
  LivenessCheck check(world, when, oracles);
  outcome = world.run(when.moment);
  if (oracles.violation() || interrupted()) return nullptr;
  return std::make_unique<Branch>([&] {
    world.dismiss_observers();
    oracles.let_go_of_account();
    world.watch(oracles);
    BranchedLiveness branched{.result = check.run(), .checks = {}};
    if (branched.result.failed() || oracles.violation()) return std::string();
    for (const OracleCount& count : oracles.counts()) branched.checks.push_back(count.checks);
    return to_text(branched);
  });
}

// With `when`, gives the liveness phase that has branched off.
std::unique_ptr<Branch> main_run(Session& session, const sim::WorldConfig& config,
                                 const sim::Plan& plan, const RunOptions& options,
                                 const std::optional<LivenessPlan>& when) {
  RunResult& result = session.result;
  sim::World world(when ? for_liveness(config, *when) : config, plan);
  session.world = &world;
  Account account(config);
  OracleSet oracles(config, world.timeouts(), &account);
  session.oracles = &oracles;
  Watcher watcher(world, &result.marks, options);
  world.watch(account);
  oracles.watch(world);
  world.watch(watcher);
  if (options.attach) options.attach(world);
  std::unique_ptr<Branch> branch;
  if (when) branch = branch_off(world, *when, oracles, result.outcome);
  const bool stopped_before = when && result.outcome.end == sim::Outcome::End::kStopped;
  if (!stopped_before) result.outcome = world.run(Time{} + config.horizon);
  account.finish(world.now());
  const bool stopped = interrupted() && result.outcome.end == sim::Outcome::End::kStopped;
  if (!stopped) oracles.finish(world.now());
  result.outcome.at = world.now();
  result.outcome.events = world.events();
  result.outcome.trace_hash = world.trace_hash();
  result.summary = account.summary();
  result.digests = world.running_digests();
  add_counts(result, oracles);
  take_violation(result, oracles);
  if (stopped && !result.violation) {
    result.verdict = VerdictClass::kInterrupted;
    result.story.assign(oracles.story().begin(), oracles.story().end());
  }
  session.world = nullptr;
  session.oracles = nullptr;
  return branch;
}

void liveness_run(Session& session, const sim::WorldConfig& main_config, const sim::Plan& plan,
                  const RunOptions& options, const LivenessPlan& when) {
  RunResult& result = session.result;
  const sim::WorldConfig config = for_liveness(main_config, when);
  sim::World world(config, plan);
  session.world = &world;
  OracleSet oracles(config, world.timeouts());
  session.oracles = &oracles;
  result.in_liveness_phase = true;
  Watcher watcher(world, nullptr, options);
  oracles.watch(world);
  world.watch(watcher);
  LivenessResult liveness = LivenessCheck(world, when, oracles).run();
  if (interrupted()) {
    result.verdict = VerdictClass::kInterrupted;
  } else {
    add_counts(result, oracles);
    take_violation(result, oracles);
    result.liveness = std::move(liveness);
    if (result.liveness->failed() && !result.violation) {
      result.violation = result.liveness->violation;
      result.verdict = VerdictClass::kLiveness;
      result.story.assign(oracles.story().begin(), oracles.story().end());
    }
  }
  result.in_liveness_phase = result.violation.has_value();
  session.world = nullptr;
  session.oracles = nullptr;
}

// Takes over what the branch came to. False: nothing, so that the phase has to be run by itself.
bool take_branch(RunResult& result, Branch& branch) {
  const std::optional<std::string> text = branch.result();
  if (interrupted()) {
    result.verdict = VerdictClass::kInterrupted;
    return true;
  }
  auto branched = text ? branched_liveness_from_text(*text) : std::nullopt;
  if (!branched || branched->checks.size() != result.oracles.size()) return false;
  for (std::size_t i = 0; i < result.oracles.size(); ++i)
    result.oracles[i].checks += branched->checks[i];
  result.liveness = std::move(branched->result);
  return true;
}

void run_phases(Session& session, const Scenario& scenario, const RunOptions& options) {
  RunResult& result = session.result;
  const sim::WorldConfig config = to_world(scenario, result.seed);
  const sim::Plan plan = options.plan != nullptr ? *options.plan : make_plan(scenario, result.seed);
  result.zones = zones_of(config);
  const LivenessPlan when = plan_liveness(config.seed, liveness_span(config));
  std::unique_ptr<Branch> branch;
  if (options.main) {
    const bool branches = options.liveness && options.branch;
    branch = main_run(session, config, plan, options,
                      branches ? std::optional<LivenessPlan>(when) : std::nullopt);
    if (result.verdict != VerdictClass::kHolds) return;
    result.expected = judge(scenario.expect, result.summary);
  }
  if (std::any_of(result.expected.begin(), result.expected.end(),
                  [](const Judged& judged) { return !judged.ok; })) {
    result.verdict = VerdictClass::kMissed;
  }
  if (!options.liveness || (branch && take_branch(result, *branch))) return;
  liveness_run(session, config, plan, options, when);
}

}  // namespace

Duration liveness_span(const sim::WorldConfig& config) {
  const Account account(config);
  const std::uint32_t most = std::min<std::uint32_t>(
      config.job.max_nodes, static_cast<std::uint32_t>(config.nodes.size()));
  const Duration step = account.nominal_step(most);
  const std::uint64_t steps = config.training.total_steps;
  if (step <= Duration::zero() ||
      steps > static_cast<std::uint64_t>(config.horizon.count() / step.count())) {
    return config.horizon;
  }
  return step * static_cast<std::int64_t>(steps);
}

RunResult run_seed(const Scenario& scenario, std::uint64_t seed, const RunOptions& options) {
  Session session;
  session.result.scenario = scenario.name;
  session.result.seed = seed;
  const auto started = std::chrono::steady_clock::now();
  const auto clock = [&] {
    session.result.wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                                 std::chrono::steady_clock::now() - started)
                                 .count();
  };
  const CrashGuard guard(
      [&](const Crash& crash) {
        clock();
        tell_crash(session, crash, options);
      },
      options.last_words);
  try {
    run_phases(session, scenario, options);
  } catch (const std::exception& error) {
    session.world = nullptr;  // unwound
    session.oracles = nullptr;
    clock();
    tell_crash(session, {.what = error.what(), .where = {}}, options);
  }
  clock();
  return std::move(session.result);
}

}  // namespace elastic::chaos
