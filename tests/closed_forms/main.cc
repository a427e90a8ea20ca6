// elastic_closed_forms: the simulator beside closed forms, in tables.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chaos/report/progress.h"
#include "chaos/run/interrupt.h"
#include "chaos/run/pool.h"
#include "chaos/scenario/problem.h"
#include "tests/closed_forms/tables.h"

namespace elastic::closed_forms {
namespace {

constexpr int kWrong = 1;
constexpr int kMisuse = 2;
constexpr int kFailed = 3;

constexpr std::array<std::string_view, 4> kChecks{"daly", "interval", "availability", "wait"};

constexpr const char* kAbout =
    "Sets simulated jobs beside what theory says of them: goodput and the best\n"
    "checkpoint interval (Daly 2006), time with too few machines (birth and death\n"
    "processes), the wait for the first nodes (order statistics).";
constexpr const char* kFooter =
    "Checks: daly, interval, availability, wait; all of them when none is named.\n"
    "The long form has thousands of failures a line and takes some minutes on two\n"
    "cores; --short is what the tests run. Figures depend on nothing but the form.\n"
    "\n"
    "  elastic_closed_forms --short\n"
    "  elastic_closed_forms interval\n"
    "  elastic_closed_forms wait availability --json\n"
    "\n"
    "Exit status: 0 all as theory says, 1 something is not, 2 misuse, 130 interrupted.";

struct Options {
  std::vector<std::string> checks;
  bool shorter = false;
  bool json = false;
  unsigned jobs = chaos::usable_cores();
};

int misuse(const std::string& message) {
  std::fprintf(stderr, "%s\nnothing was run; --help tells what there is\n", message.c_str());
  return kMisuse;
}

// What is wrong with the options, in a sentence.
std::string problem_of(const Options& options) {
  for (std::size_t i = 0; i < options.checks.size(); ++i) {
    const std::string& name = options.checks[i];
    if (std::find(kChecks.begin(), kChecks.end(), name) == kChecks.end()) {
      const std::vector<std::string_view> known(kChecks.begin(), kChecks.end());
      const std::string hint = chaos::did_you_mean(name, known);
      return fmt::format("there is no check \"{}\"{}", chaos::printable(name),
                         hint.empty() ? "; there are " + chaos::either(known) : hint);
    }
    const auto here = options.checks.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(options.checks.begin(), here, name) != here) {
      return fmt::format("\"{}\" is there twice", name);
    }
  }
  if (options.jobs == 0 || options.jobs > 1024) return "--jobs: write a number from 1 to 1024";
  return "";
}

std::string verdict(const std::vector<std::string>& wrong) {
  if (chaos::interrupted()) return "  interrupted: of the runs that were done, and not judged\n";
  if (wrong.empty()) return "  all as theory says\n";
  std::string text;
  for (const std::string& one : wrong) text += fmt::format("  WRONG: {}\n", one);
  return text;
}

// Prints a check, or keeps it for the end. Returns whether all was as theory says.
template <class Check>
bool show(const std::string& name, const Check& check, const Options& options,
          nlohmann::ordered_json& all) {
  if (options.json) {
    all[name] = to_json(check);
    all[name]["interrupted"] = chaos::interrupted();
  } else {
    std::fputs((table(check) + "\n" + verdict(check.wrong) + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  return check.wrong.empty();
}

int run(const Options& options) {
  chaos::catch_interrupts();
  chaos::Progress progress;
  nlohmann::ordered_json all;
  bool right = true;
  for (const std::string_view known : kChecks) {
    const std::string name(known);
    const bool asked =
        options.checks.empty() ||
        std::find(options.checks.begin(), options.checks.end(), name) != options.checks.end();
    if (!asked || chaos::interrupted()) continue;
    const Way way{.form = options.shorter ? Form::kShort : Form::kLong,
                  .processes = options.jobs,
                  .tell = [&](std::size_t done, std::size_t total) {
                    progress.show(fmt::format("{}: {} of {} runs", name, done, total));
                  }};
    const auto shown = [&](const auto& check) {
      progress.clear();
      return show(name, check, options, all);
    };
    bool as_theory = true;
    if (name == "daly") as_theory = shown(check_daly(way));
    if (name == "interval") as_theory = shown(check_intervals(way));
    if (name == "availability") as_theory = shown(check_availability(way));
    if (name == "wait") as_theory = shown(check_waits(way));
    right = right && as_theory;
  }
  if (options.json) std::puts(all.dump(2).c_str());
  if (chaos::interrupted()) return chaos::kInterruptedStatus;
  return right ? 0 : kWrong;
}

int main_of(int argc, char** argv) {
  Options options;
  CLI::App app(kAbout, "elastic_closed_forms");
  app.footer(kFooter);
  app.set_help_flag("--help,-h", "this text");
  app.add_option("CHECK", options.checks, "which checks to make (default: all)");
  app.add_flag("--short", options.shorter, "the short form, as among the tests");
  app.add_option("--jobs,-j", options.jobs, "processes (default: one per core)")->type_name("N");
  app.add_flag("--json", options.json, "all figures as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    return misuse(error.what());
  }
  const std::string problem = problem_of(options);
  return problem.empty() ? run(options) : misuse(problem);
}

}  // namespace
}  // namespace elastic::closed_forms

int main(int argc, char** argv) {
  try {
    return elastic::closed_forms::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elastic_closed_forms: %s\n", error.what());
    return elastic::closed_forms::kFailed;
  }
}
