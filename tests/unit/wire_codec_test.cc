#include <gtest/gtest.h>

#include <set>

#include "transport/wire/checker.h"
#include "transport/wire/codec.h"
#include "transport/wire/limits.pb.h"
#include "transport/wire/messages.pb.h"
#include "transport/wire/recording.pb.h"
#include "transport/wire/records.pb.h"

namespace elastic::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// A message of the given kind that is accepted: each test spoils one thing.
pb::Message good(const Message& message) {
  pb::Message parsed;
  EXPECT_TRUE(parsed.ParseFromString(encode(message)));
  return parsed;
}

std::string complaint(const std::string& bytes) {
  const auto decoded = decode_message(bytes);
  return decoded ? "accepted" : decoded.error().message();
}
std::string complaint(const pb::Message& message) { return complaint(message.SerializeAsString()); }

// A T with some parts set.
template <class T, class Change>
T with(Change change) {
  T value;
  change(value);
  return value;
}

Record record_of(decltype(Record::body) body) {
  return with<Record>([&](auto& record) { record.body = std::move(body); });
}

// `inner` as field 1 to 15 (wire type 2) of an outer message.
std::string wrapped(int number, const std::string& inner) {
  EXPECT_LT(inner.size(), 128U);
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(inner.size())} + inner;
}

TEST(WireCodec, an_empty_message_says_what_is_missing) {
  EXPECT_EQ(complaint(std::string()),
            "kind: expected one of beat, order, canvass, hearing, journal_ask, journal_answer, "
            "found none");
}

TEST(WireCodec, an_enumerator_out_of_range_is_refused) {
  auto message = good(Order{});
  message.mutable_order()->set_wait(static_cast<pb::WaitReason>(77));
  EXPECT_EQ(complaint(message),
            "order.wait: expected WAIT_REASON_NONE (1) to WAIT_REASON_BACK_OFF (14), found 77");
  message.mutable_order()->set_wait(static_cast<pb::WaitReason>(-1));
  EXPECT_EQ(complaint(message),
            "order.wait: expected WAIT_REASON_NONE (1) to WAIT_REASON_BACK_OFF (14), found "
            "18446744073709551615");
  message.mutable_order()->clear_wait();
  EXPECT_EQ(complaint(message),
            "order.wait: expected WAIT_REASON_NONE (1) to WAIT_REASON_BACK_OFF (14), found "
            "none");
}

TEST(WireCodec, a_missing_part_is_named_with_its_path) {
  auto message =
      good(with<JournalAsk>([](auto& ask) { ask.append.emplace().record.body = World{}; }));
  auto& record = *message.mutable_journal_ask()->mutable_append()->mutable_record();
  record.mutable_world()->mutable_resume()->mutable_state()->clear_entered();
  EXPECT_EQ(complaint(message),
            "journal_ask.append.record.world.resume.state.entered: expected a RoundId, found none");
  record.clear_body();
  EXPECT_EQ(complaint(message),
            "journal_ask.append.record.body: expected one of lead, world, checkpoint, verdict, "
            "retire, emptied, found none");
}

TEST(WireCodec, a_negative_deadline_is_refused) {
  auto message = good(with<Beat>([](auto& beat) { beat.leaving_in = Duration(5); }));
  EXPECT_EQ(complaint(message), "accepted");
  message.mutable_beat()->set_leaving_in_ns(-5);
  EXPECT_EQ(complaint(message), "beat.leaving_in_ns: expected at least 0, found -5");
}

