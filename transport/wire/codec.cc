#include "transport/wire/codec.h"

#include <google/protobuf/arena.h>

#include <climits>

#include "core/assert.h"
#include "transport/wire/checker.h"
#include "transport/wire/convert.h"

namespace elastic::wire {
namespace {

template <class Pb, class Core>
std::string encode_as(const Core& value) {
  google::protobuf::Arena arena;
  Pb& message = *google::protobuf::Arena::CreateMessage<Pb>(&arena);
  write(value, message);
  ELASTIC_ASSERT(message.ByteSizeLong() <= INT_MAX);
  std::string bytes;
  const bool written = message.SerializeToString(&bytes);
  ELASTIC_ASSERT(written);
  return bytes;
}

template <class Pb>
auto decode_as(std::string_view bytes) -> Decoded<decltype(read(Pb{}))> {
  if (auto error = check_bytes(bytes, *Pb::descriptor())) {
    return tl::unexpected(std::move(*error));
  }
  google::protobuf::Arena arena;
  Pb& message = *google::protobuf::Arena::CreateMessage<Pb>(&arena);
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return tl::unexpected(DecodeError{.field = "",
                                      .expected = "a " + Pb::descriptor()->name(),
                                      .found = "bytes that Protobuf does not accept"});
  }
  return read(message);
}

}  // namespace

std::string encode(const Message& message) { return encode_as<pb::Message>(message); }
std::string encode(const Record& record) { return encode_as<pb::Record>(record); }
std::string encode(const NumberedRecord& record) { return encode_as<pb::NumberedRecord>(record); }
std::string encode(const CommitMarker& marker) { return encode_as<pb::CommitMarker>(marker); }
std::string encode(const Input& input) { return encode_as<pb::Input>(input); }
std::string encode(const Effect& effect) { return encode_as<pb::Effect>(effect); }
std::string encode(const RecordedStep& step) { return encode_as<pb::RecordedStep>(step); }
std::string encode(const RecordingHeader& header) { return encode_as<pb::RecordingHeader>(header); }

std::string encode(const Session& session) { return encode_as<pb::Session>(session); }

Decoded<Message> decode_message(std::string_view bytes) { return decode_as<pb::Message>(bytes); }
Decoded<Record> decode_record(std::string_view bytes) { return decode_as<pb::Record>(bytes); }
Decoded<NumberedRecord> decode_numbered_record(std::string_view bytes) {
  return decode_as<pb::NumberedRecord>(bytes);
}
Decoded<CommitMarker> decode_commit_marker(std::string_view bytes) {
  return decode_as<pb::CommitMarker>(bytes);
}
Decoded<Input> decode_input(std::string_view bytes) { return decode_as<pb::Input>(bytes); }
Decoded<Effect> decode_effect(std::string_view bytes) { return decode_as<pb::Effect>(bytes); }
Decoded<RecordedStep> decode_recorded_step(std::string_view bytes) {
  return decode_as<pb::RecordedStep>(bytes);
}

Decoded<Session> decode_session(std::string_view bytes) { return decode_as<pb::Session>(bytes); }

Decoded<RecordingHeader> decode_recording_header(std::string_view bytes) {
  Decoded<RecordingHeader> header = decode_as<pb::RecordingHeader>(bytes);
  if (header && header->version != kRecordingVersion) {
    return tl::unexpected(DecodeError{.field = "version",
                                      .expected = std::to_string(kRecordingVersion),
                                      .found = std::to_string(header->version)});
  }
  return header;
}

}  // namespace elastic::wire
