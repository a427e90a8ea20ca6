// Deaths and what they cost: oracles of design section 4, "Budgets", and of "every death has one
// record".
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "chaos/oracles/oracle.h"
#include "chaos/oracles/truth.h"

namespace elastic::chaos {

// "Only the program's own failures count against the restart budget, a repeated report counts once,
// and losses of nodes are churn": the restarts used, as Worlds carry them, never exceed the budget,
// grow only when a worker really failed by itself since, by at most one a round, shrink only after
// a round that was long enough to clear them, and a job is given up as failed only when the budget
// was used up. Likewise the churn budget, the no-progress detector and the least number of
// machines.
//
// "A new coordinator inherits them": what a World says of who was lost too often (flap scores) is
// no less than the World before it said, decayed by the true time between the two; so nobody
// forgets what a predecessor knew.
class BudgetsOracle final : public Oracle {
 public:
  explicit BudgetsOracle(Bench bench);
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_note(Time now, AgentId by, const Note& note) override;

 private:
  bool counts(const ExitStatus& status) const;
  void judge_spent(Time now, const NumberedRecord& numbered, const RoundTruth& before,
                   const World& world);
  void judge_flaps(Time now, const NumberedRecord& numbered, const RoundTruth& before,
                   const World& world);
  void judge_end(Time now, const NumberedRecord& numbered, const Verdict& verdict);
  // When the writer made up a record that landed at `landed`.
  Time written(AgentId writer, Time landed) const;
  void judge_world(Time now, const NumberedRecord& numbered, const World& world, JournalLife life);
  void judge_verdict(Time now, const NumberedRecord& numbered, const Verdict& verdict);

  // True failures of the program that no World has paid for yet.
  std::map<RoundId, std::uint32_t> unpaid_;  // by round
  std::uint32_t unpaid_starts_ = 0;          // of programs that were in no round
  std::map<AgentId, Time> recording_;        // since when each coordinator waits for its World
  std::map<RoundId, Time> written_;          // when the World was made up
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
