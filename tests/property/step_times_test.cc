// Step times: tables read back, grow with the batch, and are refused with a place when they are
// none.
#include "chaos/timing/step_times.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <regex>
#include <string>

#include "chaos/timing/equivalent.h"
#include "chaos/timing/measured.h"
#include "tests/support/property.h"

namespace elastic::chaos {
namespace {

using rc::gen::inRange;

StepTimes some_table() {
  std::vector<StepRow> rows;
  const auto worlds = *inRange<std::uint32_t>(1, 5);
  std::uint32_t nodes = 0;
  for (std::uint32_t i = 0; i < worlds; ++i) {
    nodes += *inRange<std::uint32_t>(1, 9);
    for (std::uint32_t per_node = 1; per_node <= 2; ++per_node) {
      std::uint64_t batch = 0;
      std::int64_t time = 0;
      const int batches = *inRange(1, 5);
      for (int k = 0; k < batches; ++k) {
        batch += *inRange<std::uint64_t>(1, 100);
        time += *inRange<std::int64_t>(k == 0 ? 1 : 0, 3'000'000'000);
        rows.push_back({nodes, nodes * per_node, batch, Duration(time)});
      }
    }
  }
  return StepTimes(std::move(rows));
}

// Whether both neighbours in nodes hold a row with this batch or a larger one.
bool in_one_pass(const StepTimes& table, std::uint32_t nodes, std::uint32_t per_node,
                 std::uint64_t batch) {
  std::uint32_t low = 0;
  std::uint32_t high = UINT32_MAX;
  for (const StepRow& one : table.rows()) {
    if (one.workers / one.nodes != per_node) continue;
    if (one.nodes <= nodes) low = std::max(low, one.nodes);
    if (one.nodes >= nodes) high = std::min(high, one.nodes);
  }
  bool in_low = false;
  bool in_high = false;
  for (const StepRow& one : table.rows()) {
    if (one.workers / one.nodes != per_node || one.batch < batch) continue;
    in_low = in_low || one.nodes == low;
    in_high = in_high || one.nodes == high;
  }
  return in_low && in_high;
}

TEST(StepTimesHold, a_table_that_is_written_reads_back_to_the_same_rows) {
  test::check("a written table reads back", {}, [] {
    const StepTimes table = some_table();
    const auto again = parse_step_times(table.to_csv(), "t.csv");
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->rows() == table.rows());
  });
}

TEST(StepTimesHold, within_a_table_a_larger_batch_never_takes_less_time) {
  test::check("a larger batch never takes less time", {"between rows", "on a row"}, [] {
    const StepTimes table = some_table();
    const StepRow row = *rc::gen::elementOf(table.rows());
    const StepRow next = *rc::gen::elementOf(table.rows());
    const std::uint32_t per_node = row.workers / row.nodes;
    RC_PRE(next.workers / next.nodes == per_node);
    const std::uint32_t nodes = (row.nodes + next.nodes) / 2;
    const std::uint64_t most = std::min(row.batch, next.batch);
    RC_PRE(most > 1);
    const auto batch = *inRange<std::uint64_t>(1, most);
    const auto small = table.at(nodes, per_node, batch);
    if (!small) return;
    const auto large = table.at(nodes, per_node, batch + 1);
    bool between = true;
    for (const StepRow& one : table.rows()) between = between && one.nodes != nodes;
    RC_CLASSIFY(between, "between rows");
    RC_CLASSIFY(!between, "on a row");
    RC_ASSERT(*small > Duration{});
    if (large && in_one_pass(table, nodes, per_node, batch + 1)) {
      RC_ASSERT(*small <= *large);
    }
  });
}

TEST(StepTimesHold, measured_steps_grow_with_the_batch_through_every_number_of_passes) {
  test::check("measured steps grow with the batch", {"between or far", "large batch"}, [] {
    const MeasuredName name = *rc::gen::elementOf(
        std::vector<MeasuredName>(kMeasuredNames.begin(), kMeasuredNames.end()));
    const auto table = measured_times(name.name);
    const auto nodes = *inRange<std::uint32_t>(1, 17);
    const auto per_node = *inRange<std::uint32_t>(1, kMeasuredPerNode + 1);
    const std::uint64_t least = table->rows().front().batch;
    const std::uint64_t most = least * 60;
    const auto batch = *rc::gen::resize(rc::kNominalSize, inRange<std::uint64_t>(least, most));
    const auto small = table->at(nodes, per_node, batch);
    const auto large = table->at(nodes, per_node, batch + 1);
    RC_ASSERT(small.has_value());
    RC_ASSERT(large.has_value());
    RC_CLASSIFY(nodes == 5 || nodes == 7 || nodes > 8, "between or far");
    RC_CLASSIFY(batch > 1'000, "large batch");
    RC_ASSERT(*small <= *large);
  });
}

TEST(StepTimesHold, garbage_is_refused_with_a_line_or_is_a_table) {
  test::check("garbage is refused with a line or is a table", {"a table", "refused"}, [] {
    std::string text = some_table().to_csv();
    const int changes = *inRange(1, 4);
    for (int i = 0; i < changes; ++i) {
      const auto at = *rc::gen::resize(rc::kNominalSize, inRange<std::size_t>(0, text.size()));
      const char with = *rc::gen::elementOf(std::string("0123456789,.-+eE \n\r\t#\"nx\xff\0", 26));
      if (*rc::gen::arbitrary<bool>()) {
        text[at] = with;
      } else {
        text.insert(at, 1, with);
      }
    }
    const auto table = parse_step_times(text, "t.csv");
    RC_CLASSIFY(table.has_value(), "a table");
    RC_CLASSIFY(!table.has_value(), "refused");
    if (table) {
      RC_ASSERT(parse_step_times(table->to_csv(), "t.csv")->rows() == table->rows());
      return;
    }
    static const std::regex kPlace(R"(^t\.csv:[1-9][0-9]*:[1-9][0-9]*: .+)");
    const std::string said = table.error().text();
    RC_ASSERT(std::regex_search(said, kPlace));
  });
}

TEST(StepTimesHold, a_step_of_the_form_that_is_simulated_is_met) {
  test::check("a step of the simulated form is met", {"one size", "several sizes"}, [] {
    sim::TrainingModel made;
    made.compute_per_sample = Duration(*inRange<std::int64_t>(100'000, 10'000'000));
    made.step_overhead = Duration(*inRange<std::int64_t>(0, 1'000'000'000));
    made.gradient_bytes = *inRange<std::int64_t>(1, 1'000'000'000);
    const sim::NetworkModel network;
    const auto least = *inRange<std::uint32_t>(1, 10);
    const auto more = *inRange<std::uint32_t>(0, 20);
    std::vector<StepPoint> points;
    for (std::uint32_t nodes = least; nodes <= least + more; ++nodes) {
      const std::uint64_t share = (4'096 + nodes - 1) / nodes;
      points.push_back({nodes, share, simulated_step(made, network, nodes, share)});
    }
    sim::TrainingModel found;
    set_equivalent(points, network, found);
    RC_CLASSIFY(more == 0, "one size");
    RC_CLASSIFY(more > 0, "several sizes");
    RC_ASSERT(found.compute_per_sample >= Duration{});
    RC_ASSERT(found.step_overhead >= Duration{});
    RC_ASSERT(worst_difference_ppm(points, found, network) <= 20'000);
  });
}

}  // namespace
}  // namespace elastic::chaos
