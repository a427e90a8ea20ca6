#include "chaos/oracles/rounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/oracles/narrator.h"
#include "chaos/oracles/truth.h"

namespace elastic::chaos {

using sim::WorkerEventKind;

// ---- recorded_when_dead
// --------------------------------------------------------------------------

RecordedWhenDeadOracle::RecordedWhenDeadOracle(Bench bench)
    : Oracle(
          {.name = "recorded_when_dead",
           .title = "a round was recorded while an earlier one could still run",
           .promise = "A World is recorded only when every earlier round can finish nothing more.",
           .interests = kOnRecord},
          std::move(bench)) {}

void RecordedWhenDeadOracle::on_record(Time now, const NumberedRecord& numbered, JournalLife life) {
  const auto* world = std::get_if<World>(&numbered.record.body);
  if (world == nullptr) return;
  for (auto it = truth().rounds().rbegin(); it != truth().rounds().rend(); ++it) {
    const RoundTruth& earlier = it->second;
    if (earlier.world.round.journal != life || earlier.world.round >= world->round) continue;
    counted();
    if (truth().round_dead(earlier)) {
      // Native rounds before a dead one were dead when that one was recorded, and stay so.
      if (native()) return;
      continue;
    }
    const auto alive =
        std::find_if(earlier.world.members.begin(), earlier.world.members.end(),
                     [&](const Member& m) { return !truth().member_out(earlier.world, m); });
    violated(now, {.agent = alive == earlier.world.members.end() ? AgentId{} : alive->agent,
                   .round = world->round,
                   .expected = in_words(earlier.world.round) + " is dead when " +
                               in_words(world->round) + " is recorded",
                   .found = native() ? "every member of it could still finish steps"
                                     : "workers of it execute"});
    return;
  }
}

// ---- exclusive_rounds
// ----------------------------------------------------------------------------

ExclusiveRoundsOracle::ExclusiveRoundsOracle(Bench bench)
    : Oracle({.name = "exclusive_rounds",
              .title = "two rounds ran at once",
              .promise = "Once a round has started, no earlier round begins a step, and no worker "
                         "process of one executes.",
              .interests = kOnWorker | kOnNode | kOnEvent},
             std::move(bench)) {}

void ExclusiveRoundsOracle::judge_native(Time now, const sim::WorkerEvent& event) {
  if (event.kind == WorkerEventKind::kEntered) {
    newest_ = std::max(newest_, event.round);
    return;
  }
  const bool begins = event.kind == WorkerEventKind::kStepBegun;
  if (!begins && event.kind != WorkerEventKind::kApplied) return;
  counted();
  if (event.round >= newest_ || event.round.journal != newest_.journal) return;
  const RoundTruth* round = truth().round(event.round);
  // A step begun before may still end: members differ by at most one step, and the next round was
  // formed from what its leavers reported.
  if (!begins && round != nullptr && event.state.step <= round->begun) return;
  violated(now,
           {.agent = {event.node, event.life},
            .round = event.round,
            .expected = "no step of an earlier round after " + in_words(newest_) + " was entered",
            .found = fmt::format("{} step {} of {}", begins ? "began after" : "applied",
                                 grouped(event.state.step.value), in_words(event.round))});
}

void ExclusiveRoundsOracle::judge_tree(Time now, const Group& group) {
  if (group.round >= newest_ || group.round.journal != newest_.journal) return;
  counted();
  if (!truth().executes(group)) return;
  const Machine& machine = truth().machine(group.agent.node);
  const Duration awake = now - machine.awake_since;
  if (awake <= job().bounds.pause && thawed_.count(group.agent.node) != 0) {
    look_at_ = std::min(look_at_, machine.awake_since + job().bounds.pause + Duration(1));
    return;
  }
  violated(now, {.agent = group.agent,
                 .round = group.round,
                 .expected = "no worker of an earlier round executes after " + in_words(newest_) +
                             " has started",
                 .found = "a worker tree of " + in_words(group.round) + " executes"});
}

void ExclusiveRoundsOracle::judge_foreign(Time now, const sim::WorkerEvent& event) {
  if (event.kind == WorkerEventKind::kStarted && event.round) {
    counted();
    if (event.round < newest_ && event.round.journal == newest_.journal) {
      violated(now, {.agent = {event.node, event.life},
                     .round = event.round,
                     .expected = "no worker starts in a round before " + in_words(newest_),
                     .found = "workers start in " + in_words(event.round)});
      return;
    }
    if (event.round == newest_) return;
    newest_ = event.round;
    look_at_ = now;  // after this event: everybody else
  } else if (event.kind == WorkerEventKind::kContinued || event.kind == WorkerEventKind::kThawed) {
    look_at_ = now;
  }
}

void ExclusiveRoundsOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  if (native()) {
    judge_native(now, event);
  } else {
    judge_foreign(now, event);
  }
}

