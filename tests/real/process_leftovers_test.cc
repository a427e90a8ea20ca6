// A new life of an agent, and what the one before it has left.
#include <sys/prctl.h>

#include <fstream>

#include "tests/real/process_stage.h"
#include "transport/real/process/leftovers.h"
#include "transport/real/process/own_children.h"
#include "transport/real/process/supervisor_main.h"

namespace elastic::real::test {
namespace {

// An agent in a child process that starts a tree, and is killed: the tree is then stopped, and
// would be killed in two hours.
void lose_an_agent(const Folder& folder, const std::string& mark, Lifeline& line,
                   const std::string& script) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    WorkerGroupOptions options;
    options.state_folder = folder.path();
    options.mark = mark;
    Stage stage(options);
    stage.group->start(round_of(1), monotonic_now(), {shell(script, line.write_end())});
    stage.until([] { return false; });
    ::_exit(1);
  }
  declare_own_child(pid);
  eventually([&] { return line.text().find("ready") != std::string::npos; });
  line.let_go();
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  forget_own_child(pid);
}

LeftoversResult clean(const std::string& folder, const std::string& mark,
                      Duration bound = std::chrono::seconds(30)) {
  boost::asio::io_context loop;
  std::optional<LeftoversResult> result;
  kill_leftovers(loop, {folder, mark, bound}, [&](const LeftoversResult& r) {
    EXPECT_FALSE(result.has_value());
    result = r;
  });
  EXPECT_FALSE(result.has_value()) << "told from within the call";
  loop.run();
  return result.value_or(LeftoversResult{});
}

// A child of this process that sleeps, under this name.
pid_t sleeper(std::string_view name) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NAME, std::string(name).c_str());
    ::sleep(600);
    ::_exit(0);
  }
  declare_own_child(pid);
  return pid;
}

const char* const kTree =
    "(setsid sh -c 'env -i sleep 600 & exit 0'); sleep 600 & echo ready; wait";

TEST(Leftovers, of_an_earlier_life_are_killed_whatever_they_have_done_to_escape) {
  const Folder folder;
  Lifeline line;
  const std::string mark = Stage::new_mark();
  lose_an_agent(folder, mark, line, kTree);
  EXPECT_EQ(read_supervisors(folder.path()).size(), 2U) << "one in use, one spare";
  const LeftoversResult result = clean(folder.path(), mark);
  EXPECT_GE(result.killed, 3U);
  EXPECT_TRUE(result.surviving.empty());
  EXPECT_TRUE(line.all_gone()) << "told before all were gone";
}

TEST(Leftovers, are_found_by_their_mark_when_the_list_is_lost) {
  const Folder folder;
  Lifeline line;
  const std::string mark = Stage::new_mark();
  lose_an_agent(folder, mark, line, "sleep 600 & echo ready; wait");
  std::filesystem::remove(folder / "supervisors");
  EXPECT_GE(clean(folder.path(), mark).killed, 2U);
  EXPECT_TRUE(line.all_gone());
}

TEST(Leftovers, where_there_are_none_this_is_told_as_well) {
  const Folder folder;
  const LeftoversResult result = clean(folder.path(), Stage::new_mark());
  EXPECT_EQ(result.killed, 0U);
  EXPECT_TRUE(result.surviving.empty());
  EXPECT_EQ(clean(folder / "missing", "").killed, 0U);
}

TEST(Leftovers, a_stranger_that_has_got_the_pid_is_left_alone) {
  const Folder folder;
  // Even one of that name.
  const pid_t stranger = sleeper(kSupervisorProcessName);
  ASSERT_TRUE(eventually([&] { return read_stat(stranger)->name == kSupervisorProcessName; }));
  const auto stat = read_stat(stranger);
  ASSERT_TRUE(stat);
  const ProcessName earlier{stranger, stat->start - 1};  // the pid was somebody else's
  ASSERT_EQ(write_supervisors(folder.path(), {&earlier, 1}), "");
  EXPECT_EQ(clean(folder.path(), "").killed, 0U);
  EXPECT_TRUE(runs(stranger));
  // So it is when the machine has been started anew.
  const ProcessName same{stranger, stat->start};
  ASSERT_EQ(write_supervisors(folder.path(), {&same, 1}), "");
  std::string text = read_small_file(folder / "supervisors");
  text.replace(text.find("boot ") + 5, 4, "0000");
  std::ofstream(folder / "supervisors") << text;
  EXPECT_EQ(clean(folder.path(), "").killed, 0U);
  EXPECT_TRUE(runs(stranger));
  // With the right name it would have been killed: the test can fail.
  ASSERT_EQ(write_supervisors(folder.path(), {&same, 1}), "");
  EXPECT_EQ(clean(folder.path(), "").killed, 1U);
  EXPECT_TRUE(gone(stranger));
  ::waitpid(stranger, nullptr, 0);
  forget_own_child(stranger);
}

TEST(Leftovers, a_list_that_makes_no_sense_kills_nobody) {
  const Folder folder;
  const std::string boot = "boot " + boot_id() + "\n";
  for (const std::string& text :
       {std::string(), std::string("\n\n"), boot, boot + "x y\n-1 5\n0 0\n1 1\n99999999999999 3\n",
        boot + std::to_string(::getpid()), std::string(5000, 'a')}) {
    std::ofstream(folder / "supervisors") << text;
    EXPECT_EQ(clean(folder.path(), "").killed, 0U) << text;
  }
}

TEST(Leftovers, a_process_that_is_no_supervisor_is_left_alone) {
  const Folder folder;
  const pid_t stranger = sleeper("train");
  ASSERT_TRUE(eventually([&] { return read_stat(stranger)->name == "train"; }));
  const ProcessName name{stranger, read_stat(stranger)->start};
  ASSERT_EQ(write_supervisors(folder.path(), {&name, 1}), "");
  EXPECT_EQ(clean(folder.path(), "").killed, 0U);
  EXPECT_TRUE(runs(stranger));
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
  forget_own_child(stranger);
}

// The new agent is started from within a worker of an agent of the same name: parent, sibling,
// self. In a tree of its own, so that nothing else dies should this be wrong.
TEST(Leftovers, the_new_life_kills_neither_itself_nor_what_it_was_started_from_nor_its_siblings) {
  const Folder folder;
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::prctl(PR_SET_NAME, std::string(kSupervisorProcessName).c_str());
    const pid_t sibling = ::fork();
    if (sibling == 0) {
      ::sleep(600);
      ::_exit(0);
    }
    const pid_t agent = ::fork();
    if (agent == 0) {
      const ProcessName name{::getppid(), read_stat(::getppid())->start};
      const bool written = write_supervisors(folder.path(), {&name, 1}).empty();
      const auto result = clean(folder.path(), "", std::chrono::milliseconds(50));
      ::_exit(written && result.killed == 0 && result.surviving.empty() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(agent, &status, 0);
    const bool unharmed = status == 0 && ::waitpid(sibling, nullptr, WNOHANG) == 0;
    ::kill(sibling, SIGKILL);
    ::_exit(unharmed ? 0 : 1);
  }
  int status = 0;
  ::waitpid(parent, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Leftovers, a_list_that_cannot_be_written_is_a_warning_that_names_the_file) {
  const ProcessName name{1, 1};
  EXPECT_EQ(write_supervisors("/no/such/folder", {&name, 1}),
            "cannot write /no/such/folder/supervisors: No such file or directory");
}

}  // namespace
}  // namespace elastic::real::test
