// The text of `elastic-sim explain FILE`.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "chaos/availability/market.h"
#include "chaos/scenario/layout.h"
#include "chaos/scenario/scenario.h"
#include "core/math/integer.h"

namespace elastic::chaos {
namespace {

constexpr std::size_t kShownFaults = 60;
constexpr std::size_t kShownNames = 6;
constexpr std::size_t kWidth = 80;

// 18,792.
std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

// Text in lines of 80 columns, the first after `label`, all indented alike.
std::string row(std::string_view label, std::string_view text) {
  constexpr std::size_t kIndent = 13;
  std::string out = fmt::format("  {:<{}}", label, kIndent - 2);
  std::size_t column = kIndent;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first && column + 1 + word.size() > kWidth) {
      out += fmt::format("\n{}", std::string(kIndent, ' '));
      column = kIndent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  return out + "\n";
}

std::string model_text(const Model& model) {
  if (!model.table.empty()) return "step times of " + printable(model.table);
  return model.preset.empty() ? "a model with times of its own" : model.preset;
}

std::string job_text(const Scenario& scenario) {
  const JobConfig& job = scenario.job;
  const char* kind = job.workers == WorkerKind::kNative ? "native" : "foreign";
  const std::string model = model_text(scenario.model);
  const std::string unit =
      job.node_unit == 1 ? "" : fmt::format(", in multiples of {}", job.node_unit);
  return fmt::format("{} to {} nodes{}, {} {} worker{} on each; {}; {} steps of {} samples",
                     job.min_nodes, job.max_nodes, unit, job.workers_per_node, kind,
                     job.workers_per_node == 1 ? "" : "s", model, grouped(total_steps(scenario)),
                     grouped(scenario.training.global_batch));
}

// The step on the fewest, a middle number of, and the most nodes, and where it comes from.
std::string steps_text(const Scenario& scenario) {
  const sim::WorldConfig world = to_world(scenario, 1);
  const JobConfig& job = scenario.job;
  const policy::BatchRule rule = sim::batch_rule(job, world.training);
  const std::uint32_t unit = std::max(1U, job.node_unit);
  const std::uint32_t least = (job.min_nodes + unit - 1) / unit * unit;
  const std::uint32_t most = job.max_nodes / unit * unit;
  const std::uint32_t middle = (least + (most - std::min(most, least)) / 2) / unit * unit;
  std::string out;
  std::uint32_t last = 0;
  for (const std::uint32_t nodes : {least, middle, most}) {
    if (nodes <= last) continue;
    last = nodes;
    const std::uint32_t workers = nodes * job.workers_per_node;
    const std::uint64_t share = math::ceil_div(policy::global_batch(rule, workers), workers);
    out += fmt::format("{}{} on {} nodes ({} samples per worker)", out.empty() ? "" : ", ",
                       rough_duration(simulated_step(world.training, world.network, nodes, share)),
                       nodes, grouped(share));
  }
  if (scenario.model.times == nullptr) {
    return out + "; compute per sample, overhead, and a ring reduction of the gradient";
  }
  const auto points = step_points(scenario);
  const std::int64_t off = worst_difference_ppm(points.value_or(std::vector<StepPoint>()),
                                                world.training, world.network);
  return out + fmt::format("; from {}, which the simulated step meets within {}.{} %",
                           scenario.model.table.empty() ? "measurements" : "the table",
                           (off + 999) / 10'000, (off + 999) / 1'000 % 10);
}

std::string saves_text(const Scenario& scenario) {
  const Duration every = save_interval(scenario);
  const std::int64_t bytes = scenario.checkpoint.size_bytes.value_or(scenario.model.state_bytes);
  if (every == Duration{}) return fmt::format("only the last step, {}", size_text(bytes));
  const bool chosen = scenario.checkpoint.interval == SaveInterval::kAuto;
  return fmt::format("every {}{}, {} at {}", rough_duration(every),
                     chosen ? " (auto: from the cost of a save and the losses to expect)" : "",
                     size_text(bytes), rate_text(scenario.training.storage_bytes_per_second));
}

std::string journal_text(const Scenario& scenario) {
  std::string where = "external";
  if (scenario.job.journal == JournalKind::kHosted) {
    const sim::WorldConfig world = to_world(scenario, 1);
    where = fmt::format("hosted by {}", world.nodes.at(world.job.journal_host.value - 1).name);
  }
  return fmt::format("{}; a lost node is to be noticed within {}", where,
                     rough_duration(scenario.job.detection_target));
}

std::string back_off_text(const policy::BackOff& back_off) {
  if (back_off.base == Duration{}) return "";
  return fmt::format(", from the second on after a wait of {} to {}", rough_duration(back_off.base),
                     rough_duration(std::max(back_off.base, back_off.cap)));
}

std::string budgets_text(const JobConfig& job) {
  const std::string churn =
      job.max_churn ? fmt::format("{} losses of nodes", *job.max_churn) : "any number of losses";
  std::string text =
      fmt::format("{} restarts{}; {}{}; all forgotten after a round of {}", job.max_restarts,
                  back_off_text(job.restart_back_off), churn, back_off_text(job.churn_back_off),
                  rough_duration(job.budget_reset));
  if (job.no_progress.failures > 0) {
    text += fmt::format("; {} failures at one step go back to the save before it, {} more end it",
                        job.no_progress.failures, job.no_progress.failures);
  }
  if (job.health.min_healthy > 0) {
    text += fmt::format("; fewer than {} machines for {} end it", job.health.min_healthy,
                        rough_duration(job.health.grace));
  }
  return text;
}

std::string nodes_text(const JobConfig& job) {
  std::string text = "no machine is kept out for being lost too often";
  if (job.flaps.tolerated > 0) {
    text = fmt::format("a machine lost more than {} times in {} is kept out for up to {}",
                       job.flaps.tolerated, rough_duration(job.flaps.window),
                       rough_duration(job.flaps.longest));
  }
  switch (job.growth) {
    case Growth::kAlways:
      return text + "; a new one is always taken in";
    case Growth::kNever:
      return text + "; a new one waits for the next change";
    case Growth::kPays:
      return text + fmt::format(
                        "; a new one is taken in if that saves more than it costs, {} "
                        "after the last change or later",
                        rough_duration(job.growth_pays.interval));
  }
  return text;
}

std::string zone_text(const Scenario& scenario, std::uint32_t index,
                      const std::vector<sim::NodeSpec>& nodes) {
  const Zone& zone = scenario.zones[index];
  std::uint32_t count = 0;
  std::uint32_t there = 0;
  for (const sim::NodeSpec& node : nodes) {
    if (node.zone != index) continue;
    ++count;
    if (node.present_at_start) ++there;
  }
  std::string text = fmt::format("zone {}: {} machines", zone.name, count);
  if (there != count) text += fmt::format(", {} at the start", there);
  text += fmt::format(", {} each", price_text(zone.price_microdollars_per_hour));
  const auto market = scenario.availability ? std::nullopt : find_market(zone.market);
  if (market) text += fmt::format("; {} ({})", market->name, market->words);
  return text;
}

std::string supply_text(const Scenario& scenario) {
  if (scenario.availability) {
    const TraceSource& source = *scenario.availability;
    return fmt::format("come and go as in {}{}, {} machines at most; announced {} ahead",
                       printable(source.trace->name),
                       source.from > Duration{} ? " from " + rough_duration(source.from) : "",
                       source.machines, rough_duration(scenario.notice));
  }
  const bool market = std::any_of(scenario.zones.begin(), scenario.zones.end(),
                                  [](const Zone& zone) { return !zone.market.empty(); });
  if (!market) return "come and go only as the faults below have it";
  return fmt::format("come and go as the markets have it; announced {} ahead",
                     rough_duration(scenario.notice));
}

// Hours, minutes, seconds and tenths, so that lines align.
std::string clock_text(Time at) {
  const std::int64_t tenths = at.time_since_epoch() / std::chrono::milliseconds(100);
  return fmt::format("{:>4}h {:02}m {:02}.{}s", tenths / 36'000, tenths / 600 % 60,
                     tenths / 10 % 60, tenths % 10);
}

std::string names_text(const std::vector<NodeId>& ids, const std::vector<sim::NodeSpec>& nodes) {
  std::string out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == kShownNames && ids.size() > kShownNames + 1) {
      return out + fmt::format(" and {} more", ids.size() - i);
    }
    out += i == 0 ? "" : ", ";
    out += ids[i] == kCoordinator ? "whoever coordinates" : nodes.at(ids[i].value - 1).name;
  }
  return out;
}

