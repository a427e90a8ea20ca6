// Between core's values and the schema's messages, field by field. Internal to transport/wire.
//
// `write` fills an empty message. It takes a value apart by a structured binding, so that a field
// that core gains stops the build there until the schema has it, too. `read` is total for a message
// that the checker (checker.h) has passed: what could be wrong was refused before.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "core/agent/io.h"
#include "core/membership/messages.h"
#include "core/membership/records.h"
#include "transport/wire/messages.pb.h"
#include "transport/wire/recording.h"
#include "transport/wire/recording.pb.h"
#include "transport/wire/records.pb.h"
#include "transport/wire/session.h"
#include "transport/wire/session.pb.h"

namespace elastic::wire {

// convert_records.cc
void write(const AgentId& agent, pb::AgentId& out);
void write(const RoundId& round, pb::RoundId& out);
void write(const LeadId& lead, pb::LeadId& out);
void write(const StatePoint& state, pb::StatePoint& out);
void write(const ExitStatus& status, pb::ExitStatus& out);
void write(const FailureReport& report, pb::FailureReport& out);
void write(const Member& member, pb::Member& out);
void write(const ResumePoint& resume, pb::ResumePoint& out);
void write(const Checkpoint& checkpoint, pb::Checkpoint& out);
void write(const CommittedSave& save, pb::CommittedSave& out);
void write(const Verdict& verdict, pb::Verdict& out);
void write(const policy::FlapScore& flap, pb::FlapScore& out);
void write(const CountedStarts& starts, pb::CountedStarts& out);
void write(const Record& record, pb::Record& out);
void write(const NumberedRecord& record, pb::NumberedRecord& out);
void write(const CommitMarker& marker, pb::CommitMarker& out);
AgentId read(const pb::AgentId& in);
RoundId read(const pb::RoundId& in);
LeadId read(const pb::LeadId& in);
StatePoint read(const pb::StatePoint& in);
ExitStatus read(const pb::ExitStatus& in);
FailureReport read(const pb::FailureReport& in);
Member read(const pb::Member& in);
ResumePoint read(const pb::ResumePoint& in);
Checkpoint read(const pb::Checkpoint& in);
CommittedSave read(const pb::CommittedSave& in);
Verdict read(const pb::Verdict& in);
policy::FlapScore read(const pb::FlapScore& in);
CountedStarts read(const pb::CountedStarts& in);
Record read(const pb::Record& in);
NumberedRecord read(const pb::NumberedRecord& in);
CommitMarker read(const pb::CommitMarker& in);

// convert_messages.cc
void write(const SaveReport& report, pb::SaveReport& out);
void write(const ShareFact& share, pb::ShareFact& out);
void write(const ManifestOrder& order, pb::ManifestOrder& out);
void write(const Placement& placement, pb::Placement& out);
void write(const JournalAsk& ask, pb::JournalAsk& out);
void write(const JournalAnswer& answer, pb::JournalAnswer& out);
void write(const Message& message, pb::Message& out);
SaveReport read(const pb::SaveReport& in);
ShareFact read(const pb::ShareFact& in);
ManifestOrder read(const pb::ManifestOrder& in);
Placement read(const pb::Placement& in);
JournalAsk read(const pb::JournalAsk& in);
JournalAnswer read(const pb::JournalAnswer& in);
Message read(const pb::Message& in);

// convert_inputs.cc, convert_effects.cc, convert_settings.cc
void write(const Input& input, pb::Input& out);
void write(const Effect& effect, pb::Effect& out);
void write(const RecordingHeader& header, pb::RecordingHeader& out);
void write(const RecordedStep& step, pb::RecordedStep& out);
Input read(const pb::Input& in);
Effect read(const pb::Effect& in);
RecordingHeader read(const pb::RecordingHeader& in);
RecordedStep read(const pb::RecordedStep& in);

// convert_session.cc
void write(const Session& session, pb::Session& out);
Session read(const pb::Session& in);

// Repeated messages and numbers.
template <class Core, class Pb>
void write_all(const std::vector<Core>& values, google::protobuf::RepeatedPtrField<Pb>& out) {
  out.Reserve(static_cast<int>(values.size()));
  for (const Core& value : values) write(value, *out.Add());
}

template <class Pb>
auto read_all(const google::protobuf::RepeatedPtrField<Pb>& in) {
  std::vector<decltype(read(Pb{}))> values;
  values.reserve(static_cast<std::size_t>(in.size()));
  for (const Pb& value : in) values.push_back(read(value));
  return values;
}

inline void write_nodes(const std::vector<NodeId>& nodes,
                        google::protobuf::RepeatedField<std::uint64_t>& out) {
  out.Reserve(static_cast<int>(nodes.size()));
  for (const NodeId node : nodes) out.Add(node.value);
}

inline std::vector<NodeId> read_nodes(const google::protobuf::RepeatedField<std::uint64_t>& in) {
  std::vector<NodeId> nodes;
  nodes.reserve(static_cast<std::size_t>(in.size()));
  for (const std::uint64_t node : in) nodes.push_back(NodeId{node});
  return nodes;
}

inline void write_records(const std::vector<RecordNo>& records,
                          google::protobuf::RepeatedField<std::uint64_t>& out) {
  out.Reserve(static_cast<int>(records.size()));
  for (const RecordNo record : records) out.Add(record.value);
}

inline std::vector<RecordNo> read_records(
    const google::protobuf::RepeatedField<std::uint64_t>& in) {
  std::vector<RecordNo> records;
  records.reserve(static_cast<std::size_t>(in.size()));
  for (const std::uint64_t record : in) records.push_back(RecordNo{record});
  return records;
}

// The optional that a message field with presence stands for: read_if(in.has_held(), in.held()).
template <class Pb>
auto read_if(bool present, const Pb& in) {
  return present ? std::optional(read(in)) : std::nullopt;
}

}  // namespace elastic::wire
