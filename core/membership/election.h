// Who coordinates: whoever wrote the newest Lead; any agent may. An agent that hears no leader for
// a drawn time reads the journal, asks everybody it knows whether a live leader is heard, and
// appends `Lead` only when nobody hears one and at least min_nodes, itself among them, are heard
// (or, where min_healthy is set, after its grace without a leader). Safety never depends on any of
// this: two leaders at once are harmless, because only the writer of the newest Lead can write the
// next record.
//
// The silence time is drawn anew each time. It doubles, up to eight times, while fewer than
// min_nodes answer and with each newer Lead whose leader is not heard. A candidate that is answered
// by less than half of the newest World puts off standing once, for twice the time: others may hear
// more.
//
// Of N nodes that miss a leader few should stand, since each candidate asks all N. So whoever is
// asked by a candidate lets it finish first, once before each attempt of its own; and a journal
// that answers late answers everybody at once, so the first late answer only draws another silence.
//
// A leader that hears fewer than min_nodes for one lease stops to acknowledge and follows again
// (Coordinator::suspended), so it cannot stand before it hears them.
//
// A canvass is over as soon as everybody who was asked has answered. And a new job need not wait
// for silence: where the journal holds no Lead, there is no leader to be heard, so the host of a
// hosted journal stands as soon as min_nodes have asked it something.
//
// Alternative rejected: appending Lead on silence alone. A node behind a one-way partition would
// depose a healthy leader again and again.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/agent/io.h"
#include "core/membership/config.h"
#include "core/membership/journal_client.h"

namespace elastic {

class Election {
 public:
  enum class Phase : std::uint8_t { kFollowing, kReading, kCanvassing, kAppending, kLeading };

  Election(const JobConfig& job, const Timeouts& timeouts) : job_(job), timeouts_(timeouts) {}

  void start(Time now, AgentId self, std::uint64_t seed, const std::vector<NodeId>& contacts,
             Effects& effects);
  // The leader of `lead` was heard (it acknowledged a beat, or announced itself).
  void heard_leader(Time now, Effects& effects);
  // A newer Lead exists; its leader gets at least two whole silence times to be heard.
  void new_lead(Time now, Effects& effects);
  // The connection to the leader closed: stand soon.
  void leader_suspect(Time now, Effects& effects);
  // This node no longer leads (deposed, or hears too few).
  void stand_down(Time now, Effects& effects);

  void on_silence(Time now, JournalClient& journal, Effects& effects);
  // The own hosted journal is open, holds no Lead, and `asked` nodes have asked it, this one among
  // them.
  void on_founding(Time now, std::size_t asked, JournalClient& journal, Effects& effects);
  void on_read(Time now, const JournalEvent& event, JournalClient& journal, Effects& effects);
  // `lead` and `leader`: the newest that this node has seen. `served_at`: when the journal last
  // answered; a leader without a journal acknowledges nothing, so it does not count as live.
  void on_canvass(Time now, const Canvass& canvass, LeadId lead, AgentId leader, Time served_at,
                  Effects& effects);
  void on_hearing(Time now, const Hearing& hearing, JournalClient& journal, Effects& effects);
  void on_canvass_over(Time now, JournalClient& journal, Effects& effects);
  // The own Lead is in the journal.
  void won(Time now, Effects& effects);
  // The own append lost its number.
  void lost(Time now, Effects& effects);

  Phase phase() const { return phase_; }
  bool live_leader(Time now, Time served_at) const;
  // Nodes that answered the canvass which led to the present lead, and all others known.
  const std::set<NodeId>& known() const { return known_; }
  void forget(NodeId node) { known_.erase(node); }

  void check() const;
  std::uint64_t digest() const;

 private:
  void arm_silence(Time now, Duration base_min, Duration base_max, Effects& effects);
  void back_off(Time now, Effects& effects);
  void give_way(Time now, Effects& effects);

  JobConfig job_;
  Timeouts timeouts_;
  AgentId self_;
  std::uint64_t seed_ = 0;
  std::uint64_t draws_ = 0;
  Phase phase_ = Phase::kFollowing;
  std::uint64_t attempt_ = 0;
  std::uint64_t ticket_ = 0;  // of the read before canvassing
  Time reading_since_{};      // kReading: when the journal was first asked
  bool read_late_ = false;    // an answer came late, and another silence was drawn
  Time silence_due_{};        // when the silence timer fires
  bool gave_way_ = false;     // since the last attempt
  std::uint32_t back_off_ = 0;
  bool leader_heard_ = false;
  Time heard_at_{};
  bool somebody_hears_ = false;
  std::set<NodeId> hearers_;  // of this attempt, without this node
  std::set<NodeId> known_;    // addresses to ask: hints
};

}  // namespace elastic
