// --set path=value and --trace FILE: changes to the tree of a scenario before it is checked.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "chaos/scenario/scenario.h"

namespace elastic::chaos {
namespace {

constexpr std::size_t kMaxPathParts = 16;

void set_place(Tree& tree, const Place& place) {
  tree.place = place;
  for (Tree::Entry& entry : tree.entries) {
    entry.key_place = place;
    set_place(entry.value, place);
  }
}

// "a.b[0].c" as a, b, 0, c; nothing when a part is empty or there are too many.
std::optional<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == ']') continue;
    if (c != '.' && c != '[') {
      parts.back() += c;
      continue;
    }
    if (parts.size() == kMaxPathParts) return std::nullopt;
    parts.emplace_back();
  }
  const bool empty =
      std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
  return empty ? std::nullopt : std::optional(parts);
}

std::optional<std::size_t> index_of(std::string_view part, std::size_t size) {
  const Parsed<std::uint64_t> index = parse_count(part);
  if (!index || *index >= size) return std::nullopt;
  return static_cast<std::size_t>(*index);
}

// The value below `tree` that `part` names, made if it is a missing key.
Tree* step(Tree& tree, const std::string& part, const Place& place, std::string& problem) {
  if (tree.kind == Tree::Kind::kList) {
    const std::optional<std::size_t> index = index_of(part, tree.entries.size());
    if (index) return &tree.entries[*index].value;
    problem = fmt::format("\"{}\" is no item of the list, which has {}", printable(part),
                          tree.entries.size());
    return nullptr;
  }
  if (tree.kind == Tree::Kind::kScalar && !tree.is_null()) {
    problem = fmt::format("\"{}\" is below a single value, \"{}\"", printable(part),
                          printable(tree.text));
    return nullptr;
  }
  tree.kind = Tree::Kind::kMap;
  if (Tree* found = tree.find(part)) return found;
  Tree& made = tree.add(part, Tree());
  made.place = place;
  tree.entries.back().key_place = place;
  return &made;
}

}  // namespace

std::optional<Errors> apply_override(Source& source, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view path = assignment.substr(0, equals);
  const Place place{fmt::format("--set {}", path), 0, 0};
  Errors errors;
  const auto parts = split_path(path);
  if (equals == std::string_view::npos || !parts) {
    errors.add(place, "expected path=value, such as job.nodes.min=8");
    return errors;
  }
  const std::string_view text = assignment.substr(equals + 1);
  tl::expected<Tree, Errors> value = parse_tree(text, place.file);
  if (!value) {
    for (const Problem& problem : value.error().problems) errors.add(place, problem.message);
    return errors;
  }
  set_place(*value, place);
  Tree* at = &source.tree;
  for (const std::string& part : *parts) {
    std::string problem;
    at = step(*at, part, place, problem);
    if (at == nullptr) {
      errors.add(place, std::move(problem));
      return errors;
    }
  }
  *at = *std::move(value);
  source.changes.emplace_back(path);
  return std::nullopt;
}

void use_trace(Source& source, const std::string& path) {
  const Place place{"--trace", 0, 0};
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  Tree availability = Tree::map();
  availability.add("trace", Tree::scalar(error ? path : absolute.string()));
  set_place(availability, place);
  if (source.tree.kind != Tree::Kind::kMap) return;  // check_source says so
  if (Tree* found = source.tree.find("availability")) {
    *found = std::move(availability);
    return;
  }
  source.tree.add("availability", std::move(availability));
  source.tree.entries.back().key_place = place;
}

}  // namespace elastic::chaos
