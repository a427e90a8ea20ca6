#include "apps/elastic-sim/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>

#include "apps/elastic-sim/compare.h"
#include "apps/elastic-sim/sweep.h"
#include "chaos/run/pool.h"
#include "chaos/run/verify.h"
#include "chaos/scenario/problem.h"

namespace elastic::app {
namespace {

constexpr const char* kVersion = "elastic-sim 0.1.0";

constexpr const char* kDescription =
    R"(elastic-sim answers what a training job goes through as machines come and go.

  elastic-sim scenarios/spot_churn.yaml             one run: time, cost, what broke
  elastic-sim scenarios/spot_churn.yaml --seed 7    another course of events
  elastic-sim scenarios/spot_churn.yaml --seeds 1..500
                                                    how outcomes are spread
  elastic-sim scenarios/spot_churn.yaml --set job.nodes.min=12
  elastic-sim scenarios/spot_churn.yaml --trace p3-trace.csv
                                                    machines as in this trace
  elastic-sim explain scenarios/spot_churn.yaml     what will happen, in words
  elastic-sim shrink scenarios/spot_churn.yaml --seed 8123
                                                    the least that still fails
  elastic-sim compare scenarios/spot_churn.yaml --seeds 30
                                                    beside today's launchers
  elastic-sim sweep scenarios/checkpoint_interval.yaml \
      job.checkpoint.every=1min..64min:x2           which setting is best)";

constexpr const char* kFooter =
    R"(exit status   0  holds
              1  an expectation of the scenario is missed
              2  bad input: nothing was run
              3  crash: an assertion failed, or --verify found a difference
              4  liveness: the healed part of the cluster did not come back
              5  safety: something happened that must never happen
            130  interrupted: what is known so far was printed
With --seeds the worst counts: 3 before 5 before 4 before 1.)";

// "--sed" -> `; did you mean "--seed"?`
std::string suggestion(const CLI::App& app, const std::string& found) {
  const std::string bare = found.substr(0, found.find('='));
  std::vector<std::string> names;
  const auto take = [&](const CLI::App& one) {
    for (const CLI::Option* option : one.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (!option->get_group().empty()) names.push_back("--" + name);
      }
    }
  };
  take(app);
  for (const CLI::App* sub : app.get_subcommands()) take(*sub);
  if (bare.substr(0, 1) != "-") {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(sub->get_name());
    }
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return chaos::did_you_mean(bare, candidates);
}

struct Texts {
  std::string file;  // of the default action and of subcommands with one file
  std::optional<std::string> seed;
  std::optional<std::string> seeds;
  std::string window;
  std::string policies = "rigid,restart,elastic";
  bool liveness = false;  // of sweep
};

void add_scenario_options(CLI::App& app, Options& options) {
  app.add_option("--set", options.changes, "change the scenario, as in job.nodes.min=12")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--trace", options.trace, "machines come and go as in this trace")
      ->type_name("FILE");
#if defined(ELASTIC_MUTANTS)
  app.add_option("--mutant", options.mutant, "switch on a planted bug")->type_name("NAME");
#endif
}

void add_seed(CLI::App& app, Texts& texts) {
  app.add_option("--seed", texts.seed, "which course of chance (default 1)")->type_name("N");
}

void add_run_options(CLI::App& app, Options& options, Texts& texts) {
  add_seed(app, texts);
  app.add_option("--seeds", texts.seeds, "many seeds: 1..500")->type_name("A..B");
  app.add_option("--jobs,-j", options.jobs, "processes for --seeds (default: one per core)")
      ->type_name("N");
  add_scenario_options(app, options);
  app.add_option("--events", options.events, "write all that happens as JSON lines")
      ->type_name("FILE");
  app.add_flag("--json", options.json, "the report as JSON");
  app.add_flag("--verify", options.verify, "run again in a new process; it must be the same run");
  app.add_flag_callback(
      "--no-liveness", [&options] { options.liveness = false; },
      "leave out the question whether the job comes back");
  app.add_flag("--oracles,-v", options.oracles, "every oracle with its promise and checks");
  app.add_flag(chaos::kRowsOption, options.rows)->group("");
  app.add_option(chaos::kWindowOption, texts.window)->group("");
}

