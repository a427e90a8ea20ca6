#include "tests/real/agents.h"

#include <algorithm>

namespace elastic::real::test {

RuntimeOptions Agents::options(std::uint64_t node, std::uint64_t life) {
  RuntimeOptions options;
  options.job = job_;
  const bool hosts = node == 1;
  JobConfig complete = job_;
  complete.journal_host = NodeId{1};
  auto timeouts = derive_timeouts(complete);
  if (const auto* refusal = std::get_if<Refusal>(&timeouts)) ADD_FAILURE() << refusal->message;
  options.timeouts = std::get<Timeouts>(timeouts);
  if (hosts) options.job.journal_host = NodeId{1};
  options.links.job = id_;
  options.links.key = key_of_job(id_, token_);
  options.links.self = {NodeId{node}, AgentLife{life}};
  options.links.host_name = "node-" + std::to_string(node);
  options.links.limits.unacknowledged = 2 * options.timeouts.lost_after;
  if (!hosts) options.links.endpoint = Endpoint{"127.0.0.1", port_};
  options.listen_port = hosts ? port_ : 0;
  options.journal_file = folder_.file("journal");
  options.seed = node * 1000 + life;
  return options;
}

TestAgent& Agents::host() { return join(1, agents_.size() + 1); }

TestAgent& Agents::join(std::uint64_t node, std::uint64_t life) {
  agents_.push_back(std::make_unique<TestAgent>(loop_, options(node, life)));
  TestAgent& agent = *agents_.back();
  const auto error = agent.runtime->listen();
  EXPECT_EQ(error, std::nullopt);
  if (node == 1) port_ = agent.runtime->port();
  agent.start();
  return agent;
}

bool Agents::until(const std::function<bool()>& happened) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!happened()) {
    if (std::chrono::steady_clock::now() > end) return false;
    loop_.restart();
    loop_.run_one_for(std::chrono::milliseconds(50));
  }
  return true;
}

void Agents::run_for(Duration time) {
  loop_.restart();
  loop_.run_for(time);
}

std::size_t Agents::running() const {
  return static_cast<std::size_t>(std::count_if(
      agents_.begin(), agents_.end(), [](const auto& agent) { return agent->running(); }));
}

bool Agents::all_in_one_round(std::size_t nodes) const {
  if (running() != nodes) return false;
  std::set<RoundId> rounds;
  std::set<std::uint32_t> ranks;
  for (const auto& agent : agents_) {
    if (!agent->running()) continue;
    const Placement& placement = *agent->runtime->placement();
    if (placement.group_size != nodes) return false;
    rounds.insert(placement.round);
    ranks.insert(placement.group_rank);
  }
  return rounds.size() == 1 && ranks.size() == nodes;
}

}  // namespace elastic::real::test
