// Options as the job of core/, and ends as exit statuses.
#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "apps/elastic-run/exit_codes.h"
#include "apps/elastic-run/job.h"
#include "tests/real/run_options_support.h"

namespace elastic::launch {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(RunJob, is_what_the_options_say) {
  const Options options = parsed(
      {"--nnodes=2:8", "--rdzv-endpoint=h", "--nproc-per-node=4", "--max-restarts=3",
       "--restart-policy=exit-code", "--grow=never", "--min-healthy=3", "--shutdown-timeout=5",
       "--detection-target=300ms", "--rdzv-conf",
       "join_timeout=60,last_call_timeout=4,last_call_cap=9,orphan_bound=1h,journal_lost_after="
       "2min,"
       "cool_down=3s,resize_deadline=6s,budget_reset=7min,restart_back_off=2s,"
       "restart_back_off_cap=8s,max_churn=5,node_unit=2,min_healthy_grace=4min,start_up=9min",
       "t.py"});
  const JobConfig job = job_config(options, NodeId{9});
  EXPECT_EQ(job.min_nodes, 2U);
  EXPECT_EQ(job.max_nodes, 8U);
  EXPECT_EQ(job.node_unit, 2U);
  EXPECT_EQ(job.workers_per_node, 4U);
  EXPECT_EQ(job.workers, WorkerKind::kForeign);
  EXPECT_EQ(job.journal, JournalKind::kHosted);
  EXPECT_EQ(job.journal_host, NodeId{9});
  EXPECT_EQ(job.detection_target, milliseconds(300));
  EXPECT_EQ(job.bounds.round_trip, milliseconds(15));
  EXPECT_EQ(job.bounds.journal, milliseconds(60));
  EXPECT_EQ(job.bounds.pause, milliseconds(60));
  EXPECT_EQ(job.bounds.start_up, minutes(9));
  EXPECT_EQ(job.orphan_bound, hours(1));
  EXPECT_EQ(job.journal_lost_after, minutes(2));
  EXPECT_EQ(job.last_call, seconds(4));
  EXPECT_EQ(job.last_call_cap, seconds(9));
  EXPECT_EQ(job.join_timeout, minutes(1));
  EXPECT_EQ(job.growth, Growth::kNever);
  EXPECT_EQ(job.cool_down, seconds(3));
  EXPECT_EQ(job.resize_deadline, seconds(6));
  EXPECT_EQ(job.restart_policy, RestartPolicy::kExitCode);
  EXPECT_EQ(job.max_restarts, 3U);
  EXPECT_EQ(job.budget_reset, minutes(7));
  EXPECT_EQ(job.stop_grace, seconds(5));
  EXPECT_EQ(job.restart_back_off.base, seconds(2));
  EXPECT_EQ(job.restart_back_off.cap, seconds(8));
  EXPECT_EQ(job.max_churn, 5U);
  EXPECT_EQ(job.health.min_healthy, 3U);
  EXPECT_EQ(job.health.grace, minutes(4));
}

TEST(RunJob, at_the_default_target_generous_bounds_are_declared) {
  const JobConfig job = job_config(parsed({"t.py"}), NodeId{1});
  EXPECT_EQ(job.detection_target, seconds(1));
  EXPECT_EQ(job.bounds.round_trip, milliseconds(20));
  EXPECT_EQ(job.bounds.journal, milliseconds(100));
  EXPECT_EQ(job.bounds.pause, milliseconds(100));
  EXPECT_EQ(job.max_restarts, 0U);
  EXPECT_EQ(job.last_call, seconds(3));
  EXPECT_EQ(job.join_timeout, minutes(10));
  EXPECT_EQ(job.stop_grace, seconds(30));
}

TEST(RunEnds, each_reason_has_its_status_and_a_sentence) {
  const struct {
    ExitReason reason;
    int status;
  } table[] = {
      {ExitReason::kSucceeded, 0},    {ExitReason::kProgramFailed, 1},
      {ExitReason::kGaveUp, 10},      {ExitReason::kStopped, 11},
      {ExitReason::kLeft, 11},        {ExitReason::kJournalLost, 13},
      {ExitReason::kJoinTimeout, 10}, {ExitReason::kNoProgress, 1},
      {ExitReason::kTooFewNodes, 12}, {ExitReason::kSavesLost, 10},
  };
  std::set<std::string> sentences;
  for (const auto& [reason, status] : table) {
    const End end{.reason = reason};
    EXPECT_EQ(exit_status(end, ExitCodes::kOwn), status) << explain(end);
    EXPECT_EQ(exit_status(end, ExitCodes::kProgram), status) << explain(end);
    EXPECT_TRUE(sentences.insert(explain(end)).second) << explain(end);
    EXPECT_EQ(explain(end).find('\n'), std::string::npos);
    EXPECT_NE(explain(end).back(), '.');
    bool listed = false;
    for (const ExitLine& line : exit_table()) listed |= line.status == status;
    EXPECT_TRUE(listed) << status;
  }
}

TEST(RunEnds, a_node_that_gives_up_says_what_it_waited_for) {
  const auto status = [](WaitReason reason) {
    return exit_status({.reason = ExitReason::kJoinTimeout, .waited_for = reason}, ExitCodes::kOwn);
  };
  EXPECT_EQ(status(WaitReason::kBelowMin), kExitBelowMinimum);
  EXPECT_EQ(status(WaitReason::kNone), kExitInfrastructure);
  EXPECT_EQ(status(WaitReason::kSpare), kExitInfrastructure);
  EXPECT_EQ(explain({.reason = ExitReason::kJoinTimeout, .waited_for = WaitReason::kBelowMin}),
            "no place in a round within join_timeout: there were fewer nodes than the minimum");
  std::set<std::string> sentences;
  for (int i = 0; i <= static_cast<int>(WaitReason::kBackOff); ++i) {
    const auto reason = static_cast<WaitReason>(i);
    sentences.insert(explain({.reason = ExitReason::kJoinTimeout, .waited_for = reason}));
  }
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(WaitReason::kBackOff) + 1);
}

TEST(RunEnds, a_programs_own_code_is_passed_on_where_asked_for) {
  const auto status = [](ExitStatus failure, ExitCodes whose) {
    return exit_status({.reason = ExitReason::kProgramFailed, .first_failure = failure}, whose);
  };
  EXPECT_EQ(status({85, 0}, ExitCodes::kOwn), 1);
  EXPECT_EQ(status({85, 0}, ExitCodes::kProgram), 85);
  EXPECT_EQ(status({0, SIGKILL}, ExitCodes::kProgram), 137);
  EXPECT_EQ(status({0, SIGSEGV}, ExitCodes::kOwn), 1);
  // Never a success.
  EXPECT_EQ(status({0, 0}, ExitCodes::kProgram), 1);
  EXPECT_EQ(status({256, 0}, ExitCodes::kProgram), 1);
  EXPECT_EQ(
      explain({.reason = ExitReason::kProgramFailed, .first_failure = ExitStatus{0, SIGKILL}}),
      "the program was ended by SIGKILL, and no restarts are left");
  EXPECT_EQ(explain({.reason = ExitReason::kProgramFailed, .first_failure = ExitStatus{3, 0}}),
            "the program exited with code 3, and no restarts are left");
}

}  // namespace
}  // namespace elastic::launch
