// Inputs for one node, from a list of numbers: what a cluster would answer, and now and then
// anything.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/agent/io.h"

namespace elastic::test {

constexpr JournalLife kOwnLife{(1ULL << 32U) | 7};
constexpr JournalLife kOtherLife{(2ULL << 32U) | 5};

// Decodes a list of numbers into inputs: shrinking the list shrinks the inputs. Identities come
// from small sets, so that they meet.
class Source {
 public:
  explicit Source(std::vector<std::uint32_t> words) : words_(std::move(words)) {}
  bool empty() const { return at_ >= words_.size(); }

  std::uint32_t below(std::uint32_t bound) {
    const std::uint32_t word = empty() ? 0 : words_[at_++];
    return bound == 0 ? 0 : word % bound;
  }
  bool chance(std::uint32_t one_in) { return below(one_in) == one_in - 1; }

  Input input(const Effects& before);

 private:
  NodeId node() { return NodeId{below(6)}; }
  AgentId agent() {
    const NodeId some = node();
    return {some, AgentLife{below(3)}};
  }
  JournalLife life() {
    const std::uint32_t which = below(8);
    return which == 0 ? JournalLife{} : which == 1 ? kOtherLife : kOwnLife;
  }
  RoundId round() {
    const JournalLife of = life();
    return {of, below(6)};
  }
  LeadId lead() {
    const JournalLife of = life();
    return {of, RecordNo{below(12)}};
  }
  StatePoint state() {
    StatePoint point;
    point.entered = round();
    point.step = Step{below(5)};
    point.lineage = Lineage{below(3)};
    return point;
  }
  std::optional<StatePoint> maybe_state() {
    if (chance(3)) return std::nullopt;
    return state();
  }
  ExitStatus status() {
    ExitStatus some;
    some.code = static_cast<std::int32_t>(below(3));
    some.signal = below(3) == 2 ? 9 : 0;
    return some;
  }
  Duration length() { return std::chrono::milliseconds(below(20'000)); }
  ResumePoint resume();
  FailureReport failure();
  Placement placement();
  Record record();
  NumberedRecord numbered();
  Checkpoint checkpoint();
  Verdict verdict();
  SaveReport save();
  std::vector<RecordNo> records();
  ManifestReport manifest();
  Beat beat();
  Order order();
  JournalAsk ask();
  JournalAnswer answer();
  JournalAnswer answer_to(const JournalAsk& ask);
  Message message();
  Input worker_input();
  Input marker_read();
  Beat beat_after(NodeId from, const Order& order);
  Order order_after(NodeId from, const Beat& beat);
  std::optional<Input> helpful_message(const Send& send);
  std::optional<Input> helpful(const Effects& before);

  std::vector<std::uint32_t> words_;
  std::size_t at_ = 0;
  std::vector<NumberedRecord> journal_;
  std::map<NodeId, Beat> peers_;
  StatePoint held_;
  std::uint32_t hostility_ = 0;  // one input in so many is arbitrary
};

}  // namespace elastic::test