void ExclusiveRoundsOracle::on_node(Time now, const sim::NodeEvent& event) {
  if (native() || event.kind != sim::NodeEventKind::kThawed || !event.whole_machine) return;
  thawed_.insert(event.node);
  look_at_ = std::min(look_at_, now + job().bounds.pause + Duration(1));
}

void ExclusiveRoundsOracle::on_event(Time now) {
  if (now < look_at_) return;
  look_at_ = kEndOfTime;
  for (std::uint64_t node = 1; node < truth().machines(); ++node) {
    for (const Group& group : truth().machine(NodeId{node}).groups) {
      if (group.alive) judge_tree(now, group);
    }
  }
}

// ---- ranks
// ---------------------------------------------------------------------------------------

RanksOracle::RanksOracle(Bench bench)
    : Oracle(
          {.name = "ranks",
           .title = "members or ranks of a round are wrong",
           .promise = "Members are distinct and of an allowed number, survivors keep their order, "
                      "and no spare displaces a holder of state.",
           .interests = kOnNote | kOnRecord | kOnDelivered},
          std::move(bench)) {}

void RanksOracle::on_delivered(Time now, NodeId from, NodeId to, const Message& message) {
  const auto* beat = std::get_if<Beat>(&message);
  if (beat == nullptr) return;
  Heard& heard = heard_[{to, from}];
  if (beat->from.life < heard.life) return;
  if (beat->from.life == heard.life && beat->number <= heard.number) return;  // overtaken
  const bool has_left = beat->state == AgentState::kLeft ||
                        beat->state == (native() ? AgentState::kPrepared : AgentState::kWaiting);
  heard =
      Heard{.life = beat->from.life,
            .number = beat->number,
            .left_for = native() ? beat->left_for : std::min(beat->left_for, beat->reaped_below),
            .at = now,
            .in = has_left && !beat->leaving_in && beat->failed_edges.empty() &&
                  (!native() || beat->held)};
}

void RanksOracle::on_note(Time now, AgentId by, const Note& note) {
  if (note.kind != NoteKind::kWaiting ||
      note.a != static_cast<std::uint64_t>(WaitReason::kRecording)) {
    return;
  }
  std::map<NodeId, Heard>& decided = decided_[by];
  decided.clear();
  for (auto it = heard_.lower_bound({by.node, NodeId{}});
       it != heard_.end() && it->first.first == by.node; ++it) {
    const Heard& heard = it->second;
    const bool there = truth().agent_awake({it->first.second, heard.life});
    if (there && now - heard.at < timeouts().lost_after) decided.emplace(it->first.second, heard);
  }
}

