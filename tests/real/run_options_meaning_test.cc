// What options mean together, and what is refused.
#include <gtest/gtest.h>

#include <csignal>

#include "apps/elastic-run/option_table.h"
#include "apps/elastic-run/words.h"
#include "tests/real/run_options_support.h"

namespace elastic::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Words = std::vector<std::string>;

bool says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  ADD_FAILURE() << "\"" << text << "\" says nothing of \"" << part << "\"";
  return false;
}

TEST(RunProgram, all_after_its_name_is_its_own) {
  const Words own{"--nnodes", "2", "--", "-h", "--help", "--standalone", "-m", "", "--x=y"};
  Words argv{"--max-restarts", "1", "train.py"};
  argv.insert(argv.end(), own.begin(), own.end());
  const Options options = parsed(argv);
  EXPECT_EQ(options.program.args, own);
  EXPECT_EQ(options.program.name, "train.py");
  EXPECT_EQ(options.max_nodes, 1U);
  argv.insert(argv.begin() + 2, "--");
  EXPECT_EQ(parsed(argv).program.args, own);
}

TEST(RunProgram, after_two_dashes_anything_may_be_its_name) {
  EXPECT_EQ(parsed({"--", "-odd.py", "--", "x"}).program.name, "-odd.py");
  EXPECT_EQ(parsed({"--", "-odd.py", "--", "x"}).program.args, (Words{"--", "x"}));
  EXPECT_EQ(parsed({"--", "status", "gpu-0"}).program.name, "status");
  EXPECT_EQ(parsed({"./status", "gpu-0"}).action, Action::kRun);
  EXPECT_EQ(parsed({"--role", "x", "status", "gpu-0"}).program.name, "status");
  EXPECT_EQ(parsed({"status", "gpu-0"}).action, Action::kStatus);
}

TEST(RunProgram, an_executable_file_without_py_is_executed_as_it_is) {
  Machine machine = some_machine();
  machine.file = [](const std::string& path) {
    if (path == "run" || path == "tools/run" || path == "train.py") return FileKind::kExecutable;
    return path == "plain" ? FileKind::kPlain : FileKind::kAbsent;
  };
  const auto program = [&](const Words& argv) { return parsed(argv, {}, machine).program; };
  EXPECT_EQ(program({"tools/run", "a"}), (Program{ProgramKind::kExecutable, "tools/run", {"a"}}));
  EXPECT_EQ(program({"run"}), (Program{ProgramKind::kExecutable, "./run", {}}));
  EXPECT_EQ(program({"train.py"}).kind, ProgramKind::kScript);
  EXPECT_EQ(program({"plain"}).kind, ProgramKind::kScript);
  EXPECT_EQ(program({"--no-python", "nvidia-smi"}).name, "nvidia-smi");
  EXPECT_EQ(program({"-m", "package.train"}).kind, ProgramKind::kModule);
  EXPECT_EQ(program({"--run-path", "--no-python", "run"}).kind, ProgramKind::kRunPath);
  EXPECT_EQ(refused({"trian.py"}, {}, machine), "there is no file \"trian.py\"");
  EXPECT_EQ(refused({"sleep", "1"}, {}, machine),
            "there is no file \"sleep\"; for a program in PATH write --no-python, for a Python "
            "module -m");
  EXPECT_EQ(refused({"stauts", "gpu-0"}, {}, machine),
            "there is no file \"stauts\"; did you mean the subcommand status?");
}

TEST(RunProgram, ways_to_run_it_that_contradict_each_other_are_refused) {
  says(refused({"-m", "--no-python", "x"}), "-m and --no-python contradict each other");
  says(refused({"--module", "x"}, {{"PET_RUN_PATH", "1"}}), "--module and PET_RUN_PATH contradict");
  says(refused({}), "no program is given");
  says(refused({"--nnodes", "2"}), "no program is given");
  says(refused({""}), "the name of the program is empty");
}

