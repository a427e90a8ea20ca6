// How the messages of one change of membership grow with the number of nodes (design section 8: a
// fitted exponent of at most 1.1). ELASTIC_MOST_NODES (default 1000) is the largest job that is
// tried; tools/sweep takes 10,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chaos/scenario/scenario.h"
#include "transport/sim/observer.h"
#include "transport/sim/world.h"

namespace elastic::test {
namespace {

// Counts every message, beats and acknowledgements too, from the moment at which a loss is noticed
// or somebody stands for election until the World without the lost node is recorded.
class ChangeCounter final : public sim::Observer {
 public:
  void on_note(Time /*now*/, AgentId /*by*/, const Note& note) override {
    const bool begins = note.kind == NoteKind::kNodeLost || note.kind == NoteKind::kAskLeave;
    open_ = open_ || (rounds_ > 0 && begins);
  }
  void on_sent(Time /*now*/, NodeId /*from*/, NodeId /*to*/, const Message& message) override {
    open_ = open_ || (rounds_ > 0 && std::holds_alternative<Canvass>(message));
    if (open_) ++messages_;
  }
  void on_record(Time /*now*/, const NumberedRecord& record, JournalLife /*life*/) override {
    if (!std::holds_alternative<World>(record.record.body)) return;
    ++rounds_;
    if (open_) of_change_.push_back(messages_);
    open_ = false;
    messages_ = 0;
  }
  const std::vector<std::uint64_t>& of_change() const { return of_change_; }

 private:
  bool open_ = false;
  std::uint64_t rounds_ = 0;
  std::uint64_t messages_ = 0;
  std::vector<std::uint64_t> of_change_;
};

// Messages of the change that these faults bring to a job of so many nodes, in one run.
std::uint64_t messages_of_a_change(std::uint32_t nodes, const std::string& faults,
                                   std::uint64_t seed) {
  const std::string count = std::to_string(nodes);
  const std::string text = "job:\n  nodes: {min: 2, max: " + count +
                           "}\n  model: resnet50\n  steps: 100000\n  dataset: 1281167\n"
                           "  global_batch: 20480\n  checkpoint: {every: never, size: 1MiB}\n"
                           "  journal: external\n  detection_target: 4s\n  start_up: 4s\n"
                           "cluster:\n  zones:\n    a: {nodes: " +
                           count + ", price: $1/h}\n  horizon: 55s\nfaults:\n" + faults;
  const auto scenario = chaos::parse_scenario(text, "growth.yaml");
  if (!scenario) {
    ADD_FAILURE() << scenario.error().text();
    return 0;
  }
  const sim::WorldConfig config = chaos::to_world(*scenario, seed);
  sim::World world(config, chaos::make_plan(*scenario, seed));
  ChangeCounter counter;
  world.watch(counter);
  world.run(Time{} + config.horizon);
  EXPECT_EQ(counter.of_change().size(), 1U) << nodes << " nodes";
  return counter.of_change().empty() ? 0 : counter.of_change().front();
}

// How many stand at the same moment is a matter of chance, and each asks everybody: the median of
// five runs.
std::uint64_t median_of_changes(std::uint32_t nodes, const std::string& faults) {
  std::vector<std::uint64_t> runs;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    runs.push_back(messages_of_a_change(nodes, faults, seed));
  }
  std::sort(runs.begin(), runs.end());
  return runs[runs.size() / 2];
}

// Least squares in logarithms.
double exponent(const std::vector<std::pair<double, double>>& points) {
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const auto& [nodes, messages] : points) {
    x += std::log(nodes);
    y += std::log(messages);
    xx += std::log(nodes) * std::log(nodes);
    xy += std::log(nodes) * std::log(messages);
  }
  const auto n = static_cast<double>(points.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

void grows_no_faster_than_the_job(const std::string& faults) {
  const char* most = std::getenv("ELASTIC_MOST_NODES");
  const std::uint64_t largest = most == nullptr ? 1000 : std::stoull(most);
  std::vector<std::pair<double, double>> points;
  for (std::uint32_t nodes = 10; nodes <= largest; nodes *= 10) {
    const std::uint64_t messages = median_of_changes(nodes, faults);
    ASSERT_GT(messages, nodes) << "every member is asked to leave";
    points.emplace_back(nodes, static_cast<double>(messages));
    std::cout << nodes << " nodes: " << messages << " messages\n";
  }
  const double fitted = exponent(points);
  std::cout << "exponent " << fitted << "\n";
  EXPECT_LE(fitted, 1.1);
  EXPECT_GE(fitted, 0.9) << "every member has its messages";
}

TEST(MessageGrowth, losing_a_member_costs_messages_in_proportion_to_the_nodes) {
  grows_no_faster_than_the_job("  - {at: 25s, kind: crash, node: a5}\n");
}

TEST(MessageGrowth, losing_the_coordinator_costs_messages_in_proportion_to_the_nodes) {
  grows_no_faster_than_the_job("  - {at: 25s, kind: crash, node: coordinator}\n");
}

// All agents miss a leader then, and hear from the journal again in one instant.
TEST(MessageGrowth, a_journal_out_of_reach_costs_messages_in_proportion_to_the_nodes) {
  grows_no_faster_than_the_job(
      "  - {at: 25s, kind: journal_unreachable, for: 13s}\n"
      "  - {at: 39s, kind: crash, node: a5}\n");
}

}  // namespace
}  // namespace elastic::test
