#include "transport/wire/frame.h"

#include <xxhash.h>

#include <algorithm>
#include <concepts>

#include "core/assert.h"

namespace elastic::wire {
namespace {

constexpr std::string_view kMagic = "ELAS";
constexpr std::size_t kVersionAt = 4, kKindAt = 6, kLengthAt = 8, kHeaderCheckAt = 12,
                      kPayloadCheckAt = 16;

template <std::unsigned_integral Number>
void put(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  }
}

template <std::unsigned_integral Number>
Number get(std::string_view bytes, std::size_t at) {
  ELASTIC_ASSERT(at + sizeof(Number) <= bytes.size());
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return static_cast<Number>(number);
}

std::uint32_t header_check(std::string_view header) {
  ELASTIC_ASSERT(header.size() >= kHeaderCheckAt);
  return static_cast<std::uint32_t>(XXH64(header.data(), kHeaderCheckAt, 0));
}

std::uint64_t payload_check(std::string_view payload, std::uint32_t header_check) {
  return XXH64(payload.data(), payload.size(), header_check);
}

FrameError too_long(std::size_t length, std::size_t max_payload) {
  return {.what = FrameError::What::kTooLong,
          .message = "expected a frame of at most " + std::to_string(max_payload) +
                     " bytes, found " + std::to_string(length)};
}

FrameError other_version(std::uint16_t version) {
  return {.what = FrameError::What::kOtherVersion,
          .message = "the peer speaks version " + std::to_string(version) + ", this one " +
                     std::to_string(kOldestVersion) + ".." + std::to_string(kNewestVersion) +
                     "; run the same release on every node"};
}

bool known(std::uint16_t kind) {
  switch (static_cast<FrameKind>(kind)) {
    case FrameKind::kMessage:
    case FrameKind::kRecordingHeader:
    case FrameKind::kRecordedStep:
    case FrameKind::kSession:
    case FrameKind::kJournalLife:
    case FrameKind::kJournalRecord:
      return true;
  }
  return false;
}

// What is wrong with the beginning of a frame, as far as it is there.
std::optional<FrameError> judge_header(std::string_view bytes, std::size_t max_payload) {
  using What = FrameError::What;
  const std::size_t present = std::min(bytes.size(), kMagic.size());
  if (bytes.substr(0, present) != kMagic.substr(0, present)) {
    return FrameError{.what = What::kBadMagic,
                      .message =
                          "expected a frame of Elastic (it begins with \"ELAS\"), found "
                          "other bytes; who speaks at this address?"};
  }
  if (bytes.size() < kKindAt) return std::nullopt;
  const auto version = get<std::uint16_t>(bytes, kVersionAt);
  if (version < kOldestVersion || version > kNewestVersion) return other_version(version);
  if (bytes.size() < kPayloadCheckAt) return std::nullopt;
  if (get<std::uint32_t>(bytes, kHeaderCheckAt) != header_check(bytes)) {
    return FrameError{.what = What::kBadHeader,
                      .message = "the header of a frame does not match its check: damaged"};
  }
  const auto length = get<std::uint32_t>(bytes, kLengthAt);
  if (length > max_payload) return too_long(length, max_payload);
  const auto kind = get<std::uint16_t>(bytes, kKindAt);
  if (!known(kind)) {
    return FrameError{
        .what = What::kUnknownKind,
        .message = "expected a frame of kind 1 to 6, found kind " + std::to_string(kind)};
  }
  return std::nullopt;
}

}  // namespace

tl::expected<std::string, FrameError> frame(FrameKind kind, std::string_view payload) {
  ELASTIC_ASSERT(known(static_cast<std::uint16_t>(kind)));
  if (payload.size() > kMaxPayload) return tl::unexpected(too_long(payload.size(), kMaxPayload));
  std::string out;
  out.reserve(kHeaderBytes + payload.size());
  out += kMagic;
  put(out, kNewestVersion);
  put(out, static_cast<std::uint16_t>(kind));
  put(out, static_cast<std::uint32_t>(payload.size()));
  const std::uint32_t check = header_check(out);
  put(out, check);
  put(out, payload_check(payload, check));
  ELASTIC_ASSERT(out.size() == kHeaderBytes);
  out += payload;
  return out;
}

void FrameReader::feed(std::string_view bytes) {
  if (failed_) return;
  buffer_.erase(0, used_);
  used_ = 0;
  buffer_ += bytes;
}

tl::expected<std::optional<Frame>, FrameError> FrameReader::next() {
  ELASTIC_ASSERT(used_ <= buffer_.size());
  if (failed_) return tl::unexpected(*failed_);
  const std::string_view rest = std::string_view(buffer_).substr(used_);
  failed_ = judge_header(rest, max_payload_);
  if (failed_) return tl::unexpected(*failed_);
  if (rest.size() < kHeaderBytes) return std::nullopt;

  const auto length = get<std::uint32_t>(rest, kLengthAt);
  ELASTIC_ASSERT(length <= kMaxPayload);
  if (rest.size() - kHeaderBytes < length) return std::nullopt;
  const std::string_view payload = rest.substr(kHeaderBytes, length);
  const auto check = get<std::uint32_t>(rest, kHeaderCheckAt);
  if (get<std::uint64_t>(rest, kPayloadCheckAt) != payload_check(payload, check)) {
    failed_ = FrameError{.what = FrameError::What::kBadPayload,
                         .message = "the payload of a frame does not match its check: damaged"};
    return tl::unexpected(*failed_);
  }
  used_ += kHeaderBytes + length;
  return Frame{.kind = static_cast<FrameKind>(get<std::uint16_t>(rest, kKindAt)),
               .payload = payload};
}

}  // namespace elastic::wire
