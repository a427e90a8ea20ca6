#include "apps/elastic-sim/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "apps/elastic-sim/wiring.h"
#include "chaos/availability/availability.h"
#include "chaos/report/batch_report.h"
#include "chaos/report/figures.h"
#include "chaos/report/json.h"
#include "chaos/report/progress.h"
#include "chaos/report/report.h"
#include "chaos/report/verify_report.h"
#include "chaos/run/event_log.h"
#include "chaos/run/interrupt.h"
#include "chaos/run/run.h"
#include "chaos/run/verify.h"
#include "chaos/scenario/scenario.h"
#include "chaos/scenario/schema.h"
#include "transport/sim/world.h"

namespace elastic::app {
namespace {

// The file of --events while it is being written.
struct EventsFile {
  std::FILE* file = nullptr;
  std::unique_ptr<sim::WorldConfig> config;
  std::unique_ptr<chaos::EventLog> log;

  EventsFile() = default;
  ~EventsFile() {
    if (file != nullptr) std::fclose(file);
  }
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  void attach(sim::World& world) {
    config = std::make_unique<sim::WorldConfig>(world.config());
    log = std::make_unique<chaos::EventLog>(*config, [this](std::uint64_t, std::string_view line) {
      std::fwrite(line.data(), 1, line.size(), file);
      std::fputc('\n', file);
    });
    world.watch(*log);
  }
  // What is written is whole; false: the disk is full or the like.
  bool close(std::uint64_t last_event) {
    if (file == nullptr) return true;
    if (log) log->flush(last_event);
    const bool whole = std::ferror(file) == 0;
    const bool closed = std::fclose(file) == 0;
    file = nullptr;
    return whole && closed;
  }
};

chaos::VerifyResult verify_rows(const Options& options, const std::vector<chaos::Row>& rows,
                                chaos::SeedRange seeds, chaos::Progress& progress) {
  const chaos::SelfCall self{.arguments = scenario_arguments(options), .jobs = options.jobs};
  return chaos::verify(rows, seeds, self, [&](std::uint64_t done) {
    progress.show(fmt::format("second process: {} of {} seeds", chaos::count_text(done),
                              chaos::count_text(seeds.count())));
  });
}

// A difference is a crash unless something worse (there is nothing worse but the user) is known.
int status_with(int status, const std::optional<chaos::VerifyResult>& verified) {
  if (!verified) return status;
  if (!verified->differences.empty()) return chaos::exit_status(chaos::VerdictClass::kCrash);
  if (!verified->complete && status <= 1) {
    return chaos::interrupted() ? chaos::kInterruptedStatus
                                : chaos::exit_status(chaos::VerdictClass::kCrash);
  }
  return status;
}

int print_rows(const Options& options, const chaos::Scenario& scenario) {
  chaos::BatchOptions batch;
  batch.seeds = *options.seeds;
  batch.jobs = options.jobs;
  batch.run.liveness = options.liveness;
  batch.digests = true;
  batch.on_row = [](const chaos::Row& row) { out(chaos::to_text(row) + "\n"); };
  chaos::run_batch(scenario, batch);
  return 0;
}

}  // namespace

int run_one(const Options& options) {
  const std::optional<chaos::Scenario> scenario = scenario_of(options, options.files.front());
  if (!scenario) return kBadInput;
  EventsFile events;
  if (!options.events.empty()) {
    events.file = std::fopen(options.events.c_str(), "we");
    if (events.file == nullptr) {
      err(fmt::format("--events: cannot write \"{}\"\nnothing was run\n",
                      chaos::printable(options.events)));
      return kBadInput;
    }
  }
  chaos::catch_interrupts();
  chaos::Progress progress;
  const chaos::Commands commands = commands_for(options, options.seed);
  const chaos::Look look = look_for(options);
  const auto report = [&](const chaos::RunResult& result, const chaos::VerifyResult* verified) {
    progress.clear();
    std::string text = options.json ? chaos::seed_json(result, commands, verified)
                                    : chaos::seed_report(result, commands, look);
    if (!options.json && verified != nullptr) text += chaos::verify_section(*verified, look);
    out(text);
  };

  chaos::RunOptions run;
  run.liveness = options.liveness;
  run.last_words = "  repeat      " + commands.repeat + "\n";
  run.progress = [&](Time now) { progress.show("simulated " + chaos::span_text(now - Time{})); };
  run.on_crash = [&](const chaos::RunResult& result) {
    events.close(result.crash_event);
    report(result, nullptr);
    _exit(chaos::kCrashStatus);
  };
  if (events.file != nullptr) run.attach = [&](sim::World& world) { events.attach(world); };
  const chaos::RunResult result = chaos::run_seed(*scenario, options.seed, run);
  if (!events.close(result.outcome.events)) {
    err(fmt::format("--events: \"{}\" is incomplete: it could not be written\n", options.events));
  }
  std::optional<chaos::VerifyResult> verified;
  if (options.verify && result.verdict != chaos::VerdictClass::kInterrupted) {
    verified = verify_rows(options, {chaos::row_of(result, true)},
                           {.first = options.seed, .last = options.seed}, progress);
  }
  report(result, verified ? &*verified : nullptr);
  return status_with(chaos::exit_status(result.verdict), verified);
}

int run_many(const Options& options) {
  const std::optional<chaos::Scenario> scenario = scenario_of(options, options.files.front());
  if (!scenario) return kBadInput;
  chaos::catch_interrupts();
  if (options.rows) return print_rows(options, *scenario);
  chaos::BatchOptions batch;
  batch.seeds = *options.seeds;
  batch.jobs = options.jobs;
  batch.run.liveness = options.liveness;
  batch.digests = options.verify;
  chaos::Progress progress;
  batch.progress = [&](const chaos::BatchProgress& state) {
    progress.show(chaos::progress_line(state));
  };
  const chaos::BatchResult result = chaos::run_batch(*scenario, batch);
  std::optional<chaos::VerifyResult> verified;
  if (options.verify && !result.interrupted) {
    verified = verify_rows(options, result.rows, *options.seeds, progress);
  }
  progress.clear();
  const auto commands = [&](std::uint64_t seed) { return commands_for(options, seed); };
  if (options.json) {
    out(chaos::batch_json(result, commands, verified ? &*verified : nullptr));
  } else {
    const chaos::Look look = look_for(options);
    std::string text = chaos::batch_report(result, commands, look);
    if (verified) text += chaos::verify_section(*verified, look);
    out(text);
  }
  return status_with(chaos::exit_status(chaos::verdict_of(result)), verified);
}

int validate(const Options& options) {
  int status = 0;
  for (const std::string& file : options.files) {
    if (const auto scenario = scenario_of(options, file)) {
      out(fmt::format("{}: ok\n", file));
    } else {
      status = kBadInput;
    }
  }
  return status;
}

int explain(const Options& options) {
  const auto scenario = scenario_of(options, options.files.front());
  if (!scenario) return kBadInput;
  out(chaos::explain(*scenario, options.seed));
  return 0;
}

int describe_trace(const Options& options) {
  const auto trace = chaos::load_availability(options.files.front());
  if (!trace) {
    err(trace.error().text());
    return kBadInput;
  }
  out(chaos::describe(*trace));
  return 0;
}

int print_schema() {
  out(chaos::scenario_schema());
  return 0;
}

int print_window(const Options& options) {
  const auto scenario = scenario_of(options, options.files.front());
  if (!scenario) return kBadInput;
  out(chaos::event_window(*scenario, options.seed, options.window->first, options.window->last) +
      "\n");
  return 0;
}

}  // namespace elastic::app
