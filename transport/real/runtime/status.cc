#include "transport/real/runtime/status.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "transport/real/runtime/runtime.h"

namespace elastic::real {
namespace {

using Json = nlohmann::ordered_json;

std::string id_of(NodeId node) { return fmt::format("{:x}", node.value); }

Json nodes_of(const Runtime& runtime, Links& links) {
  const Node& node = *runtime.node();
  const JournalView& view = node.journal().view();
  const Peers& peers = node.coordinator().peers();
  Json nodes = Json::array();
  const auto add = [&](NodeId id, const Peer* peer, std::optional<std::size_t> index) {
    Json one;
    one["node"] = id_of(id);
    one["name"] = links.name_of(id);
    one["state"] = peer == nullptr ? "unheard" : peer->lost ? "lost" : name_of(peer->beat.state);
    if (peer != nullptr) {
      one["beat_age_ms"] =
          std::chrono::duration_cast<std::chrono::milliseconds>(runtime.now() - peer->heard)
              .count();
      one["leaving"] = peer->leaving;
      one["workers"] = peer->beat.workers;
    }
    one["first_rank"] = index ? Json(first_rank(*view.world, *index)) : Json();
    nodes.push_back(std::move(one));
  };
  std::set<NodeId> members;
  if (view.world) {
    for (std::size_t i = 0; i < view.world->members.size(); ++i) {
      const NodeId id = view.world->members[i].agent.node;
      const auto peer = peers.find(id);
      members.insert(id);
      add(id, peer == peers.end() ? nullptr : &peer->second, i);
    }
  }
  for (const auto& [id, peer] : peers) {
    if (members.count(id) == 0) add(id, &peer, std::nullopt);
  }
  return nodes;
}

}  // namespace

std::string_view name_of(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNone:
      return "in a round";
    case WaitReason::kAdopting:
      return "a new coordinator learns who runs";
    case WaitReason::kBelowMin:
      return "fewer than the minimum of nodes are in";
    case WaitReason::kLastCall:
      return "last call: further nodes may come";
    case WaitReason::kMembersLeave:
      return "members of the last round have not left it yet";
    case WaitReason::kRoundNotDead:
      return "a worker of an earlier round may still run";
    case WaitReason::kHolder:
      return "whoever holds the newest state is not in, and may live";
    case WaitReason::kRecording:
      return "the journal has not confirmed the round";
    case WaitReason::kSpare:
      return "spare: the round is full";
    case WaitReason::kSittingOut:
      return "sits out: others could not reach it";
    case WaitReason::kPreparing:
      return "its workers are being prepared";
    case WaitReason::kNotGrowing:
      return "growth is off";
    case WaitReason::kSuppressed:
      return "was lost too often lately";
    case WaitReason::kBackOff:
      return "a delay after failures in a row";
  }
  return "unknown";
}

std::string_view name_of(AgentState state) {
  switch (state) {
    case AgentState::kCleaning:
      return "cleaning";
    case AgentState::kWaiting:
      return "waiting";
    case AgentState::kPrepared:
      return "prepared";
    case AgentState::kEntering:
      return "entering";
    case AgentState::kRunning:
      return "running";
    case AgentState::kLeaving:
      return "leaving";
    case AgentState::kLeft:
      return "left";
    case AgentState::kFinished:
      return "finished";
    case AgentState::kEnded:
      return "ended";
  }
  return "unknown";
}

std::string_view name_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::kSucceeded:
      return "succeeded";
    case Verdict::Kind::kProgramFailed:
      return "the program failed";
    case Verdict::Kind::kGaveUp:
      return "too many rounds ended early";
    case Verdict::Kind::kStopped:
      return "stopped by the operator";
    case Verdict::Kind::kNoProgress:
      return "the program fails at the same step again and again";
    case Verdict::Kind::kTooFewNodes:
      return "too few nodes for too long";
    case Verdict::Kind::kSavesLost:
      return "every save is broken";
  }
  return "unknown";
}

std::string status_json(const Runtime& runtime) {
  Links& links = const_cast<Runtime&>(runtime).links();
  Json out;
  out["job"] = runtime.options().links.job;
  out["node"] = id_of(runtime.options().links.self.node);
  out["name"] = runtime.options().links.host_name;
  const Node* node = runtime.node();
  if (node == nullptr) {
    out["wait"] = "the endpoint was not reached yet";
    return out.dump();
  }
  const JournalView& view = node->journal().view();
  out["leads"] = node->leading();
  const NodeId leader = node->agent().leader().node;
  out["leader"] = leader ? Json(links.name_of(leader)) : Json();
  out["lead"] = view.lead.record.value;
  out["record"] = view.last.value;
  out["round"] = view.world ? view.world->round.number : 0;
  out["min_nodes"] = runtime.options().job.min_nodes;
  out["max_nodes"] = runtime.options().job.max_nodes;
  out["max_restarts"] = runtime.options().job.max_restarts;
  out["state"] = name_of(node->agent().state());
  out["wait"] = name_of(node->leading() ? node->coordinator().waiting() : node->agent().waiting());
  if (view.world) {
    out["restarts_used"] = view.world->budgets.restarts_used;
    out["churn"] = view.world->budgets.churn;
  }
  out["verdict"] = view.verdict ? Json(name_of(view.verdict->kind)) : Json();
  if (node->leading()) out["nodes"] = nodes_of(runtime, links);
  return out.dump();
}

}  // namespace elastic::real
