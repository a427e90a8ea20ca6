#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/property.h"
#include "transport/real/logs/line_splitter.h"
#include "transport/real/logs/prefix.h"
#include "transport/real/logs/stream_modes.h"
#include "transport/real/logs/tail.h"

namespace elastic::real {
namespace {

using Kind = LinePiece::Kind;
using Piece = std::pair<Kind, std::string>;
using Pieces = std::vector<Piece>;

Pieces split(const std::vector<std::string>& portions, std::size_t bound = kLongestConsoleLine) {
  LineSplitter splitter(bound);
  Pieces pieces;
  const auto keep = [&](const LinePiece& piece) {
    pieces.emplace_back(piece.kind, std::string(piece.text));
  };
  for (const std::string& portion : portions) splitter.feed(portion, keep);
  splitter.finish(keep);
  EXPECT_EQ(splitter.held(), 0U);
  return pieces;
}

// The rules of the header, one byte at a time over the whole text.
Pieces split_slowly(const std::string& text, std::size_t bound) {
  Pieces pieces;
  std::string held;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      pieces.emplace_back(Kind::kLine, std::exchange(held, ""));
    } else if (c == '\r') {
      if (at + 1 == text.size()) break;  // held is the last piece
      if (text[at + 1] == '\n') continue;
      if (!held.empty()) pieces.emplace_back(Kind::kProgress, std::exchange(held, ""));
    } else {
      if (held.size() == bound) {
        const std::size_t keep = unfinished_character(held);
        pieces.emplace_back(Kind::kCut, held.substr(0, bound - keep));
        held.erase(0, bound - keep);
      }
      held += c;
    }
  }
  if (!held.empty()) pieces.emplace_back(Kind::kLast, held);
  return pieces;
}

rc::Gen<std::string> texts() {
  const auto parts = rc::gen::element<std::string>("\n", "\r", "\r\n", "a", "word ", "0123456789",
                                                   "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                                                   std::string("\xFF\x00", 2), "\x80");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(parts), [](const auto& chosen) {
    std::string text;
    for (const std::string& part : chosen) text += part;
    return text;
  });
}

TEST(LogsSplitter, AnyPortionsGiveTheSamePieces) {
  test::check("any portions give the same pieces",
              {"a cut", "a progress bar", "a \\r before a portion"},
              [] {
                const std::string text = *texts();
                const std::size_t bound = *rc::gen::inRange<std::size_t>(8, 24);
                std::vector<std::string> portions;
                bool parted = false;
                for (std::size_t at = 0; at < text.size();) {
                  const auto size = *rc::gen::inRange<std::size_t>(1, 12);
                  portions.push_back(text.substr(at, size));
                  at += size;
                  parted = parted || (at < text.size() && text[at - 1] == '\r');
                }
                const Pieces found = split(portions, bound);
                const auto has = [&](Kind kind) {
                  return std::any_of(found.begin(), found.end(),
                                     [&](const Piece& piece) { return piece.first == kind; });
                };
                RC_CLASSIFY(has(Kind::kCut), "a cut");
                RC_CLASSIFY(has(Kind::kProgress), "a progress bar");
                RC_CLASSIFY(parted, "a \\r before a portion");
                RC_ASSERT(found == split_slowly(text, bound));
                std::string joined;
                for (const auto& [kind, piece] : found) {
                  RC_ASSERT(piece.size() <= bound);
                  joined += piece;
                }
                std::string bytes = text;
                std::erase(bytes, '\n');
                std::erase(bytes, '\r');
                RC_ASSERT(joined == bytes);
              },
              {.max_success = 500});
}

TEST(LogsSplitter, TheLastLineWithoutNewlineIsGiven) {
  EXPECT_EQ(split({"one\ntw", "o"}), (Pieces{{Kind::kLine, "one"}, {Kind::kLast, "two"}}));
  EXPECT_EQ(split({"50%\r"}), (Pieces{{Kind::kLast, "50%"}}));
}

TEST(LogsSplitter, ALineOfExactlyTheBoundIsNotCut) {
  EXPECT_EQ(split({"12345678\n", "123456789\n"}, 8),
            (Pieces{{Kind::kLine, "12345678"}, {Kind::kCut, "12345678"}, {Kind::kLine, "9"}}));
}

