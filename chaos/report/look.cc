#include "chaos/report/look.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace elastic::chaos {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "";
    case Ink::kBold:
      return "\x1b[1m";
    case Ink::kDim:
      return "\x1b[2m";
    case Ink::kGood:
      return "\x1b[32m";
    case Ink::kBad:
      return "\x1b[1;31m";
    case Ink::kWarn:
      return "\x1b[33m";
  }
  return "";
}

}  // namespace

Look look_of_stdout() {
  Look look;
  look.utf8 = locale_is_utf8();
  look.colour = isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").empty() &&
                environment("TERM") != "dumb";
  return look;
}

std::string inked(std::string_view text, Ink ink, const Look& look) {
  const std::string_view code = look.colour ? code_of(ink) : std::string_view();
  if (code.empty() || text.empty()) return std::string(text);
  return std::string(code).append(text).append("\x1b[0m");
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0x1b) {
      i = std::min(text.find('m', i), text.size() - 1);
    } else if ((byte & 0xC0U) != 0x80U) {
      ++count;
    }
  }
  return count;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  const std::size_t taken = columns(text);
  if (taken < width) result.append(width - taken, ' ');
  return result;
}

std::string right_aligned(std::string_view text, std::size_t width) {
  const std::size_t taken = columns(text);
  return std::string(taken < width ? width - taken : 0, ' ').append(text);
}

std::string section(std::string_view label, const std::vector<std::string>& items, const Look& look,
                    std::string_view separator) {
  if (items.empty()) return {};
  const std::string indent(kLabelColumns, ' ');
  // What of the separator stays at the end of a broken line: the comma, not the space.
  const std::string_view mark = separator.substr(0, separator.find_last_not_of(' ') + 1);
  std::string text;
  std::string line = padded(std::string("  ").append(label), kLabelColumns - 1) + " ";
  bool empty_line = true;
  for (const std::string& item : items) {
    const std::size_t needed =
        columns(item) + (empty_line ? 0 : columns(separator)) + columns(mark);
    if (!empty_line && columns(line) + needed > look.width) {
      text.append(line).append(mark).append("\n");
      line = indent;
      empty_line = true;
    }
    if (!empty_line) line += separator;
    line += item;
    empty_line = false;
  }
  return text + line + "\n";
}

std::string paragraph(std::string_view label, std::string_view text, const Look& look) {
  std::vector<std::string> words;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t to = std::min(text.find(' ', from), text.size());
    if (to > from) words.emplace_back(text.substr(from, to - from));
    from = to + 1;
  }
  return section(label, words, look, " ");
}

}  // namespace elastic::chaos
