// The workers of a hand-driven world: just enough of a training program to hold states, to enter
// and leave rounds, and to die.
#include <algorithm>

#include "core/math/digest.h"
#include "tests/interaction/world.h"

namespace elastic::interaction {

const World* HandWorld::newest_world() const { return worlds_.empty() ? nullptr : &worlds_.back(); }

void HandWorld::carry_out_workers(NodeId node, const Effect& effect) {
  if (std::holds_alternative<KillLeftovers>(effect)) {
    kill_leftovers(node);
  } else if (std::holds_alternative<PrepareWorkers>(effect)) {
    prepare(node);
  } else if (const auto* enter_round = std::get_if<EnterRound>(&effect)) {
    enter(node, enter_round->placement);
  } else if (const auto* leave_round = std::get_if<LeaveRound>(&effect)) {
    leave(node, *leave_round);
  } else if (const auto* stopped = std::get_if<StopWorkers>(&effect)) {
    stop(node, stopped->kill);
  } else if (const auto* kill = std::get_if<KillWorker>(&effect)) {
    const std::uint32_t rank = kill->local_rank;
    at(pace_.kill, [this, node, rank] {
      slot(node).silent_rank.reset();
      exit_worker(node, rank, {0, 9});
    });
  } else if (const auto* lease = std::get_if<RenewLease>(&effect)) {
    renew(node, *lease);
  } else if (std::holds_alternative<PollWorkers>(effect)) {
    Slot& s = slot(node);
    s.arrived += s.arriving;
    at_agent(node, Duration(0), WorkerPulse{s.workers.held, s.silent_rank, s.arrived});
  } else if (const auto* manifest = std::get_if<WriteManifest>(&effect)) {
    math::Digest digest;
    for (const ShareFact& share : manifest->order.shares) digest.add(share.digest);
    answer_save(node, ManifestWritten{manifest->order.round, manifest->order.step, digest.value()});
  } else if (const auto* verify = std::get_if<VerifySave>(&effect)) {
    const RecordNo record = verify->save.record;
    answer_save(node, SaveVerified{record, !rotten_.contains(record)});
  }
}

// What the storage answers; for a node whose storage hangs, when it goes on.
void HandWorld::answer_save(NodeId node, Input input_later) {
  if (storage_hangs_.contains(node)) {
    storage_answers_.emplace_back(node, std::move(input_later));
  } else {
    at_agent(node, pace_.storage, std::move(input_later));
  }
}

void HandWorld::storage_goes_on(NodeId node) {
  storage_hangs_.erase(node);
  const auto answers = std::exchange(storage_answers_, {});
  for (const auto& [of, answer] : answers) answer_save(of, answer);
  const auto markers = std::exchange(storage_markers_, {});
  for (const auto& [writer, marker] : markers) {
    const Slot& s = slot(writer.node);
    if (s.node && s.life == writer.life.value) put_marker(writer.node, marker);
  }
}

void HandWorld::put_marker(NodeId node, const CommitMarker& marker) {
  if (!marker_ ||
      std::pair(marker_->journal, marker_->record) <= std::pair(marker.journal, marker.record)) {
    marker_ = marker;
  }
  at_agent(node, pace_.journal, MarkerStored{marker.record});
}

void HandWorld::kill_leftovers(NodeId node) {
  Workers& w = slot(node).workers;
  if (w.tree && !w.ranks.empty()) line(node, "kills the tree left in " + names_.round(w.round));
  w.ranks.clear();
  w.tree.reset();
  w.round = {};
  w.entered = false;
  ++w.generation;
  at_agent(node, pace_.kill, LeftoversKilled{});
}

void HandWorld::prepare(NodeId node) {
  Workers& w = slot(node).workers;
  for (std::uint32_t rank = 0; rank < job_.workers_per_node; ++rank) w.ranks.insert(rank);
  if (w.manual) return;
  const std::uint64_t generation = w.generation;
  at(pace_.prepare, [this, node, generation] {
    const Workers& then = slot(node).workers;
    if (then.generation != generation || then.ranks.size() < job_.workers_per_node) return;
    tell_prepared(node);
  });
}

void HandWorld::tell_prepared(NodeId node) { input(node, WorkersPrepared{}); }

void HandWorld::enter(NodeId node, const Placement& placement) {
  Workers& w = slot(node).workers;
  w.round = placement.round;
  w.resume = placement.resume;
  w.entered = false;
  w.leaving_for = {};
  w.leaving_planned = false;
  w.terminated = false;
  ++w.generation;
  if (job_.workers == WorkerKind::kForeign) {
    for (std::uint32_t rank = 0; rank < job_.workers_per_node; ++rank) w.ranks.insert(rank);
    w.tree.emplace(timeouts_);
    tree_step(node, TreeStarted{w.round, slot(node).node->agent().lease_from()});
  }
  if (w.manual) return;
  const std::uint64_t generation = w.generation;
  at(pace_.enter, [this, node, generation] { try_entering(node, generation); });
}

bool HandWorld::somebody_holds(const StatePoint& state) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const auto& entry) {
    const auto& held = entry.second.workers.held;
    return held && held->step == state.step && held->lineage == state.lineage;
  });
}

