#include "chaos/compare/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chaos/scenario/units.h"

namespace elastic::chaos {
namespace {

struct Info {
  std::string_view name;
  std::string_view words;
};
constexpr std::array<Info, kPolicies> kInfo{{
    {"rigid", "all nodes or nothing, restarted from the checkpoint"},
    {"restart", "any change restarts every worker, as today's launchers do"},
    {"elastic", "the scenario as it is written"},
}};

const Info& info_of(Policy policy) { return kInfo.at(static_cast<std::size_t>(policy)); }

}  // namespace

std::string_view name(Policy policy) { return info_of(policy).name; }
std::string_view words(Policy policy) { return info_of(policy).words; }

std::vector<std::string_view> policy_names() {
  std::vector<std::string_view> names;
  for (const Info& info : kInfo) names.push_back(info.name);
  return names;
}

std::optional<Policy> policy_named(std::string_view name) {
  for (std::size_t i = 0; i < kPolicies; ++i) {
    if (kInfo.at(i).name == name) return static_cast<Policy>(i);
  }
  return std::nullopt;
}

tl::expected<std::vector<Policy>, std::string> parse_policies(std::string_view text) {
  std::vector<Policy> policies;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string_view word = text.substr(from, to - from);
    const std::optional<Policy> policy = policy_named(word);
    if (!policy) {
      const std::string hint = did_you_mean(word, policy_names());
      return tl::unexpected(
          fmt::format("unknown policy \"{}\"{}", printable(word),
                      hint.empty() ? fmt::format("; write {}", either(policy_names())) : hint));
    }
    if (std::find(policies.begin(), policies.end(), *policy) != policies.end()) {
      return tl::unexpected(fmt::format("\"{}\" is there twice", word));
    }
    policies.push_back(*policy);
    from = to + 1;
  }
  return policies;
}

std::uint32_t most_nodes(const Scenario& scenario) {
  const std::uint32_t unit = std::max(1U, scenario.job.node_unit);
  const auto machines_there = static_cast<std::uint32_t>(machines(scenario).size());
  const std::uint32_t most = std::min(scenario.job.max_nodes, machines_there) / unit * unit;
  return std::max(most, 1U);
}

std::vector<PolicySetting> settings(Policy policy, std::uint32_t nodes) {
  std::vector<PolicySetting> list;
  if (policy == Policy::kElastic) return list;
  if (policy == Policy::kRigid) {
    list.push_back({fmt::format("job.nodes.min={}", nodes), "all nodes or nothing"});
    list.push_back({fmt::format("job.nodes.max={}", nodes), "all nodes or nothing"});
  }
  list.push_back({"job.workers=foreign", "new processes, job.start_up, the last save"});
  list.push_back({"job.detection_target=15s", "3 keep-alives of 5 s without an answer"});
  list.push_back({"job.last_call=30s", "below max, wait 30 s for more nodes,"});
  list.push_back({"job.last_call_cap=30s", "and later joiners do not extend that"});
  list.push_back({"job.growth=always", "a node that waits makes all restart"});
  list.push_back({"job.stop_grace=30s", "SIGTERM, and SIGKILL after 30 s"});
  list.push_back({"job.flaps.tolerated=0", "no node is kept out"});
  return list;
}

std::vector<PolicySetting> settings(Policy policy, const Scenario& base) {
  std::vector<PolicySetting> list = settings(policy, most_nodes(base));
  if (policy != Policy::kRigid || base.model.times == nullptr) return list;
  const Model model = simulated_model(base);
  constexpr std::string_view kWhy = "the steps of the other policies";
  list.push_back({"job.model={}", kWhy});
  const auto add = [&](std::string_view key, const std::string& value) {
    list.push_back({fmt::format("job.model.{}={}", key, value), kWhy});
  };
  add("compute_per_sample", duration_text(model.compute_per_sample));
  add("step_overhead", duration_text(model.step_overhead));
  add("gradient", size_text(model.gradient_bytes));
  add("state", size_text(model.state_bytes));
  return list;
}

tl::expected<Scenario, Errors> under_policy(const Source& source, const Scenario& base,
                                            Policy policy) {
  Source changed = source;
  for (const PolicySetting& setting : settings(policy, base)) {
    if (const std::optional<Errors> errors = apply_override(changed, setting.assignment)) {
      return tl::unexpected(*errors);
    }
  }
  tl::expected<Scenario, Errors> scenario = check_source(changed);
  if (!scenario) return scenario;
  scenario->availability = base.availability;
  scenario->expect.clear();
  return scenario;
}

}  // namespace elastic::chaos
