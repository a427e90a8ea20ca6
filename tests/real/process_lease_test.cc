// Leases on real processes: what runs without one is stopped, and what is superseded is killed.
#include <sys/prctl.h>

#include "tests/real/process_stage.h"
#include "transport/real/process/own_children.h"

namespace elastic::real::test {
namespace {

using std::chrono::milliseconds;

WorkerGroupOptions leases(Duration lease, Duration orphan) {
  WorkerGroupOptions options;
  options.timeouts.lease = lease;
  options.timeouts.orphan = orphan;
  return options;
}

const char* const kFamily =
    "sleep 600 & echo child=$!; setsid sh -c 'echo far=$$; exec sleep 600' & "
    "echo self=$$; wait";

struct Family {
  pid_t worker, child, far;
  bool all(bool (*is)(pid_t)) const { return is(worker) && is(child) && is(far); }
};
Family family_of(Stage& stage) {
  stage.until_said("self=");
  stage.until_said("far=");
  stage.until_said("child=");
  const std::string text = stage.line.text();
  return {pid_in(text, "self"), pid_in(text, "child"), pid_in(text, "far")};
}

TEST(WorkerLease, at_its_end_the_whole_tree_is_stopped_and_a_renewal_lets_it_continue) {
  Stage stage(leases(milliseconds(150), std::chrono::hours(1)));
  stage.start({kFamily});
  const Family family = family_of(stage);
  EXPECT_TRUE(eventually([&] { return family.all(stopped); }));
  stage.group->renew(monotonic_now() + std::chrono::hours(2), round_of(1));
  EXPECT_TRUE(eventually([&] { return family.all(runs); }));
  stage.group->stop(true);
  ASSERT_TRUE(stage.until_over());
  EXPECT_TRUE(stage.nothing_left());
}

TEST(WorkerLease, one_that_is_over_at_the_start_stops_the_workers_at_once) {
  Stage stage(leases(milliseconds(1), std::chrono::hours(1)));
  stage.start({"echo self=$$; exec sleep 600"}, monotonic_now() - milliseconds(10));
  pid_t worker = 0;
  EXPECT_TRUE(eventually([&] {
    for (const ProcessStat& process : descendants(::getpid())) {
      if (process.parent != ::getpid()) worker = process.pid;
    }
    return worker != 0 && stopped(worker);
  }));
  stage.group->renew(monotonic_now() + std::chrono::hours(2), round_of(1));
  EXPECT_TRUE(stage.until_said("self="));
  stage.group->stop(true);
  ASSERT_TRUE(stage.until_over());
}

TEST(WorkerLease, an_acknowledgement_that_names_an_older_round_renews_nothing) {
  Stage stage(leases(milliseconds(150), std::chrono::hours(1)));
  stage.start({kFamily}, {}, 5);
  const Family family = family_of(stage);
  stage.group->renew(monotonic_now() + std::chrono::hours(2), round_of(4));
  EXPECT_TRUE(eventually([&] { return family.all(stopped); }));
  stage.group->stop(true);
  ASSERT_TRUE(stage.until_over());
}

TEST(WorkerLease, a_newer_round_kills_the_tree) {
  Stage stage;
  stage.start({kFamily, "exec sleep 600"});
  family_of(stage);
  stage.group->renew(monotonic_now(), round_of(2));
  ASSERT_TRUE(stage.until_over());
  ASSERT_EQ(stage.ends.size(), 2U);
  for (const WorkerEnd& end : stage.ends) EXPECT_EQ(end.status, (ExitStatus{0, SIGKILL}));
  EXPECT_TRUE(stage.nothing_left());
}

TEST(WorkerLease, a_tree_that_is_being_terminated_keeps_its_grace_when_a_newer_round_comes) {
  Stage stage;
  stage.start({"trap 'sleep 0.2; echo saved; exit 6' TERM; echo up; while :; do sleep 0.01; done"});
  ASSERT_TRUE(stage.until_said("up"));
  stage.group->stop(false);
  stage.group->renew(monotonic_now(), round_of(2));
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{6, 0}));
}

TEST(WorkerLease, a_stopped_tree_that_is_told_to_stop_is_killed_because_it_cannot_act_on_SIGTERM) {
  Stage stage(leases(milliseconds(100), std::chrono::hours(1)));
  stage.start({kFamily});
  const Family family = family_of(stage);
  ASSERT_TRUE(eventually([&] { return family.all(stopped); }));
  stage.group->stop(false);
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{0, SIGKILL}));
  EXPECT_TRUE(stage.nothing_left());
}

TEST(WorkerLease, at_the_orphan_bound_the_tree_is_killed_without_an_order) {
  Stage stage(leases(milliseconds(100), milliseconds(400)));
  stage.start({kFamily});
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{0, SIGKILL}));
  EXPECT_TRUE(stage.nothing_left());
}

