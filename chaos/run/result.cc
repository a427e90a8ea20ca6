#include "chaos/run/result.h"

#include "chaos/run/interrupt.h"

namespace elastic::chaos {

int exit_status(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::kHolds:
      return 0;
    case VerdictClass::kMissed:
      return 1;
    case VerdictClass::kLiveness:
      return 4;
    case VerdictClass::kSafety:
      return 5;
    case VerdictClass::kCrash:
      return kCrashStatus;
    case VerdictClass::kInterrupted:
      return kInterruptedStatus;
  }
  return kCrashStatus;
}

int severity(VerdictClass verdict) { return static_cast<int>(verdict); }

std::string_view name(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::kHolds:
      return "holds";
    case VerdictClass::kMissed:
      return "missed";
    case VerdictClass::kLiveness:
      return "liveness";
    case VerdictClass::kSafety:
      return "safety";
    case VerdictClass::kCrash:
      return "crash";
    case VerdictClass::kInterrupted:
      return "interrupted";
  }
  return "";
}

std::string end_words(const sim::Outcome& outcome) {
  switch (outcome.end) {
    case sim::Outcome::End::kVerdict:
      break;
    case sim::Outcome::End::kAllExited:
      return "every agent has exited, and no verdict was recorded";
    case sim::Outcome::End::kHorizon:
      return "the horizon was reached before the job had ended";
    case sim::Outcome::End::kStopped:
      return "the run was stopped";
  }
  if (!outcome.verdict.has_value()) return "the job has ended";
  switch (outcome.verdict->kind) {
    case Verdict::Kind::kSucceeded:
      return "the job has succeeded";
    case Verdict::Kind::kProgramFailed:
      return "the job has failed: the program's own failures used up the restart budget";
    case Verdict::Kind::kGaveUp:
      return "the job gave up: losses of nodes used up the churn budget";
    case Verdict::Kind::kStopped:
      return "the operator ended the job";
    case Verdict::Kind::kNoProgress:
      return "the job has failed: the program failed at the same step again and again";
    case Verdict::Kind::kTooFewNodes:
      return "the job has ended: too few machines for too long";
    case Verdict::Kind::kSavesLost:
      return "the job gave up: every committed save is broken, and nobody holds a state";
  }
  return "the job has ended";
}

}  // namespace elastic::chaos
