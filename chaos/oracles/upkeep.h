// Oracles that watch the system as a whole: nobody is forgotten, messages stay few, machines keep
// their invariants, the books balance.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "chaos/oracles/oracle.h"

namespace elastic::chaos {

class Account;

// "Always in a round, waiting for a reason that it can name, or terminated within a bound." After
// the Verdict, every agent that a coordinator or journal could tell of it ends within a bound.
class AccountedOracle final : public Oracle {
 public:
  explicit AccountedOracle(Bench bench);
  void on_event(Time now) override;

  // How long an agent may have no reason to name, or live on after the Verdict, in calm.
  Duration bound() const;

 private:
  void judge(Time now, NodeId node);
  std::vector<Time> nameless_since_;  // by NodeId - 1; kEndOfTime: not now
  Time look_at_{};
};

// "Messages per membership change are O(N)": from one World to the next, messages beyond periodic
// beats and their answers stay below kPerNode for each machine and each second that the change
// took, plus two for each node that a candidate asks.
class MessagesOracle final : public Oracle {
 public:
  // Of one change, a node sends and is sent: the report of the loss, the order to leave and its
  // repetition, the report of having left, its place and its repetition, the reports of having
  // entered and run, their answers: ten, and twice that to leave room for a second cause that joins
  // the first.
  static constexpr std::uint64_t kPerNode = 20;

  explicit MessagesOracle(Bench bench);
  void on_note(Time now, AgentId by, const Note& note) override;
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_sent(Time now, NodeId from, NodeId to, const Message& message) override;

  // For fitting the exponent: (machines up, messages of the change) for each World.
  struct Change {
    std::uint32_t machines = 0;
    std::uint64_t messages = 0;
  };
  const std::vector<Change>& changes() const { return changes_; }

 private:
  std::uint64_t extra_ = 0;  // since the last World, within changing time
  std::set<std::pair<AgentId, std::uint64_t>> candidacies_;  // since then; by attempt
  std::optional<Time> asked_at_;                             // the change that is under way
  std::vector<Time> last_beat_;                              // by NodeId - 1
  std::vector<Change> changes_;
};

// "Every machine has check()": the world calls it after every step, in every run; a failed one ends
// the program as a crash. Here the events are counted.
class InvariantsOracle final : public Oracle {
 public:
  explicit InvariantsOracle(Bench bench);
  void on_event(Time now) override;
};

// "One account of time; the parts add up to the whole, exactly."
class AccountOracle final : public Oracle {
 public:
  AccountOracle(Bench bench, const Account* account);
  void on_event(Time now) override;
  void finish(Time now) override;

 private:
  void judge(Time now);
  const Account* account_;
  Time look_at_{};
};

}  // namespace elastic::chaos
