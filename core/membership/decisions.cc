// What the coordinator decides from what it has heard: loss, adoption, change of round, end of the
// job.
#include <algorithm>
#include <map>
#include <utility>

#include "core/assert.h"
#include "core/membership/coordinator.h"
#include "core/mutants.h"

namespace elastic {
namespace {

RoundId next_round(const JournalView& view) {
  if (!view.world) return {view.life, 1};
  return {view.life, view.world->round.number + 1};
}

const Peer* find(const Peers& peers, NodeId node) {
  const auto at = peers.find(node);
  return at == peers.end() ? nullptr : &at->second;
}

Forming not_yet(WaitReason reason, Duration look_again) {
  Forming forming;
  forming.wait = reason;
  forming.look_again = look_again;
  return forming;
}

}  // namespace

FormingView Coordinator::forming_view(Time now, const JournalView& view) const {
  const Duration patience = std::max(job_.stop_grace, 2 * timeouts_.lost_after);
  return {job_,
          timeouts_,
          view,
          peers_,
          now,
          lead_return_,
          target_,
          forming_since_,
          last_join_,
          planned_until_ + patience,
          /*go_back=*/false,
          broken_saves(view)};
}

void Coordinator::evaluate(Time now, JournalClient& journal, Effects& effects) {
  if (!leading()) return;
  evaluating_soon_ = false;
  const JournalView& view = journal.view();
  mark_lost(now, view, effects);
  count_heard(now);
  note_departures(now, view);
  if (phase_ == Phase::kEnding || journal.appending()) return;
  if (view.verdict) {
    phase_ = Phase::kEnding;
    push(view, effects);
    return;
  }
  if (conclude(now, journal, effects) || commit_save(now, journal, effects)) return;
  if (phase_ == Phase::kAdopting) {
    adopt(now, journal, effects);
  } else if (phase_ == Phase::kRunning) {
    watch(now, journal, effects);
  }
  if (phase_ == Phase::kForming) form(now, journal, effects);
  if (phase_ == Phase::kRunning) retire_saves(now, journal, effects);
}

void Coordinator::mark_lost(Time now, const JournalView& view, Effects& effects) {
  for (auto it = peers_.begin(); it != peers_.end();) {
    Peer& peer = it->second;
    const bool silent = now - peer.heard > timeouts_.lost_after || now >= peer.suspect_at;
    if (!peer.lost && silent) {
      peer.lost = true;
      if (peer.beat.state != AgentState::kEnded) {  // else it has said that it goes
        effects.push_back(
            Note{NoteKind::kNodeLost, it->first, {}, peer.beat.from.life.value, 0, 0});
      }
    }
    // Forget who has been away for longer than any bound that counts from its last acknowledgement.
    const bool old = now - peer.heard > 2 * with_drift(timeouts_.orphan);
    const bool gone = peer.lost && old && peer.sits_out_until <= now;
    if (gone && !(view.world && index_of(*view.world, it->first) < view.world->members.size())) {
      awaiting_.erase(it->first);
      it = peers_.erase(it);
    } else {
      ++it;
    }
  }
}

// A leader that hears fewer than min nodes for one lease can lead nobody anywhere; others may hear
// more.
void Coordinator::count_heard(Time now) {
  std::uint32_t heard = 0;
  for (const auto& [node, peer] : peers_) {
    if (!peer.lost && peer.beat.state != AgentState::kEnded) ++heard;
  }
  too_few_ = health_.step(now, heard);
  if (heard >= job_.min_nodes || phase_ == Phase::kEnding) {
    enough_heard_ = now;
    mute_ = false;
  } else if (now - enough_heard_ >= timeouts_.lease) {
    // Somebody must stay to end a job that has too few machines for good.
    mute_ = job_.health.min_healthy > 0;
    suspended_ = !mute_;
  }
}

void Coordinator::wait_for(WaitReason reason, Effects& effects) {
  if (wait_ == reason) return;
  wait_ = reason;
  effects.push_back(
      Note{NoteKind::kWaiting, self_.node, target_, static_cast<std::uint64_t>(reason), 0, 0});
}

// A new coordinator leaves the running round alone only if every member says that it is in it.
void Coordinator::adopt(Time now, JournalClient& journal, Effects& effects) {
  ELASTIC_ASSERT(phase_ == Phase::kAdopting);
  ELASTIC_ASSERT(!journal.appending());
  const JournalView& view = journal.view();
  if (!view.world) {
    ask_leave(now, RoundCause::kFirst, false, view, effects);
    return;
  }
  const World& world = *view.world;
  bool all_heard = true;
  bool broken = false;
  for (const Member& member : world.members) {
    const Peer* peer = find(peers_, member.agent.node);
    if (peer == nullptr) {
      all_heard = false;
      continue;
    }
    const Beat& beat = peer->beat;
    const bool in = beat.state == AgentState::kEntering || beat.state == AgentState::kRunning ||
                    beat.state == AgentState::kFinished;
    broken = broken || peer->lost || beat.from != member.agent || beat.left_for > world.round ||
             beat.placed != world.round || !in || !beat.failed_edges.empty();
  }
  const bool patience_over = now - lead_return_ >= timeouts_.lease;
  if (broken || (!all_heard && patience_over)) {
    ask_leave(now, RoundCause::kAdopted, false, view, effects);
  } else if (all_heard) {
    phase_ = Phase::kRunning;
    recorded_at_ = now;
    entering_at_ = now;
    running_since_ = kEndOfTime;
    best_step_ = world.resume.state.step;
    adopted_ = true;
    pause_ = {};
    step_length_ = {};
    start_failures_ = 0;  // of before the round ran: the predecessor's record has counted them
    first_start_.reset();
    wait_for(WaitReason::kNone, effects);
    effects.push_back(Note{NoteKind::kAdopted, self_.node, world.round, 0, 0, 0});
  } else {
    wait_for(WaitReason::kAdopting, effects);
  }
}

void Coordinator::watch(Time now, JournalClient& journal, Effects& effects) {
  const JournalView& view = journal.view();
  ELASTIC_ASSERT(phase_ == Phase::kRunning);
  ELASTIC_ASSERT(view.world.has_value());
  const World& world = *view.world;
  if (const auto cause = broken(now, world, effects)) {
    ask_leave(now, *cause, false, view, effects);
    return;
  }
  if (needs_other_save(world, view)) {
    ask_leave(now, RoundCause::kSaveBroken, false, view, effects);
    return;
  }
  measure(now, world);
  note_joiners(now, view);
  if (wants_resize(now, world)) ask_leave(now, RoundCause::kResize, true, view, effects);
}

// Whether, and why, the newest World cannot go on as it is.
std::optional<RoundCause> Coordinator::broken(Time now, const World& world, Effects& effects) {
  bool edges = false;
  bool left = false;
  for (const Member& member : world.members) {
    const Peer* peer = find(peers_, member.agent.node);
    if (peer == nullptr) {
      if (now - recorded_at_ > timeouts_.lost_after) return RoundCause::kNodeLost;
      continue;
    }
    note_arrival(now, member.agent.node, world);
    const Beat& beat = peer->beat;
    const bool finished_foreign = job_.workers == WorkerKind::kForeign &&
                                  beat.from == member.agent && beat.state == AgentState::kFinished;
    if (peer->lost && finished_foreign) continue;  // its part is done
    if (peer->lost || beat.from != member.agent || beat.state == AgentState::kEnded) {
      return RoundCause::kNodeLost;
    }
    left = left || beat.left_for > world.round;
    edges = edges || (beat.placed == world.round && !beat.failed_edges.empty());
    if (beat.entered == world.round || beat.state == AgentState::kFinished) {
      if (entered_.insert(member.agent.node).second) entering_at_ = now;
    }
    if (beat.held && beat.held->entered == world.round) {
      best_step_ = std::max(best_step_, beat.held->step);
    }
  }
  if (first_failure_ || left) return RoundCause::kWorkerFailed;
  if (running_since_ == kEndOfTime && entered_.size() == world.members.size()) {
    running_since_ = now;
    running_from_ = best_step_;
    if (!adopted_) pause_ = now - recorded_at_ + asking_;
    effects.push_back(
        Note{NoteKind::kRunning, self_.node, world.round, world.members.size(), 0, 0});
  }
  if (edges) return edge_failed(now, world);
  return stalled(now, world);
}

// However long a fill or a load takes, its member is waited for while it goes on; and others may
// wait for that member to be filled from it.
void Coordinator::note_arrival(Time now, NodeId node, const World& world) {
  Peer& peer = peers_.at(node);
  if (peer.beat.placed != world.round || peer.beat.arrived <= peer.arrived) return;
  peer.arrived = peer.beat.arrived;
  entering_at_ = now;
}

std::optional<RoundCause> Coordinator::stalled(Time now, const World& world) {
  if (running_since_ != kEndOfTime || now - entering_at_ <= timeouts_.enter) return std::nullopt;
  const std::size_t entered = entered_.size();
  for (const Member& member : world.members) {
    if (entered_.contains(member.agent.node) || entered < job_.min_nodes) continue;
    peers_[member.agent.node].sits_out_until = now + job_.cool_down;
  }
  return RoundCause::kStalled;
}

// Two members cannot reach each other. After a round that made a step the next one may work; after
// one that made none, the member with the most failed edges sits out.
std::optional<RoundCause> Coordinator::edge_failed(Time now, const World& world) {
  for (const Member& member : world.members) {
    const Peer* peer = find(peers_, member.agent.node);
    if (peer == nullptr) continue;
    for (const NodeId other : peer->beat.failed_edges) {
      const auto at = peers_.find(other);
      if (at == peers_.end()) continue;
      at->second.suspect_at = std::min(
          at->second.suspect_at, at->second.heard + timeouts_.beat * 2 + job_.bounds.round_trip);
    }
  }
  if (best_step_ > world.resume.state.step) return RoundCause::kEdge;
  edge_since_ = std::min(edge_since_, now);
  if (now - edge_since_ < 2 * timeouts_.beat) return std::nullopt;  // hear the others' edges too
  sit_out_worst(now, world);
  return RoundCause::kEdge;
}

void Coordinator::sit_out_worst(Time now, const World& world) {
  std::map<NodeId, std::uint32_t> edges;
  std::uint32_t alive = 0;
  for (const Member& member : world.members) {
    const Peer* peer = find(peers_, member.agent.node);
    if (peer == nullptr || peer->lost) continue;
    ++alive;
    for (const NodeId other : peer->beat.failed_edges) {
      ++edges[member.agent.node];
      ++edges[other];
    }
  }
  NodeId worst;
  std::uint32_t most = 0;
  for (const Member& member : world.members) {  // in rank order: a tie goes to the highest rank
    const auto at = edges.find(member.agent.node);
    if (at != edges.end() && at->second >= most) {
      most = at->second;
      worst = member.agent.node;
    }
  }
  if (!worst || alive <= job_.min_nodes) return;
  peers_[worst].sits_out_until = now + job_.cool_down;
}

// Who was heard, was asked into the round and did not come hears no orders: it sits out, or the
// others would change their round for it again and again.
void Coordinator::sit_out_deaf(Time now, const std::vector<Member>& members) {
  for (const NodeId node : hoped_for_) {
    const auto at = peers_.find(node);
    if (at == peers_.end() || at->second.lost || at->second.beat.left_for >= target_) continue;
    const bool came = std::any_of(members.begin(), members.end(),
                                  [&](const Member& m) { return m.agent.node == node; });
    if (!came) at->second.sits_out_until = now + job_.cool_down;
  }
}

// A node outside the newest World that could be in the next one at once.
bool Coordinator::joiner(Time now, const Peer& peer, const World& world) const {
  if (peer.lost || peer.leaving || peer.sits_out_until > now) return false;
  if (peer.suppressed_until > now) return false;
  const AgentState idle =
      job_.workers == WorkerKind::kForeign ? AgentState::kWaiting : AgentState::kPrepared;
  if (peer.beat.state != idle && peer.beat.state != AgentState::kLeft) return false;
  return index_of(world, peer.beat.from.node) == world.members.size();
}

// Keeps the times of the first and the newest joiner, from which the last call counts.
void Coordinator::note_joiners(Time now, const JournalView& view) {
  const FormingView seen = forming_view(now, view);
  const bool forming = phase_ == Phase::kForming;
  const MemberIndex members(forming && view.world ? &*view.world : nullptr);
  for (const auto& [node, peer] : peers_) {
    if (joined_.contains(node)) continue;
    const bool is_new =
        forming ? is_in(seen, peer) && !members.of(node) : joiner(now, peer, *view.world);
    if (!is_new) continue;
    if (joined_.empty() && phase_ == Phase::kRunning) forming_since_ = now;
    joined_.insert(node);
    last_join_ = now;
  }
}

bool Coordinator::wants_resize(Time now, const World& world) {
  if (running_since_ == kEndOfTime) return false;
  std::uint32_t leaving_now = 0;
  std::uint32_t members = 0;
  for (const Member& member : world.members) {
    const Peer* peer = find(peers_, member.agent.node);
    if (peer == nullptr || peer->beat.state == AgentState::kFinished) return false;
    ++members;
    if (leaving_soon(*peer, now)) ++leaving_now;
  }
  std::uint32_t joiners = 0;
  bool preparing = false;
  for (const auto& [node, peer] : peers_) {
    if (joiner(now, peer, world)) ++joiners;
    const bool starting =
        peer.beat.state == AgentState::kCleaning ||
        (job_.workers == WorkerKind::kNative && peer.beat.state == AgentState::kWaiting);
    preparing = preparing || (!peer.lost && starting);
  }
  const auto size_of = [&](std::uint32_t nodes) {
    return std::min(nodes, job_.max_nodes) / job_.node_unit * job_.node_unit;
  };
  const std::uint32_t after = size_of(members - leaving_now + joiners);
  if (leaving_now > 0) return after >= job_.min_nodes && after > 0;
  if (joiners == 0 || after <= size_of(members)) return false;
  const policy::GrowthRules rules{job_.growth, job_.growth_pays.interval, job_.growth_pays.horizon,
                                  job_.growth_pays.margin_ppm};
  if (grows(growth_facts(now, world, after), rules) != policy::GrowthAnswer::kGrow) return false;
  const Time last_call = std::min(last_join_ + job_.last_call, forming_since_ + job_.last_call_cap);
  return !preparing || now >= last_call;
}

void Coordinator::ask_leave(Time now, RoundCause cause, bool planned, const JournalView& view,
                            Effects& effects) {
  ELASTIC_ASSERT(phase_ == Phase::kAdopting || phase_ == Phase::kRunning);
  ELASTIC_ASSERT(!planned || cause == RoundCause::kResize);
  ELASTIC_ASSERT(!planned || running_since_ != kEndOfTime);  // else nobody would see the flag
  phase_ = Phase::kForming;
  target_ = next_round(view);
  cause_ = cause;
  planned_ = planned;
  planned_until_ = planned ? now + job_.resize_deadline : now;
  forming_since_ = now;
  last_join_ = now;
  asked_at_ = now;
  ran_ = running_since_ == kEndOfTime ? Duration::zero() : now - running_since_;
  joined_.clear();
  hoped_for_.clear();
  for (const auto& [node, peer] : peers_) {
    if (cause == RoundCause::kResize && joiner(now, peer, *view.world)) hoped_for_.insert(node);
  }
  effects.push_back(Note{NoteKind::kAskLeave, self_.node, target_,
                         static_cast<std::uint64_t>(cause), planned ? 1U : 0U, 0});
  push(view, effects);
}

// The announced change cannot come to its end: some member will never finish the step.
bool Coordinator::must_force(const World& world) const {
  if (first_failure_ || member_lost(world)) return true;
  return std::any_of(world.members.begin(), world.members.end(), [&](const Member& member) {
    return !peers_.at(member.agent.node).beat.failed_edges.empty();
  });
}

bool Coordinator::member_lost(const World& world) const {
  return std::any_of(world.members.begin(), world.members.end(), [&](const Member& member) {
    const Peer* peer = find(peers_, member.agent.node);
    return peer == nullptr || peer->lost || peer->beat.from != member.agent;
  });
}

void Coordinator::form(Time now, JournalClient& journal, Effects& effects) {
  ELASTIC_ASSERT(phase_ == Phase::kForming);
  const JournalView& view = journal.view();
  if (planned_ && view.world) {
    // Who waits for a flag in a step's reduction waits for ever if a member of it is gone.
    const bool force = now >= planned_until_ || must_force(*view.world);
    if (force) {
      planned_ = false;
      planned_until_ = now;
      push(view, effects);
    }
  }
  note_joiners(now, view);
  FormingView looked_at = forming_view(now, view);
  looked_at.go_back = judged(view).next == policy::NextTry::kGoBack;
  Forming forming = decide(looked_at);
  if (forming.saves_lost) {
    ELASTIC_ASSERT(view.checkpoint.has_value());
    journal.append(now, Verdict{Verdict::Kind::kSavesLost, view.checkpoint->step, {}}, effects);
    return;
  }
  if (!forming.members.empty()) {
    const Duration back_off = forming_since_ + charged(view).delay - now;
    if (const std::optional<Verdict> verdict = verdict_due(now, view, true)) {
      journal.append(now, *verdict, effects);
      return;
    }
    if (looked_at.go_back && !failure_is_certain(now, view)) {
      forming = not_yet(WaitReason::kMembersLeave, timeouts_.beat);
    } else if (back_off > Duration::zero()) {
      forming = not_yet(WaitReason::kBackOff, back_off);
    }
  }
  if (forming.members.empty()) {
    wait_for(forming.wait, effects);
    if (forming.look_again < timeouts_.beat) {
      effects.push_back(ArmTimer{TimerId::kTick, std::max(forming.look_again, Duration(1))});
    }
    return;
  }
  record_world(now, std::move(forming), journal, effects);
}

void Coordinator::record_world(Time now, Forming forming, JournalClient& journal,
                               Effects& effects) {
  const JournalView& view = journal.view();
  World world;
  world.round = target_;
  world.members = std::move(forming.members);
  world.resume = forming.resume.resume;
  world.holders = std::move(forming.resume.holders);
  world.cause = cause_;
  spend(now, view, world);
  sit_out_deaf(now, world.members);
  for (const auto& [node, peer] : peers_) {
    if (peer.sits_out_until > now) world.sitting_out.push_back(node);
  }
  world.broken = broken_saves(view);
  ELASTIC_ASSERT(world.members.size() >= job_.min_nodes);
  ELASTIC_ASSERT(world.members.size() <= job_.max_nodes);
  ELASTIC_ASSERT(!view.world || world.round > view.world->round);
  wait_for(WaitReason::kRecording, effects);
  journal.append(now, std::move(world), effects);
}

// Finished, and saved where that is known: the verdict that says so.
std::optional<Verdict> Coordinator::success(const JournalView& view) const {
  if (phase_ != Phase::kRunning) return std::nullopt;
  ELASTIC_ASSERT(view.world.has_value());
  Verdict success;
  const std::vector<RecordNo> broken = broken_saves(view);
  const bool usable =
      std::find(broken.begin(), broken.end(), view.checkpoint_record) == broken.end();
  bool all_finished = true;
  bool saved = false;
  for (const Member& member : view.world->members) {
    const Peer* peer = find(peers_, member.agent.node);
    const bool finished = peer != nullptr && peer->beat.from == member.agent &&
                          peer->beat.state == AgentState::kFinished;
    all_finished = all_finished && finished;
    if (!finished) continue;
    success.step = std::max(success.step, peer->beat.last_step);
    saved = saved || (view.checkpoint && usable && view.checkpoint->round.journal == view.life &&
                      view.checkpoint->step == peer->beat.last_step);
  }
  const bool native = job_.workers == WorkerKind::kNative;
  if (native ? !saved : !all_finished) return std::nullopt;
  return success;
}

// The job has ended: stopped by its operator, finished and saved, or for want of anything to spend.
bool Coordinator::conclude(Time now, JournalClient& journal, Effects& effects) {
  ELASTIC_ASSERT(phase_ != Phase::kEnding);
  ELASTIC_ASSERT(!journal.appending());
  const JournalView& view = journal.view();
  std::optional<Verdict> verdict = stop_with_;
  if (!verdict) verdict = success(view);
  if (!verdict && ELASTIC_MUTANT("leave_closes_the_job") && phase_ == Phase::kRunning) {
    const auto leaves = [](const auto& entry) { return entry.second.leaving; };
    if (std::any_of(peers_.begin(), peers_.end(), leaves)) verdict = Verdict{};
  }
  if (!verdict) verdict = verdict_due(now, view, /*forming=*/false);
  if (!verdict) return false;
  journal.append(now, *verdict, effects);
  return true;
}

}  // namespace elastic
