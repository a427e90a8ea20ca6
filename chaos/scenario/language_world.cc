// The keys of a scenario that concern the machines and what connects them, and what is expected.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "chaos/availability/market.h"
#include "chaos/scenario/language.h"
#include "chaos/scenario/schema_texts.h"

namespace elastic::chaos {
namespace {

// No zone is called so: the first three mean something else in a fault, the others in YAML.
const std::vector<std::string_view>& reserved_zone_names() {
  static const std::vector<std::string_view> names{"coordinator", "zone",  "node",  "true", "True",
                                                   "TRUE",        "false", "False", "FALSE"};
  return names;
}

bool good_zone_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fine = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  const std::vector<std::string_view>& reserved = reserved_zone_names();
  const bool taken = std::find(reserved.begin(), reserved.end(), name) != reserved.end();
  return !name.empty() && name.size() <= 40 && letter(name[0]) && !taken &&
         std::all_of(name.begin(), name.end(), fine) && !(name.back() >= '0' && name.back() <= '9');
}

void market_key(Section& section, Zone& zone) {
  std::vector<std::string_view> names = market_names();
  names.emplace_back("none");
  if (section.describing()) {
    Json schema = choice_schema(names);
    schema["default"] = "none";
    return section.describe("market",
                            "Whose measured hazards take the zone's machines and bring others in "
                            "their place.",
                            schema);
  }
  if (section.writing()) {
    if (!zone.market.empty()) section.out().add("market", Tree::scalar(zone.market));
    return;
  }
  const Tree* found = section.take("market");
  const auto text = found == nullptr ? std::nullopt : section.text_of(*found, "a market");
  if (!text || *text == "none") return;
  if (find_market(*text)) {
    zone.market = *text;
    return;
  }
  const std::string hint = did_you_mean(*text, names);
  section.wrong(*found,
                fmt::format("unknown market \"{}\"{}", printable(*text),
                            hint.empty() ? fmt::format("; known are {}", either(names)) : hint));
}

void zone_keys(Section& section, Zone& zone) {
  section.require("nodes");
  section.count("nodes", zone.nodes, "So many machines, named by zone and number: a0, a1, ...",
                {1, kMaxMachines});
  section.count("at_start", zone.at_start,
                "The first so many are there at the start; faults of kind add bring the others. "
                "Default: all.",
                {0, kMaxMachines});
  section.price("price", zone.price_microdollars_per_hour, "Of one machine.");
  market_key(section, zone);
  if (section.reading() && zone.at_start && *zone.at_start > zone.nodes) {
    section.errors().add(
        section.place_of("at_start"),
        fmt::format("at_start {} is more than nodes {}", *zone.at_start, zone.nodes));
  }
  section.finish();
}

void read_zones(Section& cluster, Scenario& scenario) {
  const Tree* found = cluster.need("zones");
  if (found == nullptr) return;
  if (found->kind != Tree::Kind::kMap || found->entries.empty()) {
    return cluster.wrong(*found,
                         "expected zones by name, such as {a: {nodes: 20, price: $0.918/h}}");
  }
  if (found->entries.size() > kMaxZones) {
    return cluster.wrong(*found, fmt::format("more than {} zones", kMaxZones));
  }
  std::uint64_t total = 0;
  for (const Tree::Entry& entry : found->entries) {
    if (!good_zone_name(entry.key)) {
      cluster.errors().add(
          entry.key_place,
          fmt::format("\"{}\" is no name for a zone; write letters, digits, - and _, "
                      "a letter first and no digit last (machines are numbered)",
                      printable(entry.key)));
      continue;
    }
    Zone zone;
    zone.name = entry.key;
    Section section(&entry.value, fmt::format("zone {}", entry.key), cluster.errors());
    zone_keys(section, zone);
    total += zone.nodes;
    scenario.zones.push_back(std::move(zone));
  }
  if (total > kMaxMachines) {
    cluster.wrong(*found, fmt::format("{} machines; at most {}", total, kMaxMachines));
  }
}

void write_zones(Section& cluster, Scenario& scenario) {
  Tree& zones = cluster.out().add("zones", Tree::map());
  for (Zone& zone : scenario.zones) {
    Section section(zones.add(zone.name, Tree::map()));
    zone_keys(section, zone);
  }
}

void describe_zones(Section& cluster) {
  cluster.require("zones");
  Json one = Json::object();
  Section section(one);
  Zone zone;
  zone_keys(section, zone);
  Json zones = Json::object();
  zones["type"] = "object";
  zones["minProperties"] = 1;
  zones["maxProperties"] = kMaxZones;
  zones["propertyNames"] = text_schema(zone_pattern());
  zones["additionalProperties"] = std::move(one);
  cluster.describe("zones", "Machines by zone; the name is yours, and begins its machines' names.",
                   zones);
}

}  // namespace

