#include <fmt/format.h>

#include <algorithm>

#include "chaos/scenario/tree.h"

namespace elastic::chaos {
namespace {

constexpr std::size_t kLineWidth = 100;

// Plain scalars that YAML could read as something else go in quotes.
std::string scalar_text(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/' || c == '$' || c == '%' || c == ' ' || c == '-';
  };
  const bool harmless = !text.empty() && std::all_of(text.begin(), text.end(), plain) &&
                        text.front() != ' ' && text.back() != ' ' && text.front() != '%' &&
                        text.front() != '-' && text.front() != '.' && text != "null";
  if (harmless) return text;
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += fmt::format("\\{}", c);
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string flow(const Tree& tree) {
  if (tree.kind == Tree::Kind::kScalar) return scalar_text(tree.text);
  const bool map = tree.kind == Tree::Kind::kMap;
  std::string out = map ? "{" : "[";
  for (std::size_t i = 0; i < tree.entries.size(); ++i) {
    if (i > 0) out += ", ";
    if (map) out += scalar_text(tree.entries[i].key) + ": ";
    out += flow(tree.entries[i].value);
  }
  return out + (map ? "}" : "]");
}

bool holds_scalars_only(const Tree& tree) {
  return std::all_of(tree.entries.begin(), tree.entries.end(), [](const Tree::Entry& entry) {
    return entry.value.kind == Tree::Kind::kScalar;
  });
}

bool on_one_line(const Tree& tree, std::size_t indent, bool top) {
  if (tree.kind == Tree::Kind::kScalar || tree.entries.empty()) return true;
  return !top && holds_scalars_only(tree) && indent + flow(tree).size() <= kLineWidth;
}

void block(const Tree& tree, std::size_t depth, std::string& out) {
  const std::string indent(depth * 2, ' ');
  for (const Tree::Entry& entry : tree.entries) {
    const bool list = tree.kind == Tree::Kind::kList;
    const std::string head = list ? "-" : scalar_text(entry.key) + ":";
    // Items of a list are always on one line: one fault, one line.
    if (list || on_one_line(entry.value, indent.size() + head.size() + 1, depth == 0)) {
      out += fmt::format("{}{} {}\n", indent, head, flow(entry.value));
    } else {
      out += fmt::format("{}{}\n", indent, head);
      block(entry.value, depth + 1, out);
    }
  }
}

}  // namespace

std::string print_tree(const Tree& root) {
  if (root.kind == Tree::Kind::kScalar || root.entries.empty()) return flow(root) + "\n";
  std::string out;
  block(root, 0, out);
  return out;
}

}  // namespace elastic::chaos
