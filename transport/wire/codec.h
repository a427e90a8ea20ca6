// The form in which messages, records and recordings travel: one function each way per type.
//
// Promises of every decode_*:
//  1. Total: any bytes give a value or a DecodeError that names the field; nothing throws or
//  aborts.
//  2. Strict: a missing part, an enumerator or a length out of range, a repeated field above its
//     maximum (limits.proto) and a field twice are errors. Fields that the schema does not know are
//     skipped, so that a newer peer may add some.
//  3. Bounded: the checker (checker.h) reads the bytes before anything is allocated for them, so
//     memory stays below about 64 times their number, and below 512 MiB for a frame of 16 MiB.
//  4. decode_x(encode(x)) == x for every x within the maxima.
// Equal values give equal bytes. Thread-safe; the bytes are not kept.
#pragma once

#include <string>
#include <string_view>

#include "core/agent/io.h"
#include "core/membership/messages.h"
#include "core/membership/records.h"
#include "transport/wire/decode_error.h"
#include "transport/wire/recording.h"
#include "transport/wire/session.h"

namespace elastic::wire {

std::string encode(const Message& message);
std::string encode(const Record& record);
std::string encode(const NumberedRecord& record);
std::string encode(const CommitMarker& marker);
std::string encode(const Input& input);
std::string encode(const Effect& effect);
std::string encode(const RecordingHeader& header);
std::string encode(const RecordedStep& step);
std::string encode(const Session& session);

Decoded<Message> decode_message(std::string_view bytes);
Decoded<Record> decode_record(std::string_view bytes);
Decoded<NumberedRecord> decode_numbered_record(std::string_view bytes);
Decoded<CommitMarker> decode_commit_marker(std::string_view bytes);
Decoded<Input> decode_input(std::string_view bytes);
Decoded<Effect> decode_effect(std::string_view bytes);
Decoded<RecordingHeader> decode_recording_header(std::string_view bytes);
Decoded<RecordedStep> decode_recorded_step(std::string_view bytes);
Decoded<Session> decode_session(std::string_view bytes);

}  // namespace elastic::wire
