#include "chaos/scenario/language.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "chaos/scenario/models.h"
#include "chaos/scenario/schema_texts.h"

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
  if (!job.require("nodes")) return;
  Section nodes = job.open("nodes", "How many machines the job may train on.");
  const bool least = nodes.require("min");
  const bool complete = nodes.require("max") && least;
  nodes.count("min", scenario.job.min_nodes,
              "With fewer machines nobody trains; those who are left keep the state and wait.",
              {1, kMaxMachines});
  nodes.count("max", scenario.job.max_nodes,
              "With more machines the rest are spares: they start their programs and wait.",
              {1, kMaxMachines});
  if (nodes.reading() && complete && scenario.job.min_nodes > scenario.job.max_nodes) {
    nodes.errors().add(
        nodes.place_of("min"),
        fmt::format("min {} is more than max {}", scenario.job.min_nodes, scenario.job.max_nodes));
  }
  nodes.finish();
}

void model_numbers(Section& model, Scenario& scenario) {
  for (const char* key : {"compute_per_sample", "gradient", "state"}) model.require(key);
  model.duration("compute_per_sample", scenario.model.compute_per_sample,
                 "What one sample takes on one worker, forward and backward.", kComputeTime);
  model.duration("step_overhead", scenario.model.step_overhead,
                 "What a step takes on top of that, whatever the size of the batch.", kComputeTime);
  model.size("gradient", scenario.model.gradient_bytes,
             "What is reduced among all workers in each step.", kStateSize);
  model.size("state", scenario.model.state_bytes,
             "Weights and what the optimiser keeps: what a machine that joins is filled with, and "
             "what a save writes.",
             kStateSize);
  if (model.reading() &&
      scenario.model.compute_per_sample + scenario.model.step_overhead == Duration{}) {
    model.errors().add(model.place_of("compute_per_sample"), "a step that takes no time");
  }
  model.finish();
}

// `table` is a name here; load.cc reads the file.
void model_table(Section& model, Scenario& scenario) {
  constexpr std::string_view kState =
      "Weights and what the optimiser keeps: what a machine that joins is filled with, and what a "
      "save writes.";
  const bool named = model.require("table");
  model.require("state");
  if (model.describing()) {
    model.describe(
        "table",
        "A file of your own with the columns nodes,workers,batch,seconds (workers on all "
        "nodes together, batch of one of them); relative to the scenario's folder.",
        {{"type", {"string", "number", "boolean"}}});
  } else if (model.writing()) {
    model.out().add("table", Tree::scalar(scenario.model.table));
  } else if (named) {
    const auto text = model.text_of(*model.take("table"), "the name of a file");
    if (text) scenario.model.table = *text;
  }
  model.size("state", scenario.model.state_bytes, kState, kStateSize);
  model.finish();
}

void describe_model(Section& job, Scenario& scenario) {
  job.require("model");
  Json numbers = Json::object();
  Section model(numbers);
  model_numbers(model, scenario);
  Json either = Json::object();
  Json file = Json::object();
  Section table(file);
  model_table(table, scenario);
  either["anyOf"] = {choice_schema(model_names()), std::move(numbers), std::move(file)};
  job.describe("model",
               "What a step costs and how large things are: a preset with measured times, times of "
               "your own, or a table of your own.",
               either);
}

void model_keys(Section& job, Scenario& scenario) {
  constexpr std::string_view kWords = "Times of your own.";
  if (job.describing()) return describe_model(job, scenario);
  if (job.writing()) {
    if (!scenario.model.preset.empty()) {
      job.out().add("model", Tree::scalar(scenario.model.preset));
    } else {
      Section model = job.open("model", kWords);
      if (scenario.model.table.empty()) {
        model_numbers(model, scenario);
      } else {
        model_table(model, scenario);
      }
    }
    return;
  }
  const Tree* found = job.need("model");
  if (found == nullptr) return;
  if (found->kind == Tree::Kind::kMap) {
    Section model = job.open("model", kWords);
    return found->find("table") == nullptr ? model_numbers(model, scenario)
                                           : model_table(model, scenario);
  }
  const auto text = job.text_of(*found,
                                "a model: a preset, or {compute_per_sample, step_overhead, "
                                "gradient, state}, or {table, state}");
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
                                                            "gradient, state}} or {{table, state}}",
                                                            either(model_names()))));
}

