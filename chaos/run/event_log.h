// What happens in a run, as JSON lines: for --events, and for naming the first event in which two
// runs of one seed differ.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/sim/config.h"
#include "transport/sim/observer.h"

namespace elastic::chaos {

// Each line is an object with "t_ns" (true time), "event" (index of the event that it came with,
// from 1), "type" (note, record, worker, node, fault, and where asked for sent and delivered) and
// the fields of that type. Nodes go by name, kinds in snake case, zero ids are left out.
class EventLog final : public sim::Observer {
 public:
  using Sink = std::function<void(std::uint64_t event, std::string_view line)>;

  // `config` and what `sink` refers to outlive the log.
  EventLog(const sim::WorldConfig& config, Sink sink, bool messages = false);

  // Hands over what came since the last event (for the end of a run).
  void flush(std::uint64_t event);

  void on_note(Time now, AgentId by, const Note& note) override;
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_node(Time now, const sim::NodeEvent& event) override;
  void on_fault(Time now, const sim::Fault& fault) override;
  void on_sent(Time now, NodeId from, NodeId to, const Message& message) override;
  void on_delivered(Time now, NodeId from, NodeId to, const Message& message) override;
  void after_event(Time now, std::uint64_t index, const sim::World& world) override;

 private:
  std::string node_name(NodeId node) const;
  void add_message(Time now, const char* type, NodeId from, NodeId to, const Message& message);
  void add(Time now, std::string rest);

  // A line that waits for the index of its event: what comes before and after it.
  struct Pending {
    Time at{};
    std::string rest;
  };

  const sim::WorldConfig& config_;
  Sink sink_;
  bool messages_;
  std::vector<Pending> pending_;
};

// Snake-case names, for JSON and for reading.
std::string_view name(NoteKind kind);
std::string_view name(sim::WorkerEventKind kind);
std::string_view name(sim::NodeEventKind kind);
std::string_view name(ExitReason reason);
std::string_view name(RoundCause cause);

}  // namespace elastic::chaos
