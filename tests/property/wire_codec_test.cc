#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/property/wire_fields.h"
#include "tests/property/wire_generators.h"
#include "tests/support/property.h"
#include "transport/wire/codec.h"

namespace elastic::wire {
namespace {

using test::check;
constexpr test::PropertyOptions kOften{.max_success = 500};
constexpr test::PropertyOptions kVeryOften{.max_success = 1500};

TEST(WireCodecProperty, every_message_arrives_as_it_was_sent) {
  check(
      "messages survive the wire", test::classes_of(test::kMessageNames),
      [] {
        const Message message = test::any_message();
        RC_TAG(std::string(test::kMessageNames[message.index()]));
        const auto decoded = decode_message(encode(message));
        RC_ASSERT(decoded.has_value());
        RC_ASSERT(*decoded == message);
      },
      kOften);
}

TEST(WireCodecProperty, every_record_is_read_as_it_was_written) {
  auto classes = test::classes_of(test::kRecordNames);
  classes.insert(classes.end(), {"a World of more than 1000 members", "a World without members"});
  check(
      "records survive the wire", classes,
      [] {
        const NumberedRecord record = test::any_numbered_record();
        RC_TAG(std::string(test::kRecordNames[record.record.body.index()]));
        if (const auto* world = std::get_if<World>(&record.record.body)) {
          RC_CLASSIFY(world->members.size() > 1000, "a World of more than 1000 members");
          RC_CLASSIFY(world->members.empty(), "a World without members");
        }
        const auto numbered = decode_numbered_record(encode(record));
        RC_ASSERT(numbered.has_value());
        RC_ASSERT(*numbered == record);
        const auto plain = decode_record(encode(record.record));
        RC_ASSERT(plain.has_value());
        RC_ASSERT(*plain == record.record);
      },
      kOften);
}

TEST(WireCodecProperty, every_commit_marker_is_read_as_it_was_written) {
  check("commit markers survive the wire", {"of a verdict", "of a save"}, [] {
    const CommitMarker marker = test::any_marker();
    RC_CLASSIFY(marker.verdict, "of a verdict");
    RC_CLASSIFY(!marker.verdict, "of a save");
    const auto decoded = decode_commit_marker(encode(marker));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(*decoded == marker);
  });
}

TEST(WireCodecProperty, every_input_is_replayed_as_it_was_recorded) {
  check(
      "inputs survive the wire", test::classes_of(test::kInputNames),
      [] {
        const Input input = test::any_input();
        RC_TAG(std::string(test::kInputNames[input.index()]));
        const auto decoded = decode_input(encode(input));
        RC_ASSERT(decoded.has_value());
        RC_ASSERT(test::same(*decoded, input));
      },
      kVeryOften);
}

TEST(WireCodecProperty, every_effect_is_read_as_it_was_recorded) {
  check(
      "effects survive the wire", test::classes_of(test::kEffectNames),
      [] {
        const Effect effect = test::any_effect();
        RC_TAG(std::string(test::kEffectNames[effect.index()]));
        const auto decoded = decode_effect(encode(effect));
        RC_ASSERT(decoded.has_value());
        RC_ASSERT(test::same(*decoded, effect));
      },
      kVeryOften);
}

TEST(WireCodecProperty, a_recording_is_read_as_it_was_written) {
  check("recordings survive the wire", {"with effects", "without effects", "without steps"}, [] {
    const RecordingHeader header = test::any_header();
    std::string file = *frame(FrameKind::kRecordingHeader, encode(header));
    std::vector<RecordedStep> steps(test::below(4));
    RC_CLASSIFY(steps.empty(), "without steps");
    for (RecordedStep& step : steps) {
      step.at = Time(Duration(static_cast<std::int64_t>(test::any_word())));
      step.input = test::any_input();
      const std::size_t effects = test::below(3);
      for (std::size_t i = 0; i < effects; ++i) step.effects.push_back(test::any_effect());
      RC_CLASSIFY(effects > 0, "with effects");
      RC_CLASSIFY(effects == 0, "without effects");
      file += *frame(FrameKind::kRecordedStep, encode(step));
    }
    RecordingReader reader;
    reader.feed(file);
    for (const RecordedStep& step : steps) {
      const auto read = reader.next();
      RC_ASSERT(read.has_value());
      RC_ASSERT(read->has_value());
      RC_ASSERT(test::same(**read, step));
    }
    const auto end = reader.next();
    RC_ASSERT(end.has_value());
    RC_ASSERT(!end->has_value());
    RC_ASSERT(!reader.cut_off());
    RC_ASSERT(test::same(*reader.header(), header));
  });
}

// What was accepted has exactly one meaning: it can be encoded and is then read as itself.
void expect_refused_or_sound(const std::string& bytes) {
  const auto decoded = decode_message(bytes);
  RC_CLASSIFY(decoded.has_value(), "accepted");
  RC_CLASSIFY(!decoded.has_value(), "refused");
  if (decoded) {
    const auto again = decode_message(encode(*decoded));
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == *decoded);
  } else {
    RC_ASSERT(!decoded.error().expected.empty());
    RC_ASSERT(!decoded.error().found.empty());
  }
}

TEST(WireCodecProperty, a_damaged_message_is_refused_or_means_another_sound_one) {
  check(
      "damaged messages never crash", {"accepted", "refused"},
      [] {
        std::string bytes = encode(test::any_message());
        const std::size_t changes = 1 + test::below(3);
        for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) {
          const auto at = test::below(bytes.size());
          const auto how = test::below(3);
          const char byte = *rc::gen::arbitrary<char>();
          if (how == 0) bytes[at] = byte;
          if (how == 1) bytes.resize(at);
          if (how == 2) bytes.insert(at, 1, byte);
        }
        expect_refused_or_sound(bytes);
      },
      kVeryOften);
}

TEST(WireCodecProperty, arbitrary_bytes_never_crash) {
  check(
      "arbitrary bytes never crash", {"refused"},
      [] {
        const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
        expect_refused_or_sound(bytes);
        (void)decode_numbered_record(bytes);
        (void)decode_record(bytes);
        (void)decode_commit_marker(bytes);
        (void)decode_input(bytes);
        (void)decode_effect(bytes);
        (void)decode_recording_header(bytes);
        (void)decode_recorded_step(bytes);
      },
      kVeryOften);
}

}  // namespace
}  // namespace elastic::wire