TEST(WireCodec, lists_above_their_maximum_are_refused) {
  auto beat = good(with<Beat>([](auto& to) { to.failures.resize(64); }));
  EXPECT_EQ(complaint(beat), "accepted");
  *beat.mutable_beat()->add_failures() = beat.beat().failures(0);
  EXPECT_EQ(complaint(beat), "beat.failures[64]: expected at most 64, found more");

  JournalAnswer answer;
  answer.contacts.resize(4096);
  EXPECT_EQ(complaint(encode(answer)), "accepted");
  answer.contacts.emplace_back();
  EXPECT_EQ(complaint(encode(answer)),
            "journal_answer.contacts[4096]: expected at most 4096, found more");

  World world;
  world.members.resize(65'536);
  world.sitting_out.resize(65'536);
  EXPECT_TRUE(decode_record(encode(record_of(world))).has_value());
  world.members.emplace_back();
  EXPECT_EQ(decode_record(encode(record_of(world))).error().message(),
            "world.members[65536]: expected at most 65536, found more");
  world.members.pop_back();
  world.sitting_out.emplace_back();
  EXPECT_EQ(decode_record(encode(record_of(world))).error().message(),
            "world.sitting_out[65536]: expected at most 65536, found more");
}

TEST(WireCodec, many_small_parts_are_refused_before_they_take_memory) {
  const std::string one = encode(NumberedRecord{RecordNo{}, record_of(Lead{})});
  std::string many;
  for (int i = 0; i < 600'000; ++i) many += wrapped(4, one);
  // Field 6 of a Message: a JournalAnswer with the length of `many` as a varint.
  std::string bytes = "\x32";
  for (std::size_t length = many.size(); length != 0; length >>= 7) {
    bytes.push_back(static_cast<char>(length >> 7 == 0 ? length : (length & 127) | 128));
  }
  EXPECT_NE(complaint(bytes + many).find("expected at most 2000000 parts in all, found more"),
            std::string::npos);
}

TEST(WireCodec, a_number_above_32_bits_is_refused_and_not_cut) {
  // Beat (field 1) with workers (field 5) = 2^32.
  EXPECT_EQ(complaint(wrapped(1, std::string("\x28\x80\x80\x80\x80\x10"))),
            "beat.workers: expected 0 to 4294967295, found 4294967296");
  // Order (field 2) with planned (field 5) = 2.
  EXPECT_EQ(complaint(wrapped(2, std::string("\x28\x02"))),
            "order.planned: expected 0 or 1, found 2");
}

TEST(WireCodec, a_field_twice_and_two_kinds_at_once_are_refused) {
  const std::string number_twice("\x10\x01\x10\x02");
  EXPECT_EQ(complaint(wrapped(1, number_twice)), "beat.number: expected it once, found it twice");
  EXPECT_EQ(complaint(encode(Canvass{}) + encode(Hearing{})),
            "kind: expected one of beat, order, canvass, hearing, journal_ask, journal_answer, "
            "found 2");
}

TEST(WireCodec, a_field_of_the_wrong_type_is_not_taken_for_an_unknown_one) {
  EXPECT_EQ(complaint(wrapped(1, wrapped(2, "x"))), "beat.number: expected wire type 0, found 2");
}

TEST(WireCodec, malformed_bytes_are_refused) {
  EXPECT_EQ(complaint("\x0a\x05"),
            "beat: expected a Beat with its length, found malformed bytes up to 2");
  EXPECT_EQ(complaint(wrapped(1, "\x10\xff")),
            "beat.number: expected a number, found malformed bytes up to 4");
  EXPECT_EQ(complaint(std::string("\0", 1)),
            "message: expected a field number from 1 to 536870911, found malformed bytes up to 1");
  EXPECT_EQ(complaint("\xa3\x06\xa4\x06"), "field 100: expected wire type 0, 1, 2 or 5, found 3");
  EXPECT_EQ(complaint("\xa2\x06\x05"),
            "field 100: expected bytes with their length, found malformed bytes up to 3");
}

TEST(WireCodec, fields_of_a_newer_peer_are_skipped) {
  const Message message = with<Canvass>([](auto& canvass) { canvass.attempt = 3; });
  // Field 100 in each wire type.
  const std::string newer = std::string("\xa0\x06\x07") + "\xa1\x06" + "12345678" + "\xa2\x06\x03" +
                            "abc" + "\xa5\x06" + "1234";
  const auto decoded = decode_message(encode(message) + newer);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message();
  EXPECT_EQ(*decoded, message);

  pb::Message parsed = good(message);
  std::string canvass = parsed.canvass().SerializeAsString() + newer;
  const auto nested = decode_message(wrapped(3, canvass));
  ASSERT_TRUE(nested.has_value()) << nested.error().message();
  EXPECT_EQ(*nested, message);
}

TEST(WireCodec, numbers_in_a_list_may_come_packed_or_one_by_one) {
  const auto beat = with<Beat>([](auto& to) { to.failed_edges = {NodeId{1}, NodeId{2}}; });
  std::string bytes = good(beat).beat().SerializeAsString();
  bytes += "\x78\x03";                       // failed_edges: 3, alone
  bytes += std::string("\x7a\x02\x04\x05");  // failed_edges: 4 and 5, packed
  const auto decoded = decode_message(wrapped(1, bytes));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message();
  EXPECT_EQ(std::get<Beat>(*decoded).failed_edges,
            (std::vector<NodeId>{NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}, NodeId{5}}));
}

TEST(WireCodec, a_recording_of_another_version_is_refused) {
  RecordingHeader header;
  header.version = 7;
  EXPECT_EQ(decode_recording_header(encode(header)).error().message(),
            "version: expected 1, found 7");
}

TEST(WireCodec, a_recording_must_begin_with_its_header) {
  RecordingReader reader;
  reader.feed(*frame(FrameKind::kRecordedStep, encode(RecordedStep{})));
  EXPECT_EQ(reader.next().error(),
            "header: expected a frame of kind 2, found kind 3; is this a recording?");
}

// Bytes that a released version wrote must stay readable: if this test fails, the schema has
// changed incompatibly. Give the frame a new version, or take the change back.
TEST(WireCodec, the_bytes_of_version_1_do_not_change) {
  const Message message = Hearing{.from = {.node = NodeId{5}, .life = AgentLife{6}},
                                  .attempt = 300,
                                  .lead_seen = {.journal = JournalLife{1}, .record = RecordNo{2}},
                                  .leader = {.node = NodeId{7}, .life = AgentLife{8}},
                                  .has_live_leader = true};
  const std::string expected(
      "\x22\x2c"
      "\x0a\x0b\x08\x05\x11\x06\0\0\0\0\0\0\0"
      "\x10\xac\x02"
      "\x1a\x0b\x09\x01\0\0\0\0\0\0\0\x10\x02"
      "\x22\x0b\x08\x07\x11\x08\0\0\0\0\0\0\0"
      "\x28\x01",
      46);
  EXPECT_EQ(encode(message), expected);
}

// Every message type that `type` leads to.
void collect(const Descriptor* type, std::set<const Descriptor*>& seen) {
  if (!seen.insert(type).second) return;
  for (int i = 0; i < type->field_count(); ++i) {
    if (type->field(i)->message_type() != nullptr) collect(type->field(i)->message_type(), seen);
  }
}

TEST(WireSchema, every_list_has_a_maximum_and_every_length_of_time_a_minimum) {
  std::set<const Descriptor*> types;
  for (const auto* type :
       {pb::Message::descriptor(), pb::NumberedRecord::descriptor(), pb::CommitMarker::descriptor(),
        pb::RecordingHeader::descriptor(), pb::RecordedStep::descriptor()}) {
    collect(type, types);
  }
  EXPECT_GT(types.size(), 60U);
  for (const Descriptor* type : types) {
    EXPECT_LE(type->field_count(), 32) << type->full_name();  // checker.cc, kMaxFields
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor& field = *type->field(i);
      EXPECT_EQ(field.is_repeated(), field.options().HasExtension(pb::max_count))
          << field.full_name();
      EXPECT_EQ(field.type() == FieldDescriptor::TYPE_INT64,
                field.options().HasExtension(pb::min_value))
          << field.full_name();
      EXPECT_NE(field.type(), FieldDescriptor::TYPE_STRING) << field.full_name();
      EXPECT_NE(field.type(), FieldDescriptor::TYPE_BYTES) << field.full_name();
    }
  }
}

TEST(WireSchema, every_enum_reserves_0_for_unspecified_and_ascends) {
  for (const auto* file : {pb::Message::descriptor()->file(), pb::Record::descriptor()->file(),
                           pb::Input::descriptor()->file()}) {
    for (int i = 0; i < file->enum_type_count(); ++i) {
      const auto& type = *file->enum_type(i);
      for (int number = 0; number < type.value_count(); ++number) {
        EXPECT_GE(type.value(number)->number(), number) << type.full_name();
        if (number == 0) continue;
        EXPECT_GT(type.value(number)->number(), type.value(number - 1)->number());
      }
      EXPECT_EQ(type.value(0)->number(), 0) << type.full_name();
      EXPECT_NE(type.value(0)->name().find("_UNSPECIFIED"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace elastic::wire
