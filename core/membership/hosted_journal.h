// The default journal: a synced file of the agent at the rendezvous endpoint, served by that agent.
// It survives a restart of the agent. If the file is gone, a journal founded anew is another life,
// higher than every life that left a marker: its first record is what the newest commit marker of
// the checkpoint directory names, and agents that hold rounds of the old life refuse it. If host or
// file is gone for good, see JobConfig::journal_lost_after.
//
// Records that later ones have made meaningless are emptied: a Lead below the newest, a World below
// the newest, a retired Checkpoint once a newer Retire is there. So what is kept, and what a
// newcomer has to read, grows by some ten bytes a record, and by a Retire for each save. An answer
// has room for about a mebibyte (kAnswerBytes); the reader asks for the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/agent/io.h"
#include "core/membership/config.h"

namespace elastic {

// Invariants:
//  1. A record is answered as created, or read by anybody, only after it was synced.
//  2. Records are 1..n without a gap. None changes but by being emptied, and whoever has read the
//     records up to any number, emptied or not, arrives at the same view with those that follow.
class HostedJournal {
 public:
  explicit HostedJournal(const JobConfig& job) : job_(job) {}

  // Begins to read the file, if this node is the host.
  void start(AgentId self, std::uint64_t seed, Effects& effects);
  void on_file_read(const JournalFileRead& file, Effects& effects);
  void on_synced(const JournalFileSynced& synced, Effects& effects);
  void on_ask(Time now, const JournalAsk& ask, Effects& effects);

  bool hosting() const { return hosting_; }
  bool open() const { return open_; }
  // Open, and nobody has led by it yet, or is about to.
  bool without_lead() const { return open_ && !newest_lead_ && !writing_; }
  // Nodes that have asked lately.
  std::size_t contacts() const { return contacts_.size(); }
  const std::vector<NumberedRecord>& records() const { return records_; }

  void check() const;
  std::uint64_t digest() const;

 private:
  struct Contact {
    AgentId agent;
    Time last{};
  };
  void answer(const JournalAsk& ask, JournalAnswer::Outcome outcome, Time now,
              Effects& effects) const;
  void found(Effects& effects);
  void begin(Effects& effects);
  void supersede(const NumberedRecord& newest, std::vector<RecordNo>& gone);
  void empty(const std::vector<RecordNo>& gone, Effects& effects);
  void note_contact(Time now, AgentId agent);

  JobConfig job_;
  AgentId self_;
  std::uint64_t seed_ = 0;
  bool hosting_ = false;
  bool open_ = false;
  JournalLife life_;
  std::vector<NumberedRecord> records_;  // synced
  RecordNo newest_lead_, newest_world_, newest_checkpoint_;
  std::vector<RecordNo> newest_retired_;     // by the newest Retire
  std::optional<NumberedRecord> writing_;    // handed to the file, not synced yet
  std::optional<JournalAsk> writer_;         // who asked for it
  std::optional<CommitMarker> found_after_;  // of an earlier life
  bool founding_ = false;
  std::vector<JournalAsk> early_;  // that came before it was open
  std::vector<Contact> contacts_;  // sorted by node
  Time now_{};
};

}  // namespace elastic