TEST(RunWords, a_mistyped_or_shortened_option_is_refused_with_a_suggestion) {
  EXPECT_EQ(refused({"--nnode", "2", "t.py"}),
            "unknown option \"--nnode\"; options are not shortened: did you mean \"--nnodes\"?");
  EXPECT_EQ(refused({"--nproc_per_nod=2", "t.py"}),
            "unknown option \"--nproc_per_nod\"; options are not shortened: did you mean "
            "\"--nproc_per_node\"?");
  says(refused({"--rdzv-bakend", "c10d"}), "did you mean \"--rdzv-backend\"?");
  says(refused({"--rdzv_bakend", "c10d"}), "did you mean \"--rdzv_backend\"?");
  says(refused({"-nnodes", "2"}), "did you mean \"--nnodes\"?");
  says(refused({"--d", "2"}), "\"--duplicate-stdout-filters\" or \"--duplicate-stderr-filters\"?");
  says(refused({"--min-nodes", "2"}), "write --nnodes MIN:MAX");
  says(refused({"-x"}), "unknown option \"-x\"");
  says(refused({"--node", "x", "t.py"}), "unknown option \"--node\"");
}

TEST(RunWords, every_shortened_name_is_refused) {
  for (const OptionSpec& spec : option_table()) {
    for (std::size_t length = 3; length < spec.name.size(); ++length) {
      const std::string shortened(spec.name.substr(0, length));
      bool is_one = false;
      for (const OptionSpec& other : option_table()) is_one |= other.name == shortened;
      if (!is_one) says(refused({shortened, "1", "t.py"}), "unknown option");
    }
  }
}

TEST(RunWords, a_value_that_is_lacking_is_missed) {
  EXPECT_EQ(refused({"--nnodes"}), "--nnodes needs a value: N|MIN:MAX");
  says(refused({"--rdzv-id", "--nnodes", "2", "t.py"}), "write --rdzv-id=--nnodes");
  EXPECT_EQ(parsed({"--rdzv-id=--nnodes", "t.py"}).job_id, "--nnodes");
  says(refused({"--standalone=1", "t.py"}), "--standalone takes no value");
  says(refused({"-mpackage", "t.py"}), "options are not joined; write -m package");
  says(refused({"--max-restarts", "-1", "t.py"}), "--max-restarts: \"-1\" is not a number");
  says(refused({"-r", "train.py"}),
       "-r: column 1: \"train.py\" is no mode: write 0 (none), 1 (stdout)");
}

TEST(RunNodes, numbers_and_ranges_are_checked) {
  const Words end{"--rdzv-endpoint=h", "t.py"};
  const auto with = [&](const std::string& nnodes) {
    Words argv{"--nnodes", nnodes};
    argv.insert(argv.end(), end.begin(), end.end());
    return argv;
  };
  EXPECT_EQ(parsed(with("4")).min_nodes, 4U);
  EXPECT_EQ(parsed(with("1:4")).min_nodes, 1U);
  for (const char* bad :
       {"", ":", "2:", ":2", "1:2:3", "x", "2x", "-1", "1.5", "99999999999", " 2"}) {
    says(refused({std::string("--nnodes=") + bad, "t.py"}), "--nnodes: ");
  }
  EXPECT_EQ(refused(with("3:2")), "--nnodes: \"3:2\" has its ends the wrong way round; write 2:3");
  EXPECT_EQ(refused(with("0")), "--nnodes: \"0\": at least 1 node is needed");
}

TEST(RunNodes, workers_follow_the_machine) {
  Machine machine = some_machine();
  const auto workers = [&](const char* text) {
    return parsed({"--nproc-per-node", text, "t.py"}, {}, machine).workers_per_node;
  };
  EXPECT_EQ(workers("3"), 3U);
  EXPECT_EQ(workers("auto"), 4U);
  EXPECT_EQ(workers("gpu"), 4U);
  EXPECT_EQ(workers("cpu"), 12U);
  machine.gpus = 0;
  EXPECT_EQ(workers("auto"), 12U);
  EXPECT_EQ(lines(parsed({"--nproc-per-node=auto", "t.py"}, {}, machine).notices),
            "--nproc-per-node auto: there is no GPU, so 12 workers, one for each CPU\n");
  EXPECT_EQ(refused({"--nproc-per-node=gpu", "t.py"}, {}, machine),
            "--nproc-per-node: there is no GPU on this machine; write a number, or cpu");
  for (const char* bad : {"0", "xpu", "", "4097", "two"}) {
    says(refused({std::string("--nproc-per-node=") + bad, "t.py"}), "nor auto, gpu or cpu");
  }
  says(refused({"--virtual-local-rank", "--nproc-per-node=3", "t.py"},
               {{"CUDA_VISIBLE_DEVICES", "4,5"}}),
       "CUDA_VISIBLE_DEVICES has 2 for 3 workers");
}

