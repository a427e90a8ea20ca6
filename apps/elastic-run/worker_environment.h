// What a worker process is started with: its command line and its environment. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/elastic-run/endpoint.h"
#include "apps/elastic-run/options.h"
#include "core/membership/messages.h"

namespace elastic::launch {

// One worker's place. A new one in every round.
struct WorkerPlace {
  const Placement& placement;
  std::uint32_t local_rank = 0;
  Endpoint master;         // of this round: MASTER_ADDR, MASTER_PORT; unused with Backend::kStatic
  std::string error_file;  // path for TORCHELASTIC_ERROR_FILE; empty: none
};

// Who starts it.
struct HostFacts {
  std::string hostname;
  NodeId node;
  std::string agent_mark;  // by which processes of this agent are known
};

struct WorkerStart {
  std::vector<std::string> argv;  // argv[0] without a slash is to be looked for in PATH
  Environment env;                // all of it
};

// `base` is the agent's own environment. Of it, the launcher's own variables (PET_*, ELASTIC_*) do
// not reach the worker: a program that starts a launcher itself would take them for its own, and
// they may name a secret.
//
// What torchrun sets is set (facts of torchrun 2.4 and later), with two differences: the restart
// counter is one for the whole job, and TORCHELASTIC_USE_AGENT_STORE is False: rank 0 hosts the
// workers' store at MASTER_ADDR:MASTER_PORT. ROLE_RANK counts as if all nodes had the same role.
// `${local_rank}` in the program's arguments becomes the local rank.
WorkerStart worker_start(const Options& options, const WorkerPlace& place, const HostFacts& host,
                         const Environment& base);

}  // namespace elastic::launch
