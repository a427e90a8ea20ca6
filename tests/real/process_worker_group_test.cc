// Workers under a supervisor: real processes.
#include <fmt/format.h>

#include <algorithm>

#include "tests/real/process_stage.h"

namespace elastic::real::test {
namespace {

// A child that has left the worker's session and whose parent is dead, then one in its own group.
const char* const kEscapes =
    "(setsid sh -c 'sleep 600 & echo escaped=$!; exec env -i sleep 600' & exit 0); "
    "sh -c 'sleep 600 & echo below=$!; exit 0'; ";

TEST(WorkerGroup, a_workers_exit_code_arrives) {
  Stage stage;
  stage.start({"exit 3"});
  ASSERT_TRUE(stage.until_over());
  ASSERT_EQ(stage.ends.size(), 1U);
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{3, 0}));
  EXPECT_EQ(stage.ends[0].pid, stage.started[0]);
  EXPECT_FALSE(stage.group->alive());
  EXPECT_EQ(describe_end(stage.ends[0].status), "exit code 3");
}

TEST(WorkerGroup, a_workers_signal_arrives) {
  Stage stage;
  stage.start({"kill -SEGV $$", "kill -9 $$"});
  ASSERT_TRUE(stage.until_over());
  ASSERT_EQ(stage.ends.size(), 2U);
  std::map<std::uint32_t, ExitStatus> by_rank;
  for (const WorkerEnd& end : stage.ends) by_rank[end.local_rank] = end.status;
  EXPECT_EQ(by_rank[0], (ExitStatus{0, SIGSEGV}));
  EXPECT_EQ(by_rank[1], (ExitStatus{0, SIGKILL}));
  EXPECT_EQ(describe_end(by_rank[0], true), "signal 11 (SIGSEGV), core dumped");
  EXPECT_EQ(std::count_if(stage.ends.begin(), stage.ends.end(),
                          [](const WorkerEnd& end) { return end.last_of_group; }),
            1);
}

TEST(WorkerGroup, sixty_four_workers_start_and_each_tells_its_own_end) {
  Stage stage;
  std::vector<std::string> scripts;
  for (int rank = 0; rank < 64; ++rank) scripts.push_back(fmt::format("exit {}", rank));
  stage.start(scripts);
  ASSERT_TRUE(stage.until_over());
  ASSERT_EQ(stage.ends.size(), 64U);
  std::set<std::uint32_t> ranks;
  for (const WorkerEnd& end : stage.ends) {
    ranks.insert(end.local_rank);
    EXPECT_EQ(end.status.code, static_cast<int>(end.local_rank));
  }
  EXPECT_EQ(ranks.size(), 64U);
  EXPECT_TRUE(stage.nothing_left());
}

TEST(WorkerGroup, more_workers_than_one_message_can_carry) {
  Stage stage;
  stage.start(std::vector<std::string>(250, "exit 0"));
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends.size(), 250U);
}

TEST(WorkerGroup, a_program_that_is_not_found_ends_with_127_and_says_so) {
  Stage stage;
  WorkerSpec spec = shell("", stage.line.write_end());
  spec.argv = {"no-such-program-here"};
  stage.group->start(round_of(1), monotonic_now(), {spec});
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{127, 0}));
  EXPECT_EQ(stage.failed[0], "cannot run no-such-program-here: No such file or directory");
  EXPECT_TRUE(stage.started.empty());
}

TEST(WorkerGroup, a_program_that_is_not_executable_ends_with_126_and_says_so) {
  Stage stage;
  const Folder folder;
  std::ofstream(folder / "train.sh") << "#!/bin/sh\n";
  WorkerSpec spec = shell("", stage.line.write_end());
  spec.argv = {folder / "train.sh"};
  WorkerSpec nowhere = shell("true", stage.line.write_end());
  nowhere.cwd = folder / "missing";
  stage.group->start(round_of(1), monotonic_now(), {spec, nowhere});
  ASSERT_TRUE(stage.until_over());
  for (const WorkerEnd& end : stage.ends) EXPECT_EQ(end.status, (ExitStatus{126, 0}));
  EXPECT_NE(stage.failed[0].find("Permission denied; is it executable"), std::string::npos);
  EXPECT_EQ(stage.failed[1],
            "cannot enter the folder " + folder.path() + "/missing: No such file or directory");
}