TEST(RunNodes, several_agents_here_are_several_nodes) {
  const Options four = parsed({"--nodes-on-this-machine", "4", "t.py"});
  EXPECT_EQ(four.min_nodes, 1U);
  EXPECT_EQ(four.max_nodes, 4U);
  EXPECT_FALSE(four.endpoint);
  EXPECT_EQ(parsed({"--nodes-on-this-machine=4", "--nnodes=2:3", "--spares=1", "t.py"}).spares, 1U);
  says(refused({"--nodes-on-this-machine=4", "--nnodes=2:3", "t.py"}), "say --spares 1");
  EXPECT_FALSE(parsed({"--standalone", "--nodes-on-this-machine=2", "t.py"}).endpoint);
}

TEST(RunRendezvous, several_nodes_need_an_endpoint_that_all_can_reach) {
  says(refused({"--nnodes=2", "t.py"}), "a job of 2 nodes needs --rdzv-endpoint");
  says(refused({"--spares=1", "t.py"}), "a job of 2 nodes needs --rdzv-endpoint");
  says(refused({"--nnodes=2", "--standalone", "t.py"}), "--standalone is for this machine alone");
  for (const char* loopback : {"localhost", "127.0.0.1", "127.1.2.3:500", "[::1]", "[::1]:29400",
                               "[::ffff:127.0.0.1]:1"}) {
    const std::string endpoint = std::string("--rdzv-endpoint=") + loopback;
    says(refused({"--nnodes=2", endpoint, "t.py"}), "is another machine on each of the 2 nodes");
    EXPECT_TRUE(parsed({"--nnodes=1", endpoint, "t.py"}).endpoint);
    EXPECT_TRUE(parsed({"--nodes-on-this-machine=2", endpoint, "t.py"}).endpoint);
    EXPECT_TRUE(parsed({"--nnodes=2", "--local-addr=127.0.0.1", endpoint, "t.py"}).endpoint);
  }
  says(refused({"--nnodes=2", "--rdzv-endpoint=h:0", "t.py"}), "h:0: port 0 is another one");
  EXPECT_FALSE(parsed({"--rdzv-endpoint=localhost:0", "t.py"}).endpoint);
}

TEST(RunRendezvous, endpoints_are_names_and_addresses_of_both_families) {
  const auto endpoint = [](const std::string& text) {
    return parsed({"--rdzv-endpoint=" + text, "t.py"}).endpoint.value_or(Endpoint{});
  };
  EXPECT_EQ(endpoint("gpu-0"), (Endpoint{"gpu-0", 29400}));
  EXPECT_EQ(endpoint("a_b.svc:65535"), (Endpoint{"a_b.svc", 65535}));
  EXPECT_EQ(endpoint("10.0.0.7:1"), (Endpoint{"10.0.0.7", 1}));
  EXPECT_EQ(endpoint("[fd00::7]"), (Endpoint{"fd00::7", 29400}));
  EXPECT_EQ(endpoint("[fe80::1%eth0]:7"), (Endpoint{"fe80::1%eth0", 7}));
  EXPECT_EQ(
      refused({"--rdzv-endpoint=fd00::7:29401", "t.py"}),
      "--rdzv-endpoint: \"fd00::7:29401\" could be an IPv6 address, or one with a port; write "
      "the address in brackets, as in [fd00::7]:29401");
  says(refused({"--rdzv-endpoint=fd00::abcd", "t.py"}), "as in [fd00::abcd]:29400");
  says(refused({"--rdzv-endpoint=tcp://h:1", "t.py"}), "is a URL; write host:port");
  for (const char* bad : {"", ":", ":1", "h:", "h:x", "h:65536", "h:-1", "[::1", "[]", "[h]:1",
                          "a b:1", "[::1]x:1", "-h:1", "h/:1"}) {
    says(refused({std::string("--rdzv-endpoint=") + bad, "t.py"}), "--rdzv-endpoint: ");
  }
}

