// elastic-sim: argument parsing and wiring, nothing else.
#include <cstdio>
#include <exception>
#include <variant>

#include "apps/elastic-sim/commands.h"
#include "apps/elastic-sim/compare.h"
#include "apps/elastic-sim/options.h"
#include "apps/elastic-sim/sweep.h"
#include "chaos/run/crash.h"

#if defined(ELASTIC_MUTANTS)
#include "core/mutants.h"
#endif

namespace elastic::app {
namespace {

bool activate(const Options& options) {
#if defined(ELASTIC_MUTANTS)
  if (options.mutant.empty() || mutants::activate(options.mutant)) return true;
  std::fprintf(stderr, "--mutant: there is no planted bug \"%s\"; there are:\n",
               options.mutant.c_str());
  for (const mutants::Mutant& mutant : mutants::all()) {
    std::fprintf(stderr, "  %-28.*s %.*s\n", static_cast<int>(mutant.name.size()),
                 mutant.name.data(), static_cast<int>(mutant.what.size()), mutant.what.data());
  }
  return false;
#else
  static_cast<void>(options);
  return true;
#endif
}

int act(const Options& options) {
  switch (options.action) {
    case Action::kValidate:
      return validate(options);
    case Action::kExplain:
      return explain(options);
    case Action::kTrace:
      return describe_trace(options);
    case Action::kShrink:
      return shrink(options);
    case Action::kCompare:
      return compare(options);
    case Action::kSweep:
      return sweep(options);
    case Action::kSchema:
      return print_schema();
    case Action::kRun:
      break;
  }
  if (options.window) return print_window(options);
  return options.seeds ? run_many(options) : run_one(options);
}

int main_of(int argc, char** argv) {
  const auto parsed = parse_options(argc, argv);
  if (const auto* ending = std::get_if<Ending>(&parsed)) {
    std::fputs(ending->text.c_str(), ending->status == 0 ? stdout : stderr);
    return ending->status;
  }
  const auto& options = std::get<Options>(parsed);
  if (!activate(options)) return 2;
  return act(options);
}

}  // namespace
}  // namespace elastic::app

int main(int argc, char** argv) {
  try {
    return elastic::app::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elastic-sim: %s\n", error.what());
    return elastic::chaos::kCrashStatus;
  }
}
