// What becomes of finished steps: oracles of design section 5, "A step, and what is kept when
// someone dies", and of section 7 as far as records tell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "chaos/oracles/oracle.h"

namespace elastic::chaos {

struct Group;

// "A committed step never falls while a member survives, and otherwise only to a recorded
// checkpoint." A survivor is a worker group that holds the step, exists, and is within its orphan
// bound. Foreign programs keep their state themselves: they fall only to their newest whole save.
class CommittedStepsOracle final : public Oracle {
 public:
  explicit CommittedStepsOracle(Bench bench);
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_worker(Time now, const sim::WorkerEvent& event) override;

  Step committed() const { return committed_.step; }

 private:
  void judge_world(Time now, const NumberedRecord& numbered, const World& world);
  const Group* survivor() const;

  StatePoint committed_;  // newest committed state on the surviving lineage
  bool any_ = false;
  // Foreign: saves, by (round, step): who has stored its share; and the newest that all have.
  std::map<std::pair<RoundId, Step>, std::set<NodeId>> shares_;
  Step newest_save_;
};

// "State identity is lineage": the state that a worker applies a step to is exactly one step older;
// who enters a round holds its resume state; two lineages never both hold the same (step, round);
// and down the lineage of the final state every step, hence every sample, counts once.
class LineageOracle final : public Oracle {
 public:
  explicit LineageOracle(Bench bench);
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void finish(Time now) override;

 private:
  void judge_entry(Time now, const sim::WorkerEvent& event);
  void judge_step(Time now, const sim::WorkerEvent& event);
  StatePoint committed_;
};

// "Members differ by at most one step": nobody applies step s + 1 of a round before every member of
// it has applied s.
class OneStepApartOracle final : public Oracle {
 public:
  explicit OneStepApartOracle(Bench bench);
  void on_worker(Time now, const sim::WorkerEvent& event) override;
};

// A recorded Checkpoint is of a state that all members of its round held and that lies on the
// lineage of the newest World; a World that loads one names the newest.
class CheckpointOracle final : public Oracle {
 public:
  explicit CheckpointOracle(Bench bench);
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;

 private:
  void judge_save(Time now, const NumberedRecord& numbered, const Checkpoint& save);
  void judge_retirement(Time now, const NumberedRecord& numbered, const Retire& retire);
  void judge_broken(Time now, const NumberedRecord& record, const World& world);
  void judge_lost(Time now, const NumberedRecord& record, JournalLife life);
  void judge_load(Time now, const NumberedRecord& numbered, const World& world);

  std::map<std::pair<RoundId, Step>, std::uint64_t> shares_;  // durable ones of each save
};

}  // namespace elastic::chaos
