#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>

#include "core/membership/config.h"

namespace elastic {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

JobConfig small_job() {
  JobConfig job;
  job.min_nodes = 2;
  job.max_nodes = 4;
  job.journal = JournalKind::kExternal;
  return job;
}

std::string refusal_of(const std::function<void(JobConfig&)>& change) {
  JobConfig job = small_job();
  change(job);
  const auto derived = derive_timeouts(job);
  const auto* refusal = std::get_if<Refusal>(&derived);
  return refusal == nullptr ? "accepted" : refusal->message;
}

TEST(Timeouts, the_default_bounds_give_a_second_of_detection) {
  const auto derived = derive_timeouts(small_job());
  ASSERT_TRUE(std::holds_alternative<Timeouts>(derived));
  const Timeouts t = std::get<Timeouts>(derived);
  EXPECT_EQ(t.beat, milliseconds(250));
  EXPECT_EQ(t.lost_after, seconds(1));
  EXPECT_EQ(t.election_min, seconds(1));
  EXPECT_EQ(t.election_max, milliseconds(1500));
  EXPECT_EQ(t.lease, milliseconds(2310));
  EXPECT_GT(t.orphan, with_drift(t.lease));
}

TEST(Timeouts, impossible_sizes_are_refused_with_what_to_do) {
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.min_nodes = 0; }),
            "min nodes is 0; a round needs at least 1");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.min_nodes = 5; }),
            "min nodes 5 is above max nodes 4");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.node_unit = 0; }),
            "node_unit is 0; use 1 for any number of nodes");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.node_unit = 5; }),
            "no multiple of node_unit 5 lies between 2 and 4 nodes; change min, max or node_unit");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.node_unit = 3; }), "accepted");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.workers_per_node = 0; }),
            "workers per node is 0; at least 1 is needed");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.journal = JournalKind::kHosted; }),
            "a hosted journal needs a host: name the node at the rendezvous endpoint");
}

TEST(Timeouts, a_target_that_cannot_tell_loss_from_slowness_is_refused) {
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.detection_target = milliseconds(200); }),
            "detection target 200ms cannot tell a lost node from a slow one: with the declared "
            "bounds (round trip 10ms, journal 40ms, pause 100ms) at least 300ms is needed");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.detection_target = milliseconds(300); }),
            "accepted");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.bounds.pause = seconds(1); }).substr(0, 23),
            "detection target 1000ms");
}

TEST(Timeouts, an_orphan_bound_below_the_lease_is_refused) {
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.orphan_bound = seconds(2); }),
            "orphan_bound 2000ms must be above the lease, which is 2310ms for this detection "
            "target");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.orphan_bound = seconds(3); }), "accepted");
}

TEST(Timeouts, every_length_is_checked) {
  const auto zero = Duration(0);
  EXPECT_EQ(refusal_of([&](JobConfig& job) { job.detection_target = zero; }),
            "detection_target must be longer than zero");
  EXPECT_EQ(refusal_of([&](JobConfig& job) { job.bounds.round_trip = zero; }),
            "bounds.round_trip must be longer than zero");
  EXPECT_EQ(refusal_of([&](JobConfig& job) { job.bounds.pause = zero; }), "accepted");
  EXPECT_EQ(refusal_of([&](JobConfig& job) { job.cool_down = zero; }),
            "cool_down must be longer than zero");
  EXPECT_EQ(refusal_of([&](JobConfig& job) { job.stop_grace = Duration(-1); }),
            "stop_grace must be longer than zero");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.budget_reset = std::chrono::hours(24 * 366); }),
            "budget_reset is longer than a year");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.last_call = seconds(61); }),
            "last_call (61000ms) is above last_call_cap (60000ms); raise the cap");
}

TEST(Timeouts, policies_that_cannot_work_are_refused) {
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.flaps.tolerated = 101; }),
            "flaps.tolerated is 101; at most 100, or 0 for no damping");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.flaps.longest = std::chrono::minutes(22); }),
            "flaps.longest (1320000ms) is below 3/8 of flaps.window (3600000ms), so damping would "
            "not bound what a flapper causes");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.restart_back_off.base = seconds(11); }),
            "a back-off begins with 11000ms, above its cap of 10000ms; raise the cap");
  EXPECT_EQ(refusal_of([](JobConfig& job) { job.health.min_healthy = 5; }),
            "min_healthy 5 is above max nodes 4: the job would always end");
  const auto foreign = [](JobConfig& job) { job.workers = WorkerKind::kForeign; };
  EXPECT_EQ(refusal_of(foreign), "accepted");
  EXPECT_EQ(refusal_of([&](JobConfig& job) { foreign(job), job.growth = Growth::kPays; }),
            "growth pays needs native workers: the steps of foreign programs are not known; use "
            "always or never");
  EXPECT_EQ(refusal_of([&](JobConfig& job) { foreign(job), job.no_progress.failures = 3; }),
            "no_progress needs native workers: the steps of foreign programs are not known; use 0");
}

TEST(Timeouts, drift_of_two_clocks_is_rounded_up) {
  EXPECT_EQ(with_drift(Duration(0)), Duration(1));
  EXPECT_EQ(with_drift(Duration(49)), Duration(50));
  EXPECT_EQ(with_drift(seconds(100)), seconds(102) + Duration(1));
}

}  // namespace
}  // namespace elastic
