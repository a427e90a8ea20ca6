#include <gtest/gtest.h>
#include <xxhash.h>

#include "transport/wire/frame.h"

namespace elastic::wire {
namespace {

using What = FrameError::What;

tl::expected<std::optional<Frame>, FrameError> first_of(std::string_view bytes) {
  static FrameReader reader;
  reader = FrameReader();
  reader.feed(bytes);
  return reader.next();
}

TEST(WireFrame, a_frame_comes_out_as_it_went_in) {
  const std::string bytes = *frame(FrameKind::kRecordedStep, "hello");
  EXPECT_EQ(bytes.size(), kHeaderBytes + 5);
  const auto found = first_of(bytes);
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->kind, FrameKind::kRecordedStep);
  EXPECT_EQ((*found)->payload, "hello");
}

TEST(WireFrame, every_change_of_every_single_byte_is_noticed) {
  const std::string bytes = *frame(FrameKind::kMessage, "payload");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      EXPECT_FALSE(first_of(damaged).has_value()) << "byte " << at << " change " << change;
    }
  }
}

TEST(WireFrame, a_peer_of_another_version_is_told_apart_from_damage) {
  std::string bytes = *frame(FrameKind::kMessage, "");
  bytes[4] = 7;
  const auto found = first_of(bytes);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().what, What::kOtherVersion);
  EXPECT_EQ(found.error().message,
            "the peer speaks version 7, this one 1..1; run the same release on every node");
  // Magic and version suffice: a future header may be laid out otherwise.
  EXPECT_EQ(first_of(std::string("ELAS\7\0", 6)).error().what, What::kOtherVersion);
}

TEST(WireFrame, another_protocol_is_noticed_at_its_first_byte) {
  EXPECT_EQ(first_of("GET / HTTP/1.1\r\n").error().what, What::kBadMagic);
  EXPECT_EQ(first_of("\x16").error().what, What::kBadMagic);
}

TEST(WireFrame, the_longest_payload_passes_and_one_byte_more_is_refused_on_both_sides) {
  const std::string longest(kMaxPayload, 'x');
  const auto bytes = frame(FrameKind::kMessage, longest);
  ASSERT_TRUE(bytes.has_value());
  ASSERT_TRUE(first_of(*bytes).has_value());
  const auto refused = frame(FrameKind::kMessage, longest + "x");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().what, What::kTooLong);
  EXPECT_EQ(refused.error().message, "expected a frame of at most 16777216 bytes, found 16777217");
}

// A header whose own check is right: what a faulty or newer peer could send. The first byte of the
// kind, and the last of the length.
std::string header_with(char kind, char length_high) {
  std::string header("ELAS\1\0", 6);
  header += {kind, 0, 0, 0, 0, length_high};
  const XXH64_hash_t check = XXH64(header.data(), header.size(), 0);
  for (int shift = 0; shift < 32; shift += 8) header += static_cast<char>(check >> shift & 255);
  return header;
}

TEST(WireFrame, a_length_or_kind_out_of_range_is_refused_from_the_header_alone) {
  EXPECT_TRUE(first_of(header_with(1, 0)).has_value());
  EXPECT_EQ(first_of(header_with(1, 2)).error().message,
            "expected a frame of at most 16777216 bytes, found 33554432");
  EXPECT_EQ(first_of(header_with(9, 0)).error().message,
            "expected a frame of kind 1 to 6, found kind 9");
}

TEST(WireFrame, an_error_is_final) {
  FrameReader reader;
  reader.feed("nonsense");
  EXPECT_FALSE(reader.next().has_value());
  reader.feed(*frame(FrameKind::kMessage, "good"));
  EXPECT_FALSE(reader.next().has_value());
}

TEST(WireFrame, an_unfinished_frame_is_counted_as_pending) {
  const std::string bytes = *frame(FrameKind::kMessage, "abc");
  FrameReader reader;
  reader.feed(bytes + bytes.substr(0, 9));
  ASSERT_TRUE(reader.next()->has_value());
  EXPECT_FALSE(reader.next()->has_value());
  EXPECT_EQ(reader.pending(), 9U);
  reader.feed(std::string_view(bytes).substr(9));
  EXPECT_EQ((*reader.next())->payload, "abc");
  EXPECT_EQ(reader.pending(), 0U);
}

}  // namespace
}  // namespace elastic::wire