Json requires_key(const char* key) { return Json{{"required", {key}}}; }

// Holds where `key` is one of `values`.
Json where(const char* key, const std::vector<std::string_view>& values) {
  Json out = requires_key(key);
  out["properties"][key]["enum"] = values;
  return out;
}

// A length of work: steps, or epochs of a dataset.
void length_keys(Section& job, Scenario& scenario) {
  job.count("dataset", scenario.dataset, "Samples of one epoch.", {1, kMostSamples});
  job.count("epochs", scenario.epochs, "How long to train: so often over the dataset.",
            {1, kMostSteps});
  job.count("steps", scenario.steps, "How long to train: so many steps, instead of epochs.",
            {1, kMostSteps});
  job.count("global_batch", scenario.training.global_batch,
            "Samples of one step, over all workers together.", {1, kMostSamples});
  if (job.describing()) {
    job.describe_rule({{"oneOf", {requires_key("steps"), requires_key("epochs")}}});
    job.describe_rule({{"if", requires_key("epochs")}, {"then", requires_key("dataset")}});
  }
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
             "What the batch does when the number of workers changes: stays the same, or follows "
             "it, with the learning rate after it (linear, sqrt, or adascale by the noise of the "
             "gradients).",
             {{"constant", policy::BatchMode::kConstant},
              {"linear", policy::BatchMode::kLinear},
              {"sqrt", policy::BatchMode::kSqrt},
              {"adascale", policy::BatchMode::kAdaScale}});
  job.count("reference_world", training.reference_world,
            "The number of workers that global_batch was chosen for; 0: as many as there may be.",
            {0, kMostWorkers * kMaxMachines});
  job.count("ramp_steps", training.ramp_steps,
            "A learning rate that changes gets there in so many steps.", {0, kMostSteps});
  if (job.describing()) {
    Json none = Json::object();
    none["properties"] = {{"epochs", false}, {"workers", {{"const", "native"}}}};
    job.describe_rule(
        {{"if", where("batch_mode", {"linear", "sqrt", "adascale"})}, {"then", std::move(none)}});
  }
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
  constexpr std::string_view kWords =
      "Between two saves: a length of time, never (the last step is saved all the same), or auto: "
      "from what a save costs and how often the markets take machines.";
  const bool special = options.interval != SaveInterval::kFixed;
  if (checkpoint.describing()) {
    Json schema = text_schema("auto|never|" + positive(duration_pattern()));
    schema["default"] = duration_text(options.every);
    return checkpoint.describe("every", kWords, schema);
  }
  if (checkpoint.writing()) {
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
    checkpoint.duration("every", options.every, kWords, kSomeLength);
  }
}

void checkpoint_keys(Section& job, Scenario& scenario) {
  Section checkpoint = job.open("checkpoint", "When and where the state is saved.");
  interval_key(checkpoint, scenario.checkpoint);
  checkpoint.size("size", scenario.checkpoint.size_bytes,
                  "Of the state, in the place of the model's.", kStateSize);
  checkpoint.rate("bandwidth", scenario.training.storage_bytes_per_second,
                  "Of the storage, shared by all who save and load.");
  checkpoint.duration("copy_stall", scenario.training.copy_stall,
                      "Training stands still for so long while the state is copied for a save.");
  checkpoint.count("keep", scenario.job.keep_saves,
                   "So many saves stay; older ones are deleted once a newer one was read back. "
                   "0: all stay, and none is read back.",
                   {0, kMostSaves});
  checkpoint.finish();
}

