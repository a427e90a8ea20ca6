// Inputs, records, messages and effects as short text, for people who read interaction tests.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/io.h"

namespace elastic::interaction {

// Names lives of journals and agents in the order in which they come up, so that drawn numbers
// never show: `r2` is round 2 of the first journal, `r2'` of the second; `n1` is node 1 in its
// first life, `n1'` in its second.
class Names {
 public:
  std::string round(RoundId round);
  std::string lead(LeadId lead);
  std::string agent(AgentId agent) const;
  static std::string node(NodeId node) { return "n" + std::to_string(node.value); }

  std::string record(const NumberedRecord& entry);
  std::string world(const World& world);
  std::string message(const Message& message);
  std::string placement(const Placement& place);
  // Empty for effects that a reader need not see (leases, timers, polls).
  std::string effect(const Effect& effect);
  std::string note(const Note& note);

 private:
  std::string primes(JournalLife life);
  std::string resume(const ResumePoint& resume);
  std::string beat(const Beat& beat);
  std::string order(const Order& order);
  std::string answer(const JournalAnswer& answer);

  std::vector<JournalLife> lives_;
};

const char* state_name(AgentState state);
const char* wait_name(WaitReason reason);
const char* cause_name(RoundCause cause);
const char* verdict_name(Verdict::Kind kind);
const char* exit_name(ExitReason reason);
std::string status_name(ExitStatus status);

// The words by which a rule of a script may name a message: "beat", "ack" or "push" (orders with
// and without a beat), "place", "leave", "ask", "append", ...
std::vector<std::string> kinds_of(const Message& message);

}  // namespace elastic::interaction
