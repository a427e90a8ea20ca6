// A node survives any sequence of inputs: whatever peers, journal and workers say, in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/node.h"
#include "core/assert.h"
#include "core/math/digest.h"
#include "core/membership/hash.h"
#include "tests/property/node_source.h"
#include "tests/support/effort.h"
#include "tests/support/property.h"

namespace elastic {
namespace {

using std::chrono::milliseconds;
using test::Source;

// An assertion becomes an exception, so that RapidCheck shrinks the inputs that trip it.
[[noreturn]] void throw_it(const char* condition, const char* file, int line) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + condition);
}

class AssertionsThrow {
 public:
  AssertionsThrow() { set_assert_handler(throw_it); }
  ~AssertionsThrow() { set_assert_handler(nullptr); }
};

JobConfig any_job() {
  JobConfig job;
  job.min_nodes = 1 + *rc::gen::inRange(0u, 2u);
  job.max_nodes = job.min_nodes + *rc::gen::inRange(0u, 3u);
  job.workers_per_node = 1 + *rc::gen::inRange(0u, 2u);
  job.workers = *rc::gen::arbitrary<bool>() ? WorkerKind::kNative : WorkerKind::kForeign;
  const bool hosted = *rc::gen::arbitrary<bool>();
  job.journal = hosted ? JournalKind::kHosted : JournalKind::kExternal;
  job.journal_host = NodeId{1 + *rc::gen::inRange(0u, 2u)};
  job.last_call = milliseconds(*rc::gen::inRange(0, 2000));
  job.last_call_cap = std::chrono::seconds(5);
  if (*rc::gen::arbitrary<bool>()) job.join_timeout = std::chrono::seconds(30);
  const bool native = job.workers == WorkerKind::kNative;
  job.max_restarts = *rc::gen::inRange(0u, 5u);
  if (*rc::gen::arbitrary<bool>()) job.max_churn = *rc::gen::inRange(0u, 5u);
  if (native) job.no_progress.failures = *rc::gen::inRange(0u, 3u);
  if (native && *rc::gen::arbitrary<bool>()) job.growth = Growth::kPays;
  job.growth_pays.interval = milliseconds(*rc::gen::inRange(0, 2000));
  job.health = {*rc::gen::inRange(0u, job.max_nodes + 1), milliseconds(*rc::gen::inRange(1, 9000))};
  job.flaps = {*rc::gen::inRange(0u, 3u), std::chrono::seconds(80), std::chrono::seconds(60)};
  job.churn_back_off.base = milliseconds(*rc::gen::inRange(0, 2000));
  return job;
}

struct Driven {
  std::vector<std::pair<Time, Input>> inputs;
  std::vector<std::uint64_t> digests;
  std::size_t most_effects = 0;
  bool led = false, entered = false, left = false, exited = false, recorded = false;
};

std::uint64_t digest_of(const Node& node, const Effects& effects) {
  Hash hash;
  hash(node.digest(), effects.size());
  for (const Effect& effect : effects) {
    hash(effect.index());
    if (const auto* send = std::get_if<Send>(&effect)) hash(send->to, send->message);
    if (const auto* arm = std::get_if<ArmTimer>(&effect)) hash(arm->timer, arm->after);
    if (const auto* note = std::get_if<Note>(&effect)) hash(note->kind, note->round, note->a);
  }
  return hash.value();
}

void note_classes(const Effects& effects, Driven& run) {
  for (const Effect& effect : effects) {
    run.entered = run.entered || std::holds_alternative<EnterRound>(effect);
    run.exited = run.exited || std::holds_alternative<Exit>(effect);
    if (const auto* note = std::get_if<Note>(&effect)) {
      run.led = run.led || note->kind == NoteKind::kLeading;
      run.left = run.left || note->kind == NoteKind::kLeft;
      run.recorded = run.recorded || note->kind == NoteKind::kWorldRecorded;
    }
  }
}

Driven drive(const JobConfig& job, const Timeouts& timeouts, std::vector<std::uint32_t> words) {
  Driven run;
  Node node(job, timeouts);
  Source source(std::move(words));
  Effects recent;
  Time now{};
  bool started = false;
  while (!source.empty()) {
    Input input;
    if (!started) {
      Start start;
      start.self = {NodeId{1}, AgentLife{1}};
      start.seed = 1;
      start.contacts = {NodeId{2}, NodeId{3}};
      input = start;
      started = true;
    } else {
      input = source.input(recent);
    }
    const std::uint32_t pace = source.below(4);
    now += milliseconds(pace == 3 ? source.below(30'000) : source.below(300));
    Effects effects;
    node.step(now, input, effects);
    node.check();
    run.inputs.emplace_back(now, input);
    run.digests.push_back(digest_of(node, effects));
    run.most_effects = std::max(run.most_effects, effects.size());
    note_classes(effects, run);
    recent.insert(recent.end(), effects.begin(), effects.end());
    if (recent.size() > 24) {
      recent.erase(recent.begin(), recent.end() - 24);
    }
  }
  return run;
}

// At full size from the first case on: a short life of a node shows little.
std::vector<std::uint32_t> any_words() {
  const auto word = rc::gen::inRange<std::uint32_t>(0, 1U << 20U);
  const int length = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(20, 1500));
  return *rc::gen::resize(rc::kNominalSize, rc::gen::container<std::vector<std::uint32_t>>(
                                                static_cast<std::size_t>(length), word));
}

TEST(NodeProperty, survives_any_sequence_of_inputs) {
  const AssertionsThrow guard;
  test::check("a node survives any inputs", {"led", "entered", "left", "exited", "recorded"},
              [] {
                const JobConfig job = any_job();
                const Timeouts timeouts = std::get<Timeouts>(derive_timeouts(job));
                const Driven run = drive(job, timeouts, any_words());
                RC_CLASSIFY(run.led, "led");
                RC_CLASSIFY(run.entered, "entered");
                RC_CLASSIFY(run.left, "left");
                RC_CLASSIFY(run.exited, "exited");
                RC_CLASSIFY(run.recorded, "recorded");
                RC_ASSERT(run.most_effects <= 60u);  // six nodes, O(1) effects for each
              },
              {.max_success = static_cast<int>(test::scaled(5000))});
}

TEST(NodeProperty, repeats_itself_and_a_copy_goes_on_as_the_original) {
  const AssertionsThrow guard;
  test::check("the same inputs give the same effects, and a copy is a snapshot", {"led", "entered"},
              [] {
                const JobConfig job = any_job();
                const Timeouts timeouts = std::get<Timeouts>(derive_timeouts(job));
                const Driven run = drive(job, timeouts, any_words());
                RC_CLASSIFY(run.led, "led");
                RC_CLASSIFY(run.entered, "entered");
                const std::size_t cut = *rc::gen::inRange<std::size_t>(0, run.inputs.size());
                Node node(job, timeouts);
                std::optional<Node> copy;
                for (std::size_t i = 0; i < run.inputs.size(); ++i) {
                  if (i == cut) copy = node;
                  Effects effects;
                  node.step(run.inputs[i].first, run.inputs[i].second, effects);
                  RC_ASSERT(digest_of(node, effects) == run.digests[i]);
                }
                RC_ASSERT(copy.has_value());
                for (std::size_t i = cut; i < run.inputs.size(); ++i) {
                  Effects effects;
                  copy->step(run.inputs[i].first, run.inputs[i].second, effects);
                  RC_ASSERT(digest_of(*copy, effects) == run.digests[i]);
                }
              },
              {.max_success = static_cast<int>(test::scaled(1000))});
}

}  // namespace
}  // namespace elastic
