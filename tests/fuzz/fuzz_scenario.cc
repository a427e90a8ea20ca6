// libFuzzer target: whatever the text, the scenario reader ends in a scenario or in errors, and
// what it accepts is written to a text that it reads back to the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "chaos/scenario/scenario.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace elastic::chaos;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto scenario = parse_scenario(text, "fuzz.yaml");
  if (!scenario) {
    require(!scenario.error().empty());
    require(scenario.error().text().size() < 100'000);
    return 0;
  }
  const std::string written = scenario_to_yaml(*scenario);
  const auto again = parse_scenario(written, "fuzz.yaml");
  require(again.has_value());
  require(scenario_to_yaml(*again) == written);
  if (machines(*scenario).size() > 200 || scenario->horizon > std::chrono::hours(100)) return 0;
  const elastic::sim::Plan plan = make_plan(*scenario, 1);
  require(make_plan(*again, 1) == plan);
  require(!explain(*scenario, 1).empty());
  return 0;
}
