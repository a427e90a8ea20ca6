// What the readers share: lines with places, a tally of repairs, and the step that turns raw
// changes of state into events that keep the invariants of Availability.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/availability/availability.h"

namespace elastic::chaos {

// Counts repairs by kind and remembers the first line of each.
class Repairs {
 public:
  void note(std::string_view what, std::uint32_t line);
  [[nodiscard]] std::vector<Repair> list() const;  // in the order of their first lines

 private:
  std::map<std::string, Repair, std::less<>> by_kind_;
};

// Numbers names in the order in which they are first seen.
class NodeNames {
 public:
  std::uint32_t number(std::string_view name);
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<std::string> names_;
};

// A change as the file says it.
struct RawChange {
  Duration at{};
  bool add = false;
  std::uint32_t node = 0;
  std::uint32_t line = 0;
};

// The words for what the state of a node forbids, which differ between formats.
struct StateRules {
  bool alive_at_start = false;  // fault lists name only what goes wrong
  bool nested = false;          // a second removal needs a second addition
  std::string_view added_twice;
  std::string_view removed_twice;
  std::string_view zero_length;  // removed and added at one instant (nested), or the reverse
};

// Sorts by time, drops what does not change anything, notes what it did.
std::vector<AvailabilityEvent> settle(std::vector<RawChange> raw, std::size_t nodes,
                                      const StateRules& rules, Repairs& repairs);

// The readers of the single formats. `text` has no byte order mark.
tl::expected<Availability, Errors> read_event_list(std::string_view text, const std::string& file,
                                                   Repairs& repairs);
tl::expected<Availability, Errors> read_polled_counts(std::string_view text,
                                                      const std::string& file, Repairs& repairs);
tl::expected<Availability, Errors> read_fault_list(std::string_view text, const std::string& file,
                                                   Repairs& repairs);

// One line of a text of comma-separated fields, and its fields without blanks around them.
struct Field {
  std::string_view text;
  std::uint32_t column = 0;  // from 1
};
struct Line {
  std::uint32_t number = 0;
  std::vector<Field> fields;
  bool last_and_open = false;  // the file ends in this line without a newline: it may be cut off
};

// Takes the next line that is not blank; false at the end. Notes CR LF line ends.
class Lines {
 public:
  Lines(std::string_view text, Repairs& repairs) : text_(text), repairs_(repairs) {}
  bool next(Line& line);

 private:
  std::string_view text_;
  Repairs& repairs_;
  std::uint32_t number_ = 0;
};

// A whole number of at most `max`, without a sign; false otherwise.
bool read_number(std::string_view text, std::uint64_t max, std::uint64_t& value);

}  // namespace elastic::chaos