TEST(WorkerGroup, a_worker_gets_its_environment_folder_and_streams_and_nothing_else) {
  Stage stage;
  Lifeline errors;
  WorkerSpec spec = shell(
      "pwd; echo mine=$MINE; echo home=${HOME-none}; ls /proc/self/fd | wc -l; "
      "if read line; then echo input; else echo no input; fi; echo to-err >&2; "
      "grep -E 'Sig(Blk|Ign)' /proc/self/status; echo group=$(ps -o pgid= -p $$) self=$$",
      stage.line.write_end());
  spec.env = environment({"MINE=a b=c"});
  spec.cwd = "/usr";
  spec.err = errors.write_end();
  stage.group->start(round_of(1), monotonic_now(), {spec});
  ASSERT_TRUE(stage.until_over());
  const std::string& said = stage.line.text();
  EXPECT_NE(said.find("/usr\nmine=a b=c\nhome=none\n4\nno input\n"), std::string::npos) << said;
  EXPECT_EQ(errors.text(), "to-err\n");
  EXPECT_NE(said.find("SigBlk:\t0000000000000000"), std::string::npos) << said;
  EXPECT_NE(said.find("SigIgn:\t0000000000000000"), std::string::npos) << said;
}

TEST(WorkerGroup, a_kill_ends_grandchildren_that_double_forked_and_left_the_session) {
  Stage stage;
  stage.start({std::string(kEscapes) + "echo ready; sleep 600"});
  ASSERT_TRUE(stage.until_said("ready"));
  ASSERT_TRUE(stage.until_said("escaped="));
  const pid_t escaped = pid_in(stage.line.text(), "escaped");
  ASSERT_TRUE(runs(escaped));
  stage.group->stop(true);
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{0, SIGKILL}));
  EXPECT_TRUE(gone(escaped));
  EXPECT_TRUE(stage.nothing_left());
}

TEST(WorkerGroup, what_the_last_worker_leaves_behind_is_gone_before_its_exit_is_told) {
  Stage stage;
  stage.start({std::string(kEscapes) + "exit 0"});
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{0, 0}));
  stage.line.let_go();
  EXPECT_TRUE(stage.line.all_gone());
}

TEST(WorkerGroup, a_helper_that_ends_by_itself_after_its_worker_is_left_to_do_so) {
  WorkerGroupOptions options;
  options.straggler_grace = std::chrono::minutes(5);
  Stage stage(options);
  stage.start({"(sleep 0.2; echo cleaned) & exit 1"});
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.line.text(), "cleaned\n");
}

TEST(WorkerGroup, SIGTERM_reaches_the_workers_and_not_their_children) {
  Stage stage;
  // The worker ends on TERM only once its child, which would say that it got one, is asked to end.
  const std::string script =
      "sh -c 'trap \"echo child got TERM\" TERM; echo up; while [ ! -e $DONE ]; do sleep 0.02; "
      "done; echo child ended' & trap 'echo worker got TERM; touch $DONE; wait; exit 5' TERM; "
      "while :; do wait; done";
  const Folder folder;
  WorkerSpec spec = shell(script, stage.line.write_end());
  spec.env = environment({"DONE=" + (folder / "done")});
  stage.group->start(round_of(1), monotonic_now(), {spec});
  ASSERT_TRUE(stage.until_said("up"));
  ::usleep(50'000);  // the traps are set
  stage.group->stop(false);
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{5, 0}));
  EXPECT_NE(stage.line.text().find("worker got TERM"), std::string::npos);
  EXPECT_NE(stage.line.text().find("child ended"), std::string::npos);
  EXPECT_EQ(stage.line.text().find("child got TERM"), std::string::npos);
}

