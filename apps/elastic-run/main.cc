// elastic-run: see README.md of this folder.
#include <cstdio>
#include <string>
#include <string_view>

#include "apps/elastic-run/agent.h"
#include "apps/elastic-run/control.h"
#include "apps/elastic-run/machine.h"
#include "apps/elastic-run/options.h"
#include "transport/real/process/supervisor_main.h"

int main(int argc, char** argv) {
  using namespace elastic;  // NOLINT: a main function
  if (argc > 0 && std::string_view(argv[0]) == real::kSupervisorName) {
    return real::supervisor_main(real::kSupervisorSocket);
  }
  const launch::Machine machine = launch::this_machine();
  const launch::Environment environment = launch::this_environment();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto options = launch::parse(words, environment, machine);
  if (!options) {
    const launch::Ended& ended = options.error();
    std::fputs(ended.text.c_str(), ended.to_stderr ? stderr : stdout);
    return ended.status;
  }
  for (const std::string& notice : options->notices)
    std::fprintf(stderr, "[elastic] %s\n", notice.c_str());
  return options->action == launch::Action::kRun ? launch::run_job(*options, machine, environment)
                                                 : launch::control(*options);
}
