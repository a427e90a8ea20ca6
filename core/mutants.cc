// Compiled into core_mutants only.
#include "core/mutants.h"

#include <array>

namespace elastic::mutants {
namespace {

constexpr std::array<Mutant, 25> kAll{{
    {"ack_without_read", "a beat is acknowledged without a journal read begun after it arrived",
     "acknowledgement"},
    {"unknown_is_created", "an append with an unknown outcome is taken for done", "journal"},
    {"unknown_is_failure", "an append with an unknown outcome is taken for not done", "budgets"},
    {"commit_not_fenced", "a save of a round that is over is committed", "checkpoint", "late 149"},
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
    {"beat_of_an_earlier_life", "a beat of a node's earlier life replaces what its next one said",
     "acknowledgement"},
    {"broken_save_forgotten", "a new round forgets which saves are known broken", "checkpoint"},
    {"stale_order_obeyed", "orders of a superseded coordinator are obeyed", "round_order"},
    {"spare_displaces_holder", "spares are ranked before members of the last World", "ranks"},
    {"ranks_from_hash_order", "ranks follow a hash of the nodes, not their former order", "ranks"},
    {"join_counted_twice", "a joiner stands in the World twice", "ranks"},
    {"stale_survivor_preferred", "of two survivors' states the older one is resumed",
     "committed_steps"},
    {"deposed_grants_leases", "a coordinator that reads of its deposition acknowledges once more",
     "acknowledgement"},
    {"leave_closes_the_job", "when a member leaves, the job is recorded as done", "verdict"},
    {"applied_before_all_is_reduced",
     "a step is applied before every chunk of its gradient was added", "weights"},
    {"fill_written_in_place", "a worker calls a state its own while it is still arriving",
     "weights"},
    {"entered_before_filled", "a worker enters a round without its resume state", "weights"},
    {"remainder_dropped", "what does not divide by the number of workers is not computed",
     "weights"},
    {"rate_from_the_old_world", "the learning rate stays that of the first world", "weights"},
    {"resume_off_by_one", "a state that was filled or loaded skips a batch", "samples"},
}};

constexpr std::array<Mutant, 4> kOnDisk{{
    {"manifest_before_sync", "a manifest is renamed into place before its bytes are synced",
     "committed_is_intact"},
    {"late_shard_over_newer", "saves of one step share a directory, whatever their rounds",
     "committed_is_intact"},
    {"retire_before_read_back", "older saves are retired before a newer one was read back",
     "one_intact_left"},
    {"collect_only_intact",
     "the newest saves are kept, broken or not, and the only intact one goes", "one_intact_left"},
}};

std::string_view g_active;

}  // namespace

std::span<const Mutant> all() { return kAll; }
std::span<const Mutant> on_disk() { return kOnDisk; }

bool activate(std::string_view name) {
  if (name.empty()) {
    g_active = {};
    return true;
  }
  for (const std::span<const Mutant> list : {all(), on_disk()}) {
    for (const Mutant& mutant : list) {
      if (mutant.name != name) continue;
      g_active = mutant.name;
      return true;
    }
  }
  return false;
}

bool active(std::string_view name) { return !g_active.empty() && g_active == name; }

}  // namespace elastic::mutants
