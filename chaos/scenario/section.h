// One mapping of a scenario file, being read, being written or being described: the keys of the
// language are listed once (language.cc), and the same list reads, writes, knows what a misspelt
// key could have meant, and makes the JSON Schema that editors know.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
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

using Json = nlohmann::ordered_json;

class Section {
 public:
  // Reading: `in` is nullptr when the file does not have the mapping (then every key is absent).
  // `name` is its path for messages, "job.nodes"; empty for the whole file.
  Section(const Tree* in, std::string name, Errors& errors);
  // Writing: keys are added to `out`, a map.
  explicit Section(Tree& out) : out_(&out) {}
  // Describing: `schema`, that of an object, learns the keys. Outlives this.
  explicit Section(Json& schema);

  [[nodiscard]] bool reading() const { return errors_ != nullptr; }
  [[nodiscard]] bool writing() const { return out_ != nullptr; }
  [[nodiscard]] bool describing() const { return schema_ != nullptr; }
  // Reading: the value under a key, which is thereby known; nullptr when absent.
  const Tree* take(std::string_view key);
  // Reading: the same, and its absence is an error.
  const Tree* need(std::string_view key);
  // A key that must be there. False: it is not, and that was reported; there is no more to do.
  bool require(std::string_view key);
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
  Section open(std::string_view key, std::string_view words);
  // Reports the keys that nobody asked for. To be called last.
  void finish();

  // Describing: a key with a schema of its own, and a rule that concerns several keys.
  void describe(std::string_view key, std::string_view words, const Json& schema);
  void describe_rule(const Json& rule);

  // Each reads the key if it is there, and leaves the value alone otherwise; or writes the value;
  // or describes the key: `words` say what it is for, the value is its default.
  void duration(std::string_view key, Duration& value, std::string_view words,
                Bounds bounds = kAnyLength);
  void duration(std::string_view key, std::optional<Duration>& value, std::string_view words,
                Bounds bounds = kAnyLength);
  void size(std::string_view key, std::int64_t& bytes, std::string_view words,
            Bounds bounds = kPositive);
  void size(std::string_view key, std::optional<std::int64_t>& bytes, std::string_view words,
            Bounds bounds = kPositive);
  void rate(std::string_view key, std::int64_t& bytes_per_second, std::string_view words);
  void share(std::string_view key, std::int64_t& ppm, std::string_view words);
  void price(std::string_view key, std::int64_t& microdollars_per_hour, std::string_view words);
  void count(std::string_view key, std::uint32_t& value, std::string_view words, Bounds bounds);
  void count(std::string_view key, std::optional<std::uint32_t>& value, std::string_view words,
             Bounds bounds);
  void count(std::string_view key, std::uint64_t& value, std::string_view words, Bounds bounds);
  void count(std::string_view key, std::optional<std::uint64_t>& value, std::string_view words,
             Bounds bounds);
  template <class Enum>
  void choice(std::string_view key, Enum& value, std::string_view words,
              const std::vector<std::pair<std::string_view, Enum>>& options) {
    std::vector<std::string_view> names;
    std::size_t index = 0;
    for (std::size_t i = 0; i < options.size(); ++i) {
      names.push_back(options[i].first);
      if (options[i].second == value) index = i;
    }
    choose(key, index, words, names);
    value = options[index].second;
  }

 private:
  // How one kind of quantity is read and written, and its name among the definitions of the schema.
  struct Quantity {
    std::function<Parsed<std::int64_t>(std::string_view)> read;
    std::function<std::string(std::int64_t)> write;
    std::string_view name;  // empty: a plain number
  };
  static const Quantity& a_duration();
  static const Quantity& a_size();
  static const Quantity& a_count();

  void choose(std::string_view key, std::size_t& index, std::string_view words,
              const std::vector<std::string_view>& names);
  // A scalar that is an integer once read. Nothing: absent, and not to be written.
  void quantity(std::string_view key, std::optional<std::int64_t>& value, std::string_view words,
                Bounds bounds, const Quantity& how);

  const Tree* in_ = nullptr;
  std::string name_;
  Errors* errors_ = nullptr;
  Tree* out_ = nullptr;
  Json* schema_ = nullptr;
  std::vector<std::string> known_;
};

}  // namespace elastic::chaos
