#include "transport/sim/plan.h"

#include <array>
#include <cstddef>

namespace elastic::sim {
namespace {

constexpr std::array<std::string_view, 26> kNames = {"add",
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
                                                     "storage_unreachable"};
static_assert(kNames.size() == static_cast<std::size_t>(FaultKind::kStorageUnreachable) + 1);

}  // namespace

std::string_view name(FaultKind kind) {
  const auto at = static_cast<std::size_t>(kind);
  return at < kNames.size() ? kNames[at] : std::string_view{};
}

}  // namespace elastic::sim
