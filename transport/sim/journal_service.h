// The journal as a service of its own (JournalKind::kExternal): linearizable, sometimes slow,
// unreachable, or unable to say whether an append happened; some appends land late.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/membership/messages.h"
#include "transport/sim/chance.h"
#include "transport/sim/config.h"
#include "transport/sim/node_set.h"
#include "transport/sim/plan.h"
#include "transport/sim/timeline.h"

namespace elastic::sim {

// A request takes effect at one instant between asking and answering (half way). Outside faults
// each is answered once. An unreachable journal neither executes nor answers; what was executed
// before is lost on its way back, so the asker cannot tell.
//
// Invariants: records are numbered 1, 2, ... without gaps, and never change.
class JournalService {
 public:
  JournalService(const JournalModel& model, const Chance& chance, std::size_t nodes);

  // `process` is given back with the answer.
  void ask(Timeline& timeline, JournalAsk ask, std::uint32_t process);
  // kAskArrives, kLateAppend: gives the record that landed, if one did.
  std::optional<NumberedRecord> execute(Timeline& timeline, const Event& event);
  struct Answered {
    NodeId to;
    std::uint32_t process = 0;
    JournalAnswer answer;
  };
  // kAskAnswered: nothing if the answer is lost.
  std::optional<Answered> answered(const Event& event);

  void begin(std::uint64_t number, const Fault& fault);
  void end(std::uint64_t number);
  void end_all();
  // For good: unreachable for everybody else.
  void cut_off_all_but(const std::vector<NodeId>& inside);

  const std::vector<NumberedRecord>& records() const { return records_; }
  JournalLife life() const { return life_; }

  static bool concerns(FaultKind kind);

 private:
  struct Request {
    JournalAsk ask;
    std::uint32_t process = 0;
    std::uint64_t index = 0;  // of this node's requests
    Duration service{};
    JournalAnswer answer;
  };
  struct Effect {
    std::uint64_t number;
    FaultKind kind;
    NodeSet targets;
    std::int64_t value;
    Duration length;
    bool applies(NodeId node) const { return targets.empty() || targets.has(node); }
  };
  bool unreachable(NodeId node) const;
  // Largest `value` of a fault of this kind, with its length; 0: none.
  std::pair<std::int64_t, Duration> strongest(FaultKind kind, NodeId node) const;
  bool append(const NumberedRecord& record);
  JournalAnswer perform(const Request& request, std::optional<NumberedRecord>& landed);
  void unsure(Timeline& timeline, std::uint32_t slot, bool late, Duration within,
              std::optional<NumberedRecord>& landed);
  void note_contact(AgentId asker, Time now);
  std::vector<AgentId> contacts(Time now) const;

  JournalModel model_;
  Chance chance_;
  std::size_t nodes_;
  JournalLife life_;
  std::vector<NumberedRecord> records_;
  std::vector<std::uint64_t> asked_;                // by node
  std::vector<std::pair<Time, AgentId>> contacts_;  // by node: last asker
  std::vector<Effect> effects_;
  NodeSet inside_;
  Slab<Request> requests_;
};

}  // namespace elastic::sim