TEST(LogsSplitter, ACutDoesNotPartACharacter) {
  EXPECT_EQ(split({"1234567\xC3\xA4z"}, 8),
            (Pieces{{Kind::kCut, "1234567"}, {Kind::kLast, "\xC3\xA4z"}}));
}

TEST(LogsPrefix, TheDefaultNamesHostAndGlobalRank) {
  const PrefixValues values{
      .role_name = "trainer", .hostname = "gpu-3", .local_rank = 3, .rank = 11, .round = {{}, 6}};
  EXPECT_EQ(expand_prefix(kDefaultPrefix, values), "[gpu-3 11]: ");
  EXPECT_EQ(expand_prefix("${role_name}$local_rank/${rank} r${round} $$5 ${x} $ ${", values),
            "trainer3/11 r6 $5 ${x} $ ${");
}

TEST(LogsPrefix, MacrosThatDoNotExistAreNamed) {
  EXPECT_EQ(unknown_macros("$$a ${rank} ${host} $role"),
            (std::vector<std::string>{"host", "role"}));
}

TEST(LogsModes, ARankMayHaveSeveralDigits) {
  const auto modes = parse_stream_modes("0:1,12:3,7:0,105:2");
  ASSERT_TRUE(modes) << modes.error();
  EXPECT_EQ(modes->of(0), (StreamMode{true, false}));
  EXPECT_EQ(modes->of(12), (StreamMode{true, true}));
  EXPECT_EQ(modes->of(105), (StreamMode{false, true}));
  EXPECT_EQ(modes->of(1), StreamMode{}) << "a map names all that have any";
  EXPECT_EQ(modes->highest(), 105);
  EXPECT_EQ(parse_stream_modes("3")->of(40), (StreamMode{true, true}));
}

TEST(LogsModes, AMistakeIsNamedWithItsColumn) {
  const auto error = [](std::string_view text) { return parse_stream_modes(text).error(); };
  EXPECT_NE(error("4").find("\"4\" is no mode"), std::string::npos);
  EXPECT_EQ(error("0:1,x:2"), "column 5: \"x\" is no local rank");
  EXPECT_EQ(error("0:1,2:9"), "column 7: \"9\" is no mode: 0 none, 1 stdout, 2 stderr, 3 both");
  EXPECT_EQ(error("0:1,0:2"), "column 5: local rank 0 is named twice");
  EXPECT_EQ(error("0:1,"), "column 5: \"\" has no colon: write local rank : mode");
  EXPECT_EQ(error(":1"), "column 1: \"\" is no local rank");
}

TEST(LogsTail, KeepsTheLastLinesWholeHoweverTheyWereAppended) {
  test::check("the tail has the last lines", {"longer than the tail"}, [] {
    const auto lines = *rc::gen::inRange<std::size_t>(0, 3000);
    std::string text;
    std::vector<std::string> all;
    for (std::size_t i = 0; i < lines; ++i) {
      all.push_back("line " + std::to_string(i) + std::string(i % 40, '.'));
      text += all.back() + "\n";
    }
    Tail tail;
    for (std::size_t at = 0; at < text.size();) {
      const auto size = *rc::gen::inRange<std::size_t>(1, 40'000);
      tail.append(std::string_view(text).substr(at, size));
      at += size;
    }
    RC_CLASSIFY(text.size() > 2 * kTailBytes, "longer than the tail");
    const std::size_t expected = std::min(all.size(), kTailLines);
    RC_ASSERT(tail.lines() ==
              std::vector<std::string>(all.end() - static_cast<long>(expected), all.end()));
  });
}

TEST(LogsTail, OfAProgressBarTheLastStateIsKept) {
  EXPECT_EQ(last_lines("10%\r20%\r30%\nerror\r\n\n \n", true),
            (std::vector<std::string>{"30%", "error"}));
  EXPECT_EQ(last_lines("half of a line\nwhole\n", false), (std::vector<std::string>{"whole"}));
}

}  // namespace
}  // namespace elastic::real
