// fit-models: fits the measured step times, and prints constants and errors, or the table of
// presets.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "chaos/timing/fit.h"
#include "chaos/timing/measured.h"

namespace elastic::app {
namespace {

using chaos::FitErrors;
using chaos::Measured;
using chaos::MeasuredName;
using chaos::StepFit;

struct Result {
  MeasuredName name;
  StepFit fit;
  FitErrors kept;
  FitErrors held;
  std::vector<std::uint32_t> batches;
};

constexpr std::string_view kHead =
    R"(// Written by tools/fit-models from public measurements; do not edit.
//
// Measurements: simulator/traces/*/{{placements,scalability}}.csv of the public repository
// petuum/adaptdl, branch osdi21-artifact, commit c793c7089bd307462686339d29707925c461f9a9
// (Apache-2.0; Pollux, OSDI 2021), one T4 GPU per worker. The form of the fit, and which quarter of
// the configurations was held out from it, stand in fit.h. Relative errors of those held out:
//
{}#include "chaos/timing/measured.h"

namespace elastic::chaos {{
namespace {{

const std::vector<MeasuredModel> kModels{{
)";

template <class Numbers>
std::string list(const Numbers& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ", "));
}

std::string table(const std::vector<Result>& results) {
  std::string errors;
  for (const Result& one : results) {
    errors += fmt::format(
        "//   {:<19} {:>4} configurations, median {:4.1f} %, 90th percentile {:4.1f} %\n",
        one.name.name, one.held.count, 100 * one.held.median, 100 * one.held.p90);
  }
  std::string out = fmt::format(kHead, errors);
  for (const Result& one : results) {
    const StepFit& f = one.fit;
    out += fmt::format(
        "{{\"{}\", \"{}\", {{.compute_ps = {}, .sample_ps = {}, .local_ps = {}, .local_more_ps = "
        "{}, "
        ".pair_ps = {}, .pair_more_ps = {}, .net_ps = {}, .net_more_ps = {}, .shared_ps = {}, "
        ".overlap_milli = {}}}, {}, {}}},\n",
        one.name.name, one.name.folder, f.compute_ps, f.sample_ps, f.local_ps, f.local_more_ps,
        f.pair_ps, f.pair_more_ps, f.net_ps, f.net_more_ps, f.shared_ps, f.overlap_milli,
        list(one.batches), list(chaos::tabulate(f, one.batches)));
  }
  return out +
         "};\n\n}  // namespace\n\nconst std::vector<MeasuredModel>& measured_models() { return "
         "kModels; }\n\n}  // namespace elastic::chaos\n";
}

std::string report(const std::vector<Result>& results) {
  std::string out =
      "Relative errors; a quarter of the configurations was held out from the fit.\n\n"
      "                            held out               fitted\n"
      "model                 count median    p90   count median    p90\n";
  for (const Result& one : results) {
    out += fmt::format("{:<20} {:>6} {:>5.1f}% {:>5.1f}%  {:>6} {:>5.1f}% {:>5.1f}%\n",
                       one.name.name, one.held.count, 100 * one.held.median, 100 * one.held.p90,
                       one.kept.count, 100 * one.kept.median, 100 * one.kept.p90);
  }
  out +=
      "\nConstants in ms (b_c in us per sample), as in chaos/timing/fit.h:\n\n"
      "model                  a_c     b_c    a_l   b_l    a_p   b_p    a_n  b_n     d    g\n";
  for (const Result& one : results) {
    const StepFit& f = one.fit;
    const auto ms = [](std::int64_t ps) { return static_cast<double>(ps) * 1e-9; };
    out += fmt::format(
        "{:<19} {:>6.1f} {:>7.1f} {:>6.1f} {:>5.1f} {:>6.1f} {:>5.1f} {:>6.1f} {:>4.1f} {:>5.1f} "
        "{:.2f}\n",
        one.name.name, ms(f.compute_ps), ms(f.sample_ps) * 1000, ms(f.local_ps),
        ms(f.local_more_ps), ms(f.pair_ps), ms(f.pair_more_ps), ms(f.net_ps), ms(f.net_more_ps),
        ms(f.shared_ps), static_cast<double>(f.overlap_milli) / 1000);
  }
  return out;
}

std::string json(const std::vector<Result>& results) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const auto errors = [](const FitErrors& e) {
    return nlohmann::ordered_json{
        {"count", e.count}, {"median", e.median}, {"p90", e.p90}, {"worst", e.worst}};
  };
  for (const Result& one : results) {
    const StepFit& f = one.fit;
    all.push_back({{"model", one.name.name},
                   {"held_out", errors(one.held)},
                   {"fitted", errors(one.kept)},
                   {"compute_ps", f.compute_ps},
                   {"sample_ps", f.sample_ps},
                   {"local_ps", f.local_ps},
                   {"local_more_ps", f.local_more_ps},
                   {"pair_ps", f.pair_ps},
                   {"pair_more_ps", f.pair_more_ps},
                   {"net_ps", f.net_ps},
                   {"net_more_ps", f.net_more_ps},
                   {"shared_ps", f.shared_ps},
                   {"overlap_milli", f.overlap_milli}});
  }
  return all.dump(2) + "\n";
}

Result fitted(const MeasuredName& name, const std::vector<Measured>& all) {
  std::vector<Measured> kept;
  std::vector<Measured> held;
  std::set<std::uint32_t> batches;
  for (const Measured& one : all) {
    (chaos::held_out(one) ? held : kept).push_back(one);
    batches.insert(one.batch);
  }
  const StepFit fit = chaos::fit_steps(kept);
  return {name,
          fit,
          chaos::errors_of(fit, kept),
          chaos::errors_of(fit, held),
          {batches.begin(), batches.end()}};
}

int main_of(int argc, char** argv) {
  CLI::App app(
      "Fits the time of a training step, from local batch, workers and nodes, to measured ones, "
      "and\n"
      "prints the constants and the errors on the quarter of the configurations that was held out.",
      "fit-models");
  std::string folder;
  bool as_json = false;
  bool as_table = false;
  app.add_option("TRACES", folder,
                 "Folder with imagenet/, bert/, ... (adaptdl-osdi21, of the traces of Pollux)")
      ->required();
  auto* json_flag = app.add_flag("--json", as_json, "Print constants and errors as JSON");
  app.add_flag("--table", as_table, "Print the presets as C++ (tools/fit-models --write uses it)")
      ->excludes(json_flag);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::vector<Result> results;
  for (const MeasuredName& name : chaos::kMeasuredNames) {
    const auto all = chaos::read_measured(fmt::format("{}/{}", folder, name.folder));
    if (!all) {
      fmt::print(stderr, "{}", all.error().text());
      return 2;
    }
    results.push_back(fitted(name, *all));
  }
  fmt::print("{}", as_table ? table(results) : as_json ? json(results) : report(results));
  return 0;
}

}  // namespace
}  // namespace elastic::app

int main(int argc, char** argv) { return elastic::app::main_of(argc, argv); }
