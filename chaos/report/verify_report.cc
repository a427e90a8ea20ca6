#include "chaos/report/verify_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/report/figures.h"

namespace elastic::chaos {
namespace {

// The lines of both runs from the first one that differs on.
std::string side(std::string_view label, const std::vector<std::string>& lines, std::size_t from,
                 const Look& look) {
  constexpr std::size_t kShown = 4;
  if (from >= lines.size()) {
    return paragraph(label, from == 0 ? "nothing that shows" : "nothing more", look);
  }
  std::string text;
  for (std::size_t i = from; i < std::min(lines.size(), from + kShown); ++i) {
    text += paragraph(i == from ? label : "", lines[i], look);
  }
  return text;
}

}  // namespace

std::string verify_section(const VerifyResult& result, const Look& look) {
  const std::string seeds = plural(result.compared, "seed", "seeds");
  std::string text;
  if (result.differences.empty() && result.complete) {
    return section("verified",
                   {fmt::format("{} the same in a new process with another allocator", seeds)},
                   look);
  }
  if (!result.complete) {
    text += paragraph("verified",
                      fmt::format("{} compared, then it ended{}", seeds,
                                  result.trouble.empty() ? "" : ": " + result.trouble),
                      look);
  }
  if (result.differences.empty()) return text;
  text += section("verified",
                  {inked(fmt::format("{} of {} DIFFER in a new process with another allocator",
                                     count_text(result.differences.size()), seeds),
                         Ink::kBad, look)},
                  look);
  for (std::size_t i = 0; i < std::min(result.differences.size(), kMaxSearched); ++i) {
    const Difference& one = result.differences[i];
    text += paragraph("", fmt::format("seed {} in {}", one.seed, one.what), look);
    if (one.event == 0) {
      text += paragraph("", one.note, look);
      continue;
    }
    text += paragraph("", fmt::format("event {} is the first that differs", count_text(one.event)),
                      look);
    const auto part =
        std::mismatch(one.first.begin(), one.first.end(), one.second.begin(), one.second.end());
    const auto from = static_cast<std::size_t>(part.first - one.first.begin());
    text += side("first run", one.first, from, look) + side("second run", one.second, from, look);
  }
  return text;
}

}  // namespace elastic::chaos