void add_sweep(CLI::App& app, Options& options, Texts& texts) {
  CLI::App* sweep = app.add_subcommand("sweep", "try values of one or two settings");
  sweep->add_option("FILE", texts.file, "a scenario file")->required();
  sweep->add_option("SETTING", options.settings, "PATH=V1,V2,... one or two of them")
      ->required()
      ->expected(1, 2)
      ->type_name("");
  sweep->add_option("--seeds", texts.seeds, "the seeds of every point (default 1..10)")
      ->type_name("A..B");
  sweep->add_option("--jobs,-j", options.jobs, "processes (default: one per core)")->type_name("N");
  add_scenario_options(*sweep, options);
  sweep->add_option("--of", options.of, "what is best: goodput, or another figure (below)")
      ->type_name("FIGURE");
  sweep->add_flag("--json", options.json, "all figures and runs as JSON");
  sweep->add_option("--csv", options.csv, "write one line for each run")->type_name("FILE");
  sweep->add_flag("--liveness", texts.liveness, "ask, too, whether the job comes back");
  sweep->footer(kSweepFooter);
  sweep->callback([&options, &texts] {
    options.action = Action::kSweep;
    options.liveness = texts.liveness;
    if (!texts.seeds) texts.seeds = "1..10";
  });
}

void add_subcommands(CLI::App& app, Options& options, Texts& texts) {
  CLI::App* validate = app.add_subcommand("validate", "check scenario files and run nothing");
  validate->add_option("FILE", options.files, "scenario files")->required();
  add_scenario_options(*validate, options);
  validate->callback([&options] { options.action = Action::kValidate; });

  CLI::App* explain = app.add_subcommand("explain", "say in words what a scenario and seed do");
  explain->add_option("FILE", texts.file, "a scenario file")->required();
  add_seed(*explain, texts);
  add_scenario_options(*explain, options);
  explain->callback([&options] { options.action = Action::kExplain; });

  CLI::App* trace = app.add_subcommand("trace", "describe an availability trace");
  trace->add_option("FILE", texts.file, "a trace file")->required();
  trace->callback([&options] { options.action = Action::kTrace; });

  app.add_subcommand("schema", "print the JSON Schema of scenarios, for editors")
      ->callback([&options] { options.action = Action::kSchema; });

  add_sweep(app, options, texts);

  CLI::App* shrink = app.add_subcommand("shrink", "find the smallest plan that still fails");
  shrink->add_option("FILE", texts.file, "a scenario file")->required();
  add_seed(*shrink, texts);
  add_scenario_options(*shrink, options);
  shrink->add_option("-o,--output", options.output, "where (default: scenarios/regressions/...)")
      ->type_name("FILE");
  shrink->add_option("--max-runs", options.max_trials, "stop after so many runs (default 400)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  shrink->add_flag_callback(
      "--no-liveness", [&options] { options.liveness = false; }, "only failures of the main run");
  shrink->footer(
      "exit status 0: a smaller scenario was written, or the seed holds; 2: bad input;\n"
      "3: the failure does not repeat; 130: interrupted (what was found is written)");
  shrink->callback([&options] { options.action = Action::kShrink; });
}

void add_compare(CLI::App& app, Options& options, Texts& texts) {
  CLI::App* compare =
      app.add_subcommand("compare", "the same faults under several policies, seed by seed");
  compare->add_option("FILE", texts.file, "a scenario file")->required();
  compare
      ->add_option("--policy", texts.policies,
                   "which, in this order (default rigid,restart,elastic)")
      ->type_name("LIST");
  compare->add_option("--seeds", texts.seeds, "seeds 1 to N, or 101..130 (default 10)")
      ->type_name("N|A..B");
  compare->add_option("--jobs,-j", options.jobs, "processes (default: one per core)")
      ->type_name("N");
  add_scenario_options(*compare, options);
  compare->add_option("--csv", options.csv, "write a line for each run and policy")
      ->type_name("FILE");
  compare->add_flag("--json", options.json, "the report as JSON, with every run");
  compare->footer(compare_words());
  compare->callback([&options] { options.action = Action::kCompare; });
}

Ending bad(const std::string& text) { return {.text = text + "\nnothing was run\n", .status = 2}; }

// A count of seeds, from 1 on, or a range.
std::optional<chaos::SeedRange> seeds_of(const std::string& text) {
  if (text.find("..") != std::string::npos) return parse_range(text);
  const std::optional<chaos::SeedRange> count = parse_range(text);
  if (!count || count->first == 0) return std::nullopt;
  return parse_range("1.." + std::to_string(count->first));
}

std::optional<Ending> settle_compare(Options& options, const Texts& texts) {
  const auto policies = chaos::parse_policies(texts.policies);
  if (!policies) return bad("--policy: " + policies.error());
  options.policies = *policies;
  options.seeds = seeds_of(texts.seeds.value_or("10"));
  if (options.seeds) return std::nullopt;
  return bad(
      fmt::format("--seeds: \"{}\" is neither a number of seeds nor a range of at most {}; "
                  "write one such as 30 or 1..30",
                  chaos::printable(*texts.seeds), chaos::kMaxSeeds));
}

