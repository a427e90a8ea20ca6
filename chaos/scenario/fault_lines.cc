#include "chaos/scenario/fault_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "chaos/scenario/scenario.h"

namespace elastic::chaos {
namespace {

using sim::FaultKind;

constexpr std::string_view kElsewhere;  // lines are described in fault_schema.cc

Parsed<LengthRange> parse_lengths(std::string_view text) {
  const std::size_t dots = text.find("..");
  const Parsed<Duration> low = parse_duration(text.substr(0, dots));
  if (!low) return tl::unexpected(low.error());
  if (dots == std::string_view::npos) return LengthRange{*low, *low};
  const Parsed<Duration> high = parse_duration(text.substr(dots + 2));
  if (!high) return tl::unexpected(high.error());
  if (*low > *high) {
    return tl::unexpected(fmt::format("\"{}\" ends before it begins", printable(text)));
  }
  return LengthRange{*low, *high};
}

// Reads one line. Keys are asked for in an order that makes the hints useful.
class LineReader {
 public:
  LineReader(const Tree& line, std::size_t number, const FaultWorld& world, Errors& errors)
      : section_(&line, fmt::format("faults.{}", number), errors), line_(line), world_(world) {}

  std::optional<FaultEntry> read() {
    if (line_.kind != Tree::Kind::kMap) return std::nullopt;
    if (!read_kind()) return std::nullopt;
    read_times();
    if (entry_.form == FaultForm::kSwarm) {
      read_swarm_kinds();
    } else {
      read_targets();
      read_length();
      read_value();
    }
    section_.finish();
    return entry_;
  }

 private:
  bool read_kind() {
    const Tree* found = section_.need("kind");
    if (found == nullptr) return false;
    const auto text = section_.text_of(*found, "the kind of a fault");
    if (!text) return false;
    if (*text == "swarm") {
      entry_.form = FaultForm::kSwarm;
      return true;
    }
    const std::optional<FaultKind> kind = known_kind(*found, *text);
    if (!kind) return false;
    entry_.kind = *kind;
    if (*kind == FaultKind::kJournalLost && !world_.hosted_journal) {
      section_.wrong(*found,
                     "journal_lost needs \"journal: hosted\" in job; no other journal is a file "
                     "of one machine");
    }
    if (*kind == FaultKind::kStorageRot && !world_.native) {
      section_.wrong(
          *found,
          "storage_rot needs \"workers: native\" in job; what an unmodified program makes "
          "of a broken file is not known");
    }
    return true;
  }

  std::optional<FaultKind> known_kind(const Tree& tree, std::string_view text) {
    const std::optional<FaultKind> kind = find_kind(text);
    if (!kind) {
      const std::string hint = did_you_mean(text, kind_names());
      section_.wrong(
          tree,
          fmt::format("unknown kind \"{}\"{}", printable(text),
                      hint.empty() ? fmt::format("; known are {}", either(kind_names())) : hint));
    }
    return kind;
  }

  void read_times() {
    const Bounds within{0, world_.horizon.count()};
    if (entry_.form == FaultForm::kSwarm) {
      if (section_.need("mean_between") != nullptr) {
        section_.duration("mean_between", entry_.every, kElsewhere, kSomeLength);
      }
    } else if (section_.take("every") != nullptr) {
      entry_.form = FaultForm::kRandom;
      section_.duration("every", entry_.every, kElsewhere, kSomeLength);
      section_.choice("chance", entry_.regular, kElsewhere, {{"random", false}, {"regular", true}});
    } else {
      if (section_.take("at") == nullptr) {
        section_.wrong(line_, "says neither when (\"at\") nor how often (\"every\")");
      }
      section_.duration("at", entry_.at, kElsewhere, within);
      return;
    }
    if (section_.take("at") != nullptr) {
      section_.wrong(*section_.take("at"),
                     "a random fault has no \"at\"; write \"from\" and \"until\"");
    }
    section_.duration("from", entry_.from, kElsewhere, within);
    section_.duration("until", entry_.until, kElsewhere, within);
    check_span();
  }

