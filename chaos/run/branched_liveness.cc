#include "chaos/run/branched_liveness.h"

#include <nlohmann/json.hpp>

namespace elastic::chaos {

std::string to_text(const BranchedLiveness& branched) {
  const LivenessResult& result = branched.result;
  nlohmann::json json;
  json["kind"] = static_cast<int>(result.kind);
  json["moment"] = result.moment.time_since_epoch().count();
  json["core"] = nlohmann::json::array();
  for (const NodeId node : result.core) json["core"].push_back(node.value);
  json["bound"] = result.bound.count();
  json["took"] = result.took.count();
  json["assumption"] = result.assumption;
  json["proof"] = result.proof;
  json["checks"] = branched.checks;
  return json.dump();
}

std::optional<BranchedLiveness> branched_liveness_from_text(const std::string& text) {
  BranchedLiveness branched;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    LivenessResult& result = branched.result;
    result.kind = static_cast<LivenessResult::Kind>(json.at("kind").get<int>());
    result.moment = Time(Duration(json.at("moment").get<std::int64_t>()));
    for (const auto& node : json.at("core"))
      result.core.push_back(NodeId{node.get<std::uint64_t>()});
    result.bound = Duration(json.at("bound").get<std::int64_t>());
    result.took = Duration(json.at("took").get<std::int64_t>());
    result.assumption = json.at("assumption").get<std::string>();
    result.proof = json.at("proof").get<std::string>();
    branched.checks = json.at("checks").get<std::vector<std::uint64_t>>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return branched;
}

}  // namespace elastic::chaos
