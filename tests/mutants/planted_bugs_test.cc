#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "chaos/account/account.h"
#include "chaos/oracles/oracle_set.h"
#include "chaos/scenario/scenario.h"
#include "core/mutants.h"
#include "transport/sim/world.h"

namespace elastic::chaos {
namespace {

constexpr std::uint64_t kMostSeeds = 1000;

// The standard batch: eight machines for some ten minutes. One longer scenario stands with it, the
// only one in which spares alone can hear each other.
std::vector<Scenario> standard_set() {
  const std::string root = std::string(ELASTIC_SOURCE_DIR) + "/scenarios/";
  std::vector<std::string> files{root + "spares_cut_off.yaml"};
  for (const auto& entry : std::filesystem::directory_iterator(root + "short")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Scenario> scenarios;
  for (const std::string& file : files) {
    auto scenario = load_scenario(file);
    EXPECT_TRUE(scenario.has_value()) << file;
    if (scenario) scenarios.push_back(std::move(*scenario));
  }
  return scenarios;
}

struct Judged {
  std::string oracle;  // that spoke; empty: none
  std::vector<OracleCount> counts;
};

Judged judge(const Scenario& scenario, std::uint64_t seed) {
  const sim::WorldConfig config = to_world(scenario, seed);
  Account account(config);
  sim::World world(config, make_plan(scenario, seed));
  OracleSet oracles(config, world.timeouts(), &account);
  world.watch(account);
  oracles.watch(world);
  world.run(Time{} + config.horizon);
  account.finish(world.now());
  oracles.finish(world.now());
  Judged judged;
  if (oracles.violation()) judged.oracle = oracles.violation()->oracle;
  judged.counts = oracles.counts();
  return judged;
}

class PlantedBug : public testing::TestWithParam<mutants::Mutant> {
 protected:
  void TearDown() override { mutants::activate(""); }
};

TEST_P(PlantedBug, is_found_by_the_oracle_named_beforehand) {
  const mutants::Mutant& mutant = GetParam();
  const std::vector<Scenario> scenarios = standard_set();
  ASSERT_FALSE(scenarios.empty());
  ASSERT_TRUE(mutants::activate(mutant.name));
  std::map<std::string, int> others;
  if (!mutant.seen.empty() && std::getenv("ELASTIC_HUNT") == nullptr) {
    const std::size_t space = mutant.seen.find(' ');
    const std::uint64_t seed = std::stoull(std::string(mutant.seen.substr(space + 1)));
    const auto named = std::find_if(scenarios.begin(), scenarios.end(), [&](const Scenario& one) {
      return one.name == mutant.seen.substr(0, space);
    });
    ASSERT_NE(named, scenarios.end()) << mutant.seen;
    EXPECT_EQ(judge(*named, seed).oracle, mutant.oracle)
        << mutant.what << ": not seen in " << mutant.seen << "; hunt for it: tools/sweep bugs";
    return;
  }
  for (std::uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    for (const Scenario& scenario : scenarios) {
      const std::string oracle = judge(scenario, seed).oracle;
      if (oracle == mutant.oracle) {
        std::cout << mutant.name << ": found by " << oracle << " in " << scenario.name << ", seed "
                  << seed << '\n';
        return;
      }
      if (!oracle.empty()) ++others[oracle];
    }
  }
  std::string spoke;
  for (const auto& [oracle, times] : others) {
    spoke += " " + oracle + " (" + std::to_string(times) + ")";
  }
  FAIL() << mutant.what << ": not found by " << mutant.oracle << " within " << kMostSeeds
         << " seeds; others that spoke:" << spoke;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedBug,
                         testing::ValuesIn(mutants::all().begin(), mutants::all().end()),
                         [](const testing::TestParamInfo<mutants::Mutant>& bug) {
                           return std::string(bug.param.name);
                         });

TEST(CleanCore, is_flagged_by_no_oracle_and_every_oracle_makes_checks) {
  mutants::activate("");
  std::map<std::string, std::uint64_t> checks;
  for (const Scenario& scenario : standard_set()) {
    const Judged judged = judge(scenario, 1);
    EXPECT_EQ(judged.oracle, "") << scenario.name;
    for (const OracleCount& count : judged.counts) checks[std::string(count.name)] += count.checks;
  }
  for (const auto& [oracle, count] : checks) EXPECT_GT(count, 0U) << oracle << " has shown nothing";
}

}  // namespace
}  // namespace elastic::chaos