TEST(RunRendezvous, without_a_backend_an_address_for_the_workers_means_static) {
  const Options two = parsed(
      {"--nnodes=2", "--node-rank=0", "--master-addr=10.0.0.1", "--master-port=700", "t.py"});
  EXPECT_EQ(two.backend, Backend::kStatic);
  EXPECT_EQ(two.workers_at, (Endpoint{"10.0.0.1", 700}));
  EXPECT_EQ(two.endpoint, (Endpoint{"10.0.0.1", 701}));
  EXPECT_EQ(two.is_host, true);
  const Options last =
      parsed({"--nnodes=2", "--master-addr=[fd00::1]", "--master-port=65535", "t"});
  EXPECT_EQ(last.endpoint, (Endpoint{"fd00::1", 65534}));
  EXPECT_EQ(last.is_host, std::nullopt);
  const Options one = parsed({"--master-port=700", "t.py"});
  EXPECT_EQ(one.workers_at, (Endpoint{"127.0.0.1", 700}));
  EXPECT_FALSE(one.endpoint);
  EXPECT_EQ(parsed({"t.py"}).backend, Backend::kHosted);
  // With an endpoint it is ours, and the address has no meaning.
  const Options hosted =
      parsed({"--nnodes=2", "--rdzv-endpoint=h", "--master-addr=h", "--master-port=1", "t.py"});
  EXPECT_EQ(hosted.backend, Backend::kHosted);
  EXPECT_FALSE(hosted.workers_at);
  EXPECT_EQ(hosted.notices.size(), 2U);
}

TEST(RunRendezvous, static_takes_the_endpoint_as_torchrun_does) {
  const Words base{"--nnodes=2", "--rdzv-backend=static"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), base.begin(), base.end());
    more.emplace_back("t.py");
    return more;
  };
  const Options by_endpoint = parsed(with({"--rdzv-endpoint=h:600"}));
  EXPECT_EQ(by_endpoint.workers_at, (Endpoint{"h", 600}));
  EXPECT_EQ(by_endpoint.endpoint, (Endpoint{"h", 601}));
  const Options both = parsed(with({"--rdzv-endpoint=h:600", "--master-port=700"}));
  EXPECT_EQ(both.workers_at, (Endpoint{"h", 700}));
  EXPECT_EQ(both.endpoint, (Endpoint{"h", 600}));
  says(refused(with({})), "127.0.0.1 is another machine");
  says(refused({"--nnodes=1:2", "--rdzv-backend=static", "--master-addr=h", "t.py"}),
       "static is for a fixed number of nodes; write --nnodes 2");
  says(refused({"--nnodes=1:2", "--master-addr=h", "t.py"}),
       "--rdzv-backend c10d --rdzv-endpoint h");
  says(refused(with({"--master-addr=h", "--master-port=0"})), "static needs a port");
  EXPECT_EQ(parsed(with({"--rdzv-endpoint=h", "--rdzv-conf=timeout=77"})).tuning.join_timeout,
            seconds(77));
}

TEST(RunRendezvous, backends_that_come_later_say_so) {
  for (const char* later : {"etcd", "etcd-v2", "file"}) {
    says(refused({"--rdzv-backend", later, "t.py"}), "is not there yet");
  }
  says(refused({"--rdzv-backend", "c10", "t.py"}), "did you mean \"c10d\"?");
  says(refused({"--rdzv-conf=store_type=file", "t.py"}), "is not there yet");
}

TEST(RunRendezvous, a_job_without_an_id_gets_one_that_its_nodes_agree_on) {
  EXPECT_EQ(parsed({"--nnodes=2", "--rdzv-endpoint=h", "src/train.py", "--seed", "1"}).job_id,
            "train");
  EXPECT_EQ(parsed({"--nnodes=2", "--rdzv-endpoint=h", "src/train.py", "--seed", "2"}).job_id,
            "train");
  EXPECT_EQ(parsed({"src/train.py"}).job_id, "train-00abcdef");
  EXPECT_EQ(parsed({"--rdzv-id=llama/a 1", "t.py"}).job_id, "llama/a 1");
  says(refused({"--rdzv-id=", "t.py"}), "is no id");
  says(refused({"--rdzv-id=a\nb", "t.py"}), "is no id");
  says(refused({"--nnodes=2", "--rdzv-endpoint=h", "--rdzv-id=none", "t.py"}), "choose a name");
  EXPECT_EQ(parsed({"--rdzv-id=none", "t.py"}).job_id, "none");
}