// What CLI11 cannot know.
std::optional<Ending> settle(Options& options, const Texts& texts) {
  if (!texts.file.empty()) options.files = {texts.file};
  if (texts.seed) {
    const std::optional<chaos::SeedRange> one = parse_range(*texts.seed);
    if (!one || one->count() != 1) {
      return bad(fmt::format("--seed: \"{}\" is not a seed; write a whole number from 0",
                             chaos::printable(*texts.seed)));
    }
    options.seed = one->first;
  }
  if (options.action == Action::kCompare) {
    if (std::optional<Ending> ending = settle_compare(options, texts)) return ending;
  } else if (texts.seeds) {
    options.seeds = parse_range(*texts.seeds);
    if (!options.seeds) {
      return bad(
          fmt::format("--seeds: \"{}\" is not a range of at most {} seeds; write one such as "
                      "1..500",
                      chaos::printable(*texts.seeds), chaos::kMaxSeeds));
    }
  }
  if (!texts.window.empty()) options.window = parse_range(texts.window);
  if (options.jobs == 0 || options.jobs > 1024) return bad("--jobs: write a number from 1 to 1024");
  if (options.seeds && !options.events.empty()) {
    return bad("--events tells of one run; write --seed N instead of --seeds");
  }
  return std::nullopt;
}

}  // namespace

std::optional<chaos::SeedRange> parse_range(const std::string& text) {
  const auto number = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  };
  const std::size_t dots = text.find("..");
  const std::string_view all(text);
  chaos::SeedRange range;
  if (!number(all.substr(0, dots), range.first)) return std::nullopt;
  range.last = range.first;
  if (dots != std::string::npos && !number(all.substr(dots + 2), range.last)) return std::nullopt;
  if (range.last < range.first || range.last - range.first >= chaos::kMaxSeeds) return std::nullopt;
  return range;
}

std::variant<Options, Ending> parse_options(int argc, char** argv) {
  Options options;
  options.jobs = chaos::usable_cores();
  Texts texts;
  CLI::App app(kDescription, "elastic-sim");
  app.set_version_flag("--version", kVersion);
  app.set_help_flag("--help,-h", "this text");
  app.footer(kFooter);
  app.get_formatter()->column_width(26);
  app.require_subcommand(0, 1);
  app.add_option("FILE", texts.file, "a scenario file");
  add_run_options(app, options, texts);
  add_subcommands(app, options, texts);
  add_compare(app, options, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return Ending{.text = chosen.empty() ? app.help() : chosen.front()->help(), .status = 0};
  } catch (const CLI::CallForVersion&) {
    return Ending{.text = std::string(kVersion) + "\n", .status = 0};
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> rest = app.remaining(true);
    const std::string what = rest.empty() ? std::string() : rest.front();
    return bad(fmt::format("{} \"{}\"{}",
                           what.substr(0, 1) == "-" ? "unknown option" : "unexpected",
                           chaos::printable(what), suggestion(app, what)));
  } catch (const CLI::ParseError& error) {
    return bad(error.what());
  }
  if (std::optional<Ending> ending = settle(options, texts)) return *ending;
  const bool lacking = options.files.empty() && options.action != Action::kSchema;
  if (lacking) return Ending{.text = app.help(), .status = 2};
  return options;
}

namespace {

// As a shell needs it.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=:,%+@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::vector<std::string> scenario_arguments(const Options& options) {
  std::vector<std::string> arguments{options.files.front()};
  for (const std::string& change : options.changes) {
    arguments.emplace_back("--set");
    arguments.push_back(change);
  }
  if (!options.trace.empty()) {
    arguments.emplace_back("--trace");
    arguments.push_back(options.trace);
  }
  if (!options.mutant.empty()) {
    arguments.emplace_back("--mutant");
    arguments.push_back(options.mutant);
  }
  if (!options.liveness) arguments.emplace_back("--no-liveness");
  return arguments;
}

std::string command_for(const Options& options, const std::string& subcommand, std::uint64_t seed) {
  std::string text = options.mutant.empty() ? "elastic-sim" : "elastic-sim-mutants";
  if (!subcommand.empty()) text += " " + subcommand;
  for (const std::string& argument : scenario_arguments(options)) text += " " + quoted(argument);
  return text + " --seed " + std::to_string(seed);
}

}  // namespace elastic::app
