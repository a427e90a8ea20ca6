#include "chaos/oracles/narrator.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace elastic::chaos {
namespace {

using sim::NodeEventKind;
using sim::WorkerEventKind;

constexpr std::array<std::string_view, 8> kCauses{
    "the job starts",  "a node was lost",         "a worker failed",   "an announced change",
    "members cut off", "a member did not follow", "a new coordinator", "a save is broken"};
constexpr std::array<std::string_view, 5> kVerdicts{"succeeded", "the program failed", "gave up",
                                                    "stopped", "no save can be used"};
constexpr std::array<std::string_view, 8> kExits{
    "the job succeeded", "the program failed",  "the job gave up",       "the job was stopped",
    "it left the job",   "the journal is lost", "no round came in time", "no save can be used"};

template <std::size_t N>
std::string_view pick(const std::array<std::string_view, N>& names, std::uint64_t index) {
  return index < N ? names[index] : std::string_view("something unnamed");
}

std::string status_in_words(const ExitStatus& status) {
  return status.signal != 0 ? fmt::format("signal {}", status.signal)
                            : fmt::format("code {}", status.code);
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string in_words(Duration length) {
  const bool negative = length < Duration::zero();
  const std::int64_t ns = negative ? -(length.count() + 1) : length.count();
  const std::string_view sign = negative ? "-" : "";
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (ns < 1'000'000) return fmt::format("{}{}.{:03} us", sign, ns / 1000, ns % 1000);
  if (ns < kSecond) return fmt::format("{}{}.{:03} ms", sign, ns / 1'000'000, ns / 1000 % 1000);
  const std::int64_t seconds = ns / kSecond;
  const std::int64_t tenths = ns / (kSecond / 10) % 10;
  if (seconds < 60) return fmt::format("{}{}.{:02} s", sign, seconds, ns / 10'000'000 % 100);
  if (seconds < 3600)
    return fmt::format("{}{}m {:02}.{}s", sign, seconds / 60, seconds % 60, tenths);
  return fmt::format("{}{}h {:02}m {:02}.{}s", sign, seconds / 3600, seconds / 60 % 60,
                     seconds % 60, tenths);
}

std::string in_words(RoundId round) {
  const std::uint64_t founding = round.journal.value >> 32U;
  if (!round) return "no round";
  // The lives of an external journal are drawn, not counted; there is only one of it.
  constexpr std::uint64_t kMostFoundings = 1000;
  return founding > 1 && founding < kMostFoundings
             ? fmt::format("round {}.{}", founding, grouped(round.number))
             : fmt::format("round {}", grouped(round.number));
}

std::string Narrator::node_name(NodeId node) const {
  const std::uint64_t index = node.value - 1;  // node 0 wraps: out of range
  if (index < config_.nodes.size() && !config_.nodes[index].name.empty()) {
    return config_.nodes[index].name;
  }
  return fmt::format("node {}", node.value);
}

void Narrator::tell(Time now, std::uint64_t event, std::string text) {
  story_.push_back({now, event, std::move(text)});
  if (story_.size() > kept) story_.pop_front();
}

static std::string_view bound_name(Bound bound) {
  switch (bound) {
    case Bound::kAcknowledged:
      return "acknowledgement";
    case Bound::kJournal:
      return "journal";
    case Bound::kPause:
      return "pause";
    case Bound::kStartUp:
      return "start-up";
  }
  return "";
}

void Narrator::on_note(Time now, std::uint64_t event, AgentId by, const Note& note) {
  const auto say = [&](std::string text) {
    tell(now, event, node_name(by.node) + " " + std::move(text));
  };
  switch (note.kind) {
    case NoteKind::kLeading:
      return say(fmt::format("coordinates (record {})", note.a));
    case NoteKind::kDeposed:
      return say(fmt::format("is deposed (record {})", note.a));
    case NoteKind::kSuspended:
      return say("hears too few nodes and no longer acknowledges");
    case NoteKind::kCandidate:
      return say(fmt::format("stands as coordinator, hears {}", note.a));
    case NoteKind::kAdopted:
      return say(fmt::format("adopts {}", in_words(note.round)));
    case NoteKind::kAskLeave:
      return say(fmt::format("asks for {}: {}{}", in_words(note.round), pick(kCauses, note.a),
                             note.b != 0 ? ", at a step boundary" : ""));
    case NoteKind::kNodeLost:
      return say(fmt::format("loses {}: no beat", node_name(note.node)));
    case NoteKind::kNodeDead:
      return say(fmt::format("knows {} dead: {}", node_name(note.node),
                             note.a == 0 ? "its workers were reaped" : "its time is over"));
    case NoteKind::kRunning:
      return say(fmt::format("sees {} running", in_words(note.round)));
    case NoteKind::kFailure:
      return say(fmt::format("notes a {} of {} local rank {} in {}",
                             note.c != 0 ? "failure" : "consequence", node_name(note.node), note.a,
                             in_words(note.round)));
    case NoteKind::kLeaseLapsed:
      return say("finds its lease over");
    case NoteKind::kOrphaned:
      return say("finds its orphan bound over");
    case NoteKind::kRefused:
      return say(fmt::format("refuses an order of record {}", note.a));
    case NoteKind::kJournalFounded:
      return say("founds the journal anew");
    case NoteKind::kSaveBroken:
      return say(fmt::format("finds the save of record {} broken", note.a));
    case NoteKind::kBoundExceeded:
      return say(fmt::format("measures {} where {} was declared ({})",
                             in_words(Duration(static_cast<std::int64_t>(note.b))),
                             in_words(Duration(static_cast<std::int64_t>(note.c))),
                             bound_name(static_cast<Bound>(note.a))));
    case NoteKind::kRetired:
    case NoteKind::kWorldRecorded:  // told from the record itself
    case NoteKind::kBeatAcked:
    case NoteKind::kCheckpoint:
    case NoteKind::kVerdict:
    case NoteKind::kEntered:  // told from the workers
    case NoteKind::kLeft:
    case NoteKind::kWaiting:
      return;
  }
}

void Narrator::on_record(Time now, std::uint64_t event, const NumberedRecord& numbered) {
  const std::string head = fmt::format("record {} of {}: ", numbered.number.value,
                                       node_name(numbered.record.writer.node));
  if (const auto* lead = std::get_if<Lead>(&numbered.record.body)) {
    tell(now, event, head + node_name(lead->leader.node) + " leads");
  } else if (const auto* world = std::get_if<World>(&numbered.record.body)) {
    tell(now, event,
         head + fmt::format("{} with {} nodes, resumes at step {} ({})", in_words(world->round),
                            world->members.size(), grouped(world->resume.state.step.value),
                            pick(kCauses, static_cast<std::uint64_t>(world->cause))));
  } else if (const auto* save = std::get_if<Checkpoint>(&numbered.record.body)) {
    tell(now, event,
         head + fmt::format("checkpoint of step {}, {}", grouped(save->step.value),
                            in_words(save->round)));
  } else if (const auto* retire = std::get_if<Retire>(&numbered.record.body)) {
    tell(now, event, head + fmt::format("{} older saves are retired", retire->saves.size()));
  } else if (const auto* verdict = std::get_if<Verdict>(&numbered.record.body)) {
    tell(now, event,
         head + fmt::format("verdict, {}",
                            pick(kVerdicts, static_cast<std::uint64_t>(verdict->kind))));
  }
}

void Narrator::on_worker(Time now, std::uint64_t event, const sim::WorkerEvent& worker) {
  const auto say = [&](std::string text) {
    tell(now, event, node_name(worker.node) + " " + std::move(text));
  };
  const std::string step = grouped(worker.state.step.value);
  switch (worker.kind) {
    case WorkerEventKind::kStarted:
      return say(worker.round ? "starts workers for " + in_words(worker.round) : "starts workers");
    case WorkerEventKind::kPrepared:
      return say("has workers prepared");
    case WorkerEventKind::kLoaded:
      return say(fmt::format("loads the checkpoint of step {}", step));
    case WorkerEventKind::kFilled:
      return say(fmt::format("is filled with step {}", step));
    case WorkerEventKind::kEntered:
      return say(fmt::format("enters {} at step {}", in_words(worker.round), step));
    case WorkerEventKind::kLeft:
      return say(fmt::format("leaves for {}, holds step {}", in_words(worker.round), step));
    case WorkerEventKind::kStopped:
      return say("workers are stopped by their supervisor");
    case WorkerEventKind::kContinued:
      return say("workers are continued by their supervisor");
    case WorkerEventKind::kFrozen:
      return say("worker freezes");
    case WorkerEventKind::kThawed:
      return say("worker thaws");
    case WorkerEventKind::kExited:
      return say(fmt::format("worker {} ends, {}{}", worker.local_rank,
                             status_in_words(worker.status),
                             worker.by_agent ? ", by its agent" : ""));
    case WorkerEventKind::kGone:
      return say("has no worker left");
    case WorkerEventKind::kFinished:
      return say(fmt::format("holds the last step {}", step));
    case WorkerEventKind::kStepBegun:  // quiet: training goes on
    case WorkerEventKind::kApplied:
    case WorkerEventKind::kCommitted:
    case WorkerEventKind::kStall:
    case WorkerEventKind::kSaved:
      return;
  }
}

void Narrator::on_node(Time now, std::uint64_t event, const sim::NodeEvent& node) {
  const auto say = [&](std::string_view text) {
    tell(now, event, fmt::format("{} {}", node_name(node.node), text));
  };
  switch (node.kind) {
    case NodeEventKind::kMachineUp:
      return say("machine comes up");
    case NodeEventKind::kMachineDown:
      return say("machine goes down");
    case NodeEventKind::kAgentUp:
      return say("agent starts");
    case NodeEventKind::kAgentDown:
      return say("agent process ends");
    case NodeEventKind::kFrozen:
      return say(node.whole_machine ? "machine freezes" : "agent freezes");
    case NodeEventKind::kThawed:
      return say(node.whole_machine ? "machine thaws" : "agent thaws");
    case NodeEventKind::kAgentExit:
      return say(
          fmt::format("agent exits: {}", pick(kExits, static_cast<std::uint64_t>(node.exit))));
  }
}

void Narrator::on_fault(Time now, std::uint64_t event, const sim::Fault& fault) {
  std::string text = fmt::format("fault: {}", sim::name(fault.kind));
  for (std::size_t i = 0; i < fault.targets.size() && i < 4; ++i) {
    text += (i == 0 ? " " : ", ") + node_name(fault.targets[i]);
  }
  if (fault.targets.size() > 4) text += fmt::format(" and {} more", fault.targets.size() - 4);
  if (fault.length > Duration::zero()) text += " for " + in_words(fault.length);
  tell(now, event, std::move(text));
}

}  // namespace elastic::chaos