std::string fault_text(const sim::Fault& fault, const std::vector<sim::NodeSpec>& nodes) {
  const KindInfo& kind = info(fault.kind);
  std::string whom = names_text(fault.targets, nodes);
  if (fault.targets.empty()) whom = kind.reach == Reach::kAnyone ? "everybody" : "";
  if (kind.reach == Reach::kCut) {
    whom += fault.kind == sim::FaultKind::kOneWay ? " to " : " from ";
    whom += fault.others.empty() ? "everybody else" : names_text(fault.others, nodes);
  }
  std::string text = fmt::format("{}  {:<20} {}", clock_text(fault.at), name(fault.kind), whom);
  if (fault.length > Duration{}) {
    text += fmt::format(", {} {}", kind.length_key, rough_duration(fault.length));
  }
  const bool needless = kind.unit == ValueUnit::kWorker && fault.value == 0;
  if (kind.unit != ValueUnit::kNone && !needless) {
    text += fmt::format(", {} {}", value_key(kind.unit), value_text(kind.unit, fault.value));
  }
  return text;
}

std::string plan_text(const sim::Plan& plan, const std::vector<sim::NodeSpec>& nodes) {
  std::map<sim::FaultKind, std::size_t> counts;
  for (const sim::Fault& fault : plan) ++counts[fault.kind];
  std::string kinds;
  for (const auto& [kind, count] : counts) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, name(kind));
  }
  std::string out = row("plan", plan.empty() ? "nothing happens" : kinds);
  for (std::size_t i = 0; i < plan.size() && i < kShownFaults; ++i) {
    out += "  " + fault_text(plan[i], nodes) + "\n";
  }
  if (plan.size() > kShownFaults) {
    out += fmt::format("  ... and {} more\n", grouped(plan.size() - kShownFaults));
  }
  return out;
}

}  // namespace

