#include "apps/elastic-sim/sweep.h"

#include <fmt/format.h>

#include <cstdio>

#include "apps/elastic-sim/wiring.h"
#include "chaos/report/batch_report.h"
#include "chaos/report/progress.h"
#include "chaos/run/interrupt.h"
#include "chaos/scenario/problem.h"
#include "chaos/sweep/sweep_report.h"

namespace elastic::app {

const char* const kSweepFooter =
    R"(Values: V1,V2,... or a range: 1min..64min:x2 (times two), 8..32:+8 (plus eight).
All points run the same seeds; figures are means with 95% confidence intervals.
--of: goodput (default), cost, finish, redone, in_time (share that finished within
finishes_within), lost, recovery_p99, recovery_max, rounds.

Which checkpoint interval?
  elastic-sim sweep FILE job.checkpoint.every=1min..64min:x2 --seeds 1..20
Which minimum and maximum?
  elastic-sim sweep FILE job.nodes.min=4,8,16 job.nodes.max=24,32 --of cost
Which detection target?
  elastic-sim sweep FILE job.detection_target=500ms,2s,10s --of finish
How many spares? (machines beyond job.nodes.max)
  elastic-sim sweep FILE cluster.zones.a.nodes=32..40:+2 --of cost
Is growth worth it? (for a program that starts again at each change)
  elastic-sim sweep FILE job.growth=always,never --of cost
What does a 30 s notice buy?
  elastic-sim sweep FILE cluster.notice=0s,30s,120s --of finish

A run that does not finish counts at the horizon and is marked with ">". A missed
expectation is a result here, not a failure: exit status 0. Otherwise statuses are
as with --seeds; 2 before anything runs when the scenario refuses a value.
Without --liveness the question whether a job comes back is left out.)";

namespace {

Options at_point(const Options& options, const std::vector<chaos::Setting>& settings,
                 const std::vector<std::string>& values) {
  Options changed = options;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    changed.changes.push_back(settings[i].path + "=" + values[i]);
  }
  return changed;
}

std::optional<std::vector<chaos::Setting>> settings_of(const Options& options) {
  std::vector<chaos::Setting> settings;
  std::size_t points = 1;
  for (const std::string& text : options.settings) {
    const chaos::Parsed<chaos::Setting> setting = chaos::parse_setting(text);
    if (!setting) {
      err(setting.error() + "\nnothing was run\n");
      return std::nullopt;
    }
    if (!settings.empty() && settings.front().path == setting->path) {
      err(fmt::format("{} is given twice; write all its values once\nnothing was run\n",
                      chaos::printable(setting->path)));
      return std::nullopt;
    }
    points *= setting->values.size();
    settings.push_back(*setting);
  }
  const std::uint64_t runs = points * options.seeds->count();
  if (runs > chaos::kMaxSweepRuns) {
    err(fmt::format("{} points with {} seeds are {} runs; at most {}\nnothing was run\n", points,
                    options.seeds->count(), runs, chaos::kMaxSweepRuns));
    return std::nullopt;
  }
  return settings;
}

// Every point checked; the problems of the first that is refused are on stderr.
std::optional<std::vector<chaos::SweepPoint>> points_of(
    const Options& options, const std::vector<chaos::Setting>& settings) {
  std::vector<chaos::SweepPoint> points;
  const std::vector<std::string> none{""};
  const std::vector<std::string>& across = settings.size() > 1 ? settings[1].values : none;
  for (const std::string& down : settings[0].values) {
    for (const std::string& right : across) {
      std::vector<std::string> values{down};
      if (settings.size() > 1) values.push_back(right);
      const Options changed = at_point(options, settings, values);
      const auto scenario = scenario_of(changed, options.files.front());
      if (!scenario) {
        std::string words;
        for (std::size_t i = 0; i < settings.size(); ++i) {
          words += (i == 0 ? "" : " ") + settings[i].path + "=" + values[i];
        }
        err(fmt::format("refused at {}\n", chaos::printable(words, 200)));
        return std::nullopt;
      }
      points.push_back({.values = values, .scenario = *scenario});
    }
  }
  return points;
}

}  // namespace

int sweep(const Options& options) {
  const auto measure = chaos::find_measure(options.of);
  if (!measure) {
    err(fmt::format("--of: there is no figure \"{}\"{}; there are {}\nnothing was run\n",
                    chaos::printable(options.of),
                    chaos::did_you_mean(options.of, chaos::measure_names()),
                    chaos::either(chaos::measure_names())));
    return kBadInput;
  }
  const auto settings = settings_of(options);
  if (!settings) return kBadInput;
  auto points = points_of(options, *settings);
  if (!points) return kBadInput;
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
  chaos::SweepOptions how;
  how.seeds = *options.seeds;
  how.jobs = options.jobs;
  how.run.liveness = options.liveness;
  how.progress = [&](const chaos::BatchProgress& state) {
    std::string line = fmt::format("{} of {} runs", state.done, state.total);
    if (state.failed > 0) line += fmt::format(", {} failed", state.failed);
    const std::string left = chaos::time_left(state.done, state.total, state.wall_ms);
    progress.show(left.empty() ? line : line + ", " + left + " left");
  };
  const chaos::SweepResult result = chaos::run_sweep(*settings, *std::move(points), how);
  progress.clear();
  const auto commands = [&](std::size_t point, std::uint64_t seed) {
    return commands_for(at_point(options, *settings, result.points[point].values), seed);
  };
  int status = chaos::exit_status(chaos::verdict_of(result));
  if (csv != nullptr) {
    const std::string text = chaos::sweep_csv(result);
    const bool written = std::fwrite(text.data(), 1, text.size(), csv) == text.size();
    if (std::fclose(csv) != 0 || !written) {
      err(fmt::format("--csv: \"{}\" is incomplete: it could not be written\n", options.csv));
      if (status == 0) status = chaos::kCrashStatus;
    }
  }
  out(options.json ? chaos::sweep_json(result, *measure, commands)
                   : chaos::sweep_report(result, *measure, commands, look_for(options)));
  return status;
}

}  // namespace elastic::app
