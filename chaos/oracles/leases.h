// Who may run, and for how long without word from a coordinator: oracles of design section 3,
// "Worker", and of "bounded stop".
#pragma once

#include <cstdint>
#include <map>

#include "chaos/oracles/oracle.h"

namespace elastic::chaos {

struct Group;

// Foreign: no worker process executes later than `lease` after the sending of the last acknowledged
// beat, on the node's own clock. Native: nobody applies a step later than the orphan bound after
// it. A machine that stood still as a whole gets the declared pause to act when it wakes.
class LeasesOracle final : public Oracle {
 public:
  explicit LeasesOracle(Bench bench);
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_delivered(Time now, NodeId from, NodeId to, const Message& message) override;
  void on_event(Time now) override;
  void finish(Time now) override;

 private:
  void judge(Time now, const Group& group);
  void judge_all(Time now);
  Time look_at_{};  // true time of the next look at everybody
};

// "Worker supervision with bounded stop": a foreign worker whose agent was told, by the newest
// Lead, to leave its round is gone within stop_grace and a little, unless its agent or machine
// stands still.
class StopsOracle final : public Oracle {
 public:
  explicit StopsOracle(Bench bench);
  void on_delivered(Time now, NodeId from, NodeId to, const Message& message) override;
  void on_event(Time now) override;

 private:
  struct Asked {
    AgentLife life{};
    RoundId round{};  // that is to end
    Time at{};
    bool planned = false;
  };
  std::map<NodeId, Asked> asked_;
  Time look_at_{};
};

}  // namespace elastic::chaos