  void check_span() {
    const Duration end = entry_.until.value_or(world_.horizon);
    if (end < entry_.from) {
      section_.wrong(line_, fmt::format("ends (until {}) before it begins (from {})",
                                        duration_text(end), duration_text(entry_.from)));
    } else if (entry_.every > Duration{} && (end - entry_.from) / entry_.every > kMaxOccurrences) {
      section_.wrong(line_, fmt::format("about {} faults; at most {} can come from one line",
                                        (end - entry_.from) / entry_.every, kMaxOccurrences));
    }
  }

  void read_swarm_kinds() {
    const Tree* list = section_.take("kinds");
    if (list == nullptr) return;
    if (list->kind != Tree::Kind::kList || list->entries.empty()) {
      section_.wrong(*list, "expected a list of kinds");
      return;
    }
    for (const Tree::Entry& item : list->entries) {
      const auto text = section_.text_of(item.value, "the kind of a fault");
      const auto kind = text ? known_kind(item.value, *text) : std::nullopt;
      if (!kind) continue;
      if (*kind == FaultKind::kAdd) {
        section_.wrong(item.value, "a swarm adds machines by itself, after each reclaim");
      } else if (*kind == FaultKind::kJournalLost && !world_.hosted_journal) {
        section_.wrong(item.value, "journal_lost needs \"journal: hosted\" in job");
      } else if (*kind == FaultKind::kStorageRot) {
        section_.wrong(item.value,
                       "a swarm leaves saves as they are: two in a row could end the job; write a "
                       "line of its own for storage_rot");
      } else if (std::find(entry_.kinds.begin(), entry_.kinds.end(), *kind) == entry_.kinds.end()) {
        entry_.kinds.push_back(*kind);
      } else {
        section_.wrong(item.value, fmt::format("\"{}\" is written twice", printable(*text)));
      }
    }
  }

  // A selector, in its one spelling.
  void add_selector(const Tree& tree, std::string_view prefix, std::vector<std::string>& into) {
    if (section_.errors().full()) return;
    const auto text = section_.text_of(tree, "the name of a machine");
    if (!text) return;
    std::string selector = fmt::format("{}{}", prefix, *text);
    if (selector.substr(0, 5) == "node ") selector = selector.substr(5);
    if (!world_.exists(selector)) {
      section_.wrong(tree,
                     fmt::format("there is no {} \"{}\"{}", prefix.empty() ? "machine" : "zone",
                                 printable(*text), did_you_mean(selector, world_.names)));
    } else if (!seen_.insert(selector).second) {
      section_.wrong(tree, fmt::format("\"{}\" is written twice", printable(*text)));
    } else {
      into.push_back(std::move(selector));
    }
  }

  void read_side(const Tree& side, std::vector<std::string>& into) {
    if (side.kind != Tree::Kind::kList) return add_selector(side, "", into);
    if (side.entries.empty()) section_.wrong(side, "an empty side of a cut");
    for (const Tree::Entry& item : side.entries) add_selector(item.value, "", into);
  }

  void read_cut() {
    const Tree* cut = section_.take("cut");
    if (cut == nullptr && entry_.form == FaultForm::kTimed) {
      section_.wrong(line_,
                     fmt::format("{} needs a cut, such as cut: [zone a, zone b], or cut: [a3] "
                                 "for one machine against everybody else",
                                 sim::name(entry_.kind)));
    }
    if (cut == nullptr) return;
    const bool list = cut->kind == Tree::Kind::kList;
    if (!list || cut->entries.empty() || cut->entries.size() > 2) {
      section_.wrong(*cut, "a cut is a list of one or two sides, such as [zone a, zone b]");
      return;
    }
    read_side(cut->entries[0].value, entry_.targets);
    if (cut->entries.size() == 2) read_side(cut->entries[1].value, entry_.others);
  }

