// Compiled into core_mutants only.
#include "core/mutants.h"

#include <array>

namespace elastic::mutants {
namespace {

constexpr std::array<Mutant, 10> kAll{{
    {"ack_without_read", "a beat is acknowledged without a journal read begun after it arrived",
     "acknowledgement"},
    {"unknown_is_created", "an append with an unknown outcome is taken for done", "journal"},
    {"start_before_dead", "a World is recorded while an earlier foreign round may still run",
     "recorded_when_dead"},
    {"leave_not_awaited", "a World is recorded before any member left the earlier native round",
     "recorded_when_dead"},
    {"no_wait_for_holder", "a World forms without a holder of the newest committed state",
     "committed_steps"},
    {"failure_counted_twice", "a repeated failure report spends the restart budget again",
     "budgets"},
    {"budget_per_node", "every node brings a restart budget of its own", "budgets"},
    {"flap_score_forgotten", "a new coordinator knows nothing of who was lost too often",
     "budgets"},
    {"stale_order_obeyed", "orders of a superseded coordinator are obeyed", "round_order"},
    {"spare_displaces_holder", "spares are ranked before members of the last World", "ranks"},
}};

std::string_view g_active;

}  // namespace

std::span<const Mutant> all() { return kAll; }

bool activate(std::string_view name) {
  if (name.empty()) {
    g_active = {};
    return true;
  }
  for (const Mutant& mutant : kAll) {
    if (mutant.name == name) {
      g_active = mutant.name;
      return true;
    }
  }
  return false;
}

bool active(std::string_view name) { return !g_active.empty() && g_active == name; }

}  // namespace elastic::mutants
