// Everything that one node of a job runs: the agent that supervises its workers, the coordinator
// that it may become, the journal that it may host. One entry, no calls out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/agent/agent.h"
#include "core/agent/io.h"
#include "core/membership/config.h"
#include "core/membership/coordinator.h"
#include "core/membership/election.h"
#include "core/membership/hosted_journal.h"
#include "core/membership/journal_client.h"

namespace elastic {

// A life of a node's agent, from Start to Exit (or until its process is lost: then a new Node
// begins).
//
// Promises:
//  1. step() is total: every input is legal in every state; it never blocks and never throws.
//  2. The same construction and the same (now, input) sequence give the same effects, in every
//     build.
//  3. Copying a Node is its snapshot.
//  4. The node is always in a round, waiting for a reason that it can name (Agent::waiting()), or
//     exited.
//  5. Running workers are not touched by a change of coordinator.
//  6. After a verdict, whoever leads stays until everybody that it hears has said that it ends, but
//     no longer than a lease; the host of a hosted journal stays for a lease, unless it leads and
//     everybody has said so. Who has heard nothing by then has lapsed. An external journal tells it
//     the verdict. With a hosted one that is gone it reads the newest commit marker before it
//     chooses how to end: as succeeded, if the job has.
class Node {
 public:
  // `job` and `timeouts` are those of the whole job and must be the same on all nodes.
  Node(const JobConfig& job, const Timeouts& timeouts);

  // `now` is the own monotonic clock; it does not run backwards. Appends to `effects`, which are to
  // be carried out in order.
  void step(Time now, const Input& input, Effects& effects);

  // Asserts the invariants of all parts.
  void check() const;
  // Of all state that can influence a later step.
  std::uint64_t digest() const;

  bool exited() const { return exited_; }
  bool leading() const { return coordinator_.leading(); }
  AgentId self() const { return self_; }
  const Agent& agent() const { return agent_; }
  const Coordinator& coordinator() const { return coordinator_; }
  const Election& election() const { return election_; }
  const JournalClient& journal() const { return journal_; }
  const HostedJournal& hosted() const { return hosted_; }

 private:
  void dispatch(Time now, const Input& input, Effects& effects);
  void on_workers(Time now, const Input& input, Effects& effects);
  void on_message(Time now, const Received& received, Effects& effects);
  void on_timer(Time now, TimerId timer, Effects& effects);
  void stand_first(Time now, Effects& effects);
  void on_journal(Time now, const JournalAnswer& answer, Effects& effects);
  void after(Time now, Effects& effects);
  void follow(Time now, LeadId lead, AgentId leader, Effects& effects);
  void part(Time now, ExitReason reason, Effects& effects);
  void on_marker_read(Time now, const MarkerRead& read, Effects& effects);
  void finish(Time now, Effects& effects);

  JobConfig job_;
  Timeouts timeouts_;
  AgentId self_;
  bool exited_ = false;
  bool lingering_ = false;
  // It is about to end without the verdict, and has asked for the newest marker.
  struct Parting {
    ExitReason reason;
    Time since{};
  };
  std::optional<Parting> parting_;
  JournalClient journal_;
  HostedJournal hosted_;
  Election election_;
  Coordinator coordinator_;
  Agent agent_;
};

}  // namespace elastic
