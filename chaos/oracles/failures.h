// Deaths and what they cost: oracles of design section 4, "Budgets", and of "every death has one
// record".
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "chaos/oracles/oracle.h"

namespace elastic::chaos {

// "Only the program's own failures count against the restart budget, a repeated report counts once,
// and losses of nodes are churn": the restarts used, as Worlds carry them, never exceed the budget,
// grow only when a worker really failed by itself since, by at most one a round, and a job is given
// up as failed only when the budget was used up.
class BudgetsOracle final : public Oracle {
 public:
  explicit BudgetsOracle(Bench bench);
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_worker(Time now, const sim::WorkerEvent& event) override;

 private:
  bool counts(const ExitStatus& status) const;
  void judge_world(Time now, const NumberedRecord& numbered, const World& world, JournalLife life);
  void judge_verdict(Time now, const NumberedRecord& numbered, const Verdict& verdict);

  // True failures of the program that no World has paid for yet.
  std::map<RoundId, std::uint32_t> unpaid_;  // by round
  std::uint32_t unpaid_starts_ = 0;          // of programs that were in no round
};

// "Every death has one record": a worker that ended without its agent's doing is noted by the
// coordinator (NoteKind::kFailure) once, and by no coordinator twice, within a bound of calm in
// which its agent and the coordinator lived on.
class DeathsOracle final : public Oracle {
 public:
  explicit DeathsOracle(Bench bench);
  void on_note(Time now, AgentId by, const Note& note) override;
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_event(Time now) override;

  // How long in calm until the note.
  Duration bound() const;

 private:
  // Without the round: an agent may place a death in a round that its worker had just left.
  using Rank = std::pair<NodeId, std::uint32_t>;  // node, local rank
  struct Death {
    Time at{};
    AgentId agent{};
    RoundId round{};
    std::uint32_t local_rank = 0;
  };
  void judge_missing(Time now);

  std::map<Rank, std::uint32_t> deaths_;                        // by agents' doing or not
  std::map<std::pair<AgentId, Rank>, std::uint32_t> noted_by_;  // coordinator
  std::vector<Death> open_;                                     // not noted yet
  Time look_at_{};
};

}  // namespace elastic::chaos
