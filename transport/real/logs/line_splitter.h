// Cuts a stream of bytes into what the console shows as lines. Files never go through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace elastic::real {

constexpr std::size_t kLongestConsoleLine = std::size_t{64} << 10;  // bytes, without prefix

struct LinePiece {
  enum class Kind : std::uint8_t {
    kLine,      // ended by \n or \r\n
    kProgress,  // ended by \r alone: a progress bar that will be drawn over
    kCut,       // the first part of a line that is longer than the bound
    kLast,      // the end of the stream, without a line end
  };
  Kind kind = Kind::kLine;
  std::string_view text;  // without its line end; valid until the call returns
};

// Promises:
//  1. The pieces depend on the bytes alone, not on how they were portioned.
//  2. All bytes but line ends are in exactly one piece, in order, unchanged (any bytes, not only
//     UTF-8). Empty pieces that end in a lone \r are not given: progress bars often start with one.
//  3. No piece is longer than `bound`; a cut never parts the bytes of one UTF-8 character.
//  4. Holds at most `bound` bytes.
// Whether a \r is part of a line end is known only with the byte after it, or at the end.
// Owner: the caller; one thread at a time. REQUIRES bound >= 8.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t bound = kLongestConsoleLine) : bound_(bound) {}

  // Calls `piece(LinePiece)` for each piece that `bytes` completes.
  template <class Piece>
  void feed(std::string_view bytes, Piece&& piece);
  // The stream has ended: what is held is the last piece.
  template <class Piece>
  void finish(Piece&& piece);
  // Forgets what is held.
  void reset() {
    held_.clear();
    carriage_return_ = false;
  }
  std::size_t held() const { return held_.size(); }

 private:
  template <class Piece>
  void give(LinePiece::Kind kind, std::string_view rest, Piece&& piece);
  template <class Piece>
  void cut(std::string_view rest, Piece&& piece);

  std::size_t bound_;
  std::string held_;              // of the line that is not complete
  bool carriage_return_ = false;  // held_ was followed by \r; the next byte says what that means
};

// How many bytes at the end of `text` begin a UTF-8 character that is not complete (0 to 3).
std::size_t unfinished_character(std::string_view text);

template <class Piece>
void LineSplitter::give(LinePiece::Kind kind, std::string_view rest, Piece&& piece) {
  if (held_.empty()) {
    piece(LinePiece{kind, rest});
    return;
  }
  held_.append(rest);
  piece(LinePiece{kind, held_});
  held_.clear();
}

template <class Piece>
void LineSplitter::cut(std::string_view rest, Piece&& piece) {
  held_.append(rest);  // now bound_ bytes, and the line goes on
  const std::size_t keep = unfinished_character(held_);
  const std::string next = held_.substr(held_.size() - keep);
  held_.resize(held_.size() - keep);
  piece(LinePiece{LinePiece::Kind::kCut, held_});
  held_ = next;
}

template <class Piece>
void LineSplitter::feed(std::string_view bytes, Piece&& piece) {
  constexpr auto kNone = std::string_view::npos;
  std::size_t at = 0;
  std::size_t newline = 0;  // of the first \n at or after `at`; looked for again once passed
  bool searched = false;
  while (at < bytes.size()) {
    if (carriage_return_) {
      carriage_return_ = false;
      if (bytes[at] == '\n') {
        ++at;
        give(LinePiece::Kind::kLine, {}, piece);
        continue;
      }
      if (!held_.empty()) give(LinePiece::Kind::kProgress, {}, piece);
    }
    if (!searched || (newline != kNone && newline < at)) {
      newline = bytes.find('\n', at);
      searched = true;
    }
    const std::size_t room = bound_ - held_.size();
    const std::size_t line_end = newline == kNone ? bytes.size() : newline;
    std::string_view window = bytes.substr(at, line_end - at);
    if (window.size() > room) window = window.substr(0, room + 1);
    const std::size_t carriage = window.find('\r');
    if (carriage != kNone) {
      held_.append(window.substr(0, carriage));
      carriage_return_ = true;
      at += carriage + 1;
    } else if (window.size() > room) {
      cut(window.substr(0, room), piece);
      at += room;
    } else if (newline != kNone) {
      give(LinePiece::Kind::kLine, window, piece);
      at = newline + 1;
    } else {
      held_.append(window);
      at = bytes.size();
    }
  }
}

template <class Piece>
void LineSplitter::finish(Piece&& piece) {
  if (!held_.empty()) piece(LinePiece{LinePiece::Kind::kLast, held_});
  reset();
}

}  // namespace elastic::real