void RanksOracle::judge_members(Time now, const NumberedRecord& numbered, const World& world) {
  counted();
  const auto wrong = [&](std::string expected, std::string found) {
    violated(now, {.agent = numbered.record.writer,
                   .round = world.round,
                   .expected = std::move(expected),
                   .found = std::move(found)});
  };
  std::set<NodeId> nodes;
  for (const Member& member : world.members) nodes.insert(member.agent.node);
  const std::size_t count = world.members.size();
  if (nodes.size() != count) {
    wrong("members are distinct", fmt::format("{} places for {} nodes", count, nodes.size()));
  }
  if (count < job().min_nodes || count > job().max_nodes) {
    wrong(fmt::format("{} to {} nodes", job().min_nodes, job().max_nodes),
          fmt::format("{} nodes", count));
  }
  if (job().node_unit > 1 && count % job().node_unit != 0) {
    wrong(fmt::format("a multiple of {} nodes", job().node_unit), fmt::format("{} nodes", count));
  }
}

void RanksOracle::judge_order(Time now, const NumberedRecord& numbered, const World& world,
                              const World& before) {
  std::size_t last = 0;
  bool any = false;
  for (const Member& member : world.members) {
    const auto old = std::find_if(before.members.begin(), before.members.end(),
                                  [&](const Member& m) { return m.agent == member.agent; });
    if (old == before.members.end()) continue;
    const auto place = static_cast<std::size_t>(old - before.members.begin());
    counted();
    if (any && place < last) {
      violated(now,
               {.agent = member.agent,
                .round = world.round,
                .expected = "survivors keep the order that they had in " + in_words(before.round),
                .found = fmt::format("node {} now ranks after one that it ranked before",
                                     member.agent.node.value)});
      return;
    }
    any = true;
    last = place;
  }
  static_cast<void>(numbered);
}

void RanksOracle::judge_displacement(Time now, const NumberedRecord& numbered, const World& world,
                                     const World& before) {
  const auto decided = decided_.find(numbered.record.writer);
  if (decided == decided_.end()) return;
  const auto is_in = [](const World& w, AgentId agent) {
    return std::any_of(w.members.begin(), w.members.end(),
                       [&](const Member& m) { return m.agent == agent; });
  };
  const auto newcomer =
      std::find_if(world.members.begin(), world.members.end(), [&](const Member& m) {
        const Group* group = truth().group(m.agent);
        return !is_in(before, m.agent) && (!native() || group == nullptr || !group->holds);
      });
  for (const Member& member : before.members) {
    const auto heard = decided->second.find(member.agent.node);
    const bool was_in = heard != decided->second.end() && heard->second.in &&
                        heard->second.life == member.agent.life &&
                        heard->second.left_for >= world.round;
    const bool sits_out = std::find(world.sitting_out.begin(), world.sitting_out.end(),
                                    member.agent.node) != world.sitting_out.end();
    const bool suppressed =
        std::any_of(world.flaps.begin(), world.flaps.end(), [&](const policy::FlapScore& flap) {
          return flap.node == member.agent.node && flap.left > Duration::zero();
        });
    if (!was_in || sits_out || suppressed) continue;
    counted();
    if (newcomer == world.members.end() || is_in(world, member.agent)) continue;
    violated(now, {.agent = member.agent,
                   .round = world.round,
                   .expected = "a member of " + in_words(before.round) +
                               " that is in comes before nodes that were not",
                   .found = fmt::format("node {} has no place, node {} has",
                                        member.agent.node.value, newcomer->agent.node.value)});
    return;
  }
}

void RanksOracle::on_record(Time now, const NumberedRecord& numbered, JournalLife life) {
  const auto* world = std::get_if<World>(&numbered.record.body);
  if (world == nullptr) return;
  judge_members(now, numbered, *world);
  const RoundTruth* before = truth().newest_round();
  if (before != nullptr && before->world.round.journal == life) {
    judge_order(now, numbered, *world, before->world);
    judge_displacement(now, numbered, *world, before->world);
  }
  decided_.erase(numbered.record.writer);
}

// ---- round_order
// ---------------------------------------------------------------------------------

RoundOrderOracle::RoundOrderOracle(Bench bench)
    : Oracle(
          {.name = "round_order",
           .title = "something of an older round took effect",
           .promise = "Rounds that a worker enters only grow, it works for the one that it is in "
                      "alone, and orders of a superseded Lead move nobody who has heard a newer.",
           .interests = kOnWorker | kOnDelivered},
          std::move(bench)) {}

