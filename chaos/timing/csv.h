// Lines of comma-separated fields with their places. No quoting: numbers need none.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/scenario/problem.h"

namespace elastic::chaos {

// Views point into the text, which outlives this.
class Csv {
 public:
  struct Field {
    std::string_view text;  // without blanks around it
    std::uint32_t column = 0;
  };

  Csv(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {
    if (rest_.substr(0, 3) == "\xef\xbb\xbf") rest_.remove_prefix(3);
  }

  // The next line that is neither empty nor a comment (#...). False: there is none.
  bool next();
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  [[nodiscard]] Place place() const { return {file_, number_, 1}; }
  [[nodiscard]] Place place(const Field& field) const { return {file_, number_, field.column}; }

 private:
  void split();

  std::string_view rest_;
  std::string file_;
  std::string_view line_;
  std::uint32_t number_ = 0;
  std::vector<Field> fields_;
};

// A whole number without a sign, all of `text`.
template <class Integer>
bool read_whole(std::string_view text, Integer& out) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && stopped == end;
}

}  // namespace elastic::chaos