// Native workers enter when somebody can fill them; a stopped tree enters nothing.
void HandWorld::try_entering(NodeId node, std::uint64_t generation) {
  const Workers& w = slot(node).workers;
  if (w.generation != generation || w.entered || !w.round || w.leaving_for) return;
  const bool stopped = w.tree && w.tree->tree() == Supervisor::Tree::kStopped;
  const bool empty_handed = !w.tree && w.resume.source == ResumePoint::Source::kHolders &&
                            !somebody_holds(w.resume.state);
  const bool loads = !w.tree && w.resume.source == ResumePoint::Source::kCheckpoint;
  if (loads && rotten_.contains(w.resume.checkpoint)) {
    input(node, SaveBroken{w.resume.checkpoint});
    return;
  }
  if (stopped || empty_handed) {
    at(pace_.enter, [this, node, generation] { try_entering(node, generation); });
    return;
  }
  tell_entered(node);
}

void HandWorld::tell_entered(NodeId node) {
  Workers& w = slot(node).workers;
  if (!w.round || w.entered || w.ranks.empty()) return;
  w.entered = true;
  StatePoint held;
  if (job_.workers == WorkerKind::kNative) {
    held = {w.round, w.resume.state.step, w.resume.state.lineage};
    w.held = held;
  }
  input(node, WorkersEntered{w.round, held});
}

void HandWorld::leave(NodeId node, const LeaveRound& order) {
  Workers& w = slot(node).workers;
  const RoundId round = w.round;
  w.leaving_for = std::max(w.leaving_for, order.for_round);
  w.leaving_planned = order.planned;
  if (w.manual || !round) return;
  if (order.planned) {
    planned_step(round);
  } else {
    leave_later(node);
  }
}

// The flag of an announced leave rides in a step's reduction: all finish that step, or nobody
// stops.
void HandWorld::planned_step(RoundId round) {
  const World* world = newest_world();
  if (world == nullptr || world->round != round) return;
  for (const Member& member : world->members) {
    const Workers& w = slot(member.agent.node).workers;
    if (w.round != round || !w.leaving_planned || !w.entered) return;
  }
  for (const Member& member : world->members) {
    advance(member.agent.node);
    if (!slot(member.agent.node).workers.manual) leave_later(member.agent.node);
  }
}

void HandWorld::leave_later(NodeId node) {
  const std::uint64_t generation = slot(node).workers.generation;
  at(pace_.leave, [this, node, generation] {
    const Workers& w = slot(node).workers;
    if (w.generation == generation && w.round) tell_left(node);
  });
}

void HandWorld::tell_left(NodeId node) {
  Workers& w = slot(node).workers;
  const RoundId for_round = w.leaving_for;
  w.round = {};
  w.entered = false;
  w.leaving_for = {};
  w.leaving_planned = false;
  input(node, WorkersLeft{for_round, w.held});
}

void HandWorld::stop(NodeId node, bool kill) {
  if (slot(node).workers.tree) {
    tree_step(node, TreeSignalled{kill});
  } else {
    end_workers(node, kill ? pace_.kill : pace_.exit, kill ? 9 : 15);
  }
}

void HandWorld::end_workers(NodeId node, Duration after, std::int32_t signal) {
  const std::uint64_t generation = slot(node).workers.generation;
  at(after, [this, node, generation, signal] {
    const Workers& w = slot(node).workers;
    const bool stopped = w.tree && w.tree->tree() == Supervisor::Tree::kStopped;
    if (w.generation != generation || (stopped && signal != 9)) return;
    if (w.manual && signal != 9) return;
    for (const std::uint32_t rank : std::set<std::uint32_t>(w.ranks)) {
      exit_worker(node, rank, {0, signal});
    }
  });
}

void HandWorld::exit_worker(NodeId node, std::uint32_t local_rank, ExitStatus status) {
  Workers& w = slot(node).workers;
  if (w.ranks.erase(local_rank) == 0) return;
  line(node, "rank " + std::to_string(local_rank) + " exits: " + status_name(status));
  WorkerExited exited;
  exited.round = w.round;
  exited.local_rank = local_rank;
  exited.status = status;
  exited.last_of_group = w.ranks.empty();
  if (w.ranks.empty()) {
    w.held.reset();
    w.round = {};
    w.entered = false;
    w.leaving_for = {};
    w.leaving_planned = false;
    if (w.tree) tree_step(node, TreeEmpty{});
  }
  exited.held = w.held;
  input(node, exited);
}

