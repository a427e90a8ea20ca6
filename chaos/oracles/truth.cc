#include "chaos/oracles/truth.h"

#include <algorithm>
#include <cassert>

namespace elastic::chaos {
namespace {

using sim::FaultKind;
using sim::NodeEventKind;
using sim::WorkerEventKind;

// Beats sent this long ago (in numbers) are not acknowledged any more: 512 beats are many leases.
constexpr std::size_t kRememberedBeats = 512;

bool disturbs_journal(FaultKind kind) {
  switch (kind) {
    case FaultKind::kJournalSlow:
    case FaultKind::kJournalUnreachable:
    case FaultKind::kJournalUnknown:
    case FaultKind::kJournalLate:
    case FaultKind::kJournalLost:
      return true;
    default:
      return false;
  }
}

// Faults that can keep messages, records or clocks of nodes other than their targets from being in
// time. Losses of machines and workers are no disturbance: the bounds are about them.
bool disturbs(FaultKind kind) {
  switch (kind) {
    case FaultKind::kPartition:
    case FaultKind::kOneWay:
    case FaultKind::kLoss:
    case FaultKind::kDelay:
    case FaultKind::kDuplicate:
    case FaultKind::kReorder:
    case FaultKind::kClockDrift:
    case FaultKind::kSlow:
    case FaultKind::kStorageUnreachable:
    case FaultKind::kStorageFull:
    case FaultKind::kStorageSlow:
    case FaultKind::kFreezeAgent:
    case FaultKind::kFreezeWorker:
    case FaultKind::kFreezeMachine:
      return true;
    default:
      return disturbs_journal(kind);
  }
}

Time later(Time from, Duration by) { return by > kEndOfTime - from ? kEndOfTime : from + by; }

}  // namespace

Truth::Truth(const sim::WorldConfig& config, const Timeouts& timeouts, const WorldView& view)
    : timeouts_(timeouts),
      native_(config.job.workers == WorkerKind::kNative),
      min_nodes_(config.job.min_nodes),
      host_(config.job.journal == JournalKind::kHosted ? config.job.journal_host : NodeId{}),
      view_(view),
      machines_(config.nodes.size() + 1) {}

Machine& Truth::at(NodeId node) {
  const std::size_t index = static_cast<std::size_t>(node.value) - 1;  // node 0 wraps: out of range
  return machines_[std::min(index, machines_.size() - 1)];
}

const Machine& Truth::machine(NodeId node) const {
  const std::size_t index = static_cast<std::size_t>(node.value) - 1;
  return machines_[std::min(index, machines_.size() - 1)];
}

const Group* Truth::group(AgentId agent) const {
  const std::vector<Group>& groups = machine(agent.node).groups;
  for (auto it = groups.rbegin(); it != groups.rend(); ++it) {
    if (it->agent.life == agent.life) return &*it;
  }
  return nullptr;
}

const Group* Truth::newest_group(NodeId node) const {
  const std::vector<Group>& groups = machine(node).groups;
  return groups.empty() ? nullptr : &groups.back();
}

Group& Truth::group_of(NodeId node, AgentLife life) {
  std::vector<Group>& groups = at(node).groups;
  for (auto it = groups.rbegin(); it != groups.rend(); ++it) {
    if (it->agent.life == life) return *it;
  }
  groups.push_back(Group{.agent = {node, life}});
  return groups.back();
}

bool Truth::executes(const Group& group) const {
  const Machine& machine = this->machine(group.agent.node);
  return group.alive && !group.stopped && group.frozen.empty() && machine.up &&
         !machine.machine_frozen;
}

bool Truth::agent_awake(AgentId agent) const {
  const Machine& machine = this->machine(agent.node);
  return machine.up && machine.agent_up && machine.life == agent.life && !machine.agent_frozen &&
         !machine.machine_frozen;
}

bool Truth::past_orphan(AgentId agent) const {
  const Machine& machine = this->machine(agent.node);
  if (machine.life != agent.life) return false;
  const Time from = machine.grant.any ? machine.grant.from : machine.agent_since_local;
  return view_.local_clock(agent.node) - from > timeouts_.orphan;
}

bool Truth::member_out(const World& world, const Member& member) const {
  const Machine& machine = this->machine(member.agent.node);
  const Group* group = this->group(member.agent);
  if (native_) {
    if (!machine.up || group == nullptr || group->out_of(world.round)) return true;
    // Not in it yet, and bound not to come: to leave what one is not in shows in no process.
    const bool inside = group->entered == world.round;
    if (!inside && machine.life == member.agent.life && machine.said_left_for > world.round)
      return true;
    return past_orphan(member.agent);
  }
  return group == nullptr || group->round != world.round || !executes(*group);
}

bool Truth::round_dead(const RoundTruth& round) const {
  const auto out = [&](const Member& member) { return member_out(round.world, member); };
  const std::vector<Member>& members = round.world.members;
  return native_ ? std::any_of(members.begin(), members.end(), out)
                 : std::all_of(members.begin(), members.end(), out);
}

const RoundTruth* Truth::newest_round() const {
  return rounds_.empty() ? nullptr : &rounds_.rbegin()->second;
}

const RoundTruth* Truth::round(RoundId id) const {
  const auto it = rounds_.find(id);
  return it == rounds_.end() ? nullptr : &it->second;
}

Time Truth::at_work_since(NodeId node) const {
  const Machine& machine = this->machine(node);
  if (machine.cut_off || !agent_awake({node, machine.life})) return kEndOfTime;
  return machine.awake_since;
}

Time Truth::calm_since(Time now) const {
  if (disturbed_until_ > now || !lead_ || machine(leader_.node).life != leader_.life) {
    return kEndOfTime;
  }
  Time since =
      std::max({disturbed_until_, lead_since_, enough_since_, at_work_since(leader_.node)});
  if (host_) since = std::max(since, at_work_since(host_));
  return since;
}

Time Truth::undisturbed_since(Time now, AgentId agent) const {
  if (disturbed_until_ > now || machine(agent.node).life != agent.life) return kEndOfTime;
  return std::max(disturbed_until_, at_work_since(agent.node));
}

Time Truth::calm_since(Time now, AgentId agent) const {
  return std::max(calm_since(now), undisturbed_since(now, agent));
}

bool Truth::journal_disturbed(Time now, Duration before) const {
  return journal_disturbed_ever_ && later(journal_disturbed_until_, before) >= now;
}

void Truth::heal_core(Time now, const std::vector<NodeId>& core) {
  for (std::size_t i = 0; i + 1 < machines_.size(); ++i) {
    const NodeId node{i + 1};
    const bool in_core = std::find(core.begin(), core.end(), node) != core.end();
    machines_[i].cut_off = !in_core;
    if (in_core) machines_[i].awake_since = now;
  }
  disturbed_until_ = now;
  if (journal_disturbed_ever_) journal_disturbed_until_ = std::min(journal_disturbed_until_, now);
}

void Truth::on_record(Time now, const NumberedRecord& numbered, JournalLife life) {
  if (!numbered.number) return;  // the founding of a file
  if (life != life_) {
    life_ = life;
    records_.clear();
    lead_.reset();
    leader_ = {};
    checkpoint_.reset();
    saves_.clear();
  }
  records_.emplace(numbered.number, numbered.record);
  if (const auto* lead = std::get_if<Lead>(&numbered.record.body)) {
    lead_ = numbered.number;
    leader_ = lead->leader;
    lead_since_ = now;
  } else if (const auto* world = std::get_if<World>(&numbered.record.body)) {
    rounds_.emplace(world->round, RoundTruth{.world = *world,
                                             .record = numbered.number,
                                             .writer = numbered.record.writer,
                                             .landed = now});
  } else if (const auto* checkpoint = std::get_if<Checkpoint>(&numbered.record.body)) {
    checkpoint_ = *checkpoint;
    saves_[numbered.number] = *checkpoint;
  } else if (const auto* retire = std::get_if<Retire>(&numbered.record.body)) {
    for (const RecordNo save : retire->saves) saves_.erase(save);
  } else if (const auto* verdict = std::get_if<Verdict>(&numbered.record.body)) {
    if (!verdict_) verdict_at_ = now;
    verdict_ = *verdict;
  }
}

const Checkpoint* Truth::newest_usable(const World& world) const {
  for (auto save = saves_.rbegin(); save != saves_.rend(); ++save) {
    const auto& broken = world.broken;
    if (std::find(broken.begin(), broken.end(), save->first) == broken.end()) return &save->second;
  }
  return nullptr;
}

void Truth::end_group(Group& group, Time now) {
  if (!group.alive) return;
  group.alive = false;
  group.stopped = false;
  group.frozen.clear();
  group.ended = now;
}

void Truth::start_group(Group& group, Time now, const sim::WorkerEvent& event) {
  const AgentId agent = group.agent;
  const RoundId left_for = group.left_for;
  const RoundId entered = group.entered;
  const RoundId dropped = group.dropped;
  group = Group{.agent = agent};
  group.dropped = dropped;
  group.alive = true;
  group.round = event.round;
  group.entered = native_ ? RoundId{} : entered;  // foreign: one life starts a tree per round
  group.left_for = left_for;
  group.started = now;
}

void Truth::applied(const Group& group, const sim::WorkerEvent& event) {
  if (group.holds) history_.add(event.round, event.state, group.held.lineage);
  const auto it = rounds_.find(event.round);
  if (it == rounds_.end()) return;
  RoundTruth& round = it->second;
  if (event.state.step > round.top) {
    round.top = event.state.step;
    round.at_top = 0;
  }
  if (event.state.step == round.top) ++round.at_top;
}

void Truth::on_worker(Time now, const sim::WorkerEvent& event) {
  Group& group = group_of(event.node, event.life);
  switch (event.kind) {
    case WorkerEventKind::kStarted:
      start_group(group, now, event);
      break;
    case WorkerEventKind::kEntered: {
      const auto it = rounds_.find(event.round);
      if (it != rounds_.end() && group.entered != event.round) {
        RoundTruth& round = it->second;
        if (round.entered++ == 0) round.top = round.begun = event.state.step;
        if (round.top == event.state.step) ++round.at_top;
      }
      group.entered = event.round;
      group.held = event.state;
      group.holds = true;
      break;
    }
    case WorkerEventKind::kStepBegun: {
      const auto it = rounds_.find(event.round);
      if (it != rounds_.end()) it->second.begun = Step{event.state.step.value + 1};
      break;
    }
    case WorkerEventKind::kApplied:
      applied(group, event);
      group.held = event.state;
      group.holds = true;
      break;
    case WorkerEventKind::kLeft:
      group.left_for = std::max(group.left_for, event.round);
      break;
    case WorkerEventKind::kStopped:
      group.stopped = true;
      break;
    case WorkerEventKind::kContinued:
      group.stopped = false;
      break;
    case WorkerEventKind::kFrozen:
      std::erase(group.frozen, event.local_rank);
      group.frozen.push_back(event.local_rank);
      break;
    case WorkerEventKind::kThawed:
      std::erase(group.frozen, event.local_rank);
      break;
    case WorkerEventKind::kExited:
      group.broken = true;
      group.dropped = std::max(group.dropped, event.round);
      std::erase(group.frozen, event.local_rank);
      if (native_) {  // what the others hold
        group.holds = group.holds && static_cast<bool>(event.state);
        if (group.holds) group.held = event.state;
      }
      break;
    case WorkerEventKind::kPrepared:
      group.broken = false;
      break;
    case WorkerEventKind::kGone:
      end_group(group, now);
      break;
    case WorkerEventKind::kFinished:
      group.finished = true;
      break;
    default:
      break;
  }
}

void Truth::on_node(Time now, const sim::NodeEvent& event) {
  Machine& machine = at(event.node);
  switch (event.kind) {
    case NodeEventKind::kMachineUp:
      if (!machine.up) ++machines_up_;
      machine.up = true;
      machine.up_since = now;
      machine.machine_frozen = false;
      machine.leaving = false;
      break;
    case NodeEventKind::kMachineDown:
      if (machine.up) --machines_up_;
      machine.up = false;
      machine.agent_up = false;
      for (Group& group : machine.groups) end_group(group, now);
      break;
    case NodeEventKind::kAgentUp:
      machine.agent_up = true;
      machine.agent_frozen = false;
      machine.life = event.life;
      machine.agent_since = now;
      machine.agent_since_local = view_.local_clock(event.node);
      machine.awake_since = now;
      machine.grant = {};
      machine.said_left_for = {};
      machine.beats.clear();
      break;
    case NodeEventKind::kAgentDown:
    case NodeEventKind::kAgentExit:
      machine.agent_up = false;
      break;
    case NodeEventKind::kFrozen:
      (event.whole_machine ? machine.machine_frozen : machine.agent_frozen) = true;
      break;
    case NodeEventKind::kThawed:
      (event.whole_machine ? machine.machine_frozen : machine.agent_frozen) = false;
      machine.awake_since = now;
      break;
  }
  count_awake(now);
}

// With fewer than min_nodes agents at work nobody can lead anybody.
void Truth::count_awake(Time now) {
  const auto awake = std::count_if(machines_.begin(), machines_.end(), [](const Machine& one) {
    return one.up && one.agent_up && !one.agent_frozen && !one.machine_frozen;
  });
  if (static_cast<std::uint32_t>(awake) < min_nodes_) {
    enough_since_ = kEndOfTime;
  } else if (enough_since_ == kEndOfTime) {
    enough_since_ = now;
  }
}

void Truth::on_fault(Time now, const sim::Fault& fault) {
  const Time until = later(now, fault.length);
  if (disturbs(fault.kind)) disturbed_until_ = std::max(disturbed_until_, until);
  if (disturbs_journal(fault.kind)) {
    journal_disturbed_ever_ = true;
    journal_disturbed_until_ = std::max(journal_disturbed_until_, until);
  }
  const bool takes_host =
      host_ && fault.kind == FaultKind::kReclaim &&
      std::find(fault.targets.begin(), fault.targets.end(), host_) != fault.targets.end();
  if (fault.kind == FaultKind::kJournalLost || takes_host) journal_lost_ = true;
  if (fault.kind == FaultKind::kNotice || fault.kind == FaultKind::kLeave) {
    for (const NodeId node : fault.targets) at(node).leaving = true;
  }
}

void Truth::on_sent(Time /*now*/, NodeId from, NodeId /*to*/, const Message& message) {
  const auto* beat = std::get_if<Beat>(&message);
  if (beat == nullptr) return;
  Machine& machine = at(from);
  if (beat->from.life != machine.life) return;
  machine.said_left_for = std::max(machine.said_left_for, beat->left_for);
  if (!machine.beats.empty() && machine.beats.back().beat >= beat->number) return;
  machine.beats.push_back({beat->number, view_.local_clock(from)});
  if (machine.beats.size() > kRememberedBeats) machine.beats.pop_front();
}

void Truth::on_delivered(Time /*now*/, NodeId /*from*/, NodeId to, const Message& message) {
  const auto* order = std::get_if<Order>(&message);
  if (order == nullptr || !order->beat) return;
  Machine& machine = at(to);
  if (machine.grant.any && machine.grant.beat >= order->beat) return;
  const auto sent =
      std::lower_bound(machine.beats.begin(), machine.beats.end(), order->beat,
                       [](const Machine::Sent& s, BeatNo beat) { return s.beat < beat; });
  if (sent == machine.beats.end() || sent->beat != order->beat) return;
  machine.grant = Grant{.beat = order->beat, .from = sent->local, .any = true};
  machine.beats.erase(machine.beats.begin(), sent);  // no older one can grant anything any more
}

}  // namespace elastic::chaos
