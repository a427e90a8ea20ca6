// Judges the bytes of a Protobuf message against its schema before it is parsed.
//
// Protobuf's own parser accepts too much for a protocol (unknown enumerators, missing parts, fields
// of the wrong type as unknown ones, numbers cut to 32 bits) and allocates dozens of bytes for two
// bytes of input. Rejected: checking the parsed message, because by then the memory is taken, and
// checking by hand in each conversion, because the rules are the same everywhere; this way a
// conversion from a checked message cannot fail.
//
// The rules, and the options that steer them, are listed in limits.proto.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "transport/wire/decode_error.h"

namespace elastic::wire {

// Nested messages and skipped fields in one message. A frame of 16 MiB full of members (at least 8
// bytes for each nested message) stays below; at about 100 bytes each they take 200 MB.
constexpr std::uint32_t kMaxParts = 2'000'000;

// Nothing if `bytes` are a message of `type` by the rules. Time O(bytes), memory O(depth of
// schema).
std::optional<DecodeError> check_bytes(std::string_view bytes,
                                       const google::protobuf::Descriptor& type);

}  // namespace elastic::wire