void bounds_keys(Section& job, DeclaredBounds& declared) {
  Section bounds =
      job.open("bounds", "What holds where nothing is broken; time-outs are derived from these.");
  bounds.duration("round_trip", declared.round_trip, "A message and its answer take at most this.",
                  kSomeLength);
  bounds.duration("journal", declared.journal, "One append or read of the journal, at most.",
                  kSomeLength);
  bounds.duration("pause", declared.pause, "A healthy process stands still for at most this.",
                  kSomeLength);
  bounds.duration("start_up", declared.start_up, "A program is ready after at most this.",
                  kSomeLength);
  bounds.duration("transfer_stall", declared.transfer_stall,
                  "A fill or a load that shows no progress for longer is broken.", kSomeLength);
  bounds.duration("step", declared.step, "A worker computes one step in at most this.",
                  kSomeLength);
  bounds.finish();
}

void membership_keys(Section& job, JobConfig& config) {
  job.duration("detection_target", config.detection_target,
               "A lost machine is noticed within this. Shorter finds losses sooner and sends more "
               "heartbeats (four in this time); too short takes slow machines for lost.",
               kSomeLength);
  job.duration("orphan_bound", config.orphan_bound,
               "Workers that nobody coordinates keep the state for so long, then end themselves. "
               "Longer than the job may be without its coordinator and below its minimum, or steps "
               "since the last save are lost. Default: 5min, or six leases if that is more.",
               kSomeLength);
  job.duration("journal_lost_after", config.journal_lost_after,
               "With a hosted journal: the job is over after so long without it.", kSomeLength);
  job.duration("last_call", config.last_call,
               "Before a round forms, wait this long for more machines, from the last that came.");
  job.duration("last_call_cap", config.last_call_cap,
               "And never longer than this from the first. Longer than programs take to start, or "
               "the first round forms without the late ones.");
  job.duration("join_timeout", config.join_timeout,
               "A machine gives up after waiting this long for a round. Default: never.",
               kSomeLength);
  job.choice("growth", config.growth,
             "When machines that come change a running round: always, never (they wait for the "
             "next loss), or when the time saved exceeds the pause.",
             {{"always", Growth::kAlways}, {"never", Growth::kNever}, {"pays", Growth::kPays}});
  job.duration("cool_down", config.cool_down,
               "Who has spoilt the forming of a round (did not enter it, or could not be reached) "
               "sits out for this long.");
  job.duration("resize_deadline", config.resize_deadline,
               "Who has not stopped at the end of a step by then is told to leave at once.",
               kSomeLength);
  job.choice(
      "restart_policy", config.restart_policy,
      "Which ends of a worker count against max_restarts: every one but success, or only exit "
      "codes 1 to 127 (signals are then the machine's doing).",
      {{"any_failure", RestartPolicy::kAnyFailure}, {"exit_code", RestartPolicy::kExitCode}});
  job.count("max_restarts", config.max_restarts,
            "The job is given up when its program has failed more often.", {0, kMostRestarts});
  job.duration("budget_reset", config.budget_reset,
               "A round that runs for this long makes past failures forgotten.", kSomeLength);
  job.duration("stop_grace", config.stop_grace,
               "A program that is told to stop is killed after this.", kSomeLength);
}

