// YAML as a plain tree with places: what a scenario file says, before anyone asks what it means.
//
// Of YAML, a scenario uses block and flow mappings and lists, plain and quoted scalars, and
// comments. Anchors, aliases, tags, multiple documents and mappings as keys are refused, so a tree
// is never larger than the text it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "chaos/scenario/problem.h"

namespace elastic::chaos {

// What a text may hold, so that time and memory stay bounded whatever it says.
constexpr std::size_t kMaxScenarioBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxTreeNodes = 400'000;
constexpr std::size_t kMaxTreeDepth = 16;  // the language needs 6

struct Tree {
  enum class Kind : std::uint8_t { kScalar, kList, kMap };
  struct Entry;

  Kind kind = Kind::kScalar;
  Place place;
  std::string text;            // kScalar; of a null, empty
  bool quoted = false;         // kScalar: it was in quotes
  std::vector<Entry> entries;  // kList (keys empty) and kMap, in the order of the text

  // The value under `key` in a map; nullptr when there is none.
  [[nodiscard]] const Tree* find(std::string_view key) const;
  [[nodiscard]] Tree* find(std::string_view key);
  // Same kind and content, wherever it stands.
  [[nodiscard]] bool same(const Tree& other) const;
  [[nodiscard]] bool is_null() const { return kind == Kind::kScalar && !quoted && text.empty(); }

  static Tree scalar(std::string value);
  static Tree list();
  static Tree map();
  Tree& add(std::string key, Tree value);  // to a map or (with an empty key) a list; the new value
};

struct Tree::Entry {
  std::string key;
  Place key_place;
  Tree value;
};

// Reads one YAML document. Every place names `file`. The root may be anything.
tl::expected<Tree, Errors> parse_tree(std::string_view text, const std::string& file);

// YAML that reads back to the same tree. Containers of scalars go on one line when they fit.
std::string print_tree(const Tree& root);

// The content of a regular file of at most `max_bytes`. Anything else (missing, a directory, a
// device, a pipe, too large) is an error; nothing is read from it.
tl::expected<std::string, Errors> read_regular_file(const std::string& path, std::size_t max_bytes);

}  // namespace elastic::chaos
