// The writer's and reader's side of the journal rule (design section 3): create record number k, or
// learn that k is taken, where k is the last number read plus one.
//
// An append may end with an unknown outcome. Then reading "absent" is no answer, since the append
// may still land: the same record is written at the same number again until something is read
// there. Alternative rejected: to give up after a time-out and write something else at that number.
// The first append could land afterwards, and the writer would act on a record that is not the one
// in the journal. The only clock here says when to ask again: no answer is taken for one because of
// the time that it took.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/agent/io.h"
#include "core/membership/bounds.h"
#include "core/membership/config.h"
#include "core/membership/records.h"

namespace elastic {

// What the records read so far add up to.
struct JournalView {
  JournalLife life;
  RecordNo last;  // every record up to here was read
  LeadId lead;
  AgentId leader;
  std::optional<World> world;
  RecordNo world_record;
  std::optional<Checkpoint> checkpoint;
  RecordNo checkpoint_record;
  std::vector<CommittedSave> saves;         // committed and not retired, newest first
  std::vector<CommittedSave> last_retired;  // by the newest Retire: their deletion may be under way
  std::optional<Verdict> verdict;

  void apply(const NumberedRecord& entry);
  // That save is committed and not retired.
  bool has_save(RecordNo record) const;
};

// What became of a request.
struct JournalEvent {
  bool news = false;               // the view has changed
  std::uint64_t read_done = 0;     // reads with a ticket up to here are covered (0: none)
  std::optional<Record> appended;  // the own record is in the journal
  bool append_lost = false;        // somebody else's record has its number
  bool refused = false;            // another life of the journal than the one held
  std::vector<AgentId> contacts;   // hints, if asked for
};

// Invariants:
//  1. At most one append is pending, always at last + 1.
//  2. A pending record never changes until its number is read.
//  3. `last` only grows within one life, and the view is the fold of all records up to it.
class JournalClient {
 public:
  JournalClient(const JobConfig& job, const Timeouts& timeouts);

  void start(AgentId self, std::uint64_t seed);
  // The life of the rounds that the local workers are in: another one is refused. Zero: none.
  void hold(JournalLife life);

  // Asks for a read that begins after this call. Returns its ticket, to be compared with read_done:
  // one read serves all who asked before it began.
  std::uint64_t read(Time now, bool want_contacts, Effects& effects);
  // Appends at last + 1. REQUIRES: nothing is pending, and no Verdict was read: nothing follows it.
  void append(Time now, decltype(Record::body) body, Effects& effects);
  // Forgets a pending append; it may still land. For one who no longer leads.
  void abandon();

  JournalEvent on_answer(Time now, const JournalAnswer& answer, Effects& effects);
  void on_timer(Time now, Effects& effects);

  bool appending() const { return pending_.has_value(); }
  const JournalView& view() const { return view_; }
  // When the journal last answered (from the held life). Start counts as an answer.
  Time last_answer() const { return last_answer_; }
  void note_start(Time now) { last_answer_ = now; }

  void check() const;
  std::uint64_t digest() const;

 private:
  void send(const JournalAsk& ask, Effects& effects) const;
  void ask_read(Time now, Effects& effects);
  void send_read(Time now, Effects& effects);
  void ask_append(Time now, Effects& effects);
  void arm(Effects& effects);
  void measure(Time now, RequestId request, Effects& effects);
  RequestId next_request();
  bool accept_life(const JournalAnswer& answer, JournalEvent& event);
  void settle_pending(const Record& read_there, JournalEvent& event);

  JobConfig job_;
  Timeouts timeouts_;
  AgentId self_;
  JournalLife holding_;
  JournalView view_;
  std::uint64_t seed_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t nonces_ = 0;
  std::uint64_t tickets_ = 0;        // reads asked for
  std::uint64_t flying_ticket_ = 0;  // newest ticket that the read in flight covers (0: none flies)
  RequestId flying_first_;  // of that read: when it is asked again, an answer to any asking counts,
  RequestId flying_read_;   // or a journal slower than the time-out would never be read
  bool contacts_wanted_ = false;
  bool flying_contacts_ = false;
  std::optional<NumberedRecord> pending_;
  RequestId flying_append_;
  bool append_after_read_ = false;  // the outcome was unknown: read, then repeat
  Time last_answer_{};
  Time read_asked_{}, append_asked_{};  // of those in flight, at last
  BoundWatch delays_;
};

}  // namespace elastic
