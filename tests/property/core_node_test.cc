// A node survives any sequence of inputs: whatever peers, journal and workers say, in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/node.h"
#include "core/assert.h"
#include "core/math/digest.h"
#include "core/membership/hash.h"
#include "tests/support/effort.h"
#include "tests/support/property.h"

namespace elastic {
namespace {

using std::chrono::milliseconds;

// An assertion becomes an exception, so that RapidCheck shrinks the inputs that trip it.
[[noreturn]] void throw_it(const char* condition, const char* file, int line) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + condition);
}

class AssertionsThrow {
 public:
  AssertionsThrow() { set_assert_handler(throw_it); }
  ~AssertionsThrow() { set_assert_handler(nullptr); }
};

constexpr JournalLife kOwnLife{(1ULL << 32U) | 7};
constexpr JournalLife kOtherLife{(2ULL << 32U) | 5};

// Decodes a list of numbers into inputs: shrinking the list shrinks the inputs. Identities come
// from small sets, so that they meet.
class Source {
 public:
  explicit Source(std::vector<std::uint32_t> words) : words_(std::move(words)) {}
  bool empty() const { return at_ >= words_.size(); }

  std::uint32_t below(std::uint32_t bound) {
    const std::uint32_t word = empty() ? 0 : words_[at_++];
    return bound == 0 ? 0 : word % bound;
  }
  bool chance(std::uint32_t one_in) { return below(one_in) == one_in - 1; }

  Input input(const Effects& before);

