// Names of saves and of their files. A directory for each (step, round), never renamed over: what a
// dead round's writer still does lands beside newer saves, never in them. What lies in a directory
// counts for nothing by itself: a save is one that a Checkpoint record names.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "core/types.h"

namespace elastic::checkpoint {

struct SaveId {
  Step step;
  RoundId round;
  auto operator<=>(const SaveId&) const = default;
};

// One writer's part of a save.
struct ShareId {
  SaveId save;
  std::uint32_t rank = 0;  // of `writers`
  std::uint32_t writers = 1;
  auto operator<=>(const ShareId&) const = default;
};

// "step-000000001200-round-0000000100000007-3", below the job's checkpoint directory.
std::string directory_of(const SaveId& save);
// "shard-00002-of-00008.safetensors", in the save's directory.
std::string shard_name(const ShareId& share);
constexpr const char* kManifestName = "manifest.json";

// Begins with a dot, and differs between agents' lives and their attempts, so that no two writers
// ever write into one file.
std::string temporary_name(const std::string& name, AgentId writer, std::uint64_t attempt);

}  // namespace elastic::checkpoint
