// Who may speak: keys, proofs and the check of origin of each frame.
//
// A job has one key: made of its token (--token-file) or, without one, of its id, which keeps jobs
// apart but keeps nobody out. In the handshake each side proves that it has the key, by an
// HMAC-SHA256 over what both have said, nonces included. Of the same follows a key for this one
// connection; each frame carries an HMAC over its direction, number, kind and content, so that it
// can be neither made, changed, repeated, reordered nor sent back by who has no key. Contents are
// not encrypted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transport/wire/frame.h"

namespace elastic::real {

using Key = std::array<unsigned char, 32>;
constexpr std::size_t kNonceBytes = 32;
constexpr std::size_t kMacBytes = 16;  // of each frame: the first half of its HMAC

// The key of a job with this token; of one without (`token` empty), by its id.
Key key_of_job(std::string_view job, std::string_view token);

// From the operating system. Ends the program if that has none.
std::string random_bytes(std::size_t count);

// What both sides have said up to the proofs: the bytes of Hello, and of Challenge with an empty
// proof.
struct Transcript {
  std::string hello;
  std::string challenge;
};
enum class Side : std::uint8_t { kDialler, kAcceptor };
std::string proof_of(const Key& key, const Transcript& said, Side side);
Key session_key(const Key& key, const Transcript& said);
// In a time that does not depend on where they differ.
bool equal(std::string_view one, std::string_view other);

// Of one connection, for what one side sends. Both ends count frames.
class Seal {
 public:
  Seal(const Key& session, Side sender) : key_(session), sender_(sender) {}
  // The payload of the next frame: content and check.
  std::string close(wire::FrameKind kind, std::string_view content);
  // The content of the next frame, or nothing: then the connection must be closed.
  std::optional<std::string_view> open(wire::FrameKind kind, std::string_view payload);

 private:
  std::string mac(wire::FrameKind kind, std::string_view content) const;

  Key key_;
  Side sender_;
  std::uint64_t frames_ = 0;
};

}  // namespace elastic::real
