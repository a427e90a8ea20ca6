#include "apps/elastic-run/worker_environment.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "apps/elastic-run/values.h"
#include "core/assert.h"

namespace elastic::launch {
namespace {

std::string replaced(std::string text, std::string_view macro, std::string_view value) {
  for (std::size_t at = text.find(macro); at != std::string::npos;
       at = text.find(macro, at + value.size())) {
    text.replace(at, macro.size(), value);
  }
  return text;
}

std::string value_of(const Environment& env, const std::string& name, std::string usual) {
  const auto found = env.find(name);
  return found == env.end() || found->second.empty() ? std::move(usual) : found->second;
}

// runpy.run_path in an interpreter of its own.
constexpr std::string_view kRunPath =
    "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')";

std::vector<std::string> command(const Options& options, const Environment& base) {
  const Program& program = options.program;
  std::vector<std::string> argv;
  if (program.kind != ProgramKind::kExecutable) {
    argv = {value_of(base, "PYTHON_EXEC", "python3"), "-u"};
  }
  if (program.kind == ProgramKind::kModule) argv.emplace_back("-m");
  if (program.kind == ProgramKind::kRunPath) {
    argv.emplace_back("-c");
    argv.emplace_back(kRunPath);
  }
  argv.push_back(program.name);
  argv.insert(argv.end(), program.args.begin(), program.args.end());
  return argv;
}

bool launchers_own(std::string_view name) {
  return name.starts_with("PET_") || name.starts_with("ELASTIC_");
}

// Both spellings: PyTorch before 2.2 reads the one, later ones the other. Set by the user under
// either, it means the same under both.
void set_error_handling(Environment& env) {
  const std::string now = "TORCH_NCCL_ASYNC_ERROR_HANDLING";
  const std::string before = "NCCL_ASYNC_ERROR_HANDLING";
  const std::string value = value_of(env, now, value_of(env, before, "1"));
  env.try_emplace(now, value);
  env.try_emplace(before, value);
}

// The GPU of this place, of those that the agent may use.
std::string own_device(const Environment& base, std::uint32_t local_rank) {
  const auto visible = base.find("CUDA_VISIBLE_DEVICES");
  if (visible == base.end()) return std::to_string(local_rank);
  const std::vector<std::string> devices = parse_texts(visible->second);
  return local_rank < devices.size() ? devices[local_rank] : std::string();
}

void set_torchruns(Environment& env, const Options& options, const WorkerPlace& place) {
  const Placement& p = place.placement;
  const std::string rank = std::to_string(p.first_rank + place.local_rank);
  const std::string world = std::to_string(p.world_size);
  const Endpoint& master = options.workers_at ? *options.workers_at : place.master;
  env["LOCAL_RANK"] = std::to_string(options.virtual_local_rank ? 0 : place.local_rank);
  env["RANK"] = rank;
  env["GROUP_RANK"] = std::to_string(p.group_rank);
  env["ROLE_RANK"] = rank;
  env["ROLE_NAME"] = options.role;
  env["LOCAL_WORLD_SIZE"] = std::to_string(options.workers_per_node);
  env["WORLD_SIZE"] = world;
  env["GROUP_WORLD_SIZE"] = std::to_string(p.group_size);
  env["ROLE_WORLD_SIZE"] = world;
  env["MASTER_ADDR"] = master.host;
  env["MASTER_PORT"] = std::to_string(master.port);
  env["TORCHELASTIC_RESTART_COUNT"] = std::to_string(p.restarts_used);
  env["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(options.max_restarts);
  env["TORCHELASTIC_RUN_ID"] = options.job_id;
  env["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  env.erase("TORCHELASTIC_ERROR_FILE");
  if (!place.error_file.empty()) env["TORCHELASTIC_ERROR_FILE"] = place.error_file;
  set_error_handling(env);
  if (options.workers_per_node > 1 && value_of(env, "OMP_NUM_THREADS", "").empty()) {
    env["OMP_NUM_THREADS"] = "1";
  }
}

}  // namespace

WorkerStart worker_start(const Options& options, const WorkerPlace& place, const HostFacts& host,
                         const Environment& base) {
  const Placement& p = place.placement;
  ELASTIC_ASSERT(place.local_rank < options.workers_per_node);
  ELASTIC_ASSERT(p.first_rank + place.local_rank < p.world_size);
  ELASTIC_ASSERT(p.group_rank < p.group_size);
  WorkerStart start;
  start.argv = command(options, base);
  for (std::size_t i = 1; i < start.argv.size(); ++i) {
    start.argv[i] =
        replaced(std::move(start.argv[i]), "${local_rank}", std::to_string(place.local_rank));
  }
  for (const auto& [name, value] : base) {
    if (!launchers_own(name)) start.env.emplace(name, value);
  }
  set_torchruns(start.env, options, place);
  if (options.virtual_local_rank) {
    start.env["CUDA_VISIBLE_DEVICES"] = own_device(base, place.local_rank);
  }
  start.env["ELASTIC_ROUND"] = std::to_string(p.round.number);
  start.env["ELASTIC_ROUND_ID"] = fmt::format("{:x}.{}", p.round.journal.value, p.round.number);
  start.env["ELASTIC_JOB_ID"] = options.job_id;
  start.env["ELASTIC_NODE_ID"] = std::to_string(host.node.value);
  start.env["ELASTIC_HOSTNAME"] = host.hostname;
  start.env["ELASTIC_AGENT_MARK"] = host.agent_mark;
  start.env["ELASTIC_GROUP_RANK"] = std::to_string(p.group_rank);
  start.env["ELASTIC_LOCAL_RANK"] = std::to_string(place.local_rank);
  start.env["ELASTIC_RESTARTS_USED"] = std::to_string(p.restarts_used);
  return start;
}

}  // namespace elastic::launch
