#include "apps/elastic-sim/wiring.h"

#include <cstdio>

namespace elastic::app {

void out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}
void err(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

chaos::Look look_for(const Options& options) {
  chaos::Look look = chaos::look_of_stdout();
  look.all_oracles = options.oracles;
  return look;
}

std::optional<chaos::Source> source_of(const Options& options, const std::string& file) {
  auto source = chaos::load_source(file);
  if (!source) {
    err(source.error().text());
    return std::nullopt;
  }
  for (const std::string& change : options.changes) {
    if (const std::optional<chaos::Errors> errors = chaos::apply_override(*source, change)) {
      err(errors->text());
      return std::nullopt;
    }
  }
  if (!options.trace.empty()) chaos::use_trace(*source, options.trace);
  return *std::move(source);
}

std::optional<chaos::Scenario> scenario_of(const Options& options, const std::string& file) {
  const std::optional<chaos::Source> source = source_of(options, file);
  if (!source) return std::nullopt;
  auto scenario = chaos::check_source(*source);
  if (!scenario) {
    err(scenario.error().text());
    return std::nullopt;
  }
  return *scenario;
}

chaos::Commands commands_for(const Options& options, std::uint64_t seed) {
  return {.repeat = command_for(options, "", seed), .shrink = command_for(options, "shrink", seed)};
}

}  // namespace elastic::app
