#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "tests/property/wire_generators.h"
#include "tests/support/property.h"
#include "transport/wire/codec.h"
#include "transport/wire/frame.h"

namespace elastic::wire {
namespace {

using test::check;
constexpr test::PropertyOptions kOften{.max_success = 500};

std::string any_payload() {
  const bool is_message = *rc::gen::arbitrary<bool>();
  if (is_message) return encode(test::any_message());
  return *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
}

// All frames that a reader finds, given the stream in portions of at most `portion` bytes.
struct Found {
  std::vector<std::string> payloads;
  std::optional<FrameError> error;
  std::size_t pending = 0;
};
Found read_in_portions(std::string_view stream, std::size_t portion) {
  Found found;
  FrameReader reader;
  for (std::size_t at = 0; at < stream.size(); at += portion) {
    reader.feed(stream.substr(at, portion));
    for (;;) {
      const auto frame = reader.next();
      if (!frame) {
        found.error = frame.error();
        return found;
      }
      if (!*frame) break;
      found.payloads.emplace_back((*frame)->payload);
    }
  }
  found.pending = reader.pending();
  return found;
}

TEST(WireFrameProperty, how_a_stream_is_cut_into_portions_does_not_matter) {
  check("portions do not matter",
        {"single bytes", "an empty payload", "no frame", "several frames in one portion"},
        [] {
          const auto payloads =
              *rc::gen::container<std::vector<std::string>>(rc::gen::exec(any_payload));
          std::string stream;
          for (const std::string& payload : payloads) {
            stream += *frame(FrameKind::kMessage, payload);
            RC_CLASSIFY(payload.empty(), "an empty payload");
          }
          const bool bytewise = test::below(4) == 0;
          const std::size_t drawn = 1 + test::below(4096);
          const std::size_t portion = bytewise ? 1 : drawn;
          RC_CLASSIFY(portion == 1, "single bytes");
          RC_CLASSIFY(payloads.empty(), "no frame");
          RC_CLASSIFY(payloads.size() > 1 && portion >= stream.size(),
                      "several frames in one portion");
          const Found found = read_in_portions(stream, portion);
          RC_ASSERT(!found.error.has_value());
          RC_ASSERT(found.payloads == payloads);
          RC_ASSERT(found.pending == 0U);
        },
        {.max_success = 200, .max_size = 20});
}

TEST(WireFrameProperty, any_byte_that_changes_is_noticed) {
  check(
      "one damaged byte is noticed",
      {"in the magic", "in the version", "in the header", "in the payload"},
      [] {
        std::string bytes = *frame(FrameKind::kMessage, any_payload());
        const bool in_header = *rc::gen::arbitrary<bool>();
        const auto at = test::below(in_header ? kHeaderBytes : bytes.size());
        const auto change = 1 + test::below(255);
        bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ change);
        RC_CLASSIFY(at < 4, "in the magic");
        RC_CLASSIFY(at == 4 || at == 5, "in the version");
        RC_CLASSIFY(at >= 6 && at < kHeaderBytes, "in the header");
        RC_CLASSIFY(at >= kHeaderBytes, "in the payload");
        const Found found = read_in_portions(bytes, bytes.size());
        RC_ASSERT(found.error.has_value());
        RC_ASSERT(found.payloads.empty());
      },
      kOften);
}

TEST(WireFrameProperty, a_stream_that_ends_early_waits_for_the_rest) {
  check(
      "a frame that is cut off waits", {"inside the header", "inside the payload"},
      [] {
        const std::string bytes = *frame(FrameKind::kMessage, any_payload());
        const bool in_header = *rc::gen::arbitrary<bool>();
        const auto kept = test::below(in_header ? kHeaderBytes : bytes.size());
        RC_CLASSIFY(kept < kHeaderBytes, "inside the header");
        RC_CLASSIFY(kept >= kHeaderBytes, "inside the payload");
        const Found found = read_in_portions(std::string_view(bytes).substr(0, kept), bytes.size());
        RC_ASSERT(!found.error.has_value());
        RC_ASSERT(found.payloads.empty());
        RC_ASSERT(found.pending == kept);
      },
      kOften);
}

TEST(WireFrameProperty, arbitrary_bytes_after_good_frames_never_crash_and_spoil_nothing_before) {
  check("garbage after frames", {"nothing before", "something before", "a plausible beginning"},
        [] {
          const auto payloads =
              *rc::gen::container<std::vector<std::string>>(rc::gen::exec(any_payload));
          std::string stream;
          for (const std::string& payload : payloads)
            stream += *frame(FrameKind::kMessage, payload);
          RC_CLASSIFY(payloads.empty(), "nothing before");
          RC_CLASSIFY(!payloads.empty(), "something before");
          const bool plausible = *rc::gen::arbitrary<bool>();
          RC_CLASSIFY(plausible, "a plausible beginning");
          if (plausible) stream += "ELAS";
          stream += *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
          const auto portion = 1 + test::below(200);
          const Found found = read_in_portions(stream, portion);
          RC_ASSERT(found.payloads == payloads);
        },
        {.max_success = 300, .max_size = 20});
}

}  // namespace
}  // namespace elastic::wire
