#include "chaos/scenario/tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

namespace elastic::chaos {
namespace {

// Builds the tree from the parser's events. Throws Refused at the first thing that a scenario may
// not contain; parse_tree turns it into an error, and no exception leaves this file.
class Builder final : public YAML::EventHandler {
 public:
  struct Refused : std::runtime_error {
    Refused(Place where, const std::string& message)
        : std::runtime_error(message), place(std::move(where)) {}
    Place place;
  };

  Builder(std::string file, Errors& errors) : file_(std::move(file)), errors_(errors) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    put(leaf(mark, "?", anchor, std::string()));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused(at(mark), "aliases (*name) are not allowed; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    put(leaf(mark, tag, anchor, value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Tree::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Tree::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

  Tree take() { return std::move(root_); }
  [[nodiscard]] Place at(const YAML::Mark& mark) const {
    if (mark.is_null()) return {file_, 1, 1};
    return {file_, static_cast<std::uint32_t>(mark.line + 1),
            static_cast<std::uint32_t>(mark.column + 1)};
  }

 private:
  // A container whose entries are being read. In a map, `key_pending` is set between key and value.
  struct Open {
    Tree tree;
    std::map<std::string, std::uint32_t> lines;  // of the keys so far
    bool key_pending = false;
    std::string key;
    Place key_place;
  };

  Tree start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) {
      throw Refused(at(mark), "anchors (&name) are not allowed; write the value out each time");
    }
    if (tag != "?" && tag != "!" && !tag.empty()) {
      throw Refused(at(mark), fmt::format("tags ({}) are not allowed", printable(tag)));
    }
    if (++nodes_ > kMaxTreeNodes) {
      throw Refused(at(mark), fmt::format("more than {} values in one file", kMaxTreeNodes));
    }
    Tree tree;
    tree.place = at(mark);
    return tree;
  }

  Tree leaf(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            const std::string& value) {
    Tree tree = start(mark, tag, anchor);
    tree.quoted = tag == "!";
    tree.text = value;
    return tree;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            Tree::Kind kind) {
    Tree tree = start(mark, tag, anchor);
    tree.kind = kind;
    if (!open_.empty() && open_.back().tree.kind == Tree::Kind::kMap && !open_.back().key_pending) {
      throw Refused(at(mark), "a key must be a word, not a list or a mapping");
    }
    if (open_.size() >= kMaxTreeDepth) {
      throw Refused(at(mark), fmt::format("nested more than {} deep", kMaxTreeDepth));
    }
    Open container;
    container.tree = std::move(tree);
    open_.push_back(std::move(container));
  }

  void close() {
    Tree done = std::move(open_.back().tree);
    open_.pop_back();
    put(std::move(done));
  }

  void put(Tree value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.tree.kind == Tree::Kind::kList) {
      const Place place = value.place;
      parent.tree.entries.push_back({std::string(), place, std::move(value)});
      return;
    }
    if (!parent.key_pending) {
      parent.key_pending = true;
      parent.key = std::move(value.text);
      parent.key_place = std::move(value.place);
      return;
    }
    parent.key_pending = false;
    // The parser places a value that is not there at whatever comes next.
    if (value.is_null()) value.place = parent.key_place;
    const auto [first, fresh] = parent.lines.emplace(parent.key, parent.key_place.line);
    if (!fresh) {
      errors_.add(parent.key_place, fmt::format("key \"{}\" is written twice; first in line {}",
                                                printable(parent.key), first->second));
      return;
    }
    parent.tree.entries.push_back(
        {std::move(parent.key), std::move(parent.key_place), std::move(value)});
  }

  std::string file_;
  Errors& errors_;
  Tree root_;
  std::vector<Open> open_;
  std::size_t nodes_ = 0;
};

