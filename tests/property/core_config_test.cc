// The documented inequalities of core/membership/config.h hold for every configuration that is not
// refused, and each refusal says what to do.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "core/membership/config.h"
#include "tests/support/property.h"

namespace elastic {
namespace {

using std::chrono::milliseconds;

Duration up_to(int max_ms) { return milliseconds(*rc::gen::inRange(0, max_ms + 1)); }

JobConfig any_job() {
  JobConfig job;
  job.min_nodes = *rc::gen::inRange(0u, 8u);
  job.max_nodes = *rc::gen::inRange(0u, 16u);
  job.node_unit = *rc::gen::inRange(0u, 4u);
  job.workers_per_node = *rc::gen::inRange(0u, 9u);
  if (*rc::gen::inRange(0, 4) != 0) {  // mostly sizes that fit
    job.min_nodes = 1 + job.min_nodes;
    job.node_unit = 1;
    job.max_nodes = job.min_nodes + job.max_nodes;
    job.workers_per_node = 1 + job.workers_per_node;
  }
  job.journal = JournalKind::kExternal;
  job.detection_target = up_to(30'000);
  job.bounds.round_trip = up_to(300);
  job.bounds.journal = up_to(2000);
  job.bounds.pause = up_to(2000);
  job.bounds.start_up = up_to(600'000);
  job.bounds.transfer_stall = up_to(60'000);
  job.bounds.step = up_to(600'000);
  job.last_call = up_to(20'000);
  job.last_call_cap = up_to(120'000);
  if (*rc::gen::arbitrary<bool>()) job.orphan_bound = up_to(600'000);
  return job;
}

TEST(TimeoutsProperty, keep_the_documented_inequalities) {
  test::check("derived time-outs keep liveness, or the configuration is refused with a reason",
              {"accepted", "refused for its detection target", "refused for its orphan bound"},
              [] {
                const JobConfig job = any_job();
                const auto derived = derive_timeouts(job);
                if (const auto* refusal = std::get_if<Refusal>(&derived)) {
                  RC_CLASSIFY(refusal->message.find("detection target") == 0,
                              "refused for its detection target");
                  RC_CLASSIFY(refusal->message.find("orphan_bound") == 0,
                              "refused for its orphan bound");
                  RC_ASSERT(!refusal->message.empty());
                  return;
                }
                RC_TAG("accepted");
                const Timeouts t = std::get<Timeouts>(derived);
                const DeclaredBounds& b = job.bounds;
                RC_ASSERT(2 * t.beat + b.round_trip + b.journal + b.pause <= job.detection_target);
                RC_ASSERT(t.lost_after <= job.detection_target);
                RC_ASSERT(t.election_min >= t.lost_after);
                RC_ASSERT(t.election_min < t.election_max);
                RC_ASSERT(t.election_max + t.canvass + b.journal + t.beat + b.pause < t.lease);
                RC_ASSERT(with_drift(t.lease) < t.orphan);
                RC_ASSERT(t.canvass >= b.round_trip);
                RC_ASSERT(t.journal_retry >= b.journal);
                RC_ASSERT(t.beat >= milliseconds(1));
                RC_ASSERT(t.enter >= b.start_up);
              },
              {.max_success = 5000});
}

TEST(TimeoutsProperty, the_smallest_target_that_a_refusal_names_is_accepted) {
  test::check(
      "a refused detection target names one that is accepted", {"refused"},
      [] {
        JobConfig job = any_job();
        const auto derived = derive_timeouts(job);
        const auto* first = std::get_if<Refusal>(&derived);
        if (first == nullptr || first->message.find("detection target") != 0) return;
        const std::string text = first->message;
        const std::string words = "at least ";
        const auto at = text.find(words);
        RC_ASSERT(at != std::string::npos);
        RC_TAG("refused");
        job.detection_target = milliseconds(std::stoll(text.substr(at + words.size())));
        const auto again = derive_timeouts(job);
        const auto* refusal = std::get_if<Refusal>(&again);
        const bool target_again =
            refusal != nullptr && refusal->message.find("detection target") == 0;
        RC_ASSERT(!target_again);  // RC_ASSERT itself does not stop at the first half of an ||
      },
      {.max_success = 2000});
}

TEST(TimeoutsProperty, a_lease_granted_elsewhere_is_over_with_drift) {
  test::check("with_drift covers two clocks that drift by less than 1 %", {}, [] {
    const Duration lease = milliseconds(*rc::gen::inRange(1, 10'000'000));
    // The granter's clock is the slowest allowed, the holder's the fastest.
    const Duration by_granter = with_drift(lease);
    RC_ASSERT(by_granter / 101 * 100 > lease / 99 * 99 - lease / 100);
    RC_ASSERT(by_granter > lease + lease / 50);
  });
}

}  // namespace
}  // namespace elastic
