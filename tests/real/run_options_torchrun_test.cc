// Every option of torchrun, in both spellings and as a variable.
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <map>
#include <set>

#include "apps/elastic-run/option_table.h"
#include "tests/real/run_options_support.h"

namespace elastic::launch {
namespace {

using Words = std::vector<std::string>;

struct Sample {
  OptionId id;
  std::string value;  // empty: a flag
  std::function<bool(const Options&)> took;
  Words with{};  // further options that it needs
};

std::vector<Sample> torchruns_samples() {
  using I = OptionId;
  using O = const Options&;
  const auto ignored = [](O o) { return o.notices.size() == 1; };
  return {
      {I::kNnodes,
       "2:8",
       [](O o) { return o.min_nodes == 2 && o.max_nodes == 8; },
       {"--rdzv-endpoint=gpu-0"}},
      {I::kNprocPerNode, "gpu", [](O o) { return o.workers_per_node == 4; }},
      {I::kStandalone, "", [](O o) { return !o.endpoint && o.max_nodes == 1; }},
      {I::kNodeRank, "3", [](O o) { return o.node_rank == 3U; }},
      {I::kRole, "trainer", [](O o) { return o.role == "trainer"; }},
      {I::kVirtualLocalRank, "", [](O o) { return o.virtual_local_rank; }},
      {I::kNumaBinding, "core-complex",
       [](O o) { return o.numa_binding == NumaBinding::kCoreComplex; }},
      {I::kRdzvBackend, "static", [](O o) { return o.backend == Backend::kStatic; }},
      {I::kRdzvEndpoint, "[fd00::7]:1234",
       [](O o) {
         return o.endpoint == Endpoint{"fd00::7", 1234};
       }},
      {I::kRdzvId, "a/b c", [](O o) { return o.job_id == "a/b c"; }},
      {I::kRdzvConf, "join_timeout=7,last_call_timeout=1.5",
       [](O o) {
         return o.tuning.join_timeout == std::chrono::seconds(7) &&
                o.tuning.last_call == std::chrono::milliseconds(1500);
       }},
      {I::kLocalAddr, "10.1.2.3", [](O o) { return o.local_addr == "10.1.2.3"; }},
      {I::kMasterAddr, "gpu-0",
       [](O o) {
         return o.workers_at == Endpoint{"gpu-0", 29500};
       }},
      {I::kMasterPort, "1234",
       [](O o) {
         return o.workers_at == Endpoint{"127.0.0.1", 1234};
       }},
      {I::kMaxRestarts, "5", [](O o) { return o.max_restarts == 5; }},
      {I::kShutdownTimeout, "2.5",
       [](O o) { return o.shutdown_timeout == std::chrono::milliseconds(2500); }},
      {I::kSignalsToHandle, "SIGTERM,SIGUSR1",
       [](O o) {
         return o.stop_signals == std::vector{SIGTERM} &&
                o.forwarded_signals == std::vector{SIGUSR1};
       }},
      {I::kModule, "", [](O o) { return o.program.kind == ProgramKind::kModule; }},
      {I::kNoPython, "", [](O o) { return o.program.kind == ProgramKind::kExecutable; }},
      {I::kRunPath, "", [](O o) { return o.program.kind == ProgramKind::kRunPath; }},
      {I::kLogDir, "some/dir", [](O o) { return o.log_dir == "some/dir"; }},
      {I::kRedirects, "0:1,12:3",
       [](O o) {
         return o.redirects.of(0) == real::StreamMode{true, false} &&
                o.redirects.of(12) == real::StreamMode{true, true} &&
                o.redirects.of(1) == real::StreamMode{};
       }},
      {I::kTee, "3",
       [](O o) {
         return o.tee.of(77) == real::StreamMode{true, true};
       }},
      {I::kLocalRanksFilter, "12,0",
       [](O o) {
         return o.local_ranks_filter == std::set{0, 12};
       }},
      {I::kDuplicateStdoutFilters, "loss,a,,b",
       [](O o) {
         return o.duplicate_stdout_filters == Words{"loss", "a,b"};
       }},
      {I::kDuplicateStderrFilters, "Error",
       [](O o) { return o.duplicate_stderr_filters == Words{"Error"}; }},
      {I::kLogLinePrefixTemplate, "<${rank}>",
       [](O o) { return o.log_line_prefix_template == "<${rank}>"; }},
      {I::kMonitorInterval, "0.1", ignored},
      {I::kStartMethod, "fork", ignored},
      {I::kEventLogHandler, "console", ignored},
      {I::kLogsSpecs, "mine", ignored},
      {I::kExitBarrierTimeout, "300", ignored},
  };
}

bool takes(const Sample& sample, Words argv, const Environment& env) {
  Words words = sample.with;
  words.insert(words.end(), argv.begin(), argv.end());
  words.insert(words.end(), {"train.py", "--nnodes", "9"});
  const Options options = parsed(words, env);
  return sample.took(options) && options.program.args == Words{"--nnodes", "9"};
}

TEST(TorchrunOptions, every_one_of_them_has_a_sample_here) {
  std::set<OptionId> sampled;
  for (const Sample& sample : torchruns_samples()) sampled.insert(sample.id);
  for (const OptionSpec& spec : option_table()) {
    const bool ends = spec.group == Group::kOther;
    EXPECT_EQ(sampled.contains(spec.id), spec.torchruns && !ends) << spec.name;
  }
}

TEST(TorchrunOptions, both_spellings_are_taken_with_the_value_in_the_next_word_or_after_an_equals) {
  for (const Sample& sample : torchruns_samples()) {
    const OptionSpec& spec = spec_of(sample.id);
    for (const std::string& name : {std::string(spec.name), underscored(spec.name)}) {
      if (spec.is_flag()) {
        EXPECT_TRUE(takes(sample, {name}, {})) << name;
      } else {
        EXPECT_TRUE(takes(sample, {name, sample.value}, {})) << name;
        EXPECT_TRUE(takes(sample, {name + "=" + sample.value}, {})) << name;
      }
    }
    if (spec.letter == 0) continue;
    const std::string letter{'-', spec.letter};
    if (spec.is_flag()) {
      EXPECT_TRUE(takes(sample, {letter}, {})) << letter;
    } else {
      EXPECT_TRUE(takes(sample, {letter, sample.value}, {})) << letter;
      EXPECT_TRUE(takes(sample, {letter + sample.value}, {})) << letter;
      EXPECT_TRUE(takes(sample, {letter + "=" + sample.value}, {})) << letter;
    }
  }
}

TEST(TorchrunOptions, each_has_torchruns_variable_and_its_older_one) {
  for (const Sample& sample : torchruns_samples()) {
    const OptionSpec& spec = spec_of(sample.id);
    const Words names{std::string(spec.env), std::string(spec.other_env)};
    for (const std::string& name : names) {
      if (name.empty()) continue;
      if (!spec.is_flag()) {
        EXPECT_TRUE(takes(sample, {}, {{name, sample.value}})) << name;
        continue;
      }
      for (const char* yes : {"1", "true", "True", "TRUE", "yes"}) {
        EXPECT_TRUE(takes(sample, {}, {{name, yes}})) << name << "=" << yes;
      }
    }
    // The rule by which torchrun names them.
    if (spec.env.starts_with("PET_")) {
      std::string expected = "PET";
      for (const char c : std::string(spec.name.substr(1))) {
        expected += c == '-' ? '_' : static_cast<char>(std::toupper(c));
      }
      EXPECT_EQ(spec.env, expected);
    }
  }
}

TEST(TorchrunOptions, a_flag_that_a_variable_switches_off_is_off) {
  for (const char* no : {"0", "false", "False", "no", ""}) {
    EXPECT_EQ(parsed({"pkg.mod"}, {{"PET_MODULE", no}}).program.kind, ProgramKind::kScript) << no;
  }
  EXPECT_EQ(refused({"t.py"}, {{"PET_STANDALONE", "maybe"}}),
            "PET_STANDALONE: \"maybe\" is neither true nor false; write 1 or 0");
}

TEST(TorchrunOptions, the_command_line_goes_before_the_environment_and_that_before_the_default) {
  EXPECT_EQ(parsed({"t.py"}).max_restarts, 0U);
  EXPECT_EQ(parsed({"t.py"}, {{"PET_MAX_RESTARTS", "3"}}).max_restarts, 3U);
  EXPECT_EQ(parsed({"--max-restarts=4", "t.py"}, {{"PET_MAX_RESTARTS", "3"}}).max_restarts, 4U);
  // What the command line overrides may be wrong; what nothing overrides may not.
  EXPECT_EQ(parsed({"--max-restarts=4", "t.py"}, {{"PET_MAX_RESTARTS", "x"}}).max_restarts, 4U);
  EXPECT_EQ(refused({"t.py"}, {{"PET_MAX_RESTARTS", "x"}}),
            "PET_MAX_RESTARTS: \"x\" is not a number from 0 to 1000000000");
  EXPECT_EQ(parsed({"t.py"}, {{"PET_MAX_RESTARTS", ""}}).max_restarts, 0U);
  const Environment both{{"PET_SHUTDOWN_TIMEOUT", "1"}, {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "2"}};
  EXPECT_EQ(parsed({"t.py"}, both).shutdown_timeout, std::chrono::seconds(1));
}

TEST(TorchrunOptions, the_last_of_several_counts) {
  EXPECT_EQ(parsed({"--role", "a", "--role=b", "t.py"}).role, "b");
}

TEST(TorchrunOptions, a_variable_that_no_option_reads_is_named) {
  const Options options = parsed({"t.py"}, {{"PET_NPROC_PER_NOD", "2"}});
  EXPECT_EQ(lines(options.notices),
            "the environment variable PET_NPROC_PER_NOD is no option, and is passed over; did you "
            "mean \"PET_NPROC_PER_NODE\"?\n");
}

TEST(TorchrunOptions, what_a_kubernetes_operator_sets_is_taken) {
  // Kubeflow's trainer, version 2: torchrun's static rendezvous.
  const Environment newer{{"PET_NNODES", "3"},
                          {"PET_NPROC_PER_NODE", "4"},
                          {"PET_NODE_RANK", "2"},
                          {"PET_MASTER_ADDR", "job-node-0-0.job"},
                          {"PET_MASTER_PORT", "29400"}};
  const Options two = parsed({"train.py"}, newer);
  EXPECT_EQ(two.max_nodes, 3U);
  EXPECT_EQ(two.workers_at, (Endpoint{"job-node-0-0.job", 29400}));
  EXPECT_EQ(two.endpoint, (Endpoint{"job-node-0-0.job", 29401}));
  EXPECT_EQ(two.is_host, false);
  EXPECT_TRUE(two.notices.empty()) << lines(two.notices);
  // Version 1, elastic.
  const Environment older{
      {"PET_NNODES", "1:3"},  {"PET_RDZV_BACKEND", "c10d"}, {"PET_RDZV_ENDPOINT", "w-0:23456"},
      {"PET_RDZV_ID", "job"}, {"PET_MAX_RESTARTS", "10"},   {"PET_NPROC_PER_NODE", "1"},
      {"MASTER_ADDR", "w-0"}, {"WORLD_SIZE", "3"}};
  const Options one = parsed({"train.py"}, older);
  EXPECT_EQ(one.backend, Backend::kHosted);
  EXPECT_EQ(one.endpoint, (Endpoint{"w-0", 23456}));
  EXPECT_TRUE(one.notices.empty()) << lines(one.notices);
}

}  // namespace
}  // namespace elastic::launch