// The place of a byte that no scenario may contain: control characters other than tab and newline.
// Bytes that are not UTF-8 pass only if they look like text at all, and are refused here too.
bool find_binary(std::string_view text, const std::string& file, Errors& errors) {
  std::uint32_t line = 1;
  std::size_t line_start = 0;
  std::size_t continued = 0;  // bytes of a multi-byte character that are still to come
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    bool bad = byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t';
    if (continued > 0) {
      bad = (byte & 0xc0U) != 0x80U;
      --continued;
    } else if (byte >= 0x80) {
      bad = byte < 0xc2 || byte > 0xf4;
      continued = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    }
    bad = bad || byte == 0x7f || (continued > 0 && i + 1 == text.size());
    if (bad) {
      const auto column = static_cast<std::uint32_t>(i - line_start + 1);
      errors.add({file, line, column},
                 fmt::format("byte 0x{:02x} is not text; a scenario is written in UTF-8", byte));
      return true;
    }
    if (byte == '\n') {
      ++line;
      line_start = i + 1;
    }
  }
  return false;
}

// What yaml-cpp says, in our words, with a hint where the cause is well known.
std::string syntax_message(const YAML::Exception& error, std::string_view text) {
  std::string message = fmt::format("not valid YAML: {}", error.msg);
  std::size_t start = 0;
  for (int line = 0; line < error.mark.line && start < text.size(); ++line) {
    const std::size_t end = text.find('\n', start);
    start = end == std::string_view::npos ? text.size() : end + 1;
  }
  const std::string_view line = text.substr(start, text.find('\n', start) - start);
  if (line.find(": >") != std::string_view::npos) {
    message += "; write the comparison in quotes: \">= 90%\"";
  } else if (line.find('\t') != std::string_view::npos) {
    message += "; indent with spaces, not tabs";
  }
  return message;
}

}  // namespace

const Tree* Tree::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

Tree* Tree::find(std::string_view key) {
  return const_cast<Tree*>(static_cast<const Tree*>(this)->find(key));
}

bool Tree::same(const Tree& other) const {
  return kind == other.kind && text == other.text &&
         std::equal(entries.begin(), entries.end(), other.entries.begin(), other.entries.end(),
                    [](const Entry& a, const Entry& b) {
                      return a.key == b.key && a.value.same(b.value);
                    });
}

Tree Tree::scalar(std::string value) {
  Tree tree;
  tree.text = std::move(value);
  return tree;
}

Tree Tree::list() {
  Tree tree;
  tree.kind = Kind::kList;
  return tree;
}

Tree Tree::map() {
  Tree tree;
  tree.kind = Kind::kMap;
  return tree;
}

Tree& Tree::add(std::string key, Tree value) {
  entries.push_back({std::move(key), Place(), std::move(value)});
  return entries.back().value;
}

tl::expected<Tree, Errors> parse_tree(std::string_view text, const std::string& file) {
  Errors errors;
  if (text.size() > kMaxScenarioBytes) {
    errors.add({file, 0, 0}, fmt::format("larger than {} MiB", kMaxScenarioBytes >> 20U));
    return tl::unexpected(errors);
  }
  if (find_binary(text, file, errors)) return tl::unexpected(errors);
  Builder builder(file, errors);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      errors.add({file, 1, 1}, "the file is empty; a scenario begins with \"job:\"");
      return tl::unexpected(errors);
    }
    Tree tree = builder.take();
    Builder second(file, errors);
    if (parser.HandleNextDocument(second)) {
      const Place where = second.take().place;
      errors.add(where, "a second document (after \"---\"); a file holds one scenario");
    }
    if (!errors.empty()) return tl::unexpected(errors);
    return tree;
  } catch (const Builder::Refused& refused) {
    errors.add(refused.place, refused.what());
  } catch (const YAML::Exception& error) {
    errors.add(builder.at(error.mark), syntax_message(error, text));
  } catch (const std::exception& error) {
    errors.add({file, 0, 0}, fmt::format("not valid YAML: {}", error.what()));
  }
  return tl::unexpected(errors);
}

}  // namespace elastic::chaos
