#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chaos/scenario/scenario.h"
#include "transport/sim/world.h"

namespace elastic::chaos {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRuns = 81;
// Of each run, so that builds with sanitizers are done in minutes.
constexpr Duration kLongest = std::chrono::minutes(10);

const std::string kRoot = ELASTIC_SOURCE_DIR;
const std::string kTable = kRoot + "/tests/golden/hashes.txt";

struct GoldenRun {
  std::string scenario;  // path below the root
  std::uint64_t seed = 0;
};

// Every scenario of the tree once, the short ones again and again until there are enough.
std::vector<GoldenRun> golden_runs() {
  std::vector<std::string> all, again;
  for (const char* folder : {"/scenarios", "/scenarios/short"}) {
    for (const auto& entry : fs::directory_iterator(kRoot + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const std::string path = fs::relative(entry.path(), kRoot).string();
      (std::string(folder) == "/scenarios" ? all : again).push_back(path);
    }
  }
  std::sort(all.begin(), all.end());
  std::sort(again.begin(), again.end());
  std::vector<GoldenRun> chosen;
  for (const std::string& scenario : all) chosen.push_back({scenario, 1});
  for (std::uint64_t seed = 1; chosen.size() < kRuns && !again.empty(); ++seed) {
    for (const std::string& scenario : again) {
      if (chosen.size() < kRuns) chosen.push_back({scenario, seed});
    }
  }
  return chosen;
}

std::string hash_of(const GoldenRun& run) {
  const auto scenario = load_scenario(kRoot + "/" + run.scenario);
  if (!scenario) return "unreadable";
  sim::WorldConfig config = to_world(*scenario, run.seed);
  config.horizon = std::min(config.horizon, kLongest);
  sim::World world(config, make_plan(*scenario, run.seed));
  const sim::Outcome outcome = world.run(Time{} + config.horizon);
  return fmt::format("{:016x} {}", outcome.trace_hash, outcome.events);
}

std::map<std::string, std::string> read_table() {
  std::map<std::string, std::string> table;
  std::ifstream file(kTable);
  std::string scenario, seed, hash, events;
  while (file >> scenario >> seed >> hash >> events)
    table[scenario + " " + seed] = hash + " " + events;
  return table;
}

TEST(Golden, runs_give_the_same_trace_in_every_build) {
  const std::vector<GoldenRun> chosen = golden_runs();
  ASSERT_EQ(chosen.size(), kRuns);
  const bool rewrite = std::getenv("ELASTIC_REWRITE") != nullptr;
  const std::map<std::string, std::string> table = read_table();
  std::string fresh;
  for (const GoldenRun& one : chosen) {
    const std::string key = one.scenario + " " + std::to_string(one.seed);
    const std::string found = hash_of(one);
    fresh += key + " " + found + "\n";
    if (rewrite) continue;
    const auto expected = table.find(key);
    if (expected == table.end()) {
      ADD_FAILURE() << key << " is not in tests/golden/hashes.txt; ELASTIC_REWRITE=1 adds it";
    } else {
      EXPECT_EQ(found, expected->second) << key;
    }
  }
  if (!rewrite) {
    EXPECT_EQ(table.size(), chosen.size()) << "hashes.txt has lines of runs that are no more";
    return;
  }
  std::ofstream(kTable) << fresh;
}

}  // namespace
}  // namespace elastic::chaos
