#include "chaos/scenario/language.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/availability/market.h"
#include "chaos/scenario/models.h"

namespace elastic::chaos {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr std::int64_t kMostSamples = 1'000'000'000'000;
constexpr std::int64_t kMostWorkers = 1'024;  // on one machine
constexpr std::int64_t kMostRestarts = 1'000'000;
constexpr std::int64_t kMostSaves = 1'000'000;
constexpr Bounds kStateSize{1, std::int64_t{1} << 50};  // a pebibyte
constexpr Bounds kComputeTime{0, std::int64_t{86'400} * 1'000'000'000};

void nodes_keys(Section& job, Scenario& scenario) {
  if (job.reading() && job.need("nodes") == nullptr) return;
  Section nodes = job.open("nodes");
  const bool complete =
      !nodes.reading() || (nodes.need("min") != nullptr && nodes.need("max") != nullptr);
  nodes.count("min", scenario.job.min_nodes, {1, kMaxMachines});
  nodes.count("max", scenario.job.max_nodes, {1, kMaxMachines});
  if (nodes.reading() && complete && scenario.job.min_nodes > scenario.job.max_nodes) {
    nodes.errors().add(
        nodes.place_of("min"),
        fmt::format("min {} is more than max {}", scenario.job.min_nodes, scenario.job.max_nodes));
  }
  nodes.finish();
}

void model_numbers(Section& model, Scenario& scenario) {
  if (model.reading()) {
    for (const char* key : {"compute_per_sample", "gradient", "state"}) model.need(key);
  }
  model.duration("compute_per_sample", scenario.model.compute_per_sample, kComputeTime);
  model.duration("step_overhead", scenario.model.step_overhead, kComputeTime);
  model.size("gradient", scenario.model.gradient_bytes, kStateSize);
  model.size("state", scenario.model.state_bytes, kStateSize);
  if (model.reading() &&
      scenario.model.compute_per_sample + scenario.model.step_overhead == Duration{}) {
    model.errors().add(model.place_of("compute_per_sample"), "a step that takes no time");
  }
  model.finish();
}

void model_keys(Section& job, Scenario& scenario) {
  if (!job.reading()) {
    if (!scenario.model.preset.empty()) {
      job.out().add("model", Tree::scalar(scenario.model.preset));
    } else {
      Section model = job.open("model");
      model_numbers(model, scenario);
    }
    return;
  }
  const Tree* found = job.need("model");
  if (found == nullptr) return;
  if (found->kind == Tree::Kind::kMap) {
    Section model = job.open("model");
    return model_numbers(model, scenario);
  }
  const auto text = job.text_of(*found,
                                "a model: a preset, or {compute_per_sample, step_overhead, "
                                "gradient, state}");
  if (!text) return;
  const std::optional<Model> preset = find_model(*text);
  if (preset) {
    scenario.model = *preset;
    return;
  }
  const std::string hint = did_you_mean(*text, model_names());
  job.wrong(*found, fmt::format("unknown model \"{}\"{}", printable(*text),
                                !hint.empty() ? hint
                                              : fmt::format("; measured are {}; or write {{"
                                                            "compute_per_sample, step_overhead, "
                                                            "gradient, state}}",
                                                            either(model_names()))));
}

// A length of work: steps, or epochs of a dataset.
void length_keys(Section& job, Scenario& scenario) {
  job.count("dataset", scenario.dataset, {1, kMostSamples});
  job.count("epochs", scenario.epochs, {1, kMostSteps});
  job.count("steps", scenario.steps, {1, kMostSteps});
  job.count("global_batch", scenario.training.global_batch, {1, kMostSamples});
  if (!job.reading()) return;
  if (scenario.steps && scenario.epochs) {
    job.errors().add(job.place_of("epochs"), "both steps and epochs; write one of them");
  } else if (!job.take("steps") && !job.take("epochs")) {
    job.errors().add(job.place_of(""),
                     "says not how long to train; write steps, or epochs and dataset");
  } else if (scenario.epochs && !job.take("dataset")) {
    job.errors().add(job.place_of("epochs"), "epochs of what? Write \"dataset\", in samples");
  } else if (scenario.epochs && scenario.dataset &&
             *scenario.dataset > static_cast<std::uint64_t>(INT64_MAX) / *scenario.epochs) {
    job.errors().add(job.place_of("epochs"), "epochs times dataset is too large");
  }
}

// What the batch and the learning rate do when the world changes.
void batch_keys(Section& job, Scenario& scenario) {
  sim::TrainingModel& training = scenario.training;
  job.choice("batch_mode", training.batch_mode,
             {{"constant", policy::BatchMode::kConstant},
              {"linear", policy::BatchMode::kLinear},
              {"sqrt", policy::BatchMode::kSqrt},
              {"adascale", policy::BatchMode::kAdaScale}});
  job.count("reference_world", training.reference_world, {0, kMostWorkers * kMaxMachines});
  job.count("ramp_steps", training.ramp_steps, {0, kMostSteps});
  if (!job.reading() || training.batch_mode == policy::BatchMode::kConstant) return;
  if (scenario.job.workers == WorkerKind::kForeign) {
    job.errors().add(job.place_of("batch_mode"),
                     "a foreign program sees to its own batch; write constant, or workers: native");
  } else if (scenario.epochs) {
    job.errors().add(job.place_of("epochs"),
                     "with a batch that follows the world, the length is written in steps");
  } else if (const auto wrong = policy::refuse_batch(sim::batch_rule(scenario.job, training))) {
    job.errors().add(job.place_of("batch_mode"), *wrong);
  }
}

void interval_key(Section& checkpoint, CheckpointOptions& options) {
  const bool special = options.interval != SaveInterval::kFixed;
  if (!checkpoint.reading()) {
    const std::string text = !special ? duration_text(options.every)
                             : options.interval == SaveInterval::kAuto ? "auto"
                                                                       : "never";
    checkpoint.out().add("every", Tree::scalar(text));
    return;
  }
  const Tree* found = checkpoint.take("every");
  if (found != nullptr && found->kind == Tree::Kind::kScalar && found->text == "auto") {
    options.interval = SaveInterval::kAuto;
  } else if (found != nullptr && found->kind == Tree::Kind::kScalar && found->text == "never") {
    options.interval = SaveInterval::kNever;
  } else {
    checkpoint.duration("every", options.every, kSomeLength);
  }
}

void checkpoint_keys(Section& job, Scenario& scenario) {
  Section checkpoint = job.open("checkpoint");
  interval_key(checkpoint, scenario.checkpoint);
  checkpoint.size("size", scenario.checkpoint.size_bytes, kStateSize);
  checkpoint.rate("bandwidth", scenario.training.storage_bytes_per_second);
  checkpoint.duration("copy_stall", scenario.training.copy_stall);
  checkpoint.count("keep", scenario.job.keep_saves, {0, kMostSaves});
  checkpoint.finish();
}

void bounds_keys(Section& job, DeclaredBounds& declared) {
  Section bounds = job.open("bounds");
  bounds.duration("round_trip", declared.round_trip, kSomeLength);
  bounds.duration("journal", declared.journal, kSomeLength);
  bounds.duration("pause", declared.pause, kSomeLength);
  bounds.duration("start_up", declared.start_up, kSomeLength);
  bounds.duration("transfer_stall", declared.transfer_stall, kSomeLength);
  bounds.duration("step", declared.step, kSomeLength);
  bounds.finish();
}

void membership_keys(Section& job, JobConfig& config) {
  job.duration("detection_target", config.detection_target, kSomeLength);
  job.duration("orphan_bound", config.orphan_bound, kSomeLength);
  job.duration("journal_lost_after", config.journal_lost_after, kSomeLength);
  job.duration("last_call", config.last_call);
  job.duration("last_call_cap", config.last_call_cap);
  job.duration("join_timeout", config.join_timeout, kSomeLength);
  job.choice("growth", config.growth,
             {{"always", Growth::kAlways}, {"never", Growth::kNever}, {"pays", Growth::kPays}});
  job.duration("cool_down", config.cool_down);
  job.duration("resize_deadline", config.resize_deadline, kSomeLength);
  job.choice(
      "restart_policy", config.restart_policy,
      {{"any_failure", RestartPolicy::kAnyFailure}, {"exit_code", RestartPolicy::kExitCode}});
  job.count("max_restarts", config.max_restarts, {0, kMostRestarts});
  job.duration("budget_reset", config.budget_reset, kSomeLength);
  job.duration("stop_grace", config.stop_grace, kSomeLength);
}

// What the job may spend on failures, and what it does with nodes that come and go.
void policy_keys(Section& job, JobConfig& config) {
  job.duration("restart_back_off", config.restart_back_off.base);
  job.duration("restart_back_off_cap", config.restart_back_off.cap);
  job.count("max_churn", config.max_churn, {0, kMostRestarts});
  job.duration("churn_back_off", config.churn_back_off.base);
  job.duration("churn_back_off_cap", config.churn_back_off.cap);
  job.count("no_progress", config.no_progress.failures, {0, kMostRestarts});
  job.count("min_healthy", config.health.min_healthy, {0, kMaxMachines});
  job.duration("min_healthy_grace", config.health.grace, kSomeLength);
  Section flaps = job.open("flaps");
  flaps.count("tolerated", config.flaps.tolerated, {0, policy::kMaxTolerated});
  flaps.duration("window", config.flaps.window, kSomeLength);
  flaps.duration("longest", config.flaps.longest, kSomeLength);
  flaps.finish();
  Section pays = job.open("growth_pays");
  pays.duration("interval", config.growth_pays.interval);
  pays.duration("horizon", config.growth_pays.horizon, kSomeLength);
  std::int64_t margin_ppm = config.growth_pays.margin_ppm;
  pays.share("margin", margin_ppm);
  config.growth_pays.margin_ppm = static_cast<std::uint32_t>(margin_ppm);
  pays.finish();
}

void journal_kind_keys(Section& job, Scenario& scenario) {
  job.choice("journal", scenario.job.journal,
             {{"hosted", JournalKind::kHosted}, {"external", JournalKind::kExternal}});
  if (!job.reading()) {
    if (!scenario.journal_host.empty()) {
      job.out().add("journal_host", Tree::scalar(scenario.journal_host));
    }
    return;
  }
  const Tree* host = job.take("journal_host");
  const auto text = host == nullptr ? std::nullopt : job.text_of(*host, "the name of a machine");
  if (!text) return;
  scenario.journal_host = *text;
  if (scenario.job.journal != JournalKind::kHosted) {
    job.wrong(*host, "an external journal has no host; write \"journal: hosted\"");
  }
}

bool good_zone_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fine = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  const bool reserved = name == kCoordinatorName || name == "zone" || name == "node";
  return !name.empty() && name.size() <= 40 && letter(name[0]) && !reserved &&
         std::all_of(name.begin(), name.end(), fine) && !(name.back() >= '0' && name.back() <= '9');
}

void market_key(Section& section, Zone& zone) {
  if (!section.reading()) {
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
  std::vector<std::string_view> names = market_names();
  names.emplace_back("none");
  const std::string hint = did_you_mean(*text, names);
  section.wrong(*found,
                fmt::format("unknown market \"{}\"{}", printable(*text),
                            hint.empty() ? fmt::format("; known are {}", either(names)) : hint));
}

void zone_keys(Section& section, Zone& zone) {
  if (section.reading()) section.need("nodes");
  section.count("nodes", zone.nodes, {1, kMaxMachines});
  section.count("at_start", zone.at_start, {0, kMaxMachines});
  section.price("price", zone.price_microdollars_per_hour);
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

}  // namespace

void job_keys(Section& file, Scenario& scenario) {
  if (file.reading() && file.need("job") == nullptr) return;
  Section job = file.open("job");
  nodes_keys(job, scenario);
  job.count("node_unit", scenario.job.node_unit, {1, kMaxMachines});
  job.count("workers_per_node", scenario.job.workers_per_node, {1, kMostWorkers});
  job.choice("workers", scenario.job.workers,
             {{"native", WorkerKind::kNative}, {"foreign", WorkerKind::kForeign}});
  model_keys(job, scenario);
  length_keys(job, scenario);
  batch_keys(job, scenario);
  job.choice("collectives", scenario.training.collectives,
             {{"auto", sim::Collectives::kAuto},
              {"messages", sim::Collectives::kMessages},
              {"modelled", sim::Collectives::kModelled}});
  checkpoint_keys(job, scenario);
  journal_kind_keys(job, scenario);
  bounds_keys(job, scenario.job.bounds);
  membership_keys(job, scenario.job);
  policy_keys(job, scenario.job);
  job.duration("start_up", scenario.training.start_up);
  job.duration("start_up_jitter", scenario.training.start_up_jitter);
  job.duration("reconfigure", scenario.training.reconfigure);
  job.duration("stop_time", scenario.training.stop_time);
  job.duration("collective_timeout", scenario.training.collective_timeout, kSomeLength);
  job.finish();
}

void cluster_keys(Section& file, Scenario& scenario) {
  if (file.reading() && file.need("cluster") == nullptr) return;
  Section cluster = file.open("cluster");
  if (cluster.reading()) {
    read_zones(cluster, scenario);
  } else {
    write_zones(cluster, scenario);
  }
  cluster.duration("notice", scenario.notice);
  cluster.duration("horizon", scenario.horizon, {1, kMaxHorizon.count()});
  cluster.duration("agent_boot", scenario.agent_boot);
  cluster.finish();
}

void availability_keys(Section& file, Scenario& scenario) {
  if (!file.reading()) {
    if (!scenario.availability) return;
    Section section = file.open("availability");
    section.out().add("trace", Tree::scalar(scenario.availability->path));
    section.duration("from", scenario.availability->from);
    return;
  }
  if (file.take("availability") == nullptr) return;
  Section section = file.open("availability");
  TraceSource source;
  const Tree* trace = section.need("trace");
  const auto text = trace == nullptr ? std::nullopt : section.text_of(*trace, "the name of a file");
  if (text) source.path = *text;
  section.duration("from", source.from, {0, kMaxTraceSpan.count()});
  section.finish();
  if (text) scenario.availability = std::move(source);
}

void network_keys(Section& file, Scenario& scenario) {
  Section network = file.open("network");
  network.duration("latency", scenario.network.latency, kSomeLength);
  network.duration("jitter", scenario.network.jitter);
  network.rate("bandwidth", scenario.network.bandwidth_bytes_per_second);
  network.share("loss", scenario.network.loss_ppm);
  network.share("duplicate", scenario.network.duplicate_ppm);
  network.share("reorder", scenario.network.reorder_ppm);
  network.finish();
}

void journal_keys(Section& file, Scenario& scenario) {
  Section journal = file.open("journal");
  journal.duration("append", scenario.journal.append, kSomeLength);
  journal.duration("read", scenario.journal.read, kSomeLength);
  journal.duration("jitter", scenario.journal.jitter);
  journal.finish();
}

void expect_keys(Section& file, Scenario& scenario) {
  Section expect = file.open("expect");
  if (!expect.reading()) {
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
