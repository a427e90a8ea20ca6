#include "apps/elastic-run/reporter.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "apps/elastic-run/exit_codes.h"
#include "transport/real/logs/error_file.h"
#include "transport/real/runtime/status.h"

namespace elastic::launch {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr Duration kRemindAfter = std::chrono::seconds(5);
constexpr std::size_t kTail = 20;

std::string seconds(Duration d) {
  return fmt::format("{:.2f} s", static_cast<double>(duration_cast<milliseconds>(d).count()) / 1e3);
}

std::string many(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

Reporter::Reporter(const Options& options, real::Console console, bool quiet)
    : options_(options), console_(std::move(console)), quiet_(quiet) {
  if (options_.events.empty()) return;
  events_ = std::fopen(options_.events.c_str(), "ae");
  if (events_ == nullptr) {
    say(fmt::format("events cannot be written to {}: {}", options_.events, std::strerror(errno)));
  }
}

Reporter::~Reporter() {
  if (events_ != nullptr) std::fclose(events_);
}

void Reporter::say(const std::string& line) {
  console_.say(real::Console::Target::kErr, "[elastic] " + line);
}

std::string Reporter::name_of(NodeId node) const {
  return runtime_ == nullptr ? fmt::format("node {:x}", node.value)
                             : runtime_->links().name_of(node);
}

void Reporter::event(const char* kind, const std::string& fields) {
  if (events_ == nullptr) return;
  const auto now = duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  fmt::print(events_, "{{\"at_ms\":{},\"node\":{},\"event\":\"{}\"{}{}}}\n", now.count(),
             nlohmann::json(runtime_ == nullptr ? "" : runtime_->options().links.host_name).dump(),
             kind, fields.empty() ? "" : ",", fields);
  std::fflush(events_);
}

// ---- While it runs

void Reporter::on_note(const Note& note) {
  switch (note.kind) {
    case NoteKind::kLeading:
      event("leads", fmt::format("\"record\":{}", note.a));
      break;
    case NoteKind::kDeposed:
      event("leads_no_more", fmt::format("\"record\":{}", note.a));
      break;
    case NoteKind::kNodeLost:
      lost_ += fmt::format("{}{} lost: no beat for {}", lost_.empty() ? "" : ", ",
                           name_of(note.node), seconds(runtime_->options().timeouts.lost_after));
      event("node_lost", fmt::format("\"lost\":{}", nlohmann::json(name_of(note.node)).dump()));
      break;
    case NoteKind::kAskLeave:
      asked_at_ = runtime_->now();
      event("leave", fmt::format("\"round\":{}", note.round.number));
      break;
    case NoteKind::kWorldRecorded:
      event("world", fmt::format("\"round\":{},\"nodes\":{}", note.round.number, note.a));
      break;
    case NoteKind::kRunning:
      event("running", fmt::format("\"round\":{}", note.round.number));
      break;
    case NoteKind::kLeaseLapsed:
      say("nobody who coordinates the job acknowledges this node: its workers are stopped until "
          "somebody does");
      event("lease_lapsed", "");
      break;
    case NoteKind::kOrphaned:
      say("unheard for too long: the workers of this node are ended");
      event("orphaned", "");
      break;
    case NoteKind::kBoundExceeded: {
      static const char* const kWhat[] = {"the answer to a beat", "the journal", "this process",
                                          "the start of the programs"};
      const char* what = note.a < 4 ? kWhat[note.a] : "something";
      const auto measured = milliseconds(note.b / 1'000'000);
      const auto declared = milliseconds(note.c / 1'000'000);
      event("bound_exceeded", fmt::format("\"bound\":{},\"measured_ms\":{},\"declared_ms\":{}",
                                          note.a, measured.count(), declared.count()));
      // Only what may cost a round is worth a line.
      if (measured > runtime_->options().timeouts.lost_after / 2) {
        say(
            fmt::format("{} took {} ms where {} ms are declared: nodes may be taken for lost; a "
                        "larger --detection-target helps",
                        what, measured.count(), declared.count()));
      }
      break;
    }
    case NoteKind::kJournalFounded:
      event("journal_founded", "");
      break;
    case NoteKind::kLeft:
      event("left", fmt::format("\"for_round\":{}", note.round.number));
      break;
    default:
      break;
  }
}

void Reporter::on_placement(const Placement& placement) {
  placement_ = placement;
  if (asked_at_ == Time{}) asked_at_ = runtime_->now();
  event("placed", fmt::format("\"round\":{},\"first_rank\":{},\"world_size\":{},\"nodes\":{}",
                              placement.round.number, placement.first_rank, placement.world_size,
                              placement.group_size));
  if (!quiet_) {
    say(fmt::format("round {}: {}, {}{}{}", placement.round.number,
                    many(placement.group_size, "node"), many(placement.world_size, "rank"),
                    placement.restarts_used == 0
                        ? ""
                        : fmt::format(", restart {} of {}", placement.restarts_used,
                                      runtime_->options().job.max_restarts),
                    lost_.empty() ? "" : fmt::format("   ({})", lost_)));
  }
  lost_.clear();
}

void Reporter::on_started() {
  if (!placement_) return;
  const Duration took = runtime_->now() - asked_at_;
  event("started", fmt::format("\"round\":{},\"after_ms\":{}", placement_->round.number,
                               duration_cast<milliseconds>(took).count()));
  if (!quiet_)
    say(fmt::format("round {} running after {}", placement_->round.number, seconds(took)));
  asked_at_ = {};
}

void Reporter::on_worker_exit(const WorkerExited& exited) {
  if (asked_at_ == Time{}) asked_at_ = runtime_->now();
  event("worker_exit",
        fmt::format("\"round\":{},\"local_rank\":{},\"code\":{},\"signal\":{}", exited.round.number,
                    exited.local_rank, exited.status.code, exited.status.signal));
}

void Reporter::on_remains(const real::WorkerRemains& remains) {
  if (remains.status.ok() || remains.asked_to_end) return;
  const wire::FailureAsk of{runtime_->options().links.self, remains.round, remains.local_rank};
  remains_[of] = remains;
  std::vector<std::string> tail = remains.tail;
  if (tail.size() > kTail)
    tail.erase(tail.begin(), tail.end() - static_cast<std::ptrdiff_t>(kTail));
  runtime_->tell_failure({of, tail, remains.paths.err, remains.at_unix_ns});
  say(fmt::format("rank {} (local {}) on {} failed in round {}: {}", remains.rank,
                  remains.local_rank, runtime_->options().links.host_name, remains.round.number,
                  real::describe_end(remains.status, remains.core_dumped)));
}

void Reporter::on_verdict(const Verdict& verdict) {
  event("verdict", fmt::format("\"kind\":{}",
                               nlohmann::json(std::string(real::name_of(verdict.kind))).dump()));
  const FailureReport& first = verdict.first_failure;
  const bool failed = verdict.kind == Verdict::Kind::kProgramFailed;
  if (failed && first.agent.node != runtime_->options().links.self.node) {
    runtime_->ask_failure({first.agent, first.round, first.local_rank});
  }
}

void Reporter::on_line(const std::string& text) {
  say(text);
  event("line", fmt::format("\"text\":{}", nlohmann::json(text).dump()));
}

void Reporter::on_waiting(WaitReason reason) {
  waiting_ = reason;
  event("waits",
        fmt::format("\"reason\":{}", nlohmann::json(std::string(real::name_of(reason))).dump()));
}

void Reporter::remind() {
  if (quiet_ || runtime_->node() == nullptr || waiting_ == WaitReason::kNone) return;
  const Time now = runtime_->now();
  if (asked_at_ == Time{}) asked_at_ = now;
  const Duration since = now - asked_at_;
  // Ever more rarely: after 5 s, 10 s, 20 s, ...
  if (since < kRemindAfter || (reminded_at_ > asked_at_ && since < 2 * (reminded_at_ - asked_at_)))
    return;
  reminded_at_ = now;
  std::string in;
  const Node& node = *runtime_->node();
  if (node.leading()) {
    std::size_t heard = 0;
    for (const auto& [id, peer] : node.coordinator().peers()) heard += peer.lost ? 0 : 1;
    in =
        fmt::format(", {} of {}..{} nodes are here", heard, options_.min_nodes, options_.max_nodes);
  }
  say(fmt::format("no round for {}: {}{}", seconds(since), real::name_of(waiting_), in));
}

// ---- The end

std::optional<real::FailedWorker> Reporter::first_failure(const Verdict& verdict) const {
  const FailureReport& report = verdict.first_failure;
  if (!report.agent) return std::nullopt;
  real::FailedWorker first;
  first.node = name_of(report.agent.node);
  first.rank = static_cast<int>(report.rank);
  first.local_rank = static_cast<int>(report.local_rank);
  first.round = report.round;
  first.status = report.status;
  first.stopped_by_agent = report.stopped_by_agent;
  const wire::FailureAsk of{report.agent, report.round, report.local_rank};
  if (const auto* told = runtime_->failure(of)) {
    first.tail = told->last_lines;
    first.log_path = told->log;
    first.at = static_cast<std::time_t>(told->at_unix_ns / 1'000'000'000);
  }
  const auto own = remains_.find(of);
  if (own != remains_.end()) {
    first.pid = own->second.pid;
    const auto error = real::read_error_file(own->second.paths.error_file);
    if (error && *error) first.error = **error;
  }
  return first;
}

void Reporter::say_end(const real::RuntimeEnd& end, const std::string& why, int status) {
  real::EndReport report;
  report.verdict = "job failed: " + why;
  report.exit_code = status;
  if (end.verdict) report.first = first_failure(*end.verdict);
  if (report.first && placement_ && placement_->round == report.first->round) {
    real::Consequence consequence;
    for (int rank = 0; rank < static_cast<int>(placement_->world_size); ++rank) {
      if (rank != report.first->rank) consequence.ranks.push_back(rank);
    }
    if (!consequence.ranks.empty()) report.consequences.push_back(std::move(consequence));
  }
  std::string text = real::format_report(report);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t line = text.find('\n', at);
    console_.say(real::Console::Target::kErr, text.substr(at, line - at));
    at = line == std::string::npos ? text.size() : line + 1;
  }
  const char* own_file = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (report.first && own_file != nullptr && *own_file != 0) {
    if (const auto written = real::write_error_file(own_file, real::own_error(*report.first));
        !written) {
      say(written.error());
    }
  }
}

int Reporter::conclude(const real::RuntimeEnd& end) {
  if (!end.reason) {
    say(end.error);
    event("end", fmt::format("\"error\":{}", nlohmann::json(end.error).dump()));
    return end.unreachable ? kExitJournalLost : kExitInfrastructure;
  }
  End how;
  how.reason = *end.reason;
  how.waited_for = waiting_;
  if (end.verdict && end.verdict->first_failure.agent) {
    how.first_failure = end.verdict->first_failure.status;
  }
  const int status = exit_status(how, options_.exit_code);
  event("end", fmt::format("\"exit\":{},\"why\":{}", status, nlohmann::json(explain(how)).dump()));
  const bool failed =
      how.reason == ExitReason::kProgramFailed || how.reason == ExitReason::kNoProgress;
  if (failed && !quiet_) {
    say_end(end, explain(how), status);
  } else if (how.reason != ExitReason::kSucceeded &&
             !(quiet_ && how.reason == ExitReason::kStopped)) {
    if (!failed) say(fmt::format("{}   exit {}", explain(how), status));
  } else if (!quiet_ && placement_) {
    say(fmt::format("done: {}", explain(how)));
  }
  return status;
}

}  // namespace elastic::launch
