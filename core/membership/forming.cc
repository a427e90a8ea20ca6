#include "core/membership/forming.h"

#include <algorithm>
#include <set>

#include "core/assert.h"
#include "core/checkpoint/restore.h"
#include "core/math/digest.h"
#include "core/mutants.h"

namespace elastic {
namespace {

const Peer* find(const FormingView& view, NodeId node) {
  const auto at = view.peers.find(node);
  return at == view.peers.end() ? nullptr : &at->second;
}

bool is_native(const FormingView& view) { return view.job.workers == WorkerKind::kNative; }

// The moment from which a lease or orphan bound of this node counts at the latest: the sending of
// the last acknowledgement (its beat was sent before), or the return of the own Lead (a
// predecessor's last acknowledgement followed a read that had begun before).
Time lease_base(const FormingView& view, const Peer* peer) {
  if (peer == nullptr || !peer->ever_acked) return view.lead_return;
  return std::max(peer->acked, view.lead_return);
}

Duration until_lapsed(const FormingView& view, NodeId node, bool by_orphan_bound) {
  const Duration bound = by_orphan_bound ? view.timeouts.orphan : view.timeouts.lease;
  const Time over = lease_base(view, find(view, node)) + with_drift(bound);
  return over - view.now;
}

// States that descend from the newest Checkpoint: Worlds recorded after it resume from such states
// only, and every member of its own round held it. Where it was found broken and nobody held it any
// more, they resume from an older save; older rounds' states stay out all the same: their holders
// were dead, or had none of that round's steps, when its round was recorded.
bool eligible(const FormingView& view, const StatePoint& held) {
  if (held.entered.journal != view.journal.life) return false;
  if (view.journal.world && held.entered < view.journal.world->abandoned_below) return false;
  return !view.journal.checkpoint || view.journal.checkpoint->round <= held.entered;
}

// What older rounds left behind counts no more.
bool saved_in(const FormingView& view, const World& world) {
  return view.journal.checkpoint && view.journal.checkpoint->round >= world.round;
}

// Its workers are dead, or have left `round` with no eligible state that was entered in `since` or
// later: so they hold none, and get none that way any more.
bool gone(const FormingView& view, AgentId agent, RoundId round, RoundId since) {
  if (death_of(view, agent, round, /*by_orphan_bound=*/true) != Death::kAlive) return true;
  const Peer* peer = find(view, agent.node);
  if (peer == nullptr || peer->beat.from != agent) return false;
  const std::optional<StatePoint>& held = peer->beat.held;
  return peer->beat.left_for > round && (!held || held->entered < since || !eligible(view, *held));
}

bool all_gone(const FormingView& view, const std::vector<AgentId>& agents, RoundId round,
              RoundId since) {
  return std::all_of(agents.begin(), agents.end(),
                     [&](AgentId agent) { return gone(view, agent, round, since); });
}

std::vector<AgentId> agents_of(const World& world) {
  std::vector<AgentId> agents;
  for (const Member& member : world.members) agents.push_back(member.agent);
  return agents;
}

// Some member left the round before it ever entered: no step of the round can have been finished.
bool refuted(const FormingView& view, const World& world) {
  return std::any_of(world.members.begin(), world.members.end(), [&](const Member& member) {
    const Peer* peer = find(view, member.agent.node);
    return peer != nullptr && peer->beat.from == member.agent &&
           peer->beat.left_for > world.round && peer->beat.entered_newest < world.round;
  });
}

bool newer(const StatePoint& a, const StatePoint& b) {
  return std::pair(a.entered, a.step) > std::pair(b.entered, b.step);
}

// Within one round the lineages of a step cannot differ; that is the oracles' to watch, since what
// peers say is no invariant of this machine.
std::optional<StatePoint> best_state(const FormingView& view, const std::vector<const Peer*>& in,
                                     bool oldest = false) {
  std::optional<StatePoint> best;
  for (const Peer* peer : in) {
    if (!peer->beat.held || !eligible(view, *peer->beat.held)) continue;
    const StatePoint& held = *peer->beat.held;
    if (!best || newer(held, *best) != oldest) best = held;
  }
  return best;
}

// Somebody who lives holds a better state than `best`, the best of those that are in.
bool better_elsewhere(const FormingView& view, const std::optional<StatePoint>& best) {
  return std::any_of(view.peers.begin(), view.peers.end(), [&](const auto& entry) {
    const Beat& beat = entry.second.beat;
    if (!beat.held || !eligible(view, *beat.held)) return false;
    if (best && !newer(*beat.held, *best)) return false;
    return death_of(view, beat.from, beat.held->entered, /*by_orphan_bound=*/true) == Death::kAlive;
  });
}

// From scratch only if no save was ever committed.
ResumeChoice from_journal(const checkpoint::Restore& restore) {
  ResumeChoice choice;
  choice.saves_lost = restore.reason == checkpoint::RestoreReason::kNoneLeft;
  if (restore.save) {
    const Checkpoint& saved = restore.save->checkpoint;
    choice.resume.source = ResumePoint::Source::kCheckpoint;
    choice.resume.state = {saved.round, saved.step, saved.lineage};
    choice.resume.checkpoint = restore.save->record;
  }
  return choice;
}

ResumeChoice from_holders(const FormingView& view, const StatePoint& best) {
  ResumeChoice choice;
  choice.resume.source = ResumePoint::Source::kHolders;
  choice.resume.state = best;
  const World& world = *view.journal.world;
  // Whoever may hold this state or one that would be the best without it: each member of the newest
  // World, who may have been filled even if no step of its round was finished; whoever says so; and
  // those who held what that World resumed from, unless all of its members have saved since.
  choice.holders = agents_of(world);
  std::set<AgentId> named(choice.holders.begin(), choice.holders.end());
  const auto add = [&](AgentId agent) {
    if (named.insert(agent).second) choice.holders.push_back(agent);
  };
  for (const auto& [node, peer] : view.peers) {
    if (peer.beat.held && eligible(view, *peer.beat.held)) add(peer.beat.from);
  }
  if (saved_in(view, world)) return choice;
  for (const AgentId holder : world.holders) {
    if (death_of(view, holder, world.round, /*by_orphan_bound=*/true) == Death::kAlive) add(holder);
  }
  return choice;
}

}  // namespace

Death death_of(const FormingView& view, AgentId agent, RoundId round, bool by_orphan_bound) {
  const Peer* peer = find(view, agent.node);
  if (peer != nullptr) {
    const Beat& beat = peer->beat;
    // A later life has killed what its predecessors left before it says anything but "cleaning".
    if (beat.from.life > agent.life && beat.state != AgentState::kCleaning) return Death::kReaped;
    if (beat.from == agent && beat.reaped_below > round) return Death::kReaped;
  }
  if (until_lapsed(view, agent.node, by_orphan_bound) <= Duration(0)) return Death::kLapsed;
  return Death::kAlive;
}

bool last_round_dead(const FormingView& view) {
  if (!view.journal.world) return true;
  const World& world = *view.journal.world;
  if (ELASTIC_MUTANT("start_before_dead")) return true;
  if (is_native(view)) {
    if (ELASTIC_MUTANT("leave_not_awaited")) return true;
    // One member that contributes no more ends it: each step needs every member.
    return std::any_of(world.members.begin(), world.members.end(), [&](const Member& member) {
      const Peer* peer = find(view, member.agent.node);
      const bool left =
          peer != nullptr && peer->beat.from == member.agent && peer->beat.left_for > world.round;
      return left || death_of(view, member.agent, world.round, true) != Death::kAlive;
    });
  }
  return std::all_of(world.members.begin(), world.members.end(), [&](const Member& member) {
    return death_of(view, member.agent, world.round, false) != Death::kAlive;
  });
}

bool is_in(const FormingView& view, const Peer& peer) {
  const Beat& beat = peer.beat;
  if (ELASTIC_MUTANT("leave_not_awaited") && is_native(view) && !peer.lost &&
      beat.state == AgentState::kLeaving) {
    return true;
  }
  if (peer.lost || beat.left_for < view.target || peer.sits_out_until > view.now) return false;
  if (peer.leave_at <= view.now) return false;  // its time is up
  if (is_native(view))
    return beat.state == AgentState::kPrepared || beat.state == AgentState::kLeft;
  const bool idle = beat.state == AgentState::kWaiting || beat.state == AgentState::kLeft;
  return idle && beat.reaped_below >= view.target;
}

std::optional<ResumeChoice> choose_resume(const FormingView& view,
                                          const std::vector<const Peer*>& in) {
  if (!is_native(view)) return ResumeChoice{};  // foreign programs resume by themselves
  const std::optional<StatePoint> best = best_state(view, in);
  const JournalView& journal = view.journal;
  const checkpoint::Restore restore = checkpoint::choose_restore(journal.saves, {}, view.broken);
  if (view.go_back) return from_journal(restore);  // what members hold is given up on purpose
  if (!journal.world) return from_journal(restore);
  const World& world = *journal.world;
  if (best && best->entered == world.round) {
    const bool oldest = ELASTIC_MUTANT("stale_survivor_preferred");
    return from_holders(view, oldest ? *best_state(view, in, oldest) : *best);
  }
  if (!ELASTIC_MUTANT("no_wait_for_holder")) {
    const std::vector<AgentId> members = agents_of(world);
    if (!refuted(view, world) && !all_gone(view, members, world.round, world.round))
      return std::nullopt;
    const RoundId since = world.resume.state.entered;
    const bool held = best && best->entered >= since;
    const bool was_held = world.resume.source == ResumePoint::Source::kHolders;
    if (was_held && !held && !saved_in(view, world)) {
      // Those who held it when the World was recorded, and those who were filled since.
      if (!all_gone(view, world.holders, since, since)) return std::nullopt;
      if (!all_gone(view, members, world.round, since)) return std::nullopt;
    }
    if (!held && better_elsewhere(view, best)) return std::nullopt;
  }
  const bool ahead = best && (!restore.save || best->step > restore.save->checkpoint.step);
  if (ahead) return from_holders(view, *best);
  return from_journal(restore);
}

namespace {

MemberIndex members_of(const FormingView& view) {
  return MemberIndex(view.journal.world ? &*view.journal.world : nullptr);
}

enum class Among : std::uint8_t { kRanks, kPlaces };

// Members of the last World first and in their order, then holders, then the others by node: so
// that survivors keep their relative rank and spares never displace holders of state. A node that
// came back as another life keeps its rank where there is room for all, but holds nothing: for a
// place it comes after those who stayed.
std::vector<const Peer*> in_order(const FormingView& view, std::vector<const Peer*> in,
                                  const ResumeChoice& choice, Among among) {
  const MemberIndex members = members_of(view);
  const auto place = [&](const Peer* peer) {
    std::size_t index = members.of(peer->beat.from.node).value_or(SIZE_MAX);
    const bool holds = choice.resume.source == ResumePoint::Source::kHolders && peer->beat.held &&
                       peer->beat.held->entered == choice.resume.state.entered;
    const bool known = among == Among::kPlaces ? members.has(peer->beat.from) : index != SIZE_MAX;
    const bool first = known || holds;
    const bool wrong = ELASTIC_MUTANT("spare_displaces_holder");
    if (ELASTIC_MUTANT("ranks_from_hash_order")) index = math::mix(peer->beat.from.node.value);
    return std::tuple(first == wrong, index, peer->beat.from.node);
  };
  std::sort(in.begin(), in.end(),
            [&](const Peer* a, const Peer* b) { return place(a) < place(b); });
  return in;
}

std::size_t usable(const JobConfig& job, std::size_t nodes) {
  const std::size_t capped = std::min<std::size_t>(nodes, job.max_nodes);
  return capped / job.node_unit * job.node_unit;
}

bool holds_resume(const Peer& peer, const ResumePoint& resume) {
  return resume.source != ResumePoint::Source::kHolders ||
         (peer.beat.held && *peer.beat.held == resume.state);
}

// How long, and for what, the decision waits for nodes that are not in.
struct Call {
  Time ends = Time::min();
  WaitReason reason = WaitReason::kNone;

