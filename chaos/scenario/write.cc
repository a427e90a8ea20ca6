// From a Scenario back to YAML.
#include <fmt/format.h>

#include <algorithm>

#include "chaos/scenario/fault_lines.h"
#include "chaos/scenario/language.h"
#include "chaos/scenario/scenario.h"
#include "chaos/scenario/section.h"

namespace elastic::chaos {
namespace {

constexpr std::size_t kCommentWidth = 98;

Tree to_tree(Scenario scenario) {
  Tree tree = Tree::map();
  Section file(tree);
  job_keys(file, scenario);
  cluster_keys(file, scenario);
  availability_keys(file, scenario);
  network_keys(file, scenario);
  journal_keys(file, scenario);
  if (!scenario.faults.empty()) tree.add("faults", write_faults(scenario.faults));
  expect_keys(file, scenario);
  return tree;
}

// Drops what a reader would take for granted anyway: values as in `defaults`, and empty mappings.
// What must be written never equals its default, which is out of bounds.
void drop_defaults(Tree& tree, const Tree& defaults) {
  const auto superfluous = [&](Tree::Entry& entry) {
    const Tree* known = defaults.find(entry.key);
    if (entry.value.kind == Tree::Kind::kMap) {
      const Tree none = Tree::map();
      drop_defaults(entry.value, known == nullptr ? none : *known);
      return entry.value.entries.empty();
    }
    return known != nullptr && known->same(entry.value);
  };
  tree.entries.erase(std::remove_if(tree.entries.begin(), tree.entries.end(), superfluous),
                     tree.entries.end());
}

Scenario defaults() {
  Scenario scenario;
  scenario.job.min_nodes = 0;
  scenario.job.max_nodes = 0;
  scenario.model.compute_per_sample = Duration(-1);
  return scenario;
}

std::string name_of(NodeId node, const std::vector<sim::NodeSpec>& nodes) {
  if (node == kCoordinator) return std::string(kCoordinatorName);
  return nodes.at(node.value - 1).name;
}

FaultEntry to_entry(const sim::Fault& fault, const std::vector<sim::NodeSpec>& nodes) {
  FaultEntry entry;
  entry.kind = fault.kind;
  entry.at = fault.at.time_since_epoch();
  for (const NodeId node : fault.targets) entry.targets.push_back(name_of(node, nodes));
  for (const NodeId node : fault.others) entry.others.push_back(name_of(node, nodes));
  const KindInfo& kind = info(fault.kind);
  const bool has_length = kind.length != Need::kNo && fault.kind != sim::FaultKind::kReclaim;
  if (has_length && fault.length > Duration{})
    entry.length = LengthRange{fault.length, fault.length};
  const bool needless = kind.unit == ValueUnit::kWorker && fault.value == 0;
  if (kind.unit != ValueUnit::kNone && !needless) entry.value = fault.value;
  return entry;
}

// The same machines and nothing that a seed decides.
Scenario with_plan(Scenario scenario, const sim::Plan& plan) {
  const std::vector<sim::NodeSpec> nodes = machines(scenario);
  std::vector<Zone> zones;
  for (std::uint32_t index = 0; index < scenario.zones.size(); ++index) {
    Zone zone = scenario.zones[index];
    zone.market.clear();
    const auto in_zone = [&](const sim::NodeSpec& node) { return node.zone == index; };
    const auto there = [&](const sim::NodeSpec& node) {
      return node.zone == index && node.present_at_start;
    };
    zone.nodes = static_cast<std::uint32_t>(std::count_if(nodes.begin(), nodes.end(), in_zone));
    const auto at_start = std::count_if(nodes.begin(), nodes.end(), there);
    zone.at_start = static_cast<std::uint32_t>(at_start);
    if (zone.nodes == *zone.at_start) zone.at_start.reset();
    if (zone.nodes > 0) zones.push_back(std::move(zone));
  }
  scenario.zones = std::move(zones);
  // What markets decided stays decided: the interval of saves may follow from them.
  if (scenario.checkpoint.interval == SaveInterval::kAuto) {
    scenario.checkpoint.interval = SaveInterval::kFixed;
  }
  scenario.availability.reset();
  scenario.faults.clear();
  for (const sim::Fault& fault : plan) scenario.faults.push_back(to_entry(fault, nodes));
  return scenario;
}

std::string comment(const std::string& name, std::string_view sentence) {
  std::string out = fmt::format("# {}.yaml\n", printable(name, 200));
  std::string line = "#";
  while (true) {
    sentence.remove_prefix(std::min(sentence.find_first_not_of(" \t\r\n#"), sentence.size()));
    if (sentence.empty()) break;
    const std::string_view word = sentence.substr(0, sentence.find_first_of(" \t\r\n"));
    if (line.size() > 1 && line.size() + word.size() > kCommentWidth) {
      out += line + "\n";
      line = "#";
    }
    line += fmt::format(" {}", word);
    sentence.remove_prefix(word.size());
  }
  return line.size() > 1 ? out + line + "\n" : out;
}

}  // namespace

std::string scenario_to_yaml(const Scenario& scenario, const sim::Plan* plan) {
  Scenario written = scenario;
  if (plan != nullptr) {
    if (scenario.checkpoint.interval == SaveInterval::kAuto) {
      written.checkpoint.every = to_world(scenario, 1).training.checkpoint_every;
    }
    written = with_plan(written, *plan);
    if (!scenario.model.table.empty()) {  // the file may end up elsewhere
      written.model = simulated_model(scenario);
    }
  }
  Tree tree = to_tree(written);
  drop_defaults(tree, to_tree(defaults()));
  return comment(scenario.name, scenario.sentence) + print_tree(tree);
}

}  // namespace elastic::chaos
