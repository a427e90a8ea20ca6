#include "chaos/scenario/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace elastic::chaos {
namespace {

constexpr std::size_t kLongestName = 64;  // longer ones are no misspelt keys

// The number of bytes of the UTF-8 character at the start of `text`; 0 when there is none.
std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  std::size_t length = 0;
  if (lead >= 0xc2 && lead < 0xe0) length = 2;
  if (lead >= 0xe0 && lead < 0xf0) length = 3;
  if (lead >= 0xf0 && lead < 0xf5) length = 4;
  if (length == 0 || text.size() < length) return 0;
  if (lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) return 0;  // C1 controls
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) return 0;
  }
  return length;
}

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + differs});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string to_text(const Place& place) {
  if (place.line == 0) return place.file;
  return fmt::format("{}:{}:{}", place.file, place.line, place.column);
}

void Errors::add(Place place, std::string message) {
  Problem problem{std::move(place), std::move(message)};
  if (std::find(problems.begin(), problems.end(), problem) != problems.end()) return;
  if (problems.size() == kMaxProblems) {
    ++left_out;
    return;
  }
  const auto later = [](const Place& a, const Place& b) {
    if ((a.line == 0) != (b.line == 0)) return false;
    return a.file == b.file && (a.line != b.line ? a.line < b.line : a.column < b.column);
  };
  auto at = problems.end();
  while (at != problems.begin() && later(problem.place, std::prev(at)->place)) --at;
  problems.insert(at, std::move(problem));
}

void Errors::add(const Errors& others) {
  for (const Problem& problem : others.problems) add(problem.place, problem.message);
  left_out += others.left_out;
}

std::string Errors::text() const {
  std::string out;
  for (const Problem& problem : problems) {
    out += fmt::format("{}: {}\n", printable(to_text(problem.place), 400), problem.message);
  }
  if (left_out > 0) out += fmt::format("and {} more\n", left_out);
  return out + "nothing was run\n";
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= limit) return out + "…";
    const std::size_t length = character_length(text);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string_view nearest(std::string_view found, const std::vector<std::string_view>& candidates) {
  if (found.empty() || found.size() > kLongestName) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, found.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(found, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view found, const std::vector<std::string_view>& candidates) {
  const std::string_view near = nearest(found, candidates);
  return near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near);
}

std::string either(const std::vector<std::string_view>& candidates) {
  std::string out;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i > 0) out += i + 1 == candidates.size() ? " or " : ", ";
    out += candidates[i];
  }
  return out;
}

}  // namespace elastic::chaos
