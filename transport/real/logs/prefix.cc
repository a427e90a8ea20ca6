#include "transport/real/logs/prefix.h"

#include <fmt/format.h>

#include <optional>

namespace elastic::real {
namespace {

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool in_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

std::optional<std::string> value_of(std::string_view name, const PrefixValues& values) {
  if (name == "role_name") return values.role_name;
  if (name == "hostname") return values.hostname;
  if (name == "local_rank") return fmt::format("{}", values.local_rank);
  if (name == "rank") return fmt::format("{}", values.rank);
  if (name == "round") return fmt::format("{}", values.round.number);
  return std::nullopt;
}

struct Macro {
  std::string_view whole;  // "$$", "$rank", "${rank}"
  std::string_view name;   // empty for "$$"
};

// The macro that starts at text[at], a dollar sign.
std::optional<Macro> macro_at(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (rest.size() < 2) return std::nullopt;
  if (rest[1] == '$') return Macro{rest.substr(0, 2), {}};
  const std::size_t first = rest[1] == '{' ? 2 : 1;
  if (first >= rest.size() || !starts_name(rest[first])) return std::nullopt;
  std::size_t end = first;
  while (end < rest.size() && in_name(rest[end])) ++end;
  const std::string_view name = rest.substr(first, end - first);
  if (first == 1) return Macro{rest.substr(0, end), name};
  if (end == rest.size() || rest[end] != '}') return std::nullopt;
  return Macro{rest.substr(0, end + 1), name};
}

}  // namespace

std::string expand_prefix(std::string_view text, const PrefixValues& values) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto macro = text[at] == '$' ? macro_at(text, at) : std::nullopt;
    if (!macro) {
      out += text[at++];
      continue;
    }
    if (macro->name.empty()) {
      out += '$';
    } else {
      out += value_of(macro->name, values).value_or(std::string(macro->whole));
    }
    at += macro->whole.size();
  }
  return out;
}

std::vector<std::string> unknown_macros(std::string_view text) {
  std::vector<std::string> unknown;
  for (std::size_t at = 0; at < text.size();) {
    const auto macro = text[at] == '$' ? macro_at(text, at) : std::nullopt;
    if (!macro) {
      ++at;
      continue;
    }
    if (!macro->name.empty() && !value_of(macro->name, {})) unknown.emplace_back(macro->name);
    at += macro->whole.size();
  }
  return unknown;
}

}  // namespace elastic::real