// What the job may spend on failures, and what it does with nodes that come and go.
void policy_keys(Section& job, JobConfig& config) {
  job.duration("restart_back_off", config.restart_back_off.base,
               "From the second failure in a row on, wait this long before the next round; then "
               "twice as long each time.");
  job.duration("restart_back_off_cap", config.restart_back_off.cap, "But at most this.");
  job.count("max_churn", config.max_churn,
            "The job is given up when losses of machines have ended more rounds. Default: never.",
            {0, kMostRestarts});
  job.duration("churn_back_off", config.churn_back_off.base,
               "As restart_back_off, after losses of machines. 0s: off.");
  job.duration("churn_back_off_cap", config.churn_back_off.cap, "But at most this.");
  job.count("no_progress", config.no_progress.failures,
            "After so many failures at one step the job goes back to the save before it, and ends "
            "after as many more. 0: off.",
            {0, kMostRestarts});
  job.count("min_healthy", config.health.min_healthy,
            "The job ends when fewer machines are alive for min_healthy_grace. 0: it waits.",
            {0, kMaxMachines});
  job.duration("min_healthy_grace", config.health.grace, "See min_healthy.", kSomeLength);
  Section flaps =
      job.open("flaps", "Machines that are lost again and again are kept out for a while.");
  flaps.count("tolerated", config.flaps.tolerated,
              "A machine may be lost so often in each window. 0: nobody is ever kept out.",
              {0, policy::kMaxTolerated});
  flaps.duration("window", config.flaps.window, "See tolerated.", kSomeLength);
  flaps.duration("longest", config.flaps.longest, "Nobody is kept out for longer in one piece.",
                 kSomeLength);
  flaps.finish();
  Section pays = job.open("growth_pays", "What counts with growth: pays.");
  pays.duration("interval", config.growth_pays.interval,
                "A round runs for at least this long before it is changed for growth.");
  pays.duration("horizon", config.growth_pays.horizon,
                "Time saved counts for so long ahead: by then the world will have changed again.",
                kSomeLength);
  std::int64_t margin_ppm = config.growth_pays.margin_ppm;
  pays.share("margin", margin_ppm, "So much more than the pause must be saved.");
  config.growth_pays.margin_ppm = static_cast<std::uint32_t>(margin_ppm);
  pays.finish();
}

void journal_kind_keys(Section& job, Scenario& scenario) {
  job.choice("journal", scenario.job.journal,
             "Where the job's journal lives, which alone decides who coordinates and which round "
             "is the newest: with one of the machines, or in a service of its own.",
             {{"hosted", JournalKind::kHosted}, {"external", JournalKind::kExternal}});
  if (job.describing()) {
    job.describe("journal_host",
                 "With journal: hosted, the machine that keeps it, such as a0. Default: the first.",
                 text_schema(machine_pattern()));
    Json none = Json::object();
    none["properties"]["journal_host"] = false;
    job.describe_rule({{"if", where("journal", {"external"})}, {"then", std::move(none)}});
    return;
  }
  if (job.writing()) {
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

}  // namespace

void job_keys(Section& file, Scenario& scenario) {
  if (!file.require("job")) return;
  Section job =
      file.open("job", "What is trained, and how it lives with machines that come and go.");
  nodes_keys(job, scenario);
  job.count("node_unit", scenario.job.node_unit,
            "A round has a multiple of so many machines, as pipelines or tensor groups need it.",
            {1, kMaxMachines});
  job.count("workers_per_node", scenario.job.workers_per_node,
            "Processes on each machine, one per GPU.", {1, kMostWorkers});
  job.choice("workers", scenario.job.workers,
             "native: workers keep their state through a change of round. foreign: any program; "
             "its workers are stopped and started for every round, and go on from their last save.",
             {{"native", WorkerKind::kNative}, {"foreign", WorkerKind::kForeign}});
  model_keys(job, scenario);
  length_keys(job, scenario);
  batch_keys(job, scenario);
  job.choice("collectives", scenario.training.collectives,
             "How the reduction is simulated: each chunk of the ring as a message, or one "
             "completion for all (faster); auto: messages up to 16 workers.",
             {{"auto", sim::Collectives::kAuto},
              {"messages", sim::Collectives::kMessages},
              {"modelled", sim::Collectives::kModelled}});
  checkpoint_keys(job, scenario);
  journal_kind_keys(job, scenario);
  bounds_keys(job, scenario.job.bounds);
  membership_keys(job, scenario.job);
  policy_keys(job, scenario.job);
  job.duration("start_up", scenario.training.start_up,
               "From the start of a program until it is ready to train.");
  job.duration("start_up_jitter", scenario.training.start_up_jitter,
               "And up to this much longer, drawn for each start.");
  job.duration("reconfigure", scenario.training.reconfigure,
               "What setting up the communication of a new round takes.");
  job.duration("stop_time", scenario.training.stop_time,
               "From the request to stop until the program has ended.");
  job.duration(
      "collective_timeout", scenario.training.collective_timeout,
      "Foreign programs: a collective that stands still this long ends them with an error.",
      kSomeLength);
  job.finish();
}

}  // namespace elastic::chaos