void RoundOrderOracle::on_delivered(Time /*now*/, NodeId /*from*/, NodeId to,
                                    const Message& message) {
  const auto* order = std::get_if<Order>(&message);
  if (order == nullptr) return;
  const Machine& machine = truth().machine(to);
  Heard& heard = heard_[to];
  if (heard.life != machine.life) heard = Heard{.life = machine.life};
  const RoundId place = order->placement ? order->placement->round : RoundId{};
  if (order->lead < heard.lead) {
    heard.stale_leave = std::max(heard.stale_leave, order->leave_for);
    heard.stale_placed = std::max(heard.stale_placed, place);
    counted();
    return;
  }
  heard.lead = order->lead;
  heard.placed = std::max(heard.placed, place);
  heard.leave_for = std::max(heard.leave_for, order->leave_for);
}

void RoundOrderOracle::judge_entry(Time now, const sim::WorkerEvent& event, const Group* group) {
  const AgentId agent{event.node, event.life};
  counted();
  const Machine& machine = truth().machine(event.node);
  const RoundId said = machine.life == event.life ? machine.said_left_for : RoundId{};
  const RoundId least = group == nullptr ? said : std::max({group->entered, group->left_for, said});
  if (event.round < least) {
    violated(now, {.agent = agent,
                   .round = event.round,
                   .expected = "no round below " + in_words(least) + " is entered",
                   .found = "it enters " + in_words(event.round)});
  }
  const RoundTruth* round = truth().round(event.round);
  const bool member =
      round != nullptr && std::any_of(round->world.members.begin(), round->world.members.end(),
                                      [&](const Member& m) { return m.agent == agent; });
  if (!member) {
    violated(now, {.agent = agent,
                   .round = event.round,
                   .expected = "only members enter a round",
                   .found = round == nullptr ? "it was never recorded" : "it is no member"});
  }
  const auto heard = heard_.find(event.node);
  if (heard != heard_.end() && heard->second.life == event.life &&
      event.round > heard->second.placed && event.round <= heard->second.stale_placed) {
    violated(now, {.agent = agent,
                   .round = event.round,
                   .expected = "a place given under a superseded Lead is refused",
                   .found = "it was taken"});
  }
}

void RoundOrderOracle::judge_leave(Time now, const sim::WorkerEvent& event, const Group* group) {
  counted();
  const auto heard = heard_.find(event.node);
  if (heard == heard_.end() || heard->second.life != event.life) return;
  // It may also leave by itself, when its own workers or its machine give it reason to.
  if (group == nullptr || group->broken || truth().machine(event.node).leaving) return;
  const RoundId fresh = std::max(heard->second.leave_for, heard->second.placed);
  if (event.round <= fresh || event.round > heard->second.stale_leave) return;
  violated(now, {.agent = {event.node, event.life},
                 .round = event.round,
                 .expected = "an order under a superseded Lead moves nobody",
                 .found = "it leaves for " + in_words(event.round) +
                          ", which only such an order asked"});
}

void RoundOrderOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  const Group* group = truth().group({event.node, event.life});
  if (event.kind == WorkerEventKind::kEntered) return judge_entry(now, event, group);
  if (event.kind == WorkerEventKind::kLeft) return judge_leave(now, event, group);
  if (event.kind != WorkerEventKind::kApplied || group == nullptr) return;
  counted();
  if (event.round == group->entered && event.round >= group->left_for) return;
  violated(now, {.agent = {event.node, event.life},
                 .round = event.round,
                 .expected = group->left_for > event.round
                                 ? "nothing is applied below " + in_words(group->left_for) +
                                       ", which it left for"
                                 : "steps are applied in " + in_words(group->entered) + " alone",
                 .found = fmt::format("step {} is applied in {}", grouped(event.state.step.value),
                                      in_words(event.round))});
}

}  // namespace elastic::chaos