TEST(WorkerGroup, a_signal_is_forwarded_to_workers_without_stopping_them) {
  Stage stage;
  stage.start({"trap 'echo saved; exit 0' USR1; echo up; while :; do sleep 0.01; done"});
  ASSERT_TRUE(stage.until_said("up"));
  stage.group->forward(SIGUSR1);
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.line.text(), "up\nsaved\n");
}

TEST(WorkerGroup, one_worker_is_killed_with_its_children_and_the_others_go_on) {
  Stage stage;
  stage.start({"sleep 600 & echo first=$!; wait", "sleep 600 & echo second=$!; wait"});
  ASSERT_TRUE(stage.until_said("first="));
  ASSERT_TRUE(stage.until_said("second="));
  stage.group->kill_worker(0);
  ASSERT_TRUE(stage.until([&] { return !stage.ends.empty(); }));
  EXPECT_EQ(stage.ends[0].local_rank, 0U);
  EXPECT_FALSE(stage.ends[0].last_of_group);
  EXPECT_TRUE(eventually([&] { return gone(pid_in(stage.line.text(), "first")); }));
  EXPECT_TRUE(runs(stage.started[1]));
  EXPECT_TRUE(runs(pid_in(stage.line.text(), "second")));
  stage.group->stop(true);
  ASSERT_TRUE(stage.until_over());
  EXPECT_TRUE(stage.nothing_left());
}

TEST(WorkerGroup, a_worker_that_SIGKILL_does_not_end_is_named_and_does_not_block) {
  WorkerGroupOptions options;
  options.supervisor_name = "elastic-supervisor-unkillable";
  options.unkillable_after = std::chrono::milliseconds(100);
  Stage stage(options);
  stage.start({"exec sleep 600", "exec sleep 600"});
  ASSERT_TRUE(stage.until([&] { return stage.started.size() == 2; }));
  stage.group->stop(true);
  ASSERT_TRUE(stage.until_over());
  ASSERT_EQ(stage.unkillable.size(), 2U);
  EXPECT_NE(stage.unkillable[0].find(std::to_string(stage.started[0]) + " (sleep, state"),
            std::string::npos)
      << stage.unkillable[0];
  ASSERT_EQ(stage.ends.size(), 2U);
  for (const WorkerEnd& end : stage.ends) EXPECT_EQ(end.status, (ExitStatus{0, SIGKILL}));
  EXPECT_FALSE(stage.group->alive());
  // The agent goes on.
  const std::map<std::uint32_t, pid_t> hang = stage.started;
  stage.ends.clear();
  stage.start({"exit 4"}, {}, 2);
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{4, 0}));
  for (const auto& [rank, pid] : hang) ::kill(pid, SIGKILL);
  EXPECT_TRUE(stage.nothing_left());
}

TEST(WorkerGroup, when_the_supervisor_is_killed_all_its_workers_are_reported_and_nothing_is_left) {
  Stage stage;
  stage.start({std::string(kEscapes) + "echo ready; sleep 600", "echo ready; exec sleep 600"});
  ASSERT_TRUE(stage.until_said("ready", 2));
  ASSERT_TRUE(stage.until([&] { return stage.started.size() == 2; }));
  ASSERT_TRUE(stage.until_said("escaped="));
  const auto worker = read_stat(stage.started[0]);
  ASSERT_TRUE(worker);
  ASSERT_EQ(read_stat(worker->parent)->name, "elastic-super");
  ::kill(worker->parent, SIGKILL);
  ASSERT_TRUE(stage.until_over());
  ASSERT_EQ(stage.ends.size(), 2U);
  for (const WorkerEnd& end : stage.ends) EXPECT_EQ(end.status, (ExitStatus{0, SIGKILL}));
  EXPECT_TRUE(stage.nothing_left());
  stage.ends.clear();
  Lifeline again;
  stage.group->start(round_of(2), monotonic_now(), {shell("exit 7", again.write_end())});
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{7, 0}));
}