 private:
  NodeId node() { return NodeId{below(6)}; }
  AgentId agent() {
    const NodeId some = node();
    return {some, AgentLife{below(3)}};
  }
  JournalLife life() {
    const std::uint32_t which = below(8);
    return which == 0 ? JournalLife{} : which == 1 ? kOtherLife : kOwnLife;
  }
  RoundId round() {
    const JournalLife of = life();
    return {of, below(6)};
  }
  LeadId lead() {
    const JournalLife of = life();
    return {of, RecordNo{below(12)}};
  }
  StatePoint state() {
    StatePoint point;
    point.entered = round();
    point.step = Step{below(5)};
    point.lineage = Lineage{below(3)};
    return point;
  }
  std::optional<StatePoint> maybe_state() {
    if (chance(3)) return std::nullopt;
    return state();
  }
  ExitStatus status() {
    ExitStatus some;
    some.code = static_cast<std::int32_t>(below(3));
    some.signal = below(3) == 2 ? 9 : 0;
    return some;
  }
  Duration length() { return milliseconds(below(20'000)); }
  ResumePoint resume();
  FailureReport failure();
  Placement placement();
  Record record();
  NumberedRecord numbered();
  Checkpoint checkpoint();
  Verdict verdict();
  SaveReport save();
  Beat beat();
  Order order();
  JournalAsk ask();
  JournalAnswer answer();
  JournalAnswer answer_to(const JournalAsk& ask);
  Message message();
  Input worker_input();
  Beat beat_after(NodeId from, const Order& order);
  Order order_after(NodeId from, const Beat& beat);
  std::optional<Input> helpful_message(const Send& send);
  std::optional<Input> helpful(const Effects& before);

  std::vector<std::uint32_t> words_;
  std::size_t at_ = 0;
  std::vector<NumberedRecord> journal_;
  std::map<NodeId, Beat> peers_;
  StatePoint held_;
  std::uint32_t hostility_ = 0;  // one input in so many is arbitrary
};

ResumePoint Source::resume() {
  ResumePoint point;
  point.source = static_cast<ResumePoint::Source>(below(3));
  point.state = state();
  point.checkpoint = RecordNo{below(8)};
  return point;
}

FailureReport Source::failure() {
  FailureReport report;
  report.agent = agent();
  report.number = FailureNo{below(6)};
  report.round = round();
  report.local_rank = below(3);
  report.status = status();
  report.stopped_by_agent = chance(4);
  return report;
}

Placement Source::placement() {
  Placement place;
  place.round = round();
  place.group_rank = below(4);
  place.group_size = below(5);
  place.first_rank = below(9);
  place.world_size = below(9);
  place.previous = agent();
  place.next = agent();
  place.first = agent();
  place.resume = resume();
  return place;
}

Checkpoint Source::checkpoint() {
  Checkpoint saved;
  saved.step = Step{below(5)};
  saved.round = round();
  saved.lineage = Lineage{below(3)};
  return saved;
}

Verdict Source::verdict() {
  Verdict some;
  some.kind = static_cast<Verdict::Kind>(below(6));
  some.step = Step{below(5)};
  return some;
}

Record Source::record() {
  Record some;
  some.writer = agent();
  some.nonce = below(4);
  switch (below(24)) {
    case 0:
      some.body = verdict();
      break;
    case 1:
      some.body = checkpoint();
      break;
    case 2:
    case 3: {
      World world;
      world.round = round();
      const std::uint32_t count = below(4);
      for (std::uint32_t i = 0; i < count; ++i) {
        const AgentId member = agent();
        world.members.push_back({member, 1 + below(2)});
      }
      world.resume = resume();
      const std::uint32_t holders = below(3);
      for (std::uint32_t i = 0; i < holders; ++i) world.holders.push_back(agent());
      world.budgets = {below(5), below(5), below(3), below(4), Step{below(5)}, chance(2)};
      const std::uint32_t flaps = below(3);
      for (std::uint32_t i = 0; i < flaps; ++i) {
        const NodeId flapper = node();
        const std::uint32_t score = below(4) << 20U;
        world.flaps.push_back({flapper, score, below(9), std::chrono::seconds(below(90))});
      }
      if (chance(3)) world.abandoned_below = round();
      if (chance(3)) world.starts_counted.push_back({agent(), FailureNo{below(4)}});
      if (chance(3))
        world.pace = {{below(4), milliseconds(below(900))}, {}, milliseconds(below(9))};
      some.body = world;
      break;
    }
    case 4:
    case 5:
      some.body = Lead{{NodeId{1}, AgentLife{1}}};
      break;
    default:
      some.body = Lead{agent()};
  }
  return some;
}

NumberedRecord Source::numbered() {
  const RecordNo number{below(9)};
  return {number, record()};
}

SaveReport Source::save() {
  SaveReport report;
  report.round = round();
  report.step = Step{below(5)};
  report.lineage = Lineage{below(2)};
  return report;
}

Beat Source::beat() {
  Beat some;
  some.from = agent();
  some.number = BeatNo{below(30)};
  some.lead_seen = lead();
  some.state = static_cast<AgentState>(below(9));
  some.workers = below(3);
  some.placed = round();
  some.entered = round();
  some.entered_newest = round();
  some.left_for = round();
  some.reaped_below = round();
  some.held = maybe_state();
  if (chance(3)) some.saved = save();
  some.last_step = Step{below(5)};
  const std::uint32_t failures = below(3);
  for (std::uint32_t i = 0; i < failures; ++i) some.failures.push_back(failure());
  if (chance(4)) some.failed_edges.push_back(node());
  if (chance(5)) some.leaving_in = length();
  return some;
}

Order Source::order() {
  Order some;
  some.from = agent();
  some.lead = lead();
  some.beat = BeatNo{below(12)};
  some.leave_for = round();
  some.planned = chance(2);
  if (chance(2)) some.placement = placement();
  some.running = round();
  some.checkpoint = RecordNo{below(8)};
  some.checkpoint_step = Step{below(5)};
  some.checkpoint_round = round();
  some.failures_seen = FailureNo{below(5)};
  some.wait = static_cast<WaitReason>(below(14));
  if (chance(16)) some.verdict = verdict();
  return some;
}

JournalAsk Source::ask() {
  JournalAsk some;
  some.from = agent();
  some.request = RequestId{below(20)};
  some.holding = life();
  some.from_record = RecordNo{below(12)};
  if (chance(2)) some.append = numbered();
  some.want_contacts = chance(2);
  return some;
}

JournalAnswer Source::answer() {
  JournalAnswer some;
  some.request = RequestId{below(20)};
  some.outcome = static_cast<JournalAnswer::Outcome>(below(5));
  some.journal = life();
  const std::uint32_t records = below(4);
  for (std::uint32_t i = 0; i < records; ++i) some.records.push_back(numbered());
  if (chance(3)) some.contacts.push_back(agent());
  return some;
}

// What a journal might answer: mostly what it should, now and then a lie or another life.
JournalAnswer Source::answer_to(const JournalAsk& ask) {
  JournalAnswer some;
  some.request = ask.request;
  some.journal = chance(12) ? life() : kOwnLife;
  if (!ask.append) {
    some.outcome = JournalAnswer::Outcome::kRead;
    for (std::uint64_t k = std::max<std::uint64_t>(ask.from_record.value, 1); k <= journal_.size();
         ++k) {
      some.records.push_back(journal_[k - 1]);
    }
    return some;
  }
  const bool free = ask.append->number.value == journal_.size() + 1;
  const bool lands = free && !chance(6);
  if (lands) journal_.push_back(*ask.append);
  some.outcome = chance(5)   ? JournalAnswer::Outcome::kUnknown
                 : lands     ? JournalAnswer::Outcome::kCreated
                 : chance(2) ? JournalAnswer::Outcome::kTaken
                             : JournalAnswer::Outcome::kUnknown;
  return some;
}

Message Source::message() {
  switch (below(8)) {
    case 0:
    case 1:
    case 2:
      return beat();
    case 3:
    case 4:
      return order();
    case 5: {
      Canvass canvass;
      canvass.from = agent();
      canvass.attempt = below(4);
      canvass.lead_seen = lead();
      return canvass;
    }
    case 6: {
      Hearing hearing;
      hearing.from = agent();
      hearing.attempt = below(4);
      hearing.lead_seen = lead();
      hearing.leader = agent();
      hearing.has_live_leader = chance(4);
      return hearing;
    }
    default:
      if (chance(2)) return ask();
      return answer();
  }
}

Input Source::worker_input() {
  switch (below(11)) {
    case 0:
      return LeftoversKilled{};
    case 1:
      return WorkersPrepared{};
    case 2: {
      const RoundId of = round();
      return WorkersEntered{of, state()};
    }
    case 3: {
      const RoundId of = round();
      return WorkersLeft{of, maybe_state()};
    }
    case 4: {
      WorkerExited exited;
      exited.round = round();
      exited.local_rank = below(3);
      exited.status = status();
      exited.last_of_group = chance(2);
      exited.held = maybe_state();
      return exited;
    }
    case 5: {
      WorkerPulse pulse;
      pulse.held = maybe_state();
      if (chance(2)) pulse.silent_rank = below(3);
      return pulse;
    }
    case 6:
      return WorkersSaved{save()};
    case 7:
      return WorkersFinished{state()};
    case 8: {
      const RoundId of = round();
      return EdgeFailed{of, node()};
    }
    case 9:
      return LeaveNotice{length()};
    default:
      return chance(4) ? Input{StopJob{}} : Input{PeerClosed{node()}};
  }
}

// What an obedient agent on another node would beat after this order.
Beat Source::beat_after(NodeId from, const Order& order) {
  Beat& last = peers_[from];
  last.from = {from, AgentLife{1}};
  ++last.number.value;
  last.lead_seen = order.lead;
  last.failures.clear();
  const bool foreign = chance(2);
  if (order.leave_for > last.left_for && order.leave_for > last.placed) {
    last.left_for = order.leave_for;
    last.reaped_below = order.leave_for;
    last.entered = {};
    last.state = AgentState::kLeft;
  } else if (!last.placed) {
    last.state = foreign ? AgentState::kWaiting : AgentState::kPrepared;
  }
  if (order.placement && order.placement->round > last.placed) {
    const ResumePoint& from_point = order.placement->resume;
    last.placed = last.entered = last.entered_newest = order.placement->round;
    last.held = StatePoint{last.placed, from_point.state.step, from_point.state.lineage};
    last.state = AgentState::kRunning;
  }
  if (last.state == AgentState::kRunning && chance(12)) {
    FailureReport report;
    report.agent = last.from;
    report.number = FailureNo{last.number.value};
    report.round = last.placed;
    report.status.code = 1;
    last.failures.push_back(report);
  }
  return last;
}

// What a leader on another node would answer to this beat.
Order Source::order_after(NodeId from, const Beat& beat) {
  Order some;
  some.from = {from, AgentLife{1}};
  some.lead = beat.lead_seen;
  some.beat = beat.number;
  const RoundId next{some.lead.journal, beat.placed.number + 1};
  some.running = beat.placed;
  const bool idle = beat.state == AgentState::kWaiting || beat.state == AgentState::kPrepared ||
                    beat.state == AgentState::kLeft;
  if (!idle && !chance(6)) return some;
  some.leave_for = next;
  some.planned = chance(3);
  if (beat.left_for >= next) {
    Placement place;
    place.round = next;
    place.group_size = 2;
    place.resume.state.step = Step{below(5)};
    some.placement = place;
  }
  return some;
}

std::optional<Input> Source::helpful_message(const Send& send) {
  if (send.to == NodeId{1} && !chance(8)) return Received{send.to, send.message};  // to itself
  if (const auto* asked = std::get_if<JournalAsk>(&send.message)) {
    return Received{send.to, answer_to(*asked)};
  }
  if (const auto* canvass = std::get_if<Canvass>(&send.message)) {
    Hearing hearing;
    hearing.from = {send.to, AgentLife{1}};
    hearing.attempt = canvass->attempt;
    hearing.lead_seen = canvass->lead_seen;
    return Received{send.to, hearing};
  }
  if (const auto* order = std::get_if<Order>(&send.message)) {
    return Received{send.to, beat_after(send.to, *order)};
  }
  if (const auto* beat = std::get_if<Beat>(&send.message)) {
    return Received{send.to, order_after(send.to, *beat)};
  }
  return std::nullopt;
}

// An answer to something that the node asked for in its last steps.
std::optional<Input> Source::helpful(const Effects& before) {
  if (before.empty()) return std::nullopt;
  const Effect& effect = before[below(static_cast<std::uint32_t>(before.size()))];
  if (const auto* send = std::get_if<Send>(&effect)) return helpful_message(*send);
  if (const auto* asked = std::get_if<AskJournal>(&effect)) {
    return JournalReplied{answer_to(asked->ask)};
  }
  if (const auto* arm = std::get_if<ArmTimer>(&effect)) {
    const bool final = arm->timer == TimerId::kJoin || arm->timer == TimerId::kLinger;
    if (final && !chance(20)) return std::nullopt;
    return TimerFired{arm->timer};
  }
  if (std::holds_alternative<KillLeftovers>(effect)) return LeftoversKilled{};
  if (std::holds_alternative<PrepareWorkers>(effect)) return WorkersPrepared{};
  if (const auto* enter = std::get_if<EnterRound>(&effect)) {
    const ResumePoint& from = enter->placement.resume;
    held_ = {enter->placement.round, from.state.step, from.state.lineage};
    return WorkersEntered{enter->placement.round, held_};
  }
  if (const auto* leave = std::get_if<LeaveRound>(&effect)) {
    return WorkersLeft{leave->for_round, held_ ? std::optional(held_) : std::nullopt};
  }
  if (std::holds_alternative<StopWorkers>(effect)) {
    WorkerExited exited;
    exited.status.signal = 15;
    exited.last_of_group = true;
    return exited;
  }
  if (std::holds_alternative<PollWorkers>(effect)) {
    WorkerPulse pulse;
    if (held_) pulse.held = held_;
    return pulse;
  }
  if (std::holds_alternative<ReadJournalFile>(effect)) return JournalFileRead{};
  if (const auto* write = std::get_if<WriteJournalFile>(&effect)) {
    return JournalFileSynced{write->record.number};
  }
  return std::nullopt;
}

Input Source::input(const Effects& before) {
  if (hostility_ == 0) hostility_ = 1 + below(40);
  if (!chance(hostility_)) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      if (auto answer_found = helpful(before)) return *answer_found;
    }
  }
  switch (below(5)) {
    case 0: {
      const auto timer = static_cast<TimerId>(below(static_cast<std::uint32_t>(TimerId::kCount)));
      return TimerFired{timer};
    }
    case 1:
      return worker_input();
    case 2: {
      if (chance(2)) return JournalReplied{answer()};
      if (chance(2)) return JournalFileSynced{RecordNo{below(6)}};
      if (chance(2)) return MarkerStored{RecordNo{below(6)}};
      JournalFileRead file;
      file.exists = chance(2);
      file.life = life();
      const std::uint32_t records = below(4);
      for (std::uint32_t i = 0; i < records; ++i) file.records.push_back(numbered());
      return file;
    }
    default: {
      const NodeId from = node();
      return Received{from, message()};
    }
  }
}

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