std::string explain(const Scenario& scenario, std::uint64_t seed) {
  const std::vector<sim::NodeSpec> nodes = machines(scenario);
  std::string out = fmt::format("{}   seed {}\n\n", printable(scenario.name), seed);
  if (!scenario.sentence.empty()) out += row("why", printable(scenario.sentence, 2'000));
  out += row("job", job_text(scenario));
  out += row("steps", steps_text(scenario));
  out += row("saves", saves_text(scenario));
  out += row("journal", journal_text(scenario));
  out += row("budgets", budgets_text(scenario.job));
  out += row("policy", nodes_text(scenario.job));
  for (std::uint32_t zone = 0; zone < scenario.zones.size(); ++zone) {
    out += row(zone == 0 ? "machines" : "", zone_text(scenario, zone, nodes));
  }
  out += row("", supply_text(scenario));
  const sim::NetworkModel& network = scenario.network;
  out +=
      row("network",
          fmt::format("{} one way, {} per machine, {} lost", rough_duration(network.latency),
                      rate_text(network.bandwidth_bytes_per_second), share_text(network.loss_ppm)));
  out += row("ends", fmt::format("when the job is done, after {} at the latest",
                                 rough_duration(scenario.horizon)));
  for (std::size_t i = 0; i < scenario.expect.size(); ++i) {
    const Expectation& one = scenario.expect[i];
    std::string key(name(one.metric));
    std::replace(key.begin(), key.end(), '_', ' ');
    out += row(i == 0 ? "expected" : "", fmt::format("{} {}", key, expectation_text(one)));
  }
  return out + plan_text(make_plan(scenario, seed), nodes);
}

}  // namespace elastic::chaos
