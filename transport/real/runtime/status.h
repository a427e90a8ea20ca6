// What a node knows of the job, for people and their tools.
#pragma once

#include <string>
#include <string_view>

#include "core/membership/messages.h"

namespace elastic::real {

class Runtime;

// One JSON object:
//   job, node, name, leads (whether this node does), leader, round, wait, restarts_used, churn,
//   verdict (or null); of who leads also `nodes`: an array of {node, name, state, beat_age_ms,
//   first_rank, workers, lost, leaving}, members by rank, then others.
std::string status_json(const Runtime& runtime);

std::string_view name_of(WaitReason reason);  // "last call", ...
std::string_view name_of(AgentState state);
std::string_view name_of(Verdict::Kind kind);

}  // namespace elastic::real
