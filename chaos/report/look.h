// How text meets the terminal: width, colours, and what to do without either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::chaos {

struct Look {
  bool colour = false;
  bool utf8 = true;          // block characters and dashes; else ASCII
  std::size_t width = 80;    // columns
  bool all_oracles = false;  // every oracle on a line of its own, with its promise
};

// For standard output: colour only on a terminal and when NO_COLOR is unset or empty (no-color.org)
// and TERM is not "dumb"; UTF-8 when LC_ALL, LC_CTYPE or LANG (the first that is set) says so.
Look look_of_stdout();

enum class Ink : std::uint8_t { kPlain, kBold, kDim, kGood, kBad, kWarn };
std::string inked(std::string_view text, Ink ink, const Look& look);

// Columns that `text` takes: code points, outside escape sequences.
std::size_t columns(std::string_view text);
// Filled with spaces to `width` columns, on the right or on the left; longer text stays.
std::string padded(std::string_view text, std::size_t width);
std::string right_aligned(std::string_view text, std::size_t width);

// `  label       item  item  item`, broken between items where a line is full; the following lines
// are indented as the first item is. Without items, nothing.
std::string section(std::string_view label, const std::vector<std::string>& items, const Look& look,
                    std::string_view separator = "  ");
// The same for one text, broken between words.
std::string paragraph(std::string_view label, std::string_view text, const Look& look);

constexpr std::size_t kLabelColumns = 14;  // where the figures begin

}  // namespace elastic::chaos
