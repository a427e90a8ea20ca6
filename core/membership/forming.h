// Pure decisions of the coordinator, each with its reason: who is in the next round, whether it may
// be recorded now, and where it resumes. Nothing here sends, waits or remembers.
//
// Three words. *Lost* is a suspicion: no beat for a while. *Lapsed* is a lease, or an orphan bound,
// that is surely over, whatever the other machine's clock did within its drift. *Dead* is proof, or
// a lapse: nothing of it acts any more. Nobody is taken for dead because it is lost.
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
      kEndOfTime;              // lost at this moment if still silent (hint of a closed connection)
  bool lost = false;           // no part in forming; says nothing of its workers
  bool leaving = false;        // it has announced that it leaves
  Time leave_at = kEndOfTime;  // its deadline, on the own clock
  Time sits_out_until{};
  Time suppressed_until{};  // lost too often lately (policy/flaps.h)
  FailureNo failures_noted;
  FailureNo failures_acked;
  FailureNo starts_counted;   // newest failed start, outside any round, that was counted
  std::uint64_t arrived = 0;  // the most of Beat::arrived in the newest World
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
enum class Death : std::uint8_t {
  kAlive,   // not known to be dead
  kReaped,  // its agent says so, or a later life of it, which has killed what it found
  kLapsed,
};
// The workers that `agent` had in `round` (its lease, if foreign; its orphan bound, if native).
// Both count from the last acknowledgement to its node, or from the return of the own Lead.
Death death_of(const FormingView& view, AgentId agent, RoundId round, bool by_orphan_bound);

// Every round up to the newest World is dead, so that the next may be recorded.
//   native   one member has left it, was reaped, or is past its orphan bound: a step needs every
//            member. What members had sent before still counts, so the round may finish the step
//            that it was in, and no further one: members differ by one step at most. A clock is
//            waited for only if no member of it can be reached.
//   foreign  each member was reaped, or its lease has surely lapsed.
bool last_round_dead(const FormingView& view);

// The node could be a member of `target` right now: it is heard, has left all rounds below, does
// not sit out, and everything slow is behind it (native: its programs are up; foreign: none is left
// of an earlier round).
bool is_in(const FormingView& view, const Peer& peer);

// Where the next round resumes, given who is in; empty while a holder must be waited for.
//
// Only states that descend from the newest Checkpoint count; of these those that were entered in
// the newest round, and of these the highest step (within a round, states of one step cannot
// differ). If all who held it are dead or have left with less, it is the best that the remaining
// ones hold; if nobody holds any, the newest save that can be used. Until then no round forms
// without a holder of the newest state that may have been committed, whatever last call, max_nodes
// or cool-down say (docs/decisions/0004).
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

// The decision. `members` is set exactly when the round is to be recorded now:
//  - at least min_nodes are in, and a multiple of node_unit of them is taken, at most max_nodes;
//  - nobody could still come in who is alive. Members of the newest World are waited for until they
//    have left, or should have; joiners until the last call is over, which begins anew with each
//    joiner, up to a cap (after the first World, while members stand still, no longer than they
//    need to answer; before it, also if nobody is known who could come: a job that starts does not
//    know yet who does). Once max_nodes are in, joiners are waited for no more;
//  - the rounds before are dead, and where to resume is known.
// So joins and losses that come together make one round. Members are ranked: those of the newest
// World first, in their order there, then other holders of the state, then the rest by node. Who is
// left over is a spare, never an error, and no spare displaces a holder: if none is among those
// taken, one replaces the last of them.
//
// A node that was lost too often lately is left out, unless fewer than min_nodes would be in
// without such nodes, or nobody else holds what it holds: a job that waits for ever because of a
// bad node is worse off than one that suffers from it. The same holds for a node that is about to
// leave.
struct Forming {
  WaitReason wait = WaitReason::kNone;
  bool saves_lost = false;  // the job cannot go on (Verdict::Kind::kSavesLost)
  std::vector<Member> members;
  ResumeChoice resume;
  Duration look_again = Duration::max();  // the reason may pass by the clock alone after this
};
Forming decide(const FormingView& view);

}  // namespace elastic