  void read_targets() {
    const Reach reach = info(entry_.kind).reach;
    if (reach == Reach::kCut) return read_cut();
    if (reach == Reach::kNobody) return;
    const Tree* node = section_.take("node");
    const Tree* nodes = section_.take("nodes");
    const Tree* zone = section_.take("zone");
    const int given = (node != nullptr) + (nodes != nullptr) + (zone != nullptr);
    if (given > 1) section_.wrong(line_, "more than one of node, nodes and zone");
    if (given == 0 && reach == Reach::kNodes && entry_.form == FaultForm::kTimed) {
      section_.wrong(line_,
                     fmt::format("{} needs a node, nodes or a zone", sim::name(entry_.kind)));
    }
    if (node != nullptr) add_selector(*node, "", entry_.targets);
    if (zone != nullptr) add_selector(*zone, "zone ", entry_.targets);
    if (nodes == nullptr) return;
    if (nodes->kind != Tree::Kind::kList || nodes->entries.empty()) {
      section_.wrong(*nodes, "expected a list of machines, such as [a3, b1]");
      return;
    }
    for (const Tree::Entry& item : nodes->entries) add_selector(item.value, "", entry_.targets);
  }

  void read_length() {
    const KindInfo& kind = info(entry_.kind);
    if (kind.length == Need::kNo) return;
    const bool required = kind.length == Need::kRequired && entry_.form == FaultForm::kTimed;
    const Tree* found = required ? section_.need(kind.length_key) : section_.take(kind.length_key);
    if (found != nullptr) {
      const auto text = section_.text_of(*found, "a duration");
      if (text) check_length(*found, *text);
    }
    if (entry_.kind == FaultKind::kReclaim) section_.duration("notice", entry_.notice, kElsewhere);
  }

  void check_length(const Tree& tree, std::string_view text) {
    const Parsed<LengthRange> length = parse_lengths(text);
    if (!length) return section_.wrong(tree, length.error());
    if (length->low <= Duration{}) {
      return section_.wrong(
          tree, fmt::format("\"{}\" is no length of time; at least 1ns", printable(text)));
    }
    if (length->high.count() > kLongest) {
      return section_.wrong(tree, fmt::format("\"{}\" is too long; at most {}", printable(text),
                                              duration_text(Duration(kLongest))));
    }
    if (entry_.form == FaultForm::kTimed && length->low != length->high) {
      return section_.wrong(tree, "a timed fault has one length; ranges are for random ones");
    }
    entry_.length = *length;
  }

  void read_value() {
    const ValueUnit unit = info(entry_.kind).unit;
    if (unit == ValueUnit::kNone) return;
    const std::string_view key = value_key(unit);
    const bool optional = entry_.form == FaultForm::kRandom || unit == ValueUnit::kWorker ||
                          unit == ValueUnit::kExitCode || unit == ValueUnit::kSave;
    const Tree* found = optional ? section_.take(key) : section_.need(key);
    if (found == nullptr) return;
    const auto text = section_.text_of(*found, "a value");
    if (!text) return;
    const Parsed<std::int64_t> value = parse_value(unit, *text);
    if (!value) {
      section_.wrong(*found, value.error());
    } else if (unit == ValueUnit::kWorker && *value >= world_.workers_per_node) {
      section_.wrong(*found, fmt::format("there is no worker {}; a machine has {}, from 0", *value,
                                         world_.workers_per_node));
    } else {
      entry_.value = *value;
    }
  }

