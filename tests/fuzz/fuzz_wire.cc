// Arbitrary bytes as messages and as a stream of frames: no crash, no runaway memory, and what is
// accepted means the same after another trip.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "transport/wire/codec.h"
#include "transport/wire/frame.h"

namespace {

using namespace elastic;

void require(bool holds) {
  if (!holds) std::abort();
}

// Equal bytes after a second trip; works for types without comparison, too.
template <class T>
void travel(const wire::Decoded<T>& decoded, wire::Decoded<T> (*decode)(std::string_view)) {
  if (!decoded) {
    require(!decoded.error().message().empty());
    return;
  }
  const std::string bytes = wire::encode(*decoded);
  const auto again = decode(bytes);
  require(again.has_value());
  require(wire::encode(*again) == bytes);
}

template <class T>
void decode_and_travel(std::string_view bytes, wire::Decoded<T> (*decode)(std::string_view)) {
  travel(decode(bytes), decode);
}

// The stream in portions of `portion` bytes; returns the sum of the payloads' sizes.
std::size_t read_all(std::string_view stream, std::size_t portion) {
  wire::FrameReader reader;
  std::size_t total = 0;
  for (std::size_t at = 0; at < stream.size(); at += portion) {
    reader.feed(stream.substr(at, portion));
    for (;;) {
      const auto frame = reader.next();
      if (!frame) return total;
      if (!*frame) break;
      total += (*frame)->payload.size();
    }
  }
  return total;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t portion = data[1] == 0 ? 1 : data[1];
  switch (data[0] % 10) {
    case 0:
      decode_and_travel(bytes, wire::decode_record);
      break;
    case 1:
      decode_and_travel(bytes, wire::decode_commit_marker);
      break;
    case 2:
      decode_and_travel(bytes, wire::decode_input);
      break;
    case 3:
      decode_and_travel(bytes, wire::decode_effect);
      break;
    case 4:
      decode_and_travel(bytes, wire::decode_recording_header);
      break;
    case 5:
      decode_and_travel(bytes, wire::decode_recorded_step);
      break;
    case 6:
      require(read_all(bytes, portion) == read_all(bytes, bytes.size() + 1));
      break;
    case 7: {  // a good frame before the garbage
      const std::string stream =
          *wire::frame(wire::FrameKind::kMessage, bytes) + std::string(bytes);
      require(read_all(stream, portion) >= bytes.size());
      break;
    }
    default:
      decode_and_travel(bytes, wire::decode_message);
  }
  return 0;
}
