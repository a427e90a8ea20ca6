#include "transport/real/logs/error_dedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace elastic::real {
namespace {

constexpr std::size_t kLastLines = 3;  // compared where there is no traceback
constexpr std::size_t kIdLength = 8;   // hexadecimal digits that make an id, such as a GPU's

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// The length of what differs from rank to rank at the head of `text`; zero if nothing does.
std::size_t variable_length(std::string_view text) {
  const std::size_t start = text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x' ? 2 : 0;
  std::size_t end = start;
  while (end < text.size() && is_hex(text[end])) ++end;
  const bool has_digit = std::any_of(text.begin(), text.begin() + static_cast<long>(end), is_digit);
  if (end > start && (start > 0 || (end >= kIdLength && has_digit))) return end;
  end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end;
}

std::string without_numbers(std::string_view line) {
  // `  File "train.py", line 12, in main`: another line is another error.
  const bool in_traceback = line.find("File \"") != std::string_view::npos;
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const bool in_word = at > 0 && is_hex(line[at - 1]) && !is_digit(line[at - 1]);
    std::size_t length = variable_length(line.substr(at));
    if (in_word && length > 0 && !is_digit(line[at])) length = 0;  // "deadbeef" of "undeadbeef1"
    const bool line_number = in_traceback && out.size() >= 7 && out.ends_with(", line ");
    if (length == 0 || line_number) {
      const std::size_t keep = std::max<std::size_t>(1, length);
      out.append(line.substr(at, keep));
      at += keep;
    } else {
      out += '#';
      at += length;
    }
  }
  return out;
}

}  // namespace

std::string essence(const std::vector<std::string>& lines) {
  std::size_t first = lines.size();
  for (std::size_t at = lines.size(); at-- > 0;) {
    if (lines[at].find("Traceback (most recent call last)") != std::string::npos) {
      first = at;
      break;
    }
  }
  std::vector<std::string> chosen;
  for (std::size_t at = lines.size(); at-- > 0;) {
    if (first < lines.size() ? at < first : chosen.size() == kLastLines) break;
    if (!is_blank(lines[at])) chosen.push_back(without_numbers(lines[at]));
  }
  std::reverse(chosen.begin(), chosen.end());
  return fmt::format("{}", fmt::join(chosen, "\n"));
}

void ErrorGroups::add(RankError error) { errors_.push_back(std::move(error)); }

std::vector<ErrorGroup> ErrorGroups::groups() const {
  using Key = std::tuple<int, int, std::string>;
  std::map<Key, std::vector<const RankError*>> found;
  for (const RankError& error : errors_) {
    found[{error.status.code, error.status.signal, essence(error.lines)}].push_back(&error);
  }
  std::vector<ErrorGroup> groups;
  for (auto& [key, members] : found) {
    // By rank, then by text, so that the example does not depend on the order of adding.
    std::sort(members.begin(), members.end(), [](const RankError* a, const RankError* b) {
      return std::tie(a->rank, a->lines) < std::tie(b->rank, b->lines);
    });
    ErrorGroup group;
    group.example = *members.front();
    for (const RankError* member : members) {
      group.ranks.push_back(member->rank);
      group.literally = group.literally && member->lines == group.example.lines;
    }
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(), [](const ErrorGroup& a, const ErrorGroup& b) {
    return std::tie(a.ranks, a.example.lines, a.example.status.code, a.example.status.signal) <
           std::tie(b.ranks, b.example.lines, b.example.status.code, b.example.status.signal);
  });
  return groups;
}

std::string rank_list(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string text;
  for (std::size_t at = 0; at < ranks.size();) {
    std::size_t last = at;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", ranks[at]);
    if (last > at) text += fmt::format("{}{}", last > at + 1 ? "-" : ", ", ranks[last]);
    at = last + 1;
  }
  return text;
}

}  // namespace elastic::real
