// Ways of living with machines that come and go, as settings of one scenario. No policy has code of
// its own: each is a list of overrides, as --set takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "chaos/scenario/scenario.h"

namespace elastic::chaos {

enum class Policy : std::uint8_t {
  kRigid,    // all nodes or nothing; every change restarts all from the checkpoint
  kRestart,  // trains on min to max nodes; every change restarts all from the checkpoint
  kElastic,  // the scenario as it is written
};
constexpr std::size_t kPolicies = 3;

std::string_view name(Policy policy);
std::string_view words(Policy policy);  // one line
std::optional<Policy> policy_named(std::string_view name);
std::vector<std::string_view> policy_names();

// "rigid,elastic" in the order written; or what is wrong with it, in a sentence.
tl::expected<std::vector<Policy>, std::string> parse_policies(std::string_view text);

// One setting, and why it has this value.
struct PolicySetting {
  std::string assignment;  // "job.last_call=30s"
  std::string_view why;
};
// `nodes` is what rigid asks for: see most_nodes().
std::vector<PolicySetting> settings(Policy policy, std::uint32_t nodes);
// The same on top of `base`. What is simulated of a table of step times depends on the sizes that
// the job may have; so that steps cost the same under every policy, rigid gets the numbers of
// `base`.
std::vector<PolicySetting> settings(Policy policy, const Scenario& base);
// The most nodes that a round of the scenario can have: its max, or all machines if they are fewer,
// in whole units. At least 1.
std::uint32_t most_nodes(const Scenario& scenario);

// The scenario under a policy: settings(policy, base) on top of `source`, which reads as `base`.
// Machines are those of `base`, and nothing is expected of the run.
tl::expected<Scenario, Errors> under_policy(const Source& source, const Scenario& base,
                                            Policy policy);

}  // namespace elastic::chaos
