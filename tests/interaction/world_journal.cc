// The journals of a hand-driven world: an external one that can be made to misbehave, and the file
// of a hosted one.
#include <algorithm>

#include "tests/interaction/world.h"

namespace elastic::interaction {
namespace {
constexpr JournalLife kExternalLife{1ULL << 32U};
}

void HandWorld::journal_up(std::optional<NodeId> node, bool up) {
  if (node) {
    journal_down_[*node] = !up;
  } else {
    journal_all_down_ = !up;
  }
}

void HandWorld::note_record(const NumberedRecord& record) {
  if (const auto* world = std::get_if<World>(&record.record.body)) worlds_.push_back(*world);
}

void HandWorld::create(const NumberedRecord& record) {
  records_.push_back(record);
  note_record(record);
  line({}, names_.record(record) + "  (by " + names_.agent(record.record.writer) + ")");
}

JournalAnswer HandWorld::carry_out_ask(const JournalAsk& ask) {
  JournalAnswer answer;
  answer.request = ask.request;
  answer.journal = kExternalLife;
  if (!ask.append) {
    answer.outcome = JournalAnswer::Outcome::kRead;
    const std::uint64_t first = std::max<std::uint64_t>(ask.from_record.value, 1);
    for (std::uint64_t k = first; k <= records_.size(); ++k) {
      answer.records.push_back(records_[k - 1]);
    }
    if (ask.want_contacts) {
      for (const auto& [node, s] : slots_) {
        if (s.node) answer.contacts.push_back(s.node->self());
      }
    }
    return answer;
  }
  const auto unknown = unknown_.find(ask.from.node);
  if (unknown != unknown_.end()) {
    const Outcome outcome = unknown->second;
    unknown_.erase(unknown);
    answer.outcome = JournalAnswer::Outcome::kUnknown;
    if (outcome == Outcome::kNow && ask.append->number.value == records_.size() + 1) {
      create(*ask.append);
    } else if (outcome == Outcome::kLater) {
      late_.push_back({ask.from.node, *ask.append});
    }
    line({}, "answers n" + std::to_string(ask.from.node.value) + " \"unknown\" to " +
                 names_.record(*ask.append));
    return answer;
  }
  if (ask.append->number.value != records_.size() + 1) {
    answer.outcome = JournalAnswer::Outcome::kTaken;
    line({}, "answers n" + std::to_string(ask.from.node.value) + " \"taken\" to " +
                 names_.record(*ask.append));
    return answer;
  }
  create(*ask.append);
  answer.outcome = JournalAnswer::Outcome::kCreated;
  return answer;
}

void HandWorld::ask_journal(NodeId node, const JournalAsk& ask) {
  at(pace_.journal, [this, node, ask] {
    if (journal_all_down_ || journal_down_[node]) return;
    answer_journal(node, carry_out_ask(ask));
  });
}

void HandWorld::answer_journal(NodeId node, const JournalAnswer& answer) {
  if (holding_answers_ && (!answers_held_of_ || *answers_held_of_ == node)) {
    held_answers_.emplace_back(node, answer);
    return;
  }
  at_agent(node, pace_.journal, JournalReplied{answer});
}

void HandWorld::release_answers() {
  holding_answers_ = false;
  for (const auto& [node, answer] : std::exchange(held_answers_, {})) {
    at_agent(node, pace_.journal, JournalReplied{answer});
  }
}

void HandWorld::land_late() {
  for (const Later& later : std::exchange(late_, {})) {
    if (later.record.number.value == records_.size() + 1) {
      create(later.record);
    } else {
      line({}, "late append of n" + std::to_string(later.node.value) + " changes nothing: #" +
                   std::to_string(later.record.number.value) + " is taken");
    }
  }
}

void HandWorld::read_file(NodeId node) {
  JournalFileRead file;
  const Slot& s = slot(node);
  if (s.file) {
    file.exists = true;
    file.life = s.file->life;
    file.records = s.file->records;
  }
  file.newest_marker = marker_;
  at_agent(node, pace_.journal, file);
}

void HandWorld::write_file(NodeId node, const WriteJournalFile& write) {
  const std::uint64_t life = slot(node).life;
  at(pace_.journal, [this, node, life, write] {
    Slot& s = slot(node);
    if (s.life != life || !s.node) return;
    if (!write.record.number) {
      s.file = File{write.life, {}};
    } else if (s.file) {
      s.file->records.push_back(write.record);
      note_record(write.record);
    }
    input(node, JournalFileSynced{write.record.number});
  });
}

}  // namespace elastic::interaction
