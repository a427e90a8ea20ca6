// From a file to a checked Scenario.
#include <fmt/format.h>

#include <algorithm>

#include "chaos/availability/market.h"
#include "chaos/scenario/fault_lines.h"
#include "chaos/scenario/language.h"
#include "chaos/scenario/layout.h"
#include "chaos/scenario/scenario.h"
#include "chaos/scenario/section.h"
#include "core/membership/config.h"

namespace elastic::chaos {
namespace {

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
}

std::string stem_of(const std::string& file) {
  std::string stem = file.substr(file.find_last_of('/') + 1);
  for (const std::string_view extension : {".yaml", ".yml"}) {
    const bool has =
        stem.size() > extension.size() && stem.substr(stem.size() - extension.size()) == extension;
    if (has) return stem.substr(0, stem.size() - extension.size());
  }
  return stem;
}

// The words of the comment that a text begins with; a first line that only names the file is left
// out, and so is one that tells an editor of a schema.
std::string leading_comment(std::string_view text) {
  std::string out;
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  for (bool first = true; !text.empty() && text[0] == '#'; first = false) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(1, end - 1);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string words;
    while (true) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t\r#"), line.size()));
      if (line.empty()) break;
      const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
      words += words.empty() ? "" : " ";
      words += word;
      line.remove_prefix(word.size());
    }
    const bool names_file =
        first && words.find(' ') == std::string::npos && words.find(".yaml") != std::string::npos;
    const bool for_editors = words.rfind("yaml-language-server:", 0) == 0;
    if (!names_file && !for_editors && !words.empty()) out += (out.empty() ? "" : " ") + words;
  }
  return out;
}

// Reads the trace and counts the machines that it fills.
void read_trace(Section& file, Scenario& scenario, const std::string& scenario_file) {
  TraceSource& source = *scenario.availability;
  const std::string path = source.path.empty() || source.path[0] == '/'
                               ? source.path
                               : folder_of(scenario_file) + source.path;
  const Place place = file.take("availability")->find("trace")->place;
  tl::expected<Availability, Errors> trace = load_availability(path);
  if (!trace) {
    for (const Problem& problem : trace.error().problems) {
      file.errors().add(place, fmt::format("{}: {}", to_text(problem.place), problem.message));
    }
    return;
  }
  source.trace = std::make_shared<const Availability>(*std::move(trace));
  const SlotTimeline slots =
      to_slots(events_of(*source.trace, math::Seed{1}), source.from, scenario.job.max_nodes);
  source.machines = slots.slots;
  source.at_start = slots.at_start;
  if (slots.slots == 0) file.errors().add(place, "no machine is ever alive in this trace");
}

// Reads the user's table of step times.
void read_step_times(Section& file, Scenario& scenario, const std::string& scenario_file) {
  const std::string& name = scenario.model.table;
  const std::string path = name[0] == '/' ? name : folder_of(scenario_file) + name;
  tl::expected<StepTimes, Errors> times = load_step_times(path);
  if (times) {
    scenario.model.times = std::make_shared<const StepTimes>(*std::move(times));
    return;
  }
  const Place place = file.take("job")->find("model")->find("table")->place;
  for (const Problem& problem : times.error().problems) {
    if (problem.place.line > 0) {
      file.errors().add(problem.place, problem.message);
    } else {
      file.errors().add(place, fmt::format("{}: {}", printable(path, 200), problem.message));
    }
  }
}

// A table must say how long a step takes in each world that the job may have.
void check_step_times(Section& file, const Scenario& scenario) {
  if (scenario.model.times == nullptr) return;
  const tl::expected<std::vector<StepPoint>, std::string> points = step_points(scenario);
  if (points) return;
  const Model& model = scenario.model;
  file.errors().add(
      file.take("job")->find("model")->place,
      fmt::format("{} {}", model.table.empty() ? model.preset : "the table", points.error()));
}

// What the simulated network and journal do without faults must stay within the declared bounds.
void check_bounds(Section& file, const Scenario& scenario) {
  const DeclaredBounds& bounds = scenario.job.bounds;
  const auto check = [&](const char* key, const char* what, Duration longest, const char* bound,
                         Duration declared) {
    if (longest <= declared) return;
    file.errors().add(
        file.place_of(key),
        fmt::format("{} takes up to {}, more than job.bounds.{} ({}); raise the bound", what,
                    duration_text(longest), bound, duration_text(declared)));
  };
  const sim::NetworkModel& network = scenario.network;
  check("network", "a round trip", 2 * (network.latency + network.jitter), "round_trip",
        bounds.round_trip);
  const sim::JournalModel& journal = scenario.journal;
  check("journal", "a journal request", std::max(journal.append, journal.read) + journal.jitter,
        "journal", bounds.journal);
  check("job", "the start of a worker",
        scenario.training.start_up + scenario.training.start_up_jitter, "start_up",
        bounds.start_up);
}

