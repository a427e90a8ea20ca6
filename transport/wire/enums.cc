// A switch without default: an enumerator that core gains stops the build here until the schema has
// it, too.
#include "transport/wire/enums.h"

namespace elastic::wire {

pb::ResumeSource pb_value(ResumePoint::Source value) {
  switch (value) {
    case ResumePoint::Source::kScratch:
      return pb::RESUME_SOURCE_SCRATCH;
    case ResumePoint::Source::kHolders:
      return pb::RESUME_SOURCE_HOLDERS;
    case ResumePoint::Source::kCheckpoint:
      return pb::RESUME_SOURCE_CHECKPOINT;
  }
  return pb::RESUME_SOURCE_UNSPECIFIED;
}

pb::RoundCause pb_value(RoundCause value) {
  switch (value) {
    case RoundCause::kFirst:
      return pb::ROUND_CAUSE_FIRST;
    case RoundCause::kNodeLost:
      return pb::ROUND_CAUSE_NODE_LOST;
    case RoundCause::kWorkerFailed:
      return pb::ROUND_CAUSE_WORKER_FAILED;
    case RoundCause::kResize:
      return pb::ROUND_CAUSE_RESIZE;
    case RoundCause::kEdge:
      return pb::ROUND_CAUSE_EDGE;
    case RoundCause::kStalled:
      return pb::ROUND_CAUSE_STALLED;
    case RoundCause::kAdopted:
      return pb::ROUND_CAUSE_ADOPTED;
    case RoundCause::kSaveBroken:
      return pb::ROUND_CAUSE_SAVE_BROKEN;
  }
  return pb::ROUND_CAUSE_UNSPECIFIED;
}

pb::VerdictKind pb_value(Verdict::Kind value) {
  switch (value) {
    case Verdict::Kind::kSucceeded:
      return pb::VERDICT_KIND_SUCCEEDED;
    case Verdict::Kind::kProgramFailed:
      return pb::VERDICT_KIND_PROGRAM_FAILED;
    case Verdict::Kind::kGaveUp:
      return pb::VERDICT_KIND_GAVE_UP;
    case Verdict::Kind::kStopped:
      return pb::VERDICT_KIND_STOPPED;
    case Verdict::Kind::kNoProgress:
      return pb::VERDICT_KIND_NO_PROGRESS;
    case Verdict::Kind::kTooFewNodes:
      return pb::VERDICT_KIND_TOO_FEW_NODES;
    case Verdict::Kind::kSavesLost:
      return pb::VERDICT_KIND_SAVES_LOST;
  }
  return pb::VERDICT_KIND_UNSPECIFIED;
}

pb::AgentState pb_value(AgentState value) {
  switch (value) {
    case AgentState::kCleaning:
      return pb::AGENT_STATE_CLEANING;
    case AgentState::kWaiting:
      return pb::AGENT_STATE_WAITING;
    case AgentState::kPrepared:
      return pb::AGENT_STATE_PREPARED;
    case AgentState::kEntering:
      return pb::AGENT_STATE_ENTERING;
    case AgentState::kRunning:
      return pb::AGENT_STATE_RUNNING;
    case AgentState::kLeaving:
      return pb::AGENT_STATE_LEAVING;
    case AgentState::kLeft:
      return pb::AGENT_STATE_LEFT;
    case AgentState::kFinished:
      return pb::AGENT_STATE_FINISHED;
    case AgentState::kEnded:
      return pb::AGENT_STATE_ENDED;
  }
  return pb::AGENT_STATE_UNSPECIFIED;
}

pb::WaitReason pb_value(WaitReason value) {
  switch (value) {
    case WaitReason::kNone:
      return pb::WAIT_REASON_NONE;
    case WaitReason::kAdopting:
      return pb::WAIT_REASON_ADOPTING;
    case WaitReason::kBelowMin:
      return pb::WAIT_REASON_BELOW_MIN;
    case WaitReason::kLastCall:
      return pb::WAIT_REASON_LAST_CALL;
    case WaitReason::kMembersLeave:
      return pb::WAIT_REASON_MEMBERS_LEAVE;
    case WaitReason::kRoundNotDead:
      return pb::WAIT_REASON_ROUND_NOT_DEAD;
    case WaitReason::kHolder:
      return pb::WAIT_REASON_HOLDER;
    case WaitReason::kRecording:
      return pb::WAIT_REASON_RECORDING;
    case WaitReason::kSpare:
      return pb::WAIT_REASON_SPARE;
    case WaitReason::kSittingOut:
      return pb::WAIT_REASON_SITTING_OUT;
    case WaitReason::kPreparing:
      return pb::WAIT_REASON_PREPARING;
    case WaitReason::kNotGrowing:
      return pb::WAIT_REASON_NOT_GROWING;
    case WaitReason::kSuppressed:
      return pb::WAIT_REASON_SUPPRESSED;
    case WaitReason::kBackOff:
      return pb::WAIT_REASON_BACK_OFF;
  }
  return pb::WAIT_REASON_UNSPECIFIED;
}

pb::JournalOutcome pb_value(JournalAnswer::Outcome value) {
  switch (value) {
    case JournalAnswer::Outcome::kRead:
      return pb::JOURNAL_OUTCOME_READ;
    case JournalAnswer::Outcome::kCreated:
      return pb::JOURNAL_OUTCOME_CREATED;
    case JournalAnswer::Outcome::kTaken:
      return pb::JOURNAL_OUTCOME_TAKEN;
    case JournalAnswer::Outcome::kUnknown:
      return pb::JOURNAL_OUTCOME_UNKNOWN;
    case JournalAnswer::Outcome::kRefused:
      return pb::JOURNAL_OUTCOME_REFUSED;
  }
  return pb::JOURNAL_OUTCOME_UNSPECIFIED;
}

pb::WorkerKind pb_value(WorkerKind value) {
  switch (value) {
    case WorkerKind::kNative:
      return pb::WORKER_KIND_NATIVE;
    case WorkerKind::kForeign:
      return pb::WORKER_KIND_FOREIGN;
  }
  return pb::WORKER_KIND_UNSPECIFIED;
}

pb::RestartPolicy pb_value(RestartPolicy value) {
  switch (value) {
    case RestartPolicy::kAnyFailure:
      return pb::RESTART_POLICY_ANY_FAILURE;
    case RestartPolicy::kExitCode:
      return pb::RESTART_POLICY_EXIT_CODE;
  }
  return pb::RESTART_POLICY_UNSPECIFIED;
}

pb::Growth pb_value(Growth value) {
  switch (value) {
    case Growth::kAlways:
      return pb::GROWTH_ALWAYS;
    case Growth::kNever:
      return pb::GROWTH_NEVER;
    case Growth::kPays:
      return pb::GROWTH_PAYS;
  }
  return pb::GROWTH_UNSPECIFIED;
}

pb::JournalKind pb_value(JournalKind value) {
  switch (value) {
    case JournalKind::kHosted:
      return pb::JOURNAL_KIND_HOSTED;
    case JournalKind::kExternal:
      return pb::JOURNAL_KIND_EXTERNAL;
  }
  return pb::JOURNAL_KIND_UNSPECIFIED;
}

pb::TimerId pb_value(TimerId value) {
  switch (value) {
    case TimerId::kBeat:
      return pb::TIMER_ID_BEAT;
    case TimerId::kLease:
      return pb::TIMER_ID_LEASE;
    case TimerId::kOrphan:
      return pb::TIMER_ID_ORPHAN;
    case TimerId::kStop:
      return pb::TIMER_ID_STOP;
    case TimerId::kResize:
      return pb::TIMER_ID_RESIZE;
    case TimerId::kJoin:
      return pb::TIMER_ID_JOIN;
    case TimerId::kSilence:
      return pb::TIMER_ID_SILENCE;
    case TimerId::kCanvass:
      return pb::TIMER_ID_CANVASS;
    case TimerId::kTick:
      return pb::TIMER_ID_TICK;
    case TimerId::kJournal:
      return pb::TIMER_ID_JOURNAL;
    case TimerId::kPrepare:
      return pb::TIMER_ID_PREPARE;
    case TimerId::kLinger:
      return pb::TIMER_ID_LINGER;
    case TimerId::kCount:
      break;
  }
  return pb::TIMER_ID_UNSPECIFIED;
}

pb::ExitReason pb_value(ExitReason value) {
  switch (value) {
    case ExitReason::kSucceeded:
      return pb::EXIT_REASON_SUCCEEDED;
    case ExitReason::kProgramFailed:
      return pb::EXIT_REASON_PROGRAM_FAILED;
    case ExitReason::kGaveUp:
      return pb::EXIT_REASON_GAVE_UP;
    case ExitReason::kStopped:
      return pb::EXIT_REASON_STOPPED;
    case ExitReason::kLeft:
      return pb::EXIT_REASON_LEFT;
    case ExitReason::kJournalLost:
      return pb::EXIT_REASON_JOURNAL_LOST;
    case ExitReason::kJoinTimeout:
      return pb::EXIT_REASON_JOIN_TIMEOUT;
    case ExitReason::kNoProgress:
      return pb::EXIT_REASON_NO_PROGRESS;
    case ExitReason::kTooFewNodes:
      return pb::EXIT_REASON_TOO_FEW_NODES;
    case ExitReason::kSavesLost:
      return pb::EXIT_REASON_SAVES_LOST;
  }
  return pb::EXIT_REASON_UNSPECIFIED;
}

pb::NoteKind pb_value(NoteKind value) {
  switch (value) {
    case NoteKind::kLeading:
      return pb::NOTE_KIND_LEADING;
    case NoteKind::kDeposed:
      return pb::NOTE_KIND_DEPOSED;
    case NoteKind::kSuspended:
      return pb::NOTE_KIND_SUSPENDED;
    case NoteKind::kCandidate:
      return pb::NOTE_KIND_CANDIDATE;
    case NoteKind::kAdopted:
      return pb::NOTE_KIND_ADOPTED;
    case NoteKind::kAskLeave:
      return pb::NOTE_KIND_ASK_LEAVE;
    case NoteKind::kNodeLost:
      return pb::NOTE_KIND_NODE_LOST;
    case NoteKind::kNodeDead:
      return pb::NOTE_KIND_NODE_DEAD;
    case NoteKind::kWorldRecorded:
      return pb::NOTE_KIND_WORLD_RECORDED;
    case NoteKind::kRunning:
      return pb::NOTE_KIND_RUNNING;
    case NoteKind::kFailure:
      return pb::NOTE_KIND_FAILURE;
    case NoteKind::kBeatAcked:
      return pb::NOTE_KIND_BEAT_ACKED;
    case NoteKind::kCheckpoint:
      return pb::NOTE_KIND_CHECKPOINT;
    case NoteKind::kVerdict:
      return pb::NOTE_KIND_VERDICT;
    case NoteKind::kLeaseLapsed:
      return pb::NOTE_KIND_LEASE_LAPSED;
    case NoteKind::kOrphaned:
      return pb::NOTE_KIND_ORPHANED;
    case NoteKind::kRefused:
      return pb::NOTE_KIND_REFUSED;
    case NoteKind::kJournalFounded:
      return pb::NOTE_KIND_JOURNAL_FOUNDED;
    case NoteKind::kEntered:
      return pb::NOTE_KIND_ENTERED;
    case NoteKind::kLeft:
      return pb::NOTE_KIND_LEFT;
    case NoteKind::kWaiting:
      return pb::NOTE_KIND_WAITING;
    case NoteKind::kSaveBroken:
      return pb::NOTE_KIND_SAVE_BROKEN;
    case NoteKind::kRetired:
      return pb::NOTE_KIND_RETIRED;
    case NoteKind::kBoundExceeded:
      return pb::NOTE_KIND_BOUND_EXCEEDED;
  }
  return pb::NOTE_KIND_UNSPECIFIED;
}

pb::Role pb_value(Role value) {
  switch (value) {
    case Role::kAgent:
      return pb::ROLE_AGENT;
    case Role::kClient:
      return pb::ROLE_CLIENT;
  }
  return pb::ROLE_UNSPECIFIED;
}

pb::RefusalKind pb_value(Refused::Kind value) {
  switch (value) {
    case Refused::Kind::kOtherJob:
      return pb::REFUSAL_KIND_OTHER_JOB;
    case Refused::Kind::kNoToken:
      return pb::REFUSAL_KIND_NO_TOKEN;
    case Refused::Kind::kSuperseded:
      return pb::REFUSAL_KIND_SUPERSEDED;
    case Refused::Kind::kNotReady:
      return pb::REFUSAL_KIND_NOT_READY;
    case Refused::Kind::kSettings:
      return pb::REFUSAL_KIND_SETTINGS;
  }
  return pb::REFUSAL_KIND_UNSPECIFIED;
}

pb::CommandKind pb_value(Command::Kind value) {
  switch (value) {
    case Command::Kind::kLeave:
      return pb::COMMAND_KIND_LEAVE;
    case Command::Kind::kStop:
      return pb::COMMAND_KIND_STOP;
  }
  return pb::COMMAND_KIND_UNSPECIFIED;
}

}  // namespace elastic::wire
