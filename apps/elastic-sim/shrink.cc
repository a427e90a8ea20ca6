#include "chaos/shrink/shrink.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "apps/elastic-sim/commands.h"
#include "apps/elastic-sim/wiring.h"
#include "chaos/report/figures.h"
#include "chaos/report/progress.h"
#include "chaos/report/report.h"
#include "chaos/run/interrupt.h"

namespace elastic::app {
namespace {

std::string failure_words(const chaos::Row& row) {
  if (row.verdict == chaos::VerdictClass::kMissed) {
    for (const chaos::Judged& one : row.expected) {
      if (!one.ok) return fmt::format("{} (found {})", one.wanted, one.found);
    }
  }
  return fmt::format("{}: {}", row.oracle, row.title);
}

// Writes through a neighbour, so that no half of a scenario is ever left.
bool write_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  const std::filesystem::path target(path);
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), ignored);
  const std::string partial = path + ".part";
  std::FILE* file = std::fopen(partial.c_str(), "we");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed && std::rename(partial.c_str(), path.c_str()) == 0) return true;
  std::remove(partial.c_str());
  return false;
}

std::string plan_lines(const chaos::ShrinkResult& result, std::uint64_t seed,
                       const chaos::Look& look) {
  constexpr std::size_t kShown = 12;
  const sim::WorldConfig config = chaos::to_world(result.smallest, seed);
  const sim::Plan& plan = result.minimised.smallest.plan;
  std::string text;
  for (std::size_t i = 0; i < std::min(plan.size(), kShown); ++i) {
    std::string line =
        fmt::format("{}  {}", chaos::moment_text(plan[i].at), chaos::fault_label(plan[i], config));
    if (plan[i].length > Duration::zero()) line += " for " + chaos::span_text(plan[i].length);
    text += chaos::paragraph(i == 0 ? "plan" : "", line, look);
  }
  if (plan.size() > kShown) {
    text += chaos::paragraph("", fmt::format("and {} more", plan.size() - kShown), look);
  }
  return text;
}

std::string report(const chaos::ShrinkResult& result, const Options& options,
                   const std::string& path, const chaos::Look& look) {
  const chaos::Minimised& small = result.minimised;
  std::string text = chaos::paragraph("fails", failure_words(result.failure), look);
  text += chaos::paragraph(
      "shrunk",
      fmt::format(
          "{} -> {} faults, {} -> {} of simulated time, in {}{}",
          chaos::count_text(result.faults_before), chaos::count_text(small.smallest.plan.size()),
          chaos::span_text(result.horizon_before), chaos::span_text(result.smallest.horizon),
          chaos::plural(small.trials, "run", "runs"),
          small.complete ? "" : " (not to the end: --max-runs, or interrupted)"),
      look);
  text += plan_lines(result, options.seed, look);
  text += chaos::section("written", {path}, look);
  if (!result.repeats && !result.interrupted) {
    text += chaos::paragraph("but", "read back, the file does not fail in the same way", look);
  }
  Options again;
  again.files = {path};
  again.mutant = options.mutant;
  text += chaos::section("repeat", {command_for(again, "", options.seed)}, look);
  return text;
}

}  // namespace

int shrink(const Options& options) {
  const auto scenario = scenario_of(options, options.files.front());
  if (!scenario) return kBadInput;
  chaos::catch_interrupts();
  chaos::Progress progress;
  chaos::ShrinkOptions how;
  how.limits.max_trials = options.max_trials;
  how.liveness = options.liveness;
  how.progress = [&](const chaos::MinimiseProgress& state) {
    progress.show(fmt::format("{} runs, {} faults left, {} of simulated time ({})", state.trials,
                              state.faults, chaos::span_text(state.horizon), state.phase));
  };
  const chaos::ShrinkResult result = chaos::shrink_seed(*scenario, options.seed, how);
  progress.clear();
  const chaos::Look look = look_for(options);
  const std::string head = fmt::format("{}  seed {}   ", scenario->name, options.seed);
  if (!result.interrupted && result.failure.verdict == chaos::VerdictClass::kHolds) {
    out(head + "holds: there is nothing to shrink\n");
    return 0;
  }
  if (!result.minimised.failed) {
    out(head + (result.interrupted ? "interrupted before it failed\n"
                                   : "does not fail in the same way when it is run again\n"));
    return result.interrupted ? chaos::kInterruptedStatus : chaos::kCrashStatus;
  }
  const std::string path =
      options.output.empty() ? chaos::regression_path(scenario->name, options.seed, result.failure)
                             : options.output;
  if (!write_file(path, result.yaml)) {
    out(result.yaml);
    err(fmt::format("cannot write \"{}\"; the scenario is on standard output\n", path));
    return kBadInput;
  }
  out(head + std::string(chaos::name(result.failure.verdict)) + "\n\n" +
      report(result, options, path, look));
  return result.interrupted ? chaos::kInterruptedStatus : 0;
}

}  // namespace elastic::app