TEST(WorkerGroup, a_spare_supervisor_that_was_killed_is_replaced_unseen) {
  Stage stage;
  pid_t spare = 0;
  ASSERT_TRUE(eventually([&] {
    for (const ProcessStat& process : descendants(::getpid())) {
      if (process.name == "elastic-super") spare = process.pid;
    }
    return spare != 0;
  }));
  ::kill(spare, SIGKILL);
  ASSERT_TRUE(eventually([&] { return gone(spare); }));
  stage.start({"exit 2"});
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{2, 0}));
}

TEST(WorkerGroup, a_frozen_supervisor_does_not_keep_a_kill_order_from_being_carried_out) {
  WorkerGroupOptions options;
  options.unkillable_after = std::chrono::milliseconds(10);
  Stage stage(options);
  stage.start({"echo up; exec sleep 600"});
  ASSERT_TRUE(stage.until_said("up"));
  ASSERT_TRUE(stage.until([&] { return stage.started.size() == 1; }));
  ::kill(read_stat(stage.started[0])->parent, SIGSTOP);
  stage.group->stop(true);
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{0, SIGKILL}));
  EXPECT_TRUE(stage.nothing_left());
}

TEST(WorkerGroup, a_supervisor_that_cannot_be_started_is_reported_for_every_worker) {
  WorkerGroupOptions options;
  options.supervisor_program = "/no/such/program";
  Stage stage(options);
  stage.start({"exit 0", "exit 0"});
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends.size(), 2U);
  EXPECT_EQ(stage.failed[1],
            "cannot start the supervisor (/no/such/program): No such file or directory");
}

TEST(WorkerGroup, two_hundred_starts_and_stops_leave_no_descriptor_and_no_process) {
  Stage stage;
  const auto open_descriptors = [] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      ++count;
    return count;
  };
  std::size_t before = 0;
  for (std::uint64_t cycle = 1; cycle <= 200; ++cycle) {
    stage.ends.clear();
    stage.start({"exec sleep 600"}, {}, cycle);
    if (cycle % 2 == 0) {
      ASSERT_TRUE(stage.until([&] { return !stage.started.empty(); }));
    }
    stage.group->stop(cycle % 4 < 2);
    ASSERT_TRUE(stage.until_over()) << "cycle " << cycle;
    stage.started.clear();
    const auto settled = [&] { return descendants(::getpid()).size() == 1; };  // the spare alone
    if (cycle == 20 || cycle == 200) {
      stage.group->prepare();
      ASSERT_TRUE(stage.until(settled)) << "cycle " << cycle;
      if (cycle == 20) before = open_descriptors();
    }
  }
  EXPECT_EQ(open_descriptors(), before);
  stage.group.reset();
  EXPECT_TRUE(stage.nothing_left());
}

// No assertion: the figure is for the reader.
TEST(WorkerGroup, from_start_to_all_programs_running_is_measured) {
  for (const std::size_t workers : {1U, 8U, 64U}) {
    Stage stage;
    std::vector<Duration> took;
    for (std::uint64_t cycle = 1; cycle <= 30; ++cycle) {
      stage.ends.clear();
      stage.started.clear();
      // The spare is ready, as it is when a job has run for a moment.
      stage.until([n = 0]() mutable { return ++n > 10; });
      const Time begin = monotonic_now();
      stage.start(std::vector<std::string>(workers, "exec sleep 600"), {}, cycle);
      ASSERT_TRUE(stage.until([&] { return stage.started.size() == workers; }));
      took.push_back(monotonic_now() - begin);
      stage.group->stop(true);
      ASSERT_TRUE(stage.until_over());
    }
    std::sort(took.begin(), took.end());
    const auto ms = [](Duration d) { return static_cast<double>(d.count()) / 1e6; };
    fmt::print("start() to {} programs running: p50 {:.2f} ms, max {:.2f} ms\n", workers,
               ms(took[took.size() / 2]), ms(took.back()));
  }
}

}  // namespace
}  // namespace elastic::real::test
