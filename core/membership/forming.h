// Pure decisions of the coordinator, each with its reason: who is in the next round, whether it may
// be recorded now, and where it resumes. Nothing here sends, waits or remembers.
//
// Read torchft's quorum_compute beside it for the style; the rules are design section 4 and 5.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/membership/config.h"
#include "core/membership/journal_client.h"
#include "core/membership/messages.h"
#include "core/types.h"

namespace elastic {

// What the coordinator knows of one node, from its newest beat and from its own clock.
struct Peer {
  Beat beat;     // newest; beat.from is its present life
  Time heard{};  // arrival of the newest beat
  Time acked{};  // sending of the last acknowledgement to this node (any life)
  bool ever_acked = false;
  Time suspect_at =
      kEndOfTime;  // lost at this moment if still silent (hint of a closed connection)
  bool lost = false;
  bool leaving = false;        // it has announced that it leaves
  Time leave_at = kEndOfTime;  // its deadline, on the own clock
  Time sits_out_until{};
  Time suppressed_until{};  // lost too often lately (policy/flaps.h)
  FailureNo failures_noted;
  FailureNo failures_acked;
  FailureNo starts_counted;  // newest failed start, outside any round, that was counted
};
using Peers = std::map<NodeId, Peer>;

// A node that announces its leave trains on until so long before its deadline: longer than a step
// of any usual job plus the change of round, and the whole of a 30 s notice.
constexpr Duration kLeaveLead = std::chrono::seconds(30);
inline bool leaving_soon(const Peer& peer, Time now) {
  return peer.leaving && peer.leave_at - now <= kLeaveLead;
}

// All that the decisions look at.
struct FormingView {
  const JobConfig& job;
  const Timeouts& timeouts;
  const JournalView& journal;
  const Peers& peers;
  Time now{};
  Time lead_return{};  // return of the own Lead append: leases of unknown nodes count from here
  RoundId target;      // the round to form
  Time forming_since{};
  Time last_join{};      // newest arrival of a node that is no member of the last World
  Time members_until{};  // a member that lives and hears has left by then, or its agent has killed
                         // it
  bool go_back = false;  // to the newest checkpoint, whatever members hold (policy/progress.h)
  std::vector<RecordNo> broken;  // committed saves known to be broken
};

// A member's workers are dead or can do nothing more, by proof or by clock.
enum class Death : std::uint8_t { kAlive, kReaped, kLapsed };
// The workers that `agent` had in `round` (its lease, if foreign; its orphan bound, if native).
Death death_of(const FormingView& view, AgentId agent, RoundId round, bool by_orphan_bound);

// Every round up to the newest World is dead, so that the next may be recorded.
bool last_round_dead(const FormingView& view);

// The node could be a member of `target` right now.
bool is_in(const FormingView& view, const Peer& peer);

// Where the next round resumes, given who is in; empty while a holder must be waited for.
//
// Two questions about saves, and two answers. Which states descend from what was committed: that of
// the newest Checkpoint, broken or not, because its files are broken and not its history; a state
// of a round before it is on another branch for good. What can be loaded, and so what a held state
// must surpass: the newest save that is neither retired nor known broken.
struct ResumeChoice {
  ResumePoint resume;
  std::vector<AgentId> holders;
  // There were committed saves, none of them can be used, and nobody holds a state.
  bool saves_lost = false;
};
std::optional<ResumeChoice> choose_resume(const FormingView& view,
                                          const std::vector<const Peer*>& in);

// The decision. A node that was lost too often lately is left out, unless fewer than min_nodes
// would be in without such nodes, or nobody else holds what it holds: a job that waits for ever
// because of a bad node is worse off than one that suffers from it. `members` is set exactly when
// the round is to be recorded now.
struct Forming {
  WaitReason wait = WaitReason::kNone;
  bool saves_lost = false;  // the job cannot go on (Verdict::Kind::kSavesLost)
  std::vector<Member> members;
  ResumeChoice resume;
  Duration look_again = Duration::max();  // the reason may pass by the clock alone after this
};
Forming decide(const FormingView& view);

}  // namespace elastic
