#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "chaos/scenario/tree.h"
#include "chaos/timing/csv.h"
#include "chaos/timing/fit.h"

namespace elastic::chaos {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
using Samples = std::map<Key, std::vector<double>>;

// "1124": four nodes with eight workers.
bool read_placement(std::string_view text, std::uint32_t& nodes, std::uint32_t& workers) {
  nodes = 0;
  workers = 0;
  for (const char c : text) {
    if (c < '1' || c > '9') return false;
    ++nodes;
    workers += static_cast<std::uint32_t>(c - '0');
  }
  return nodes > 0;
}

bool read_seconds(std::string_view text, double& out) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && stopped == end && std::isfinite(out) && out > 0;
}

void read_file(const std::string& path, bool placements, Samples& samples, Errors& errors) {
  const tl::expected<std::string, Errors> text = read_regular_file(path, kMostBytes);
  if (!text) return errors.add(text.error());
  Csv csv(*text, path);
  const std::string_view header = placements
                                      ? "placement,local_bsz,step_time,sync_time"
                                      : "num_nodes,num_replicas,local_bsz,step_time,sync_time";
  const std::size_t columns = placements ? 4 : 5;
  if (!csv.next() || csv.line() != header) {
    return errors.add({path, 1, 1}, fmt::format("expected the header {}", header));
  }
  while (csv.next() && !errors.full()) {
    const std::vector<Csv::Field>& fields = csv.fields();
    if (fields.size() != columns) {
      errors.add(csv.place(), fmt::format("{} fields, expected {}", fields.size(), columns));
      continue;
    }
    std::uint32_t nodes = 0;
    std::uint32_t workers = 0;
    std::uint32_t batch = 0;
    double seconds = 0;
    const bool world =
        placements ? read_placement(fields[0].text, nodes, workers)
                   : read_whole(fields[0].text, nodes) && read_whole(fields[1].text, workers);
    const bool whole = world && read_whole(fields[columns - 3].text, batch) &&
                       read_seconds(fields[columns - 2].text, seconds) && nodes >= 1 &&
                       workers >= nodes && batch >= 1;
    if (!whole) {
      errors.add(csv.place(), fmt::format("\"{}\" is no measurement", printable(csv.line())));
      continue;
    }
    samples[{nodes, workers, batch}].push_back(seconds);
  }
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

tl::expected<std::vector<Measured>, Errors> read_measured(const std::string& folder) {
  Errors errors;
  Samples samples;
  read_file(folder + "/placements.csv", true, samples, errors);
  read_file(folder + "/scalability.csv", false, samples, errors);
  if (errors.empty() && samples.empty()) errors.add({folder, 0, 0}, "holds no measurement");
  if (!errors.empty()) return tl::unexpected(errors);
  std::vector<Measured> out;
  for (auto& [key, values] : samples) {
    out.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), median(values)});
  }
  return out;
}

}  // namespace elastic::chaos
