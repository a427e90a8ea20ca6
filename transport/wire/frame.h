// The frame around a message on a byte stream: socket, pipe or file. Pure functions; no sockets.
//
//   bytes  content (numbers little-endian)
//   0..3   magic "ELAS"
//   4..5   protocol version
//   6..7   kind of the payload
//   8..11  length of the payload
//   12..15 check of bytes 0..11: lower half of their XXH64
//   16..23 check of the payload: its XXH64, with the header's check as seed
//   24..   payload
//
// Magic and version keep their place in every future version, so that two versions can tell each
// other apart. The header has a check of its own, so that a damaged length is noticed at once and
// not after waiting for bytes that nobody sends. The checks find damage, not malice: who may speak
// is decided by whoever owns the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace elastic::wire {

constexpr std::uint16_t kOldestVersion = 1;  // that this program understands
constexpr std::uint16_t kNewestVersion = 1;  // and speaks
constexpr std::size_t kHeaderBytes = 24;
// A World of 65,536 members takes 2 MiB, so this holds several; and it bounds what one connection
// can make its receiver keep.
constexpr std::size_t kMaxPayload = std::size_t{16} << 20;

enum class FrameKind : std::uint16_t {
  kMessage = 1,          // Message
  kRecordingHeader = 2,  // RecordingHeader
  kRecordedStep = 3,     // RecordedStep
  kSession = 4,          // Session
  kJournalLife = 5,      // of a journal's file: its life, 8 bytes, little-endian
  kJournalRecord = 6,    // NumberedRecord
};

struct Frame {
  FrameKind kind = FrameKind::kMessage;
  std::string_view payload;  // lives in the FrameReader until its next feed()
};

struct FrameError {
  enum class What : std::uint8_t {
    kBadMagic,      // this is not our protocol, or the stream has lost its place
    kOtherVersion,  // the peer is older or newer
    kBadHeader,     // damaged
    kUnknownKind,
    kTooLong,
    kBadPayload,  // damaged
  };
  What what = What::kBadMagic;
  std::string message;  // for people: what was expected, what was found
};

// The frame as bytes; kTooLong if the payload is above kMaxPayload.
tl::expected<std::string, FrameError> frame(FrameKind kind, std::string_view payload);

// Cuts a stream into frames, however the stream is cut into portions.
//
// Promises:
//  1. Every frame is returned once, in order, exactly as it was sent.
//  2. An error is final: the place in the stream is lost, the connection must be closed.
//  3. Keeps at most one unfinished frame and what the last feed() brought: drain it with next()
//     until it returns no frame, then feed again. A claimed length reserves nothing.
// Owner: the caller; one thread at a time.
class FrameReader {
 public:
  // `max_payload`: what a peer may make this reader keep, at most kMaxPayload.
  explicit FrameReader(std::size_t max_payload = kMaxPayload) : max_payload_(max_payload) {}
  void allow(std::size_t max_payload) { max_payload_ = max_payload; }

  void feed(std::string_view bytes);
  // The next frame, or none if more bytes are needed.
  tl::expected<std::optional<Frame>, FrameError> next();
  // Bytes of a frame that is not complete; at the end of a stream it must be 0.
  std::size_t pending() const { return buffer_.size() - used_; }

 private:
  std::size_t max_payload_;
  std::string buffer_;
  std::size_t used_ = 0;  // bytes of buffer_ that were returned as frames
  std::optional<FrameError> failed_;
};

}  // namespace elastic::wire
