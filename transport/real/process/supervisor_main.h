// The small process between an agent and its foreign workers (design section 3). Core's
// `Supervisor` decides; this carries it out on real processes.
//
// It is started by the agent as `elastic-supervisor` (the same binary under another argv[0]) with a
// socket as descriptor 3, starts the workers of one round, and ends when none of their processes is
// left and the agent was told, or is gone. The agent's end of the socket closing means that the
// agent is gone: nothing else of the agent is needed, and nothing that it does can block this.
//
// The tree: the workers, and whatever descends from them. This process is a sub-reaper, so that a
// process whose parent has died becomes its child: neither a double fork nor setsid() escapes. TERM
// and forwarded signals go to the workers alone (their own children, such as data loaders, are told
// by them); STOP, CONT and KILL go to all of the tree, again and again until no new process turns
// up. Workers die when this process does.
//
// When the last worker has exited, what is left of its tree gets a short grace, and is then killed:
// only then is the last exit told to be the last (by the agent's side, see worker_group.h), so that
// a round that is reported dead is dead.
//
// Limits: a process of another user (setuid) cannot be signalled; it is reported as unkillable.
#pragma once

#include <string_view>

#include "transport/real/process/process_table.h"

namespace elastic::real {

// argv[0] of a supervisor; main() calls supervisor_main(kSupervisorSocket) when it sees it.
inline constexpr std::string_view kSupervisorName = "elastic-supervisor";
inline constexpr int kSupervisorSocket = 3;

// What signals a process: replaced by tests alone, to get one that cannot be killed.
using SignalFunction = bool (*)(ProcessName process, int signal);

// Runs until the tree is gone. Gives the exit code of the process: 0, or 2 where the descriptor is
// no socket to an agent.
int supervisor_main(int socket, SignalFunction signal = signal_process);

}  // namespace elastic::real
