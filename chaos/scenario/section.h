// One mapping of a scenario file, being read or being written: the keys of the language are listed
// once (language.cc), and the same list reads, writes, and knows what a misspelt key could have
// meant.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chaos/scenario/problem.h"
#include "chaos/scenario/tree.h"
#include "chaos/scenario/units.h"
#include "core/types.h"

namespace elastic::chaos {

// Inclusive, in the smallest unit of the quantity.
struct Bounds {
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};
constexpr Bounds kPositive{1, std::numeric_limits<std::int64_t>::max()};

// A year: no length of time in a scenario is longer, so that sums of several cannot overflow.
constexpr std::int64_t kLongest = std::int64_t{400} * 24 * 3600 * 1'000'000'000;
constexpr Bounds kAnyLength{0, kLongest};
constexpr Bounds kSomeLength{1, kLongest};

class Section {
 public:
  // Reading: `in` is nullptr when the file does not have the mapping (then every key is absent).
  // `name` is its path for messages, "job.nodes"; empty for the whole file.
  Section(const Tree* in, std::string name, Errors& errors);
  // Writing: keys are added to `out`, a map.
  explicit Section(Tree& out) : out_(&out) {}

  [[nodiscard]] bool reading() const { return errors_ != nullptr; }
  // Reading: the value under a key, which is thereby known; nullptr when absent.
  const Tree* take(std::string_view key);
  // Reading: the same, and its absence is an error.
  const Tree* need(std::string_view key);
  // Writing: where values go that no function below writes.
  [[nodiscard]] Tree& out() { return *out_; }
  // Reading: reports what is wrong with `tree`.
  void wrong(const Tree& tree, std::string message);
  // The text of a scalar; reports other values and gives nothing.
  std::optional<std::string_view> text_of(const Tree& tree, std::string_view expected);

  // The place of a key's value, or of the mapping, for messages about values that do not go
  // together.
  [[nodiscard]] Place place_of(std::string_view key) const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Errors& errors() { return *errors_; }

  // One mapping below this one. To be done with before anything else is asked of this section.
  Section open(std::string_view key);
  // Reports the keys that nobody asked for. To be called last.
  void finish();

  // Each reads the key if it is there, and leaves the value alone otherwise; or writes the value.
  void duration(std::string_view key, Duration& value, Bounds bounds = kAnyLength);
  void duration(std::string_view key, std::optional<Duration>& value, Bounds bounds = kAnyLength);
  void size(std::string_view key, std::int64_t& bytes, Bounds bounds = kPositive);
  void size(std::string_view key, std::optional<std::int64_t>& bytes, Bounds bounds = kPositive);
  void rate(std::string_view key, std::int64_t& bytes_per_second);
  void share(std::string_view key, std::int64_t& ppm);
  void price(std::string_view key, std::int64_t& microdollars_per_hour);
  void count(std::string_view key, std::uint32_t& value, Bounds bounds);
  void count(std::string_view key, std::optional<std::uint32_t>& value, Bounds bounds);
  void count(std::string_view key, std::uint64_t& value, Bounds bounds);
  void count(std::string_view key, std::optional<std::uint64_t>& value, Bounds bounds);
  template <class Enum>
  void choice(std::string_view key, Enum& value,
              const std::vector<std::pair<std::string_view, Enum>>& options) {
    std::vector<std::string_view> names;
    std::size_t index = 0;
    for (std::size_t i = 0; i < options.size(); ++i) {
      names.push_back(options[i].first);
      if (options[i].second == value) index = i;
    }
    choose(key, index, names);
    value = options[index].second;
  }

 private:
  using Read = std::function<Parsed<std::int64_t>(std::string_view)>;
  using Write = std::function<std::string(std::int64_t)>;

  void choose(std::string_view key, std::size_t& index, const std::vector<std::string_view>& names);
  // A scalar that is an integer once read. Nothing: absent, and not to be written.
  void quantity(std::string_view key, std::optional<std::int64_t>& value, Bounds bounds,
                const Read& read, const Write& write);

  const Tree* in_ = nullptr;
  std::string name_;
  Errors* errors_ = nullptr;
  Tree* out_ = nullptr;
  std::vector<std::string> known_;
};

}  // namespace elastic::chaos
