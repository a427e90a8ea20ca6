#include "apps/elastic-sim/compare.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "apps/elastic-sim/wiring.h"
#include "chaos/compare/compare.h"
#include "chaos/compare/compare_report.h"
#include "chaos/report/figures.h"
#include "chaos/report/progress.h"
#include "chaos/run/interrupt.h"

namespace elastic::app {
namespace {

// The scenario under each policy, or nothing: what is wrong is on stderr.
std::optional<std::vector<std::pair<chaos::Policy, chaos::Scenario>>> scenarios_of(
    const Options& options, const chaos::Source& source, const chaos::Scenario& base) {
  if (base.training.batch_mode != policy::BatchMode::kConstant) {
    err(
        fmt::format("{}: compare sets steps of one size side by side; it needs job.batch_mode: "
                    "constant (try --set job.batch_mode=constant)\nnothing was run\n",
                    chaos::printable(options.files.front())));
    return std::nullopt;
  }
  std::vector<std::pair<chaos::Policy, chaos::Scenario>> list;
  for (const chaos::Policy policy : options.policies) {
    auto scenario = chaos::under_policy(source, base, policy);
    if (!scenario) {
      err(fmt::format("under policy {} (see elastic-sim compare --help):\n{}", name(policy),
                      scenario.error().text()));
      return std::nullopt;
    }
    list.emplace_back(policy, *std::move(scenario));
  }
  return list;
}

std::string line_of(const chaos::BatchProgress& progress) {
  std::string line = fmt::format("{} of {} runs", chaos::count_text(progress.done),
                                 chaos::count_text(progress.total));
  if (progress.failed > 0) line += fmt::format(", {} failed", chaos::count_text(progress.failed));
  const std::string left = chaos::time_left(progress.done, progress.total, progress.wall_ms);
  return left.empty() ? line : line + ", " + left + " left";
}

}  // namespace

std::string compare_words() {
  return "policies: lists of settings, on top of the scenario and of --set\n"
         "(MOST: the scenario's max, or all its machines if they are fewer)\n" +
         chaos::policies_text() +
         "the bound is an oracle that loses nothing and reconfigures for free on the\n"
         "machines of the seed\n"
         "exit status 0: all runs were made, whatever they came to; 2: bad input;\n"
         "3 crash, 4 liveness, 5 safety of any run (3 before 5 before 4); 130: interrupted";
}

int compare(const Options& options) {
  const std::optional<chaos::Source> source = source_of(options, options.files.front());
  if (!source) return kBadInput;
  const auto base = chaos::check_source(*source);
  if (!base) {
    err(base.error().text());
    return kBadInput;
  }
  const auto scenarios = scenarios_of(options, *source, *base);
  if (!scenarios) return kBadInput;
  std::FILE* csv = nullptr;
  if (!options.csv.empty()) {
    csv = std::fopen(options.csv.c_str(), "we");
    if (csv == nullptr) {
      err(fmt::format("--csv: cannot write \"{}\"\nnothing was run\n",
                      chaos::printable(options.csv)));
      return kBadInput;
    }
  }
  chaos::catch_interrupts();
  chaos::Progress progress;
  chaos::CompareOptions how;
  how.seeds = *options.seeds;
  how.jobs = options.jobs;
  how.run.liveness = false;  // costs half a run more, and says nothing of time or money
  how.progress = [&](const chaos::BatchProgress& state) { progress.show(line_of(state)); };
  const chaos::PolicyComparison result = chaos::compare(*base, *scenarios, how);
  progress.clear();
  const auto repeat = [&](chaos::Policy policy, std::uint64_t seed) {
    Options again = options;
    for (const chaos::PolicySetting& one : chaos::settings(policy, *base)) {
      again.changes.push_back(one.assignment);
    }
    return command_for(again, "", seed);
  };
  out(options.json ? chaos::compare_json(result, repeat)
                   : chaos::compare_report(result, repeat, look_for(options)));
  if (csv != nullptr) {
    const std::string text = chaos::compare_csv(result);
    const bool written = std::fwrite(text.data(), 1, text.size(), csv) == text.size();
    if (std::fclose(csv) != 0 || !written) {
      err(fmt::format("--csv: \"{}\" is incomplete: it could not be written\n",
                      chaos::printable(options.csv)));
    }
  }
  return chaos::exit_status(chaos::verdict_of(result));
}

}  // namespace elastic::app
