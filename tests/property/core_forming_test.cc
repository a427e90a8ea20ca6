// Laws of the coordinator's decision, on views that an honest cluster could show.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/membership/forming.h"
#include "tests/support/property.h"

namespace elastic {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr JournalLife kLife{1ULL << 32U};
constexpr std::uint64_t kWorld = 4;  // newest recorded round; the one to form is the next

RoundId round(std::uint64_t number) { return {kLife, number}; }

// The one history that there is: a step of a round has one lineage.
StatePoint state(std::uint64_t entered, std::uint64_t step) {
  return {round(entered), Step{step}, Lineage{entered * 1000 + step}};
}

struct Cluster {
  JobConfig job;
  Timeouts timeouts;
  JournalView journal;
  Peers peers;
  Time now{seconds(100)};
  Time lead_return, forming_since, last_join, members_until;
  std::vector<RecordNo> broken;

  FormingView view() const {
    return {job,
            timeouts,
            journal,
            peers,
            now,
            lead_return,
            round(kWorld + 1),
            forming_since,
            last_join,
            members_until,
            /*go_back=*/false,
            broken};
  }
};

JobConfig any_job() {
  JobConfig job;
  job.node_unit = *rc::gen::inRange(1u, 4u);
  job.min_nodes = *rc::gen::inRange(1u, 5u);
  job.max_nodes = std::max(job.min_nodes, job.node_unit) + *rc::gen::inRange(0u, 6u);
  job.max_nodes =
      std::max(job.max_nodes, (job.min_nodes + job.node_unit - 1) / job.node_unit * job.node_unit);
  job.workers = *rc::gen::inRange(0, 4) == 0 ? WorkerKind::kForeign : WorkerKind::kNative;
  job.journal = JournalKind::kExternal;
  job.last_call = seconds(*rc::gen::inRange(0, 10));
  return job;
}

// A peer as it may look while the round after kWorld is formed.
Peer any_peer(const Cluster& cluster, NodeId node, bool member) {
  Peer peer;
  Beat& beat = peer.beat;
  beat.from = {node, AgentLife{*rc::gen::inRange<std::uint64_t>(1, 3)}};
  const bool same_life = beat.from.life == AgentLife{1};
  const bool in_world = member && same_life;
  const bool entered = in_world && *rc::gen::inRange(0, 3) != 0;
  const bool left = *rc::gen::inRange(0, 5) != 0;
  if (in_world) beat.placed = round(kWorld);
  if (left) beat.left_for = round(kWorld + 1);
  if (entered) {
    beat.entered_newest = round(kWorld);
    if (!left) beat.entered = round(kWorld);
    beat.held = state(kWorld, 10 + *rc::gen::inRange<std::uint64_t>(0, 2));
  } else if (same_life && *rc::gen::inRange(0, 3) == 0) {
    const auto older = *rc::gen::inRange<std::uint64_t>(1, kWorld);
    beat.entered_newest = round(older);
    if (!beat.placed) beat.placed = round(older);
    beat.held = state(older, 3 + older);
  }
  const bool native = cluster.job.workers == WorkerKind::kNative;
  if (left) {
    beat.state = in_world || beat.placed ? AgentState::kLeft
                 : native                ? AgentState::kPrepared
                                         : AgentState::kWaiting;
    if (!native) beat.reaped_below = beat.left_for;
    if (*rc::gen::inRange(0, 6) == 0) beat.state = AgentState::kWaiting;
  } else {
    beat.state = in_world ? AgentState::kRunning : AgentState::kCleaning;
  }
  if (!native) beat.held.reset();
  peer.lost = *rc::gen::inRange(0, 6) == 0;
  peer.heard = cluster.now - milliseconds(peer.lost ? 5000 : 100);
  peer.ever_acked = true;
  peer.acked = peer.heard;
  peer.leaving = *rc::gen::inRange(0, 8) == 0;
  if (peer.leaving) peer.leave_at = cluster.now + seconds(*rc::gen::inRange(-1, 60));
  if (*rc::gen::inRange(0, 8) == 0) peer.sits_out_until = cluster.now + seconds(1);
  if (*rc::gen::inRange(0, 5) == 0) peer.suppressed_until = cluster.now + seconds(1);
  return peer;
}

Cluster any_cluster() {
  Cluster cluster;
  cluster.job = any_job();
  cluster.timeouts = std::get<Timeouts>(derive_timeouts(cluster.job));
  cluster.lead_return = cluster.now - seconds(*rc::gen::inRange(0, 90));
  cluster.forming_since = cluster.now - seconds(*rc::gen::inRange(0, 30));
  cluster.last_join = cluster.forming_since;
  cluster.members_until = cluster.forming_since + seconds(10);
  JournalView& journal = cluster.journal;
  journal.life = kLife;
  journal.last = RecordNo{9};
  World world;
  world.round = round(kWorld);
  const auto members = *rc::gen::inRange<std::uint64_t>(1, 5);
  for (std::uint64_t i = 0; i < members; ++i) {
    world.members.push_back({{NodeId{(i * 3) % 5 + 1}, AgentLife{1}}, 1});
  }
  const int source = *rc::gen::inRange(0, 3);
  if (source == 1) {
    world.resume = {ResumePoint::Source::kHolders, state(kWorld - 1, 10), {}};
    world.holders.push_back(world.members.front().agent);
  }
  if (source == 2) {
    // Up to three saves, the newest of step 5; some are known broken.
    const auto saves = *rc::gen::inRange<std::uint64_t>(1, 4);
    for (std::uint64_t i = 0; i < saves; ++i) {
      journal.saves.push_back({RecordNo{5 - i}, {Step{5 - i}, round(2), Lineage{2005 - i}, 0}});
      if (*rc::gen::inRange(0, 3) == 0) cluster.broken.push_back(RecordNo{5 - i});
    }
    journal.checkpoint = journal.saves.front().checkpoint;
    journal.checkpoint_record = journal.saves.front().record;
    world.resume = {
        ResumePoint::Source::kCheckpoint, {round(2), Step{5}, Lineage{2005}}, RecordNo{5}};
  }
  journal.world = world;
  for (std::uint64_t node = 1; node <= 8; ++node) {
    if (*rc::gen::inRange(0, 5) == 0) continue;
    const bool member = index_of(world, NodeId{node}) < world.members.size();
    cluster.peers[NodeId{node}] = any_peer(cluster, NodeId{node}, member);
  }
  return cluster;
}

std::size_t index_in(const std::vector<Member>& members, AgentId agent) {
  const auto at = std::find_if(members.begin(), members.end(),
                               [&](const Member& member) { return member.agent == agent; });
  return static_cast<std::size_t>(at - members.begin());
}

void judge_members(const Cluster& cluster, const Forming& forming) {
  const JobConfig& job = cluster.job;
  RC_ASSERT(forming.members.size() >= job.min_nodes);
  RC_ASSERT(forming.members.size() <= job.max_nodes);
  RC_ASSERT(forming.members.size() % job.node_unit == 0u);
  std::set<NodeId> nodes;
  for (const Member& member : forming.members) {
    RC_ASSERT(nodes.insert(member.agent.node).second);
    const Peer& peer = cluster.peers.at(member.agent.node);
    RC_ASSERT(peer.beat.from == member.agent);
    RC_ASSERT(!peer.lost);
    RC_ASSERT(peer.beat.left_for >= round(kWorld + 1));
    RC_ASSERT(peer.sits_out_until <= cluster.now);
    RC_ASSERT(peer.leave_at > cluster.now);
  }
}

// Survivors keep their relative order, and come before everybody else.
void judge_order(const Cluster& cluster, const Forming& forming, bool holder_was_squeezed_in) {
  const World& world = *cluster.journal.world;
  std::size_t last = 0;
  bool outsider = false;
  for (std::size_t i = 0; i < forming.members.size(); ++i) {
    if (holder_was_squeezed_in && i + 1 == forming.members.size()) break;
    const std::size_t at = index_of(world, forming.members[i].agent.node);
    if (at == world.members.size()) {
      outsider = true;
      continue;
    }
    RC_ASSERT(!outsider || cluster.job.workers == WorkerKind::kNative);
    RC_ASSERT(i == 0 || at >= last);
    last = at;
  }
}

// No reachable member of the newest entered round holds more than what is resumed.
void judge_resume(const Cluster& cluster, const Forming& forming) {
  if (cluster.job.workers == WorkerKind::kForeign) return;
  const ResumePoint& resume = forming.resume.resume;
  for (const auto& [node, peer] : cluster.peers) {
    if (peer.lost || peer.leaving || !is_in(cluster.view(), peer) || !peer.beat.held) continue;
    if (peer.suppressed_until > cluster.now) continue;
    if (peer.beat.held->entered != round(kWorld)) continue;
    RC_ASSERT(resume.source == ResumePoint::Source::kHolders);
    RC_ASSERT(resume.state.entered == round(kWorld));
    RC_ASSERT(resume.state.step >= peer.beat.held->step);
  }
  if (resume.source != ResumePoint::Source::kHolders) return;
  RC_ASSERT(std::any_of(forming.members.begin(), forming.members.end(), [&](const Member& member) {
    return cluster.peers.at(member.agent.node).beat.held == resume.state;
  }));
  for (const Member& member : forming.members) {
    const auto& held = cluster.peers.at(member.agent.node).beat.held;
    if (!held || *held != resume.state) continue;
    RC_ASSERT(std::find(forming.resume.holders.begin(), forming.resume.holders.end(),
                        member.agent) != forming.resume.holders.end());
  }
}

// What is loaded is the newest save that is not known broken; from scratch is for jobs without one.
void judge_save(const Cluster& cluster, const Forming& forming) {
  if (cluster.job.workers == WorkerKind::kForeign) return;
  const auto& saves = cluster.journal.saves;
  const auto usable = std::find_if(saves.begin(), saves.end(), [&](const CommittedSave& save) {
    return std::find(cluster.broken.begin(), cluster.broken.end(), save.record) ==
           cluster.broken.end();
  });
  if (forming.saves_lost) {
    RC_ASSERT(!saves.empty() && usable == saves.end());
    return;
  }
  const ResumePoint& resume = forming.resume.resume;
  if (resume.source == ResumePoint::Source::kScratch) RC_ASSERT(saves.empty());
  if (resume.source != ResumePoint::Source::kCheckpoint) return;
  RC_ASSERT(usable != saves.end());
  RC_ASSERT(resume.checkpoint == usable->record);
  RC_ASSERT(resume.state.step == usable->checkpoint.step);
}

// Whoever may still hold the newest possibly committed state is waited for.
void judge_holders(const Cluster& cluster, const Forming& forming) {
  if (cluster.job.workers == WorkerKind::kForeign) return;
  const World& world = *cluster.journal.world;
  if (forming.resume.resume.source == ResumePoint::Source::kHolders &&
      forming.resume.resume.state.entered == round(kWorld)) {
    return;
  }
  const FormingView view = cluster.view();
  bool refuted = false;
  bool all_gone = true;
  for (const Member& member : world.members) {
    const auto at = cluster.peers.find(member.agent.node);
    const bool known = at != cluster.peers.end() && at->second.beat.from == member.agent;
    const bool left = known && at->second.beat.left_for > world.round;
    refuted = refuted || (left && at->second.beat.entered_newest < world.round);
    const bool empty = left && !at->second.beat.held;
    all_gone =
        all_gone && (empty || death_of(view, member.agent, world.round, true) != Death::kAlive);
  }
  RC_ASSERT(refuted || all_gone);
}

// Suppressed nodes are members only if there would be too few without them, or nobody else holds
// what is resumed. True if one is.
bool judge_suppressed(const Cluster& cluster, const Forming& forming) {
  std::size_t wanted = 0;
  bool held_without = false;
  for (const auto& [node, peer] : cluster.peers) {
    if (!is_in(cluster.view(), peer) || leaving_soon(peer, cluster.now)) continue;
    if (peer.suppressed_until > cluster.now) continue;
    ++wanted;
    held_without = held_without || (peer.beat.held &&
                                    peer.beat.held->entered == forming.resume.resume.state.entered);
  }
  const std::size_t capped = std::min<std::size_t>(wanted, cluster.job.max_nodes);
  const bool enough =
      capped / cluster.job.node_unit * cluster.job.node_unit >= cluster.job.min_nodes;
  const bool holders = forming.resume.resume.source == ResumePoint::Source::kHolders;
  bool any = false;
  for (const Member& member : forming.members) {
    if (cluster.peers.at(member.agent.node).suppressed_until <= cluster.now) continue;
    any = true;
    RC_ASSERT(!enough || (holders && !held_without));
  }
  return any;
}

TEST(FormingProperty, a_round_is_formed_by_the_rules) {
  test::check(
      "every formed round keeps the rules of forming",
      {"formed", "waits", "resumes from holders", "resumes from a checkpoint", "foreign",
       "has a survivor", "leaves nodes out", "all saves are lost", "resumes from an older save",
       "needs a suppressed node", "leaves a suppressed node out"},
      [] {
        const Cluster cluster = any_cluster();
        const FormingView view = cluster.view();
        const Forming forming = decide(view);
        if (forming.saves_lost || !forming.members.empty()) judge_save(cluster, forming);
        if (forming.saves_lost) {
          RC_TAG("all saves are lost");
          RC_ASSERT(forming.members.empty());
          judge_holders(cluster, forming);
          return;
        }
        if (forming.members.empty()) {
          RC_TAG("waits");
          RC_ASSERT(forming.wait != WaitReason::kNone);
          RC_ASSERT(forming.look_again > Duration(0));
          return;
        }
        RC_TAG("formed");
        const bool holders = forming.resume.resume.source == ResumePoint::Source::kHolders;
        RC_CLASSIFY(holders, "resumes from holders");
        RC_CLASSIFY(forming.resume.resume.source == ResumePoint::Source::kCheckpoint,
                    "resumes from a checkpoint");
        RC_CLASSIFY(
            forming.resume.resume.checkpoint && forming.resume.resume.checkpoint != RecordNo{5},
            "resumes from an older save");
        RC_CLASSIFY(cluster.job.workers == WorkerKind::kForeign, "foreign");
        RC_CLASSIFY(index_of(*cluster.journal.world, forming.members.front().agent.node) <
                        cluster.journal.world->members.size(),
                    "has a survivor");
        RC_CLASSIFY(forming.members.size() < cluster.peers.size(), "leaves nodes out");
        RC_ASSERT(last_round_dead(view));
        judge_members(cluster, forming);
        const std::size_t last = forming.members.size() - 1;
        const bool last_holds = cluster.peers.at(forming.members[last].agent.node).beat.held ==
                                std::optional(forming.resume.resume.state);
        judge_order(cluster, forming, holders && last_holds);
        judge_resume(cluster, forming);
        const bool needed = judge_suppressed(cluster, forming);
        RC_CLASSIFY(needed, "needs a suppressed node");
        RC_CLASSIFY(!needed && std::any_of(cluster.peers.begin(), cluster.peers.end(),
                                           [&](const auto& entry) {
                                             return entry.second.suppressed_until > cluster.now;
                                           }),
                    "leaves a suppressed node out");
        judge_holders(cluster, forming);
      },
      {.max_success = 20'000});
}

TEST(FormingProperty, ranks_are_a_permutation) {
  test::check("ranks of a World are 0 to W-1, in the order of its members", {}, [] {
    World world;
    const auto members = *rc::gen::inRange<std::uint64_t>(0, 12);
    for (std::uint64_t i = 0; i < members; ++i) {
      world.members.push_back({{NodeId{i + 1}, AgentLife{1}}, *rc::gen::inRange(1u, 9u)});
    }
    std::vector<bool> seen(world_size(world), false);
    for (std::size_t i = 0; i < world.members.size(); ++i) {
      for (std::uint32_t local = 0; local < world.members[i].workers; ++local) {
        const std::uint32_t rank = first_rank(world, i) + local;
        RC_ASSERT(rank < seen.size());
        RC_ASSERT(!seen[rank]);
        seen[rank] = true;
      }
      RC_ASSERT(index_in(world.members, world.members[i].agent) == i);
    }
    RC_ASSERT(std::count(seen.begin(), seen.end(), false) == 0);
  });
}

}  // namespace
}  // namespace elastic
