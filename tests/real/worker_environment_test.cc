// What a worker is started with.
#include "apps/elastic-run/worker_environment.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "tests/real/run_options_support.h"
#include "tests/support/property.h"

namespace elastic::launch {
namespace {

Placement place_of(std::uint32_t group_rank, std::uint32_t nodes, std::uint32_t workers) {
  Placement p;
  p.round = {JournalLife{0xab}, 7};
  p.group_rank = group_rank;
  p.group_size = nodes;
  p.first_rank = group_rank * workers;
  p.world_size = nodes * workers;
  p.restarts_used = 2;
  return p;
}

const HostFacts kHost{.hostname = "gpu-3", .node = NodeId{42}, .agent_mark = "mark-1"};
const Environment kBase{{"HOME", "/home/u"}, {"PATH", "/bin"}};

WorkerStart start_of(const std::vector<std::string>& argv, const Placement& placement,
                     std::uint32_t local_rank, const Environment& base = kBase) {
  const Options options = parsed(argv);
  return worker_start(
      options, {placement, local_rank, Endpoint{"10.0.0.1", 4711}, "logs/error.json"}, kHost, base);
}

TEST(WorkerEnvironment, is_torchruns_with_the_place_in_the_round) {
  const Placement placement = place_of(1, 3, 4);
  const WorkerStart start =
      start_of({"--nproc-per-node=4", "--max-restarts=3", "--role=t", "--rdzv-id=job a", "t.py"},
               placement, 2);
  const Environment expected{
      {"HOME", "/home/u"},
      {"PATH", "/bin"},
      {"LOCAL_RANK", "2"},
      {"RANK", "6"},
      {"GROUP_RANK", "1"},
      {"ROLE_RANK", "6"},
      {"ROLE_NAME", "t"},
      {"LOCAL_WORLD_SIZE", "4"},
      {"WORLD_SIZE", "12"},
      {"GROUP_WORLD_SIZE", "3"},
      {"ROLE_WORLD_SIZE", "12"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "4711"},
      {"TORCHELASTIC_RESTART_COUNT", "2"},
      {"TORCHELASTIC_MAX_RESTARTS", "3"},
      {"TORCHELASTIC_RUN_ID", "job a"},
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
      {"TORCHELASTIC_ERROR_FILE", "logs/error.json"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"OMP_NUM_THREADS", "1"},
      {"ELASTIC_ROUND", "7"},
      {"ELASTIC_ROUND_ID", "ab.7"},
      {"ELASTIC_JOB_ID", "job a"},
      {"ELASTIC_NODE_ID", "42"},
      {"ELASTIC_HOSTNAME", "gpu-3"},
      {"ELASTIC_AGENT_MARK", "mark-1"},
      {"ELASTIC_GROUP_RANK", "1"},
      {"ELASTIC_LOCAL_RANK", "2"},
      {"ELASTIC_RESTARTS_USED", "2"},
  };
  EXPECT_EQ(start.env, expected);
}

TEST(WorkerEnvironment, the_launchers_own_variables_stay_with_the_launcher) {
  const Environment base{{"PET_NNODES", "2"},
                         {"ELASTIC_RUN_TOKEN_FILE", "secret"},
                         {"ELASTIC_ROUND", "outer"},
                         {"ELASTIC_ANYTHING", "x"},
                         {"TORCHELASTIC_ERROR_FILE", "agents"},
                         {"PETTY", "stays"},
                         {"RANK", "99"},
                         {"MASTER_PORT", "1"}};
  const Placement placement = place_of(0, 1, 1);
  Options options = parsed({"t.py"});
  const WorkerStart start = worker_start(options, {placement, 0, {"h", 2}, ""}, kHost, base);
  EXPECT_FALSE(start.env.contains("PET_NNODES"));
  EXPECT_FALSE(start.env.contains("ELASTIC_RUN_TOKEN_FILE"));
  EXPECT_FALSE(start.env.contains("ELASTIC_ANYTHING"));
  EXPECT_FALSE(start.env.contains("TORCHELASTIC_ERROR_FILE"));
  EXPECT_EQ(start.env.at("ELASTIC_ROUND"), "7");
  EXPECT_EQ(start.env.at("PETTY"), "stays");
  EXPECT_EQ(start.env.at("RANK"), "0");
  EXPECT_EQ(start.env.at("MASTER_PORT"), "2");
}

TEST(WorkerEnvironment, threads_are_limited_only_where_several_workers_share_a_machine) {
  const Placement one = place_of(0, 1, 1);
  const Placement two = place_of(0, 1, 2);
  EXPECT_FALSE(start_of({"t.py"}, one, 0).env.contains("OMP_NUM_THREADS"));
  const std::vector<std::string> pair{"--nproc-per-node=2", "t.py"};
  EXPECT_EQ(start_of(pair, two, 1).env.at("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(start_of(pair, two, 1, {{"OMP_NUM_THREADS", "6"}}).env.at("OMP_NUM_THREADS"), "6");
}

TEST(WorkerEnvironment, what_the_user_says_of_nccl_errors_holds_under_both_spellings) {
  const std::string now = "TORCH_NCCL_ASYNC_ERROR_HANDLING";
  const std::string before = "NCCL_ASYNC_ERROR_HANDLING";
  const Placement one = place_of(0, 1, 1);
  for (const std::string& name : {now, before}) {
    const WorkerStart start = start_of({"t.py"}, one, 0, {{name, "3"}});
    EXPECT_EQ(start.env.at(now), "3");
    EXPECT_EQ(start.env.at(before), "3");
  }
  const WorkerStart both = start_of({"t.py"}, one, 0, {{now, "2"}, {before, "0"}});
  EXPECT_EQ(both.env.at(now), "2");
  EXPECT_EQ(both.env.at(before), "0");
}

TEST(WorkerEnvironment, with_a_virtual_local_rank_each_worker_sees_one_gpu) {
  const std::vector<std::string> argv{"--virtual-local-rank", "--nproc-per-node=2", "t.py"};
  const Placement two = place_of(0, 1, 2);
  const WorkerStart plain = start_of(argv, two, 1);
  EXPECT_EQ(plain.env.at("LOCAL_RANK"), "0");
  EXPECT_EQ(plain.env.at("CUDA_VISIBLE_DEVICES"), "1");
  EXPECT_EQ(plain.env.at("ELASTIC_LOCAL_RANK"), "1");
  EXPECT_EQ(plain.env.at("RANK"), "1");
  const WorkerStart listed = start_of(argv, two, 1, {{"CUDA_VISIBLE_DEVICES", "5,GPU-7a"}});
  EXPECT_EQ(listed.env.at("CUDA_VISIBLE_DEVICES"), "GPU-7a");
  EXPECT_FALSE(start_of({"t.py"}, place_of(0, 1, 1), 0).env.contains("CUDA_VISIBLE_DEVICES"));
}

TEST(WorkerEnvironment, static_workers_are_told_the_address_that_the_user_gave) {
  const WorkerStart start =
      start_of({"--master-addr=gpu-0", "--master-port=900", "t.py"}, place_of(0, 1, 1), 0);
  EXPECT_EQ(start.env.at("MASTER_ADDR"), "gpu-0");
  EXPECT_EQ(start.env.at("MASTER_PORT"), "900");
}

TEST(WorkerCommand, is_the_program_as_the_options_say) {
  using Words = std::vector<std::string>;
  const Placement one = place_of(0, 1, 1);
  const auto argv = [&](const Words& words, const Environment& base = {}) {
    return start_of(words, one, 0, base).argv;
  };
  EXPECT_EQ(argv({"t.py", "-x"}), (Words{"python3", "-u", "t.py", "-x"}));
  EXPECT_EQ(argv({"t.py"}, {{"PYTHON_EXEC", "/opt/py"}}), (Words{"/opt/py", "-u", "t.py"}));
  EXPECT_EQ(argv({"-m", "a.b", "c"}), (Words{"python3", "-u", "-m", "a.b", "c"}));
  EXPECT_EQ(argv({"--no-python", "sleep", "1"}), (Words{"sleep", "1"}));
  const Words run_path = argv({"--run-path", "t.py", "x"});
  ASSERT_EQ(run_path.size(), 6U);
  EXPECT_EQ(run_path[2], "-c");
  EXPECT_EQ(run_path[4], "t.py");
  EXPECT_EQ(run_path[5], "x");
}

TEST(WorkerCommand, the_local_rank_macro_is_filled_in_and_nothing_else) {
  const WorkerStart start =
      start_of({"--nproc-per-node=12", "t.py", "--out=${local_rank}/${local_rank}", "$local_rank",
                "$${rank}"},
               place_of(0, 1, 12), 11);
  EXPECT_EQ(start.argv, (std::vector<std::string>{"python3", "-u", "t.py", "--out=11/11",
                                                  "$local_rank", "$${rank}"}));
}

TEST(WorkerEnvironment, ranks_of_a_round_are_a_permutation_whatever_its_shape) {
  test::check(
      "each rank from 0 to the world size is given to exactly one worker",
      {"one node", "several nodes", "uneven"}, [] {
        const auto workers = *rc::gen::container<std::vector<std::uint32_t>>(
            *rc::gen::inRange<std::size_t>(1, 6), rc::gen::inRange<std::uint32_t>(1, 5));
        std::uint32_t world = 0;
        for (const std::uint32_t w : workers) world += w;
        std::set<std::string> ranks;
        std::uint32_t first = 0;
        for (std::uint32_t node = 0; node < workers.size(); ++node) {
          Placement p = place_of(node, static_cast<std::uint32_t>(workers.size()), 1);
          p.first_rank = first;
          p.world_size = world;
          first += workers[node];
          Options options;
          options.workers_per_node = workers[node];
          options.program.name = "t.py";
          for (std::uint32_t local = 0; local < workers[node]; ++local) {
            const auto start = worker_start(options, {p, local, {"h", 1}, ""}, kHost, kBase);
            RC_ASSERT(start.env.at("WORLD_SIZE") == std::to_string(world));
            RC_ASSERT(std::stoul(start.env.at("RANK")) < world);
            RC_ASSERT(ranks.insert(start.env.at("RANK")).second);
          }
        }
        RC_ASSERT(ranks.size() == world);
        RC_CLASSIFY(workers.size() == 1, "one node");
        RC_CLASSIFY(workers.size() > 1, "several nodes");
        RC_CLASSIFY(std::set(workers.begin(), workers.end()).size() > 1, "uneven");
      });
}

}  // namespace
}  // namespace elastic::launch
