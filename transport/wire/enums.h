// Enumerators of core and of the schema. The numbers on the wire are those of the .proto files,
// whatever the order in core; 0 is no value.
#pragma once

#include "core/agent/io.h"
#include "core/assert.h"
#include "core/membership/config.h"
#include "core/membership/messages.h"
#include "core/membership/records.h"
#include "transport/wire/messages.pb.h"
#include "transport/wire/recording.pb.h"
#include "transport/wire/records.pb.h"
#include "transport/wire/session.h"
#include "transport/wire/session.pb.h"

namespace elastic::wire {

// The schema's enumerator, or its UNSPECIFIED (0) for a value that core does not define.
pb::ResumeSource pb_value(ResumePoint::Source value);
pb::RoundCause pb_value(RoundCause value);
pb::VerdictKind pb_value(Verdict::Kind value);
pb::AgentState pb_value(AgentState value);
pb::WaitReason pb_value(WaitReason value);
pb::JournalOutcome pb_value(JournalAnswer::Outcome value);
pb::WorkerKind pb_value(WorkerKind value);
pb::RestartPolicy pb_value(RestartPolicy value);
pb::Growth pb_value(Growth value);
pb::JournalKind pb_value(JournalKind value);
pb::TimerId pb_value(TimerId value);
pb::ExitReason pb_value(ExitReason value);
pb::NoteKind pb_value(NoteKind value);
pb::Role pb_value(Role value);
pb::RefusalKind pb_value(Refused::Kind value);
pb::CommandKind pb_value(Command::Kind value);

// REQUIRES: core defines `value`.
template <class Core>
auto to_pb(Core value) {
  const auto found = pb_value(value);
  ELASTIC_ASSERT(found != 0);
  return found;
}

// REQUIRES: the schema defines `value`, and it is not UNSPECIFIED (the checker has seen to it).
template <class Core, class Pb>
Core from_pb(Pb value) {
  ELASTIC_ASSERT(value != 0);
  int index = 0;
  while (index < 256 && pb_value(static_cast<Core>(index)) != value) ++index;
  ELASTIC_ASSERT(index < 256);
  return static_cast<Core>(index);
}

}  // namespace elastic::wire
