// Says in words what happened, for the lines before a violation.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "core/types.h"
#include "transport/sim/config.h"
#include "transport/sim/observer.h"

namespace elastic::chaos {

struct Happening {
  Time at{};                // true time
  std::uint64_t event = 0;  // index of the event
  std::string text;         // "b4 leaves round 30 holding step 7,198"
};

// Keeps the last `kept` notable happenings; quiet ones (beats, steps that just go on) are left out,
// so that the text costs little.
class Narrator {
 public:
  static constexpr std::size_t kept = 40;

  explicit Narrator(const sim::WorldConfig& config) : config_(config) {}

  void on_note(Time now, std::uint64_t event, AgentId by, const Note& note);
  void on_record(Time now, std::uint64_t event, const NumberedRecord& record);
  void on_worker(Time now, std::uint64_t event, const sim::WorkerEvent& worker);
  void on_node(Time now, std::uint64_t event, const sim::NodeEvent& node);
  void on_fault(Time now, std::uint64_t event, const sim::Fault& fault);

  const std::deque<Happening>& story() const { return story_; }
  std::string node_name(NodeId node) const;

 private:
  void tell(Time now, std::uint64_t event, std::string text);

  const sim::WorldConfig& config_;
  std::deque<Happening> story_;
};

// "1,234,567"
std::string grouped(std::uint64_t number);
// "3h 07m 12.4s", "12.345 ms": for reading, at most five digits.
std::string in_words(Duration length);
// "round 31", with the journal's founding named from the second on: "round 2.31"
std::string in_words(RoundId round);

}  // namespace elastic::chaos