  void wait_until(Time time, WaitReason why) {
    if (time > ends) *this = {time, why};
  }
};

// Nodes that are alive and could still come in: joiners until the last call ends, members of the
// last round for as long as their agents may take to make them leave. Where the round is full
// already (`full`), only members are waited for: their state and their rank come first.
Call who_may_come(const FormingView& view, bool full) {
  Call call;
  const Time last_call =
      std::min(view.last_join + view.job.last_call, view.forming_since + view.job.last_call_cap);
  if (view.journal.world) {
    // Whoever has just taken the lead has not heard everybody yet: a member that lives beats within
    // the time after which it would be lost.
    for (const Member& member : view.journal.world->members) {
      if (find(view, member.agent.node) != nullptr) continue;
      call.wait_until(view.lead_return + view.timeouts.lost_after, WaitReason::kMembersLeave);
    }
  }
  const MemberIndex members = members_of(view);
  for (const auto& [node, peer] : view.peers) {
    if (peer.lost || leaving_soon(peer, view.now) || peer.sits_out_until > view.now) continue;
    if (peer.suppressed_until > view.now) continue;
    const AgentState state = peer.beat.state;
    if (is_in(view, peer) || state == AgentState::kEnded) continue;
    const bool member = members.has(peer.beat.from);
    const bool starting =
        state == AgentState::kCleaning || (is_native(view) && state == AgentState::kWaiting);
    if (starting) continue;  // its programs take long: only the first round waits for them
    if (member) {
      call.wait_until(std::max(last_call, view.members_until), WaitReason::kMembersLeave);
    } else if (!full) {
      // A joiner has nothing to leave: it answers within a round trip, or it cannot hear. The
      // others stand still meanwhile.
      const Time answered = view.last_join + view.timeouts.lost_after;
      call.wait_until(view.journal.world ? std::min(last_call, answered) : last_call,
                      WaitReason::kMembersLeave);
    }
  }
  // A job that starts does not know yet who comes, and each further round would start programs
  // anew.
  if (!view.journal.world && !full) call.wait_until(last_call, WaitReason::kLastCall);
  return call;
}

std::vector<const Peer*> who_is_in(const FormingView& view) {
  std::vector<const Peer*> staying;
  std::vector<const Peer*> unwanted;  // leaving, or lost too often lately
  for (const auto& [node, peer] : view.peers) {
    if (!is_in(view, peer)) continue;
    const bool without = leaving_soon(peer, view.now) || peer.suppressed_until > view.now;
    (without ? unwanted : staying).push_back(&peer);
  }
  if (unwanted.empty()) return staying;
  // Such a node is taken once more if nobody else holds what it holds, or too few are left.
  std::vector<const Peer*> all = staying;
  all.insert(all.end(), unwanted.begin(), unwanted.end());
  const auto best = best_state(view, all);
  const std::optional<ResumeChoice> choice = choose_resume(view, all);
  const bool unused = choice && choice->resume.source != ResumePoint::Source::kHolders;
  const bool held =
      !best || unused || std::any_of(staying.begin(), staying.end(), [&](const Peer* peer) {
        return peer->beat.held && peer->beat.held->entered == best->entered;
      });
  return held && usable(view.job, staying.size()) >= view.job.min_nodes ? staying : all;
}

Forming wait(WaitReason reason, Duration look_again = Duration::max()) {
  Forming forming;
  forming.wait = reason;
  forming.look_again = look_again;
  return forming;
}

Forming close(const FormingView& view, const std::vector<const Peer*>& in, ResumeChoice choice) {
  std::vector<const Peer*> chosen = in_order(view, in, choice, Among::kPlaces);
  chosen.resize(usable(view.job, chosen.size()));
  chosen = in_order(view, std::move(chosen), choice, Among::kRanks);
  ELASTIC_ASSERT(chosen.size() >= view.job.min_nodes);
  const auto holds = [&](const Peer* peer) { return holds_resume(*peer, choice.resume); };
  if (std::none_of(chosen.begin(), chosen.end(), holds)) {
    const auto holder = std::find_if(in.begin(), in.end(), holds);
    ELASTIC_ASSERT(holder != in.end());
    chosen.back() = *holder;
  }
  Forming forming;
  forming.resume = std::move(choice);
  const MemberIndex members = members_of(view);
  bool twice = ELASTIC_MUTANT("join_counted_twice") && chosen.size() < view.job.max_nodes;
  for (const Peer* peer : chosen) {
    forming.members.push_back({peer->beat.from, peer->beat.workers});
    if (!twice || members.has(peer->beat.from)) continue;
    twice = false;
    forming.members.push_back(forming.members.back());
  }
  return forming;
}

}  // namespace

// Somebody is in a round of another journal, which this one knows nothing of. It ends by itself.
bool other_journal_runs(const FormingView& view) {
  return std::any_of(view.peers.begin(), view.peers.end(), [&](const auto& entry) {
    const Beat& beat = entry.second.beat;
    if (entry.second.lost || !beat.placed || beat.placed.journal == view.journal.life) return false;
    return beat.state == AgentState::kEntering || beat.state == AgentState::kRunning ||
           beat.state == AgentState::kLeaving || beat.state == AgentState::kFinished;
  });
}

Forming decide(const FormingView& view) {
  const std::vector<const Peer*> in = who_is_in(view);
  const std::size_t enough = usable(view.job, in.size());
  if (enough == 0 || enough < view.job.min_nodes) return wait(WaitReason::kBelowMin);
  const Call call = who_may_come(view, in.size() >= view.job.max_nodes);
  if (view.now < call.ends) return wait(call.reason, call.ends - view.now);
  if (!last_round_dead(view) || other_journal_runs(view)) return wait(WaitReason::kRoundNotDead);
  std::optional<ResumeChoice> choice = choose_resume(view, in);
  if (!choice) return wait(WaitReason::kHolder);
  if (choice->saves_lost) {
    Forming lost;
    lost.saves_lost = true;
    return lost;
  }
  return close(view, in, std::move(*choice));
}

}  // namespace elastic