void HandWorld::renew(NodeId node, const RenewLease& lease) {
  Workers& w = slot(node).workers;
  if (w.tree) {
    tree_step(node, TreeRenewed{lease.from, lease.running});
    return;
  }
  if (job_.workers == WorkerKind::kForeign) return;
  w.orphan_at = lease.from + timeouts_.orphan;
  at(w.orphan_at - now_, [this, node] {
    const Workers& then = slot(node).workers;
    if (!slot(node).frozen || !then.round || now_ < then.orphan_at) return;
    line(node, "workers are past their orphan bound");
    end_workers(node, pace_.kill, 9);
  });
}

void HandWorld::tree_step(NodeId node, const SupervisorInput& given) {
  Workers& w = slot(node).workers;
  if (!w.tree) return;
  SupervisorEffects effects;
  w.tree->step(now_, given, effects);
  w.tree->check();
  for (const SupervisorEffect& effect : effects) {
    if (const auto* signal = std::get_if<SignalTree>(&effect)) {
      signal_tree(node, signal->signal);
    } else if (const auto* arm = std::get_if<ArmTreeTimer>(&effect)) {
      const std::uint64_t token = ++sequence_;
      w.tree_timer = token;
      at(arm->at - now_, [this, node, token] {
        if (slot(node).workers.tree_timer == token) tree_step(node, TreeTimer{});
      });
    }
  }
  check_exclusive();
}

void HandWorld::signal_tree(NodeId node, TreeSignal signal) {
  Workers& w = slot(node).workers;
  const std::string tree = "tree of " + names_.round(w.tree->round());
  switch (signal) {
    case TreeSignal::kStop:
      line(node, tree + " is stopped");
      return;
    case TreeSignal::kContinue:
      line(node, tree + " continues");
      if (w.terminated) end_workers(node, pace_.exit, 15);
      return;
    case TreeSignal::kTerminate:
      w.terminated = true;
      end_workers(node, pace_.exit, 15);
      return;
    case TreeSignal::kKill:
      line(node, tree + " is killed");
      end_workers(node, pace_.kill, 9);
      return;
  }
}

// No two rounds of foreign workers run at once.
void HandWorld::check_exclusive() {
  std::set<RoundId> running;
  for (const auto& [node, s] : slots_) {
    const bool runs = s.workers.tree && s.workers.tree->tree() == Supervisor::Tree::kRunning;
    if (runs && !s.workers.ranks.empty()) running.insert(s.workers.tree->round());
  }
  if (running.size() > 1) say("SAFETY: two rounds run at once");
}

void HandWorld::advance(NodeId node) {
  Workers& w = slot(node).workers;
  if (!w.held) return;
  ++w.held->step.value;
  math::Digest digest;
  digest.add(w.held->lineage.value);
  digest.add(w.held->step.value);
  digest.add(w.round.number);
  w.held->lineage = Lineage{digest.value()};
}

void HandWorld::apply(NodeId node) {
  advance(node);
  const auto& held = slot(node).workers.held;
  line(node, "applies step " + std::to_string(held ? held->step.value : 0));
}

void HandWorld::steps(std::uint64_t count) {
  const World* world = newest_world();
  if (world == nullptr) return say("there is no round");
  Step step;
  for (const Member& member : world->members) {
    const Workers& w = slot(member.agent.node).workers;
    if (w.round != world->round || !w.entered || w.leaving_for) {
      return say(names_.round(world->round) + " makes no step: " + names_.agent(member.agent) +
                 " is not in it");
    }
  }
  for (const Member& member : world->members) {
    for (std::uint64_t i = 0; i < count; ++i) advance(member.agent.node);
    if (const auto& held = slot(member.agent.node).workers.held) step = held->step;
  }
  say(names_.round(world->round) + " is at step " + std::to_string(step.value));
}

void HandWorld::save(const std::vector<NodeId>& but) {
  const World* world = newest_world();
  if (world == nullptr) return say("there is no round");
  for (const Member& member : world->members) {
    const NodeId node = member.agent.node;
    const Workers& w = slot(node).workers;
    const bool skipped = std::find(but.begin(), but.end(), node) != but.end();
    if (skipped || w.round != world->round || !w.entered || !w.held) continue;
    line(node, "has its share of step " + std::to_string(w.held->step.value) + " saved");
    const std::uint64_t digest = w.held->step.value * 100 + node.value;
    input(node, WorkersSaved{{w.round, w.held->step, w.held->lineage, digest, 1000}});
  }
}

void HandWorld::finish(const std::vector<NodeId>& who) {
  for (const NodeId node : who) {
    const Workers& w = slot(node).workers;
    if (job_.workers == WorkerKind::kForeign) {
      for (const std::uint32_t rank : std::set<std::uint32_t>(w.ranks)) exit_worker(node, rank, {});
    } else if (w.held) {
      line(node, "has finished with step " + std::to_string(w.held->step.value));
      input(node, WorkersFinished{*w.held});
    }
  }
}

}  // namespace elastic::interaction