std::string zone_pattern() {
  std::string names;
  for (const std::string_view name : reserved_zone_names()) {
    names += fmt::format("{}{}", names.empty() ? "" : "|", name);
  }
  return fmt::format("(?!(?:{})$)[A-Za-z](?:[A-Za-z0-9_-]{{0,38}}[A-Za-z_-])?", names);
}

std::string machine_pattern() {
  return "[A-Za-z](?:[A-Za-z0-9_-]{0,38}[A-Za-z_-])?(?:0|[1-9][0-9]*)";
}

void cluster_keys(Section& file, Scenario& scenario) {
  if (!file.require("cluster")) return;
  Section cluster = file.open("cluster", "The machines that there are.");
  if (cluster.reading()) {
    read_zones(cluster, scenario);
  } else if (cluster.writing()) {
    write_zones(cluster, scenario);
  } else {
    describe_zones(cluster);
  }
  cluster.duration(
      "notice", scenario.notice,
      "Markets, traces and swarms announce so long ahead that they take machines back.");
  cluster.duration("horizon", scenario.horizon,
                   "The run ends here if the job has not; at most 400d.", {1, kMaxHorizon.count()});
  cluster.duration("agent_boot", scenario.agent_boot,
                   "From power, or from the death of an agent, until an agent runs.");
  cluster.finish();
}

void availability_keys(Section& file, Scenario& scenario) {
  constexpr std::string_view kWords =
      "A trace takes machines and brings them, in the place of markets.";
  constexpr std::string_view kFrom = "Where in the trace the run begins.";
  TraceSource source;
  if (file.describing()) {
    Section section = file.open("availability", kWords);
    section.require("trace");
    section.describe("trace", "The name of a file, relative to the scenario's folder.",
                     {{"type", {"string", "number", "boolean"}}});
    section.duration("from", source.from, kFrom, {0, kMaxTraceSpan.count()});
    return section.finish();
  }
  if (file.writing()) {
    if (!scenario.availability) return;
    Section section = file.open("availability", kWords);
    section.out().add("trace", Tree::scalar(scenario.availability->path));
    section.duration("from", scenario.availability->from, kFrom);
    return;
  }
  if (file.take("availability") == nullptr) return;
  Section section = file.open("availability", kWords);
  const Tree* trace = section.need("trace");
  const auto text = trace == nullptr ? std::nullopt : section.text_of(*trace, "the name of a file");
  if (text) source.path = *text;
  section.duration("from", source.from, kFrom, {0, kMaxTraceSpan.count()});
  section.finish();
  if (text) scenario.availability = std::move(source);
}

void network_keys(Section& file, Scenario& scenario) {
  Section network = file.open("network", "What messages go through where nothing is broken.");
  network.duration("latency", scenario.network.latency, "Of one message, one way.", kSomeLength);
  network.duration("jitter", scenario.network.jitter, "And up to this much longer.");
  network.rate("bandwidth", scenario.network.bandwidth_bytes_per_second,
               "Of each machine, for reductions and fills.");
  network.share("loss", scenario.network.loss_ppm, "So many messages are lost.");
  network.share("duplicate", scenario.network.duplicate_ppm, "So many arrive twice.");
  network.share("reorder", scenario.network.reorder_ppm, "So many arrive after later ones.");
  network.finish();
}

void journal_keys(Section& file, Scenario& scenario) {
  Section journal = file.open("journal", "How fast the journal answers where nothing is broken.");
  journal.duration("append", scenario.journal.append, "What an append takes.", kSomeLength);
  journal.duration("read", scenario.journal.read, "What a read takes.", kSomeLength);
  journal.duration("jitter", scenario.journal.jitter, "And up to this much longer.");
  journal.finish();
}

void expect_keys(Section& file, Scenario& scenario) {
  Section expect = file.open("expect", "What the run must show; exit status 1 if it does not.");
  if (expect.describing()) {
    for (const std::string_view key : metric_names()) {
      expect.describe(key, metric_words(key), text_schema(expectation_pattern(key)));
    }
    const Json both = {{"required", {"lost_steps", "steps_lost"}}};
    expect.describe_rule({{"not", both}});
    return expect.finish();
  }
  if (expect.writing()) {
    for (const Expectation& one : scenario.expect) {
      expect.out().add(std::string(name(one.metric)), Tree::scalar(expectation_text(one)));
    }
    return;
  }
  for (const std::string_view key : metric_names()) {
    const Tree* found = expect.take(key);
    const auto text = found == nullptr ? std::nullopt : expect.text_of(*found, "a comparison");
    if (!text) continue;
    const Parsed<Expectation> parsed = parse_expectation(key, *text);
    if (!parsed) {
      expect.wrong(*found, parsed.error());
    } else if (key == "lost_steps" && expect.take("steps_lost") != nullptr) {
      expect.wrong(*found, "lost_steps is another name of steps_lost; write one of them");
    } else {
      scenario.expect.push_back(*parsed);
    }
  }
  expect.finish();
}

}  // namespace elastic::chaos
