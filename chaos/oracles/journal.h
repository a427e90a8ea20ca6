// The journal, and who may act on it (design sections 3 and 8): the only source of safety.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "chaos/oracles/oracle.h"

namespace elastic::chaos {

// "Create record number k, or learn that k is taken": records never change and leave no gap, only
// the newest Lead's writer writes, rounds only grow, nothing follows a Verdict, and nobody
// announces what has not been recorded.
class JournalOracle final : public Oracle {
 public:
  explicit JournalOracle(Bench bench);
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_sent(Time now, NodeId from, NodeId to, const Message& message) override;

 private:
  void judge_writer(Time now, const NumberedRecord& numbered);
  void judge_world(Time now, const NumberedRecord& numbered, JournalLife life);
};

// A beat is acknowledged only after a journal read, begun after the beat arrived, has shown that
// the acknowledging coordinator's Lead was still the newest. So: no acknowledgement by a
// coordinator whose Lead had been superseded in the journal when that beat was delivered to it.
class AcknowledgementOracle final : public Oracle {
 public:
  explicit AcknowledgementOracle(Bench bench);
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_sent(Time now, NodeId from, NodeId to, const Message& message) override;
  void on_delivered(Time now, NodeId from, NodeId to, const Message& message) override;
  void on_note(Time now, AgentId by, const Note& note) override;

 private:
  void judge_addressee(Time now, NodeId from, NodeId to, const Order& order);
  struct Arrival {
    BeatNo beat{};
    std::uint64_t event = 0;  // of the first delivery
  };
  struct Link {
    AgentLife life{};  // of the sender of beats
    std::deque<Arrival> arrivals;
  };
  std::map<std::pair<NodeId, NodeId>, Link> links_;  // (coordinator, agent)
  std::map<LeadId, std::uint64_t> superseded_;       // Lead -> event at which a newer one landed
  LeadId newest_;
  // By coordinator, since it leads: the newest life of each node that it has heard.
  std::map<NodeId, std::map<NodeId, AgentLife>> heard_;
};

}  // namespace elastic::chaos
