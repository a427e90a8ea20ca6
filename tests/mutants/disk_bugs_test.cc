// The planted bugs of core/checkpoint, each found by the judge of the disk stage named beforehand.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "core/mutants.h"
#include "tests/support/disk_stage.h"

namespace elastic::test {
namespace {

constexpr std::uint64_t kMostSeeds = 100;

// Every judge on one seed, as the property tests ask them. The first that speaks.
std::string judge_all(std::uint64_t seed) {
  StageCounts counts;
  const StageRun run{seed, 2 + static_cast<std::uint32_t>(seed % 3), seed % 3 == 0};
  bool past_end = false;
  for (std::uint64_t moment = 0; !past_end; ++moment) {
    const std::string broken = judge_power_loss(run, moment, &past_end, &counts);
    if (!broken.empty()) return broken;
  }
  past_end = false;
  for (std::uint64_t moment = 0; !past_end; ++moment) {
    const auto victim = static_cast<std::uint32_t>(seed + moment);
    const std::string broken = judge_next_round(run, moment, victim, &past_end, &counts);
    if (!broken.empty()) return broken;
  }
  return judge_retention({seed, 2, false}, 1 + static_cast<std::uint32_t>(seed % 3), &counts);
}

class DiskBug : public testing::TestWithParam<mutants::Mutant> {
 protected:
  void TearDown() override { mutants::activate(""); }
};

TEST_P(DiskBug, is_found_by_the_judge_named_beforehand) {
  const mutants::Mutant& mutant = GetParam();
  ASSERT_TRUE(mutants::activate(mutant.name));
  std::string others;
  for (std::uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    const std::string broken = judge_all(seed);
    if (broken.starts_with(std::string(mutant.oracle) + ":")) {
      std::cout << mutant.name << ": seed " << seed << ": " << broken << '\n';
      return;
    }
    if (!broken.empty()) others = broken;
  }
  FAIL() << mutant.what << ": not found by " << mutant.oracle << " within " << kMostSeeds
         << " seeds; last seen: " << others;
}

INSTANTIATE_TEST_SUITE_P(All, DiskBug,
                         testing::ValuesIn(mutants::on_disk().begin(), mutants::on_disk().end()),
                         [](const testing::TestParamInfo<mutants::Mutant>& bug) {
                           return std::string(bug.param.name);
                         });

TEST(CleanDisk, is_flagged_by_no_judge) {
  mutants::activate("");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(judge_all(seed), "") << seed;
}

}  // namespace
}  // namespace elastic::test
