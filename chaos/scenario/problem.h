// What is wrong with an input, where, and what to do about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::chaos {

// Where something stands: a file (or "--set job.nodes.min"), and in a file a line and a column,
// both from 1. Line 0 means "the whole of it".
struct Place {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool operator==(const Place&) const = default;
};

// "scenarios/mine.yaml:14:5", or without what is not known.
std::string to_text(const Place& place);

struct Problem {
  Place place;
  std::string message;
  bool operator==(const Problem&) const = default;
};

// The problems found in one input, in the order of their places. Never empty when it is handed out
// as an error. Holds at most kMaxProblems; `left_out` counts the others.
struct Errors {
  static constexpr std::size_t kMaxProblems = 20;
  std::vector<Problem> problems;
  std::size_t left_out = 0;

  void add(Place place, std::string message);
  void add(const Errors& others);
  [[nodiscard]] bool empty() const { return problems.empty(); }
  // Nothing more will be kept: time to stop looking.
  [[nodiscard]] bool full() const { return problems.size() >= kMaxProblems; }
  // One line per problem, `file:line:column: message`, and as the last line "nothing was run".
  [[nodiscard]] std::string text() const;
};

// `text` made fit for one line of a terminal: control characters and bytes that are not UTF-8 are
// shown as \xNN, and after `limit` bytes "…" stands for the rest.
std::string printable(std::string_view text, std::size_t limit = 60);

// The candidate that was probably meant by `found` (at most a third of it, or one letter, differs);
// empty when none is near. Where several are equally near, the first.
std::string_view nearest(std::string_view found, const std::vector<std::string_view>& candidates);

// `; did you mean "nodes"?`, or the empty text when no candidate is near.
std::string did_you_mean(std::string_view found, const std::vector<std::string_view>& candidates);

// "a, b or c".
std::string either(const std::vector<std::string_view>& candidates);

}  // namespace elastic::chaos
