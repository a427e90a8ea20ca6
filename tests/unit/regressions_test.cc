// Every shrunk failure stays mended.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "chaos/run/run.h"
#include "chaos/scenario/scenario.h"

namespace elastic::chaos {
namespace {

namespace fs = std::filesystem;

// WHAT-SCENARIO-SEED.yaml: the seed with which it once failed.
std::uint64_t seed_in(const std::string& stem) {
  const std::size_t dash = stem.rfind('-');
  return dash == std::string::npos ? 1 : std::stoull(stem.substr(dash + 1));
}

TEST(Regressions, what_once_broke_a_promise_keeps_them_all) {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(std::string(ELASTIC_SOURCE_DIR) + "/scenarios/regressions")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  ASSERT_FALSE(files.empty());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const auto scenario = load_scenario(file.string());
    ASSERT_TRUE(scenario) << scenario.error().text();
    const std::uint64_t seed = seed_in(file.stem().string());
    RunOptions options;
    options.liveness = false;
    const RunResult result = run_seed(*scenario, seed, options);
    EXPECT_FALSE(result.violation.has_value())
        << file.filename() << ", seed " << seed << ": " << result.violation->title;
    EXPECT_NE(result.verdict, VerdictClass::kCrash) << file.filename();
  }
}

}  // namespace
}  // namespace elastic::chaos