void check_markets(Section& file, const Scenario& scenario) {
  if (scenario.availability) return;
  std::int64_t machines = 0;
  for (const Zone& zone : scenario.zones) {
    if (zone.market.empty()) continue;
    machines += zone.nodes;
    if (zone.at_start) {
      file.errors().add(file.place_of("cluster"),
                        fmt::format("zone {} has at_start and a market; a market begins with all "
                                    "machines of its zone",
                                    zone.name));
    }
  }
  const std::int64_t hours = scenario.horizon / std::chrono::hours(1) + 1;
  if (machines * hours > kMaxMachineHours) {
    file.errors().add(
        file.place_of("cluster"),
        fmt::format("{} machines for {} hours under a market; at most {} machine hours, "
                    "so shorten the horizon",
                    machines, hours, kMaxMachineHours));
  }
}

// Whatever concerns more than one key.
void check_together(Section& file, const Scenario& scenario) {
  std::uint64_t total = scenario.availability ? scenario.availability->machines : 0;
  if (!scenario.availability) {
    for (const Zone& zone : scenario.zones) total += zone.nodes;
  }
  if (total < scenario.job.min_nodes) {
    file.errors().add(file.place_of(scenario.availability ? "availability" : "cluster"),
                      fmt::format("{} machines at most, fewer than job.nodes.min ({})", total,
                                  scenario.job.min_nodes));
  }
  check_bounds(file, scenario);
  check_step_times(file, scenario);
  check_markets(file, scenario);
  JobConfig job = scenario.job;
  job.journal_host = NodeId{1};
  const std::variant<Timeouts, Refusal> timeouts = derive_timeouts(job);
  if (const auto* refusal = std::get_if<Refusal>(&timeouts)) {
    file.errors().add(file.place_of("job"), refusal->message);
  }
}

void read_fault_lines(Section& file, Scenario& scenario) {
  const Tree* list = file.take("faults");
  const Selectors selectors(machines(scenario), scenario.zones);
  if (!scenario.journal_host.empty() && selectors.find(scenario.journal_host) == nullptr) {
    file.errors().add(file.take("job")->find("journal_host")->place,
                      fmt::format("there is no machine \"{}\"", printable(scenario.journal_host)));
  }
  if (list == nullptr) return;
  const FaultWorld world{
      .exists = [&](std::string_view selector) { return selectors.find(selector) != nullptr; },
      .names = selectors.names(),
      .horizon = scenario.horizon,
      .workers_per_node = scenario.job.workers_per_node,
      .hosted_journal = scenario.job.journal == JournalKind::kHosted,
      .native = scenario.job.workers == WorkerKind::kNative};
  scenario.faults = read_faults(*list, world, file.errors());
}

// The coordinator has a meaning in a plan, but is no machine that could host a journal.
void check_host(Section& file, const Scenario& scenario) {
  const bool wrong =
      scenario.journal_host == kCoordinatorName || scenario.journal_host.substr(0, 5) == "zone ";
  if (wrong) {
    file.errors().add(file.take("job")->find("journal_host")->place,
                      "the journal's host is one machine, such as a0");
  }
}

}  // namespace

tl::expected<Source, Errors> parse_source(std::string_view text, const std::string& file) {
  tl::expected<Tree, Errors> tree = parse_tree(text, file);
  if (!tree) return tl::unexpected(tree.error());
  return Source{file, std::string(text), *std::move(tree), {}};
}

tl::expected<Source, Errors> load_source(const std::string& path) {
  const tl::expected<std::string, Errors> text = read_regular_file(path, kMaxScenarioBytes);
  if (!text) return tl::unexpected(text.error());
  return parse_source(*text, path);
}

tl::expected<Scenario, Errors> check_source(const Source& source) {
  Errors errors;
  Scenario scenario;
  scenario.name = stem_of(source.file);
  scenario.sentence = leading_comment(source.text);
  Section file(&source.tree, "", errors);
  job_keys(file, scenario);
  cluster_keys(file, scenario);
  availability_keys(file, scenario);
  network_keys(file, scenario);
  journal_keys(file, scenario);
  expect_keys(file, scenario);
  file.take("faults");
  file.finish();
  // A trace fills at most job.nodes.max machines, and faults name machines: only a sound base says
  // more.
  if (errors.empty() && scenario.availability) read_trace(file, scenario, source.file);
  if (errors.empty() && !scenario.model.table.empty()) {
    read_step_times(file, scenario, source.file);
  }
  if (errors.empty()) check_together(file, scenario);
  if (errors.empty()) check_host(file, scenario);
  if (!scenario.zones.empty() && (!scenario.availability || scenario.availability->trace)) {
    read_fault_lines(file, scenario);
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return scenario;
}

tl::expected<Scenario, Errors> load_scenario(const std::string& path,
                                             const std::vector<std::string>& overrides) {
  tl::expected<Source, Errors> source = load_source(path);
  if (!source) return tl::unexpected(source.error());
  for (const std::string& override : overrides) {
    const std::optional<Errors> errors = apply_override(*source, override);
    if (errors) return tl::unexpected(*errors);
  }
  return check_source(*source);
}

tl::expected<Scenario, Errors> parse_scenario(std::string_view text, const std::string& file) {
  const tl::expected<Source, Errors> source = parse_source(text, file);
  if (!source) return tl::unexpected(source.error());
  return check_source(*source);
}

}  // namespace elastic::chaos