TEST(RunConf, keys_of_torchrun_and_ours_are_known_and_others_refused) {
  const auto tuning = [](const std::string& text) {
    return parsed({"--rdzv-conf", text, "t.py"}).tuning;
  };
  EXPECT_EQ(tuning("join_timeout=never").join_timeout, std::nullopt);
  EXPECT_EQ(tuning("").join_timeout, minutes(10));
  EXPECT_EQ(tuning(" max_churn = 7 , node_unit=1,").max_churn, 7U);
  EXPECT_EQ(tuning("last_call_timeout=2min").last_call_cap, minutes(2));
  EXPECT_EQ(tuning("last_call_timeout=10").last_call_cap, minutes(1));
  EXPECT_EQ(parsed({"--rdzv-conf=rank=3,is_host=true", "t.py"}).node_rank, 3U);
  EXPECT_EQ(parsed({"--rdzv-conf=rank=3,is_host=True", "t.py"}).is_host, true);
  EXPECT_EQ(parsed({"--rdzv-conf=rank=3", "--node-rank=4", "t.py"}).node_rank, 4U);
  EXPECT_EQ(parsed({"--rdzv-conf=detection_target=400ms", "t.py"}).detection_target,
            milliseconds(400));
  EXPECT_EQ(refused({"--rdzv-conf=join_timout=3", "t.py"}),
            "--rdzv-conf: unknown key \"join_timout\"; did you mean \"join_timeout\"?");
  says(refused({"--rdzv-conf=xyzzy=3", "t.py"}), "elastic-run --help lists them");
  says(refused({"--rdzv-conf=join_timeout", "t.py"}), "join_timeout has no value");
  says(refused({"--rdzv-conf=pause=1,pause=2", "t.py"}), "pause is given twice");
  says(refused({"--rdzv-conf=pause=soon", "t.py"}), "pause: \"soon\" is not a length of time");
  says(refused({"--rdzv-conf=is_host=maybe", "t.py"}), "is_host: \"maybe\" is neither");
  says(refused({"--rdzv-conf==3", "t.py"}), "unknown key \"\"");
}

TEST(RunConf, keys_without_meaning_are_accepted_and_said) {
  const Options options = parsed(
      {"--rdzv-conf=close_timeout=1,keep_alive_interval=5,read_timeout=60,use_libuv=0,timeout=900",
       "t.py"});
  EXPECT_EQ(lines(options.notices),
            "--rdzv-conf close_timeout has no meaning here: leaving never closes a job\n"
            "--rdzv-conf keep_alive_interval has no meaning here: heartbeats follow from "
            "--detection-target\n"
            "--rdzv-conf read_timeout has no meaning here: agents go on dialling until "
            "join_timeout\n"
            "--rdzv-conf use_libuv has no meaning here: there is no such store\n"
            "--rdzv-conf timeout has no meaning with c10d: write join_timeout\n");
}

TEST(RunFailures, signals_stop_or_are_handed_on) {
  const Options usual = parsed({"t.py"});
  EXPECT_EQ(usual.stop_signals, (std::vector{SIGHUP, SIGINT, SIGQUIT, SIGTERM}));
  EXPECT_TRUE(usual.forwarded_signals.empty());
  const Options some = parsed({"--signals-to-handle=sigterm,USR2,SIGUSR1,SIGTERM", "t.py"});
  EXPECT_EQ(some.stop_signals, (std::vector{SIGTERM}));
  EXPECT_EQ(some.forwarded_signals, (std::vector{SIGUSR1, SIGUSR2}));
  for (const char* bad : {"SIGKILL", "SIGSTOP", "SIGCHLD", "", "9", "SIGTERM,"}) {
    says(refused({std::string("--signals-to-handle=") + bad, "t.py"}), "choose among SIGTERM");
  }
}

