#include "apps/elastic-run/exit_codes.h"

#include <fmt/format.h>

#include <array>

#include "apps/elastic-run/values.h"

namespace elastic::launch {
namespace {

std::string fate(const std::optional<ExitStatus>& status) {
  if (!status || status->ok()) return "failed";
  if (status->signal != 0) return "was ended by " + signal_name(status->signal);
  return fmt::format("exited with code {}", status->code);
}

// A node that gave up: it is the cluster's size if that is what was lacking.
bool too_few(WaitReason reason) {
  return reason == WaitReason::kBelowMin || reason == WaitReason::kHolder;
}

std::string_view waited(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNone:
      return "nobody who coordinates the job was heard";
    case WaitReason::kAdopting:
      return "a new coordinator was still learning who is there";
    case WaitReason::kBelowMin:
      return "there were fewer nodes than the minimum";
    case WaitReason::kLastCall:
      return "further nodes might still come";
    case WaitReason::kMembersLeave:
      return "members of the round before had not left";
    case WaitReason::kRoundNotDead:
      return "workers of an earlier round might still run";
    case WaitReason::kHolder:
      return "no holder of the newest state was there";
    case WaitReason::kRecording:
      return "the journal had not confirmed the round";
    case WaitReason::kSpare:
      return "the round was full and this node a spare";
    case WaitReason::kSittingOut:
      return "this node sat out after it could not reach others";
    case WaitReason::kPreparing:
      return "its programs were not ready";
    case WaitReason::kNotGrowing:
      return "rounds do not grow (--grow never)";
    case WaitReason::kSuppressed:
      return "this node had been lost too often lately";
    case WaitReason::kBackOff:
      return "failures had come in a row";
  }
  return "of an unknown reason";
}

}  // namespace

std::span<const ExitLine> exit_table() {
  static constexpr std::array<ExitLine, 7> kLines{{
      {kExitDone, "done: the program ended with 0 on all ranks"},
      {kExitProgramFailed, "the program failed, and restarts are used up; its code is shown"},
      {kExitUsage, "usage: nothing was run"},
      {kExitInfrastructure, "infrastructure: no round could be had, or too many were lost"},
      {kExitPreempted, "preempted: this node left, or the job was stopped, before its end"},
      {kExitBelowMinimum, "fewer nodes than needed for too long"},
      {kExitJournalLost, "the coordinator or its journal is lost for good"},
  }};
  return kLines;
}

int exit_status(const End& end, ExitCodes whose) {
  switch (end.reason) {
    case ExitReason::kSucceeded:
      return kExitDone;
    case ExitReason::kProgramFailed:
    case ExitReason::kNoProgress: {
      if (whose != ExitCodes::kProgram || !end.first_failure) return kExitProgramFailed;
      const ExitStatus& status = *end.first_failure;
      const int code = (status.signal != 0 ? 128 + status.signal : status.code) & 0xff;
      return code == 0 ? kExitProgramFailed : code;
    }
    case ExitReason::kLeft:
    case ExitReason::kStopped:
      return kExitPreempted;
    case ExitReason::kJoinTimeout:
      return too_few(end.waited_for) ? kExitBelowMinimum : kExitInfrastructure;
    case ExitReason::kTooFewNodes:
      return kExitBelowMinimum;
    case ExitReason::kJournalLost:
      return kExitJournalLost;
    case ExitReason::kGaveUp:
    case ExitReason::kSavesLost:
      return kExitInfrastructure;
  }
  return kExitInfrastructure;
}

std::string explain(const End& end) {
  switch (end.reason) {
    case ExitReason::kSucceeded:
      return "the program ended with 0 on all ranks";
    case ExitReason::kProgramFailed:
      return fmt::format("the program {}, and no restarts are left", fate(end.first_failure));
    case ExitReason::kNoProgress:
      return fmt::format("the program {} at the same step again and again",
                         fate(end.first_failure));
    case ExitReason::kGaveUp:
      return "more rounds were lost with their nodes than max_churn allows";
    case ExitReason::kStopped:
      return "the job was stopped before its end";
    case ExitReason::kLeft:
      return "this node has left; the others go on";
    case ExitReason::kJournalLost:
      return "nothing was heard of the job's journal for longer than journal_lost_after";
    case ExitReason::kJoinTimeout:
      return fmt::format("no place in a round within join_timeout: {}", waited(end.waited_for));
    case ExitReason::kTooFewNodes:
      return "fewer nodes than --min-healthy were alive for too long";
    case ExitReason::kSavesLost:
      return "every checkpoint is broken, and no node holds a state";
  }
  return "the agent ended for an unknown reason";
}

}  // namespace elastic::launch
