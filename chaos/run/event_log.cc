#include "chaos/run/event_log.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

namespace elastic::chaos {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 23> kNotes{
    "leading",    "deposed",   "suspended",      "candidate",   "adopted", "ask_leave",
    "node_lost",  "node_dead", "world_recorded", "running",     "failure", "beat_acked",
    "checkpoint", "verdict",   "lease_lapsed",   "orphaned",    "refused", "journal_founded",
    "entered",    "left",      "waiting",        "save_broken", "retired"};
constexpr std::array<std::string_view, 18> kWorkers{
    "started", "prepared",  "loaded", "filled", "entered", "step_begun",
    "applied", "committed", "stall",  "left",   "stopped", "continued",
    "frozen",  "thawed",    "exited", "gone",   "saved",   "finished"};
constexpr std::array<std::string_view, 7> kNodes{
    "machine_up", "machine_down", "agent_up", "agent_down", "frozen", "thawed", "agent_exit"};
constexpr std::array<std::string_view, 8> kExits{"succeeded",    "program_failed", "gave_up",
                                                 "stopped",      "left",           "journal_lost",
                                                 "join_timeout", "saves_lost"};
constexpr std::array<std::string_view, 8> kCauses{
    "first", "node_lost", "worker_failed", "resize", "edge", "stalled", "adopted", "save_broken"};
constexpr std::array<std::string_view, 6> kMessages{"beat",    "order",       "canvass",
                                                    "hearing", "journal_ask", "journal_answer"};

template <std::size_t N>
std::string_view pick(const std::array<std::string_view, N>& names, std::size_t index) {
  return index < N ? names[index] : std::string_view("unknown");
}

// Only what is not zero, so that lines stay short.
void put(Json& json, const char* key, std::uint64_t value) {
  if (value != 0) json[key] = value;
}
void put(Json& json, const char* key, RoundId round) { put(json, key, round.number); }
void put(Json& json, const StatePoint& state) {
  put(json, "state_round", state.entered.number);
  put(json, "state_step", state.step.value);
  put(json, "state_lineage", state.lineage.value);
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct RecordBody {
  Json& json;
  void operator()(const Lead& lead) const {
    json["kind"] = "lead";
    put(json, "leader_life", lead.leader.life.value);
  }
  void operator()(const World& world) const {
    json["kind"] = "world";
    put(json, "round", world.round);
    json["nodes"] = world.members.size();
    json["cause"] = name(world.cause);
    constexpr std::array<std::string_view, 3> kSources{"scratch", "holders", "checkpoint"};
    json["resume"] = pick(kSources, static_cast<std::size_t>(world.resume.source));
    put(json, world.resume.state);
  }
  void operator()(const Checkpoint& checkpoint) const {
    json["kind"] = "checkpoint";
    put(json, "round", checkpoint.round);
    put(json, "step", checkpoint.step.value);
  }
  void operator()(const Retire& retire) const {
    json["kind"] = "retire";
    json["saves"] = retire.saves.size();
  }
  void operator()(const Verdict& verdict) const {
    constexpr std::array<std::string_view, 5> kKinds{"succeeded", "program_failed", "gave_up",
                                                     "stopped", "saves_lost"};
    json["kind"] = "verdict";
    json["verdict"] = pick(kKinds, static_cast<std::size_t>(verdict.kind));
    put(json, "step", verdict.step.value);
  }
  void operator()(const Emptied& /*emptied*/) const { json["kind"] = "emptied"; }
};

}  // namespace

std::string_view name(NoteKind kind) { return pick(kNotes, static_cast<std::size_t>(kind)); }
std::string_view name(sim::WorkerEventKind kind) {
  return pick(kWorkers, static_cast<std::size_t>(kind));
}
std::string_view name(sim::NodeEventKind kind) {
  return pick(kNodes, static_cast<std::size_t>(kind));
}
std::string_view name(ExitReason reason) { return pick(kExits, static_cast<std::size_t>(reason)); }
std::string_view name(RoundCause cause) { return pick(kCauses, static_cast<std::size_t>(cause)); }

EventLog::EventLog(const sim::WorldConfig& config, Sink sink, bool messages)
    : config_(config), sink_(std::move(sink)), messages_(messages) {}

std::string EventLog::node_name(NodeId node) const {
  if (node.value == 0 || node.value > config_.nodes.size()) {
    return fmt::format("node {}", node.value);
  }
  return config_.nodes[node.value - 1].name;
}

void EventLog::add(Time now, std::string rest) { pending_.push_back({now, std::move(rest)}); }

void EventLog::flush(std::uint64_t event) {
  for (const Pending& one : pending_) {
    // `rest` is an object: its first brace gives way to the two fields that every line begins with.
    sink_(event, fmt::format("{{\"t_ns\":{},\"event\":{},{}", one.at.time_since_epoch().count(),
                             event, std::string_view(one.rest).substr(1)));
  }
  pending_.clear();
}

void EventLog::on_note(Time now, AgentId by, const Note& note) {
  Json json{{"type", "note"}, {"kind", name(note.kind)}, {"by", node_name(by.node)}};
  if (note.node) json["node"] = node_name(note.node);
  put(json, "round", note.round);
  put(json, "a", note.a);
  put(json, "b", note.b);
  put(json, "c", note.c);
  add(now, text_of(json));
}

void EventLog::on_record(Time now, const NumberedRecord& record, JournalLife /*life*/) {
  Json json{{"type", "record"},
            {"number", record.number.value},
            {"by", node_name(record.record.writer.node)}};
  std::visit(RecordBody{json}, record.record.body);
  add(now, text_of(json));
}

void EventLog::on_worker(Time now, const sim::WorkerEvent& event) {
  Json json{{"type", "worker"}, {"kind", name(event.kind)}, {"node", node_name(event.node)}};
  put(json, "round", event.round);
  put(json, event.state);
  if (event.length != Duration::zero()) json["length_ns"] = event.length.count();
  if (event.local_rank != sim::kAllRanks) json["local_rank"] = event.local_rank;
  if (event.kind == sim::WorkerEventKind::kExited) {
    json["code"] = event.status.code;
    json["signal"] = event.status.signal;
    json["by_agent"] = event.by_agent;
  }
  add(now, text_of(json));
}

void EventLog::on_node(Time now, const sim::NodeEvent& event) {
  Json json{{"type", "node"}, {"kind", name(event.kind)}, {"node", node_name(event.node)}};
  if (event.whole_machine) json["whole_machine"] = true;
  if (event.kind == sim::NodeEventKind::kAgentExit) json["exit"] = name(event.exit);
  add(now, text_of(json));
}

void EventLog::on_fault(Time now, const sim::Fault& fault) {
  Json json{{"type", "fault"}, {"kind", sim::name(fault.kind)}};
  for (const auto& [key, nodes] :
       {std::pair{"targets", &fault.targets}, {"others", &fault.others}}) {
    if (nodes->empty()) continue;
    json[key] = Json::array();
    for (const NodeId node : *nodes) json[key].push_back(node_name(node));
  }
  if (fault.length != Duration::zero()) json["length_ns"] = fault.length.count();
  if (fault.value != 0) json["value"] = fault.value;
  add(now, text_of(json));
}

void EventLog::add_message(Time now, const char* type, NodeId from, NodeId to,
                           const Message& message) {
  if (!messages_) return;
  add(now, text_of({{"type", type},
                    {"kind", pick(kMessages, message.index())},
                    {"from", node_name(from)},
                    {"to", node_name(to)}}));
}

void EventLog::on_sent(Time now, NodeId from, NodeId to, const Message& message) {
  add_message(now, "sent", from, to, message);
}

void EventLog::on_delivered(Time now, NodeId from, NodeId to, const Message& message) {
  add_message(now, "delivered", from, to, message);
}

void EventLog::after_event(Time /*now*/, std::uint64_t index, const sim::World& /*world*/) {
  if (!pending_.empty()) flush(index);
}

}  // namespace elastic::chaos
