// The tests' binary is its own supervisor, as elastic-run is: transport/real starts /proc/self/exe
// under another name.
#include <gtest/gtest.h>
#include <signal.h>

#include <string_view>

#include "transport/real/process/supervisor_main.h"

namespace {
// A supervisor on a machine on which SIGKILL ends nothing.
bool signal_unless_kill(elastic::real::ProcessName process, int signal) {
  return signal == SIGKILL || elastic::real::signal_process(process, signal);
}
}  // namespace

int main(int argc, char** argv) {
  using namespace elastic::real;
  const std::string_view name = argc > 0 ? argv[0] : "";
  if (name == kSupervisorName) return supervisor_main(kSupervisorSocket);
  if (name == "elastic-supervisor-unkillable") {
    return supervisor_main(kSupervisorSocket, signal_unless_kill);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