  Section section_;
  const Tree& line_;
  const FaultWorld& world_;
  FaultEntry entry_;
  std::set<std::string> seen_;  // selectors of this line
};

Tree write_side(const std::vector<std::string>& side) {
  if (side.size() == 1) return Tree::scalar(side[0]);
  Tree list = Tree::list();
  for (const std::string& selector : side) list.add("", Tree::scalar(selector));
  return list;
}

void write_targets(const FaultEntry& entry, Tree& out) {
  if (entry.targets.empty()) return;
  if (info(entry.kind).reach == Reach::kCut) {
    Tree cut = Tree::list();
    cut.add("", write_side(entry.targets));
    if (!entry.others.empty()) cut.add("", write_side(entry.others));
    out.add("cut", std::move(cut));
  } else if (entry.targets.size() > 1) {
    out.add("nodes", write_side(entry.targets));
  } else if (entry.targets[0].substr(0, 5) == "zone ") {
    out.add("zone", Tree::scalar(entry.targets[0].substr(5)));
  } else {
    out.add("node", Tree::scalar(entry.targets[0]));
  }
}

Tree write_line(const FaultEntry& entry) {
  Tree out = Tree::map();
  const auto time = [&](const char* key, Duration value) {
    out.add(key, Tree::scalar(duration_text(value)));
  };
  const bool swarm = entry.form == FaultForm::kSwarm;
  if (entry.form == FaultForm::kTimed) time("at", entry.at);
  out.add("kind", Tree::scalar(swarm ? "swarm" : std::string(sim::name(entry.kind))));
  if (entry.form != FaultForm::kTimed) {
    time(swarm ? "mean_between" : "every", entry.every);
    if (!swarm) out.add("chance", Tree::scalar(entry.regular ? "regular" : "random"));
    if (entry.from > Duration{}) time("from", entry.from);
    if (entry.until) time("until", *entry.until);
  }
  if (swarm) {
    if (entry.kinds.empty()) return out;
    Tree& kinds = out.add("kinds", Tree::list());
    for (const FaultKind kind : entry.kinds) {
      kinds.add("", Tree::scalar(std::string(sim::name(kind))));
    }
    return out;
  }
  write_targets(entry, out);
  const KindInfo& kind = info(entry.kind);
  if (entry.length) {
    std::string text = duration_text(entry.length->low);
    if (entry.length->high != entry.length->low) text += ".." + duration_text(entry.length->high);
    out.add(std::string(kind.length_key), Tree::scalar(std::move(text)));
  }
  if (entry.notice > Duration{}) time("notice", entry.notice);
  if (entry.value) {
    out.add(std::string(value_key(kind.unit)), Tree::scalar(value_text(kind.unit, *entry.value)));
  }
  return out;
}

}  // namespace

std::vector<FaultEntry> read_faults(const Tree& list, const FaultWorld& world, Errors& errors) {
  std::vector<FaultEntry> entries;
  std::int64_t occurrences = 0;
  if (list.is_null()) return entries;
  if (list.kind != Tree::Kind::kList) {
    errors.add(list.place,
               "faults is no list; write one fault per line, as in \"- {at: 2h, kind: "
               "crash, node: a3, for: 5min}\"");
    return entries;
  }
  if (list.entries.size() > kMaxFaultEntries) {
    errors.add(list.place, fmt::format("more than {} faults", kMaxFaultEntries));
    return entries;
  }
  for (std::size_t i = 0; i < list.entries.size() && !errors.full(); ++i) {
    const std::size_t before = errors.problems.size() + errors.left_out;
    auto entry = LineReader(list.entries[i].value, i, world, errors).read();
    const bool sound = errors.problems.size() + errors.left_out == before;
    if (!entry || !sound) continue;
    if (entry->form != FaultForm::kTimed) {
      occurrences += (entry->until.value_or(world.horizon) - entry->from) / entry->every;
    }
    entries.push_back(*std::move(entry));
  }
  if (occurrences > kMaxRandomFaults) {
    errors.add(list.place, fmt::format("about {} random faults in all; at most {}", occurrences,
                                       kMaxRandomFaults));
  }
  return entries;
}

Tree write_faults(const std::vector<FaultEntry>& entries) {
  Tree list = Tree::list();
  for (const FaultEntry& entry : entries) list.add("", write_line(entry));
  return list;
}

}  // namespace elastic::chaos