TEST(RunFailures, a_target_that_cannot_tell_slow_from_lost_is_refused) {
  EXPECT_EQ(parsed({"--detection-target=300ms", "t.py"}).detection_target, milliseconds(300));
  says(refused({"--detection-target=1ms", "t.py"}), "detection target 1ms cannot tell");
  says(refused({"--detection-target=300ms", "--rdzv-conf=journal=100ms", "t.py"}),
       "journal 100ms, pause 60ms) at least 350ms is needed");
  says(refused({"--min-healthy=2", "t.py"}), "min_healthy 2 is above max nodes 1");
  says(refused({"--grow=pays", "t.py"}), "is for native workers");
  says(refused({"--grow=mayb", "t.py"}), "is not always or never");
  says(refused({"--rdzv-conf=node_unit=0", "t.py"}), "node_unit is 0");
  says(refused({"--rdzv-conf=last_call_timeout=5,last_call_cap=4", "t.py"}), "raise the cap");
  says(refused({"--shutdown-timeout=-3s", "t.py"}), "--shutdown-timeout: \"-3s\" is below zero");
  EXPECT_EQ(parsed({"--shutdown-timeout=0", "t.py"}).shutdown_timeout, seconds(0));
  EXPECT_EQ(parsed({"--spares=1", "--nnodes=1", "--rdzv-endpoint=h", "t"}).tuning.join_timeout,
            std::nullopt);
}

TEST(RunLogs, maps_address_ranks_of_any_number_of_digits) {
  const Options options = parsed({"--nproc-per-node=16", "-r", "10:3,2:1", "-t15:2", "t.py"});
  EXPECT_EQ(options.redirects.of(10), (real::StreamMode{true, true}));
  EXPECT_EQ(options.redirects.of(1), real::StreamMode{});
  EXPECT_EQ(options.tee.of(15), (real::StreamMode{false, true}));
  EXPECT_TRUE(options.notices.empty());
  EXPECT_EQ(parsed({"-r", "10:3", "t.py"}).notices.size(), 1U);
  for (const char* bad :
       {"4", "", "0:", "0:4", "1:1,", "1:1,1:2", "a:1", "0:1:2", "-1", "9999999:1"}) {
    says(refused({std::string("-r=") + bad, "t.py"}), "-r: ");
  }
  says(refused({"--log-line-prefix-template=${ranc}", "t.py"}), "did you mean \"rank\"?");
  EXPECT_EQ(parsed({"t.py"}).log_line_prefix_template, "[${hostname} ${rank}]: ");
  EXPECT_EQ(parsed({"--local-ranks-filter=", "t.py"}).local_ranks_filter.size(), 0U);
  says(refused({"--ranks-filter=1,,2", "t.py"}), "is not a list of ranks");
}

TEST(RunControl, subcommands_have_an_endpoint_and_options_of_their_own) {
  const Options status = parsed({"status", "gpu-0", "--json"});
  EXPECT_EQ(status.action, Action::kStatus);
  EXPECT_EQ(status.control.endpoint, (Endpoint{"gpu-0", 29400}));
  EXPECT_TRUE(status.control.json);
  const Options preempt =
      parsed({"preempt", "--deadline", "90s", "--token-file=t", "--rdzv-id=a", "gpu-0:7"});
  EXPECT_EQ(preempt.control.deadline, seconds(90));
  EXPECT_EQ(preempt.token_file, "t");
  EXPECT_EQ(preempt.job_id, "a");
  EXPECT_EQ(parsed({"leave", "gpu-0", "--node=gpu-7"}).control.node, "gpu-7");
  EXPECT_EQ(parsed({"stop"}, {{"PET_RDZV_ENDPOINT", "h:1"}}).control.endpoint, (Endpoint{"h", 1}));
  EXPECT_EQ(parsed({"stop", "--rdzv_endpoint=h"}).control.endpoint, (Endpoint{"h", 29400}));
  says(refused({"status"}), "no ENDPOINT is given");
  says(refused({"status", "a", "b"}), "unexpected \"b\"");
  says(refused({"status", "a:b"}), "ENDPOINT: \"b\" is not a port");
  says(refused({"status", "a:0"}), "port 0 names no job");
  says(refused({"preempt", "a"}), "preempt needs --deadline");
  says(refused({"stop", "a", "--deadline", "1s"}), "unknown option \"--deadline\" of stop");
  says(refused({"status", "a", "--nnodes", "2"}), "unknown option \"--nnodes\" of status");
  says(refused({"status", "a", "--jsn"}), "did you mean \"--json\"?");
}

}  // namespace
}  // namespace elastic::launch