TEST(WorkerLease, a_stopped_process_that_somebody_lets_continue_is_stopped_again) {
  Stage stage(leases(milliseconds(100), std::chrono::hours(1)));
  stage.start({kFamily});
  const Family family = family_of(stage);
  ASSERT_TRUE(eventually([&] { return family.all(stopped); }));
  for (int times = 0; times < 20; ++times) ::kill(family.worker, SIGCONT);
  EXPECT_TRUE(eventually([&] { return stopped(family.worker); }));
  stage.group->stop(true);
  ASSERT_TRUE(stage.until_over());
}

TEST(WorkerLease, a_Ctrl_C_in_the_terminal_reaches_neither_supervisor_nor_workers) {
  Stage stage;
  stage.start({"echo up; exec sleep 600"});
  ASSERT_TRUE(stage.until_said("up"));
  ASSERT_TRUE(stage.until([&] { return stage.started.size() == 1; }));
  const auto worker = read_stat(stage.started[0]);
  ASSERT_TRUE(worker);
  const auto supervisor = read_stat(worker->parent);
  ASSERT_TRUE(supervisor);
  EXPECT_EQ(worker->group, worker->pid);
  EXPECT_EQ(supervisor->group, supervisor->pid);
  EXPECT_NE(supervisor->group, ::getpgrp());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}) {
    ::kill(supervisor->pid, signal);
  }
  stage.group->kill_worker(0);
  ASSERT_TRUE(stage.until_over());
  EXPECT_EQ(stage.ends[0].status, (ExitStatus{0, SIGKILL}));
  EXPECT_TRUE(stage.warnings.empty());
}

// A child of the test that is an agent: starts a tree, and renews its lease until it is killed.
class Agent {
 public:
  Agent(Lifeline& line, Duration lease, Duration orphan) {
    pid_ = ::fork();
    if (pid_ == 0) live(line, lease, orphan);
    declare_own_child(pid_);
  }
  ~Agent() { end(); }
  pid_t pid() const { return pid_; }
  void signal(int signal) { ::kill(pid_, signal); }
  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    forget_own_child(pid_);
    pid_ = 0;
  }

 private:
  [[noreturn]] static void live(Lifeline& line, Duration lease, Duration orphan) {
    Stage stage(leases(lease, orphan));
    stage.group->start(round_of(1), monotonic_now(), {shell(kFamily, line.write_end())});
    line.let_go();
    stage.line.let_go();
    const Time end = monotonic_now() + kPatience * 4;
    while (monotonic_now() < end) {
      stage.group->renew(monotonic_now(), round_of(1));
      stage.loop.restart();
      stage.loop.run_one_for(milliseconds(5));
    }
    ::_exit(1);
  }

  pid_t pid_ = 0;
};

Family family_of(Lifeline& line) {
  eventually([&] {
    const std::string& text = line.text();
    return pid_in(text, "self") != 0 && pid_in(text, "child") != 0 && pid_in(text, "far") != 0;
  });
  const std::string text = line.text();
  return {pid_in(text, "self"), pid_in(text, "child"), pid_in(text, "far")};
}

TEST(AgentLost, when_an_agent_is_killed_its_tree_is_stopped_at_once_and_dead_by_the_orphan_bound) {
  Lifeline line;
  // Stopped long before the lease is over: because the agent's pipe has closed.
  Agent agent(line, std::chrono::hours(1), std::chrono::seconds(3));
  const Family family = family_of(line);
  line.let_go();
  ASSERT_TRUE(family.all(runs));
  agent.end();
  EXPECT_TRUE(eventually([&] { return family.all(stopped); }));
  EXPECT_TRUE(eventually([&] { return line.all_gone(); }));
  EXPECT_TRUE(family.all(gone));
}

TEST(AgentLost,
     when_an_agent_is_frozen_its_tree_is_stopped_at_the_end_of_the_lease_and_killed_later) {
  Lifeline line;
  Agent agent(line, milliseconds(300), std::chrono::seconds(2));
  const Family family = family_of(line);
  line.let_go();
  agent.signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return family.all(stopped); }));
  EXPECT_TRUE(eventually([&] { return line.all_gone(); }));
}

TEST(AgentLost, when_a_frozen_agent_thaws_before_the_orphan_bound_its_tree_continues) {
  Lifeline line;
  Agent agent(line, milliseconds(300), std::chrono::hours(1));
  const Family family = family_of(line);
  line.let_go();
  agent.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return family.all(stopped); }));
  agent.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return family.all(runs); }));
  ::kill(read_stat(family.worker)->parent, SIGKILL);  // the agent ends what is left of the tree
  EXPECT_TRUE(eventually([&] { return line.all_gone(); }));
}

}  // namespace
}  // namespace elastic::real::test
