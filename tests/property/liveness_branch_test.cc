// The liveness phase that branches off the main run is the one that is run from the beginning.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "chaos/run/row.h"
#include "chaos/run/run.h"
#include "tests/support/property.h"

namespace elastic::chaos {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> short_scenarios() {
  std::vector<std::string> files;
  for (const auto& entry :
       fs::directory_iterator(std::string(ELASTIC_SOURCE_DIR) + "/scenarios/short")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Everything that a report could show of it.
std::string told(const RunResult& result) {
  Row row = row_of(result, true);
  row.wall_ms = 0;
  std::string text = to_text(row);
  if (!result.liveness) return text;
  const LivenessResult& liveness = *result.liveness;
  text += " " + std::string(name(liveness.kind)) + " " +
          std::to_string(liveness.moment.time_since_epoch().count()) + " " +
          std::to_string(liveness.bound.count()) + " " + std::to_string(liveness.took.count()) +
          " " + liveness.assumption + " " + liveness.proof;
  for (const NodeId node : liveness.core) text += " " + std::to_string(node.value);
  return text;
}

TEST(LivenessBranch, branching_off_the_main_run_changes_nothing_that_is_told) {
  const std::vector<std::string> files = short_scenarios();
  ASSERT_FALSE(files.empty());
  test::check("branching off the main run changes nothing that is told",
              {"held", "job over", "voided", "native", "foreign"},
              [&] {
                // Only a hosted journal lets an assumption be voided; few jobs end before the
                // moment.
                const std::string folder = std::string(ELASTIC_SOURCE_DIR) + "/scenarios/short/";
                const std::string file = *rc::gen::weightedOneOf<std::string>(
                    {{2, rc::gen::elementOf(files)},
                     {1, rc::gen::just(folder + "hosted.yaml")},
                     {1, rc::gen::just(folder + "failing_program.yaml")}});
                const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
                auto scenario = load_scenario(file);
                RC_ASSERT(scenario.has_value());
                scenario->horizon = std::min<Duration>(scenario->horizon, std::chrono::minutes(8));
                if (*rc::gen::arbitrary<bool>()) scenario->job.max_restarts = 1;
                RunOptions apart;
                apart.branch = false;
                const RunResult one = run_seed(*scenario, seed, {});
                const RunResult two = run_seed(*scenario, seed, apart);
                RC_ASSERT(told(one) == told(two));
                RC_ASSERT(one.outcome.trace_hash == two.outcome.trace_hash);
                RC_ASSERT(one.outcome.messages == two.outcome.messages);
                RC_ASSERT(one.outcome.end == two.outcome.end);
                if (one.liveness) RC_TAG(std::string(name(one.liveness->kind)));
                RC_CLASSIFY(scenario->job.workers == WorkerKind::kNative, "native");
                RC_CLASSIFY(scenario->job.workers == WorkerKind::kForeign, "foreign");
              },
              {.max_success = 90});
}

}  // namespace
}  // namespace elastic::chaos
