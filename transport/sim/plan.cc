#include "transport/sim/plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/sim/config.h"

namespace elastic::sim {

policy::BatchRule batch_rule(const JobConfig& job, const TrainingModel& model) {
  policy::BatchRule rule;
  rule.mode = model.batch_mode;
  rule.reference_batch = std::max<std::uint64_t>(model.global_batch, 1);
  const std::uint64_t most = std::uint64_t{job.max_nodes} * std::max(1U, job.workers_per_node);
  rule.reference_world =
      model.reference_world != 0
          ? model.reference_world
          : static_cast<std::uint32_t>(std::min<std::uint64_t>(most, UINT32_MAX));
  return rule;
}
namespace {

constexpr std::array<std::string_view, kFaultKinds> kNames = {"add",
                                                              "notice",
                                                              "reclaim",
                                                              "crash",
                                                              "kill_agent",
                                                              "kill_worker",
                                                              "exit_worker",
                                                              "freeze_agent",
                                                              "freeze_worker",
                                                              "freeze_machine",
                                                              "slow",
                                                              "clock_drift",
                                                              "clock_jump",
                                                              "leave",
                                                              "partition",
                                                              "one_way",
                                                              "loss",
                                                              "delay",
                                                              "duplicate",
                                                              "reorder",
                                                              "journal_slow",
                                                              "journal_unreachable",
                                                              "journal_unknown",
                                                              "journal_late",
                                                              "journal_lost",
                                                              "storage_unreachable",
                                                              "storage_full",
                                                              "storage_slow",
                                                              "storage_rot"};

}  // namespace

std::string_view name(FaultKind kind) {
  const auto at = static_cast<std::size_t>(kind);
  return at < kNames.size() ? kNames[at] : std::string_view{};
}

}  // namespace elastic::sim
