// SIGINT and SIGTERM as a flag: a run that is interrupted says what it knows so far.
#pragma once

namespace elastic::chaos {

// From here on the first SIGINT or SIGTERM sets the flag and the second ends the process at once
// (status 130). Call it once, before anything runs.
void catch_interrupts();
// In a worker process: a terminal sends SIGINT to everybody, but only the parent decides.
void ignore_interrupts();
bool interrupted();

constexpr int kInterruptedStatus = 130;  // 128 + SIGINT, as shells have it

}  // namespace elastic::chaos
