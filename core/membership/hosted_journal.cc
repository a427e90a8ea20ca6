#include "core/membership/hosted_journal.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/random.h"
#include "core/membership/hash.h"

namespace elastic {
namespace {
constexpr Duration kContactAge = std::chrono::seconds(60);
constexpr std::size_t kMaxContacts = 4096;  // hints only; the longest silent is dropped
constexpr std::size_t kMaxEarly = 256;      // questions that wait for the file
constexpr std::size_t kAnswerBytes = std::size_t{1} << 20U;

// About as many as it takes on the wire.
std::size_t bytes_of(const Record& record) {
  constexpr std::size_t kHead = 48;
  constexpr std::size_t kPart = 32;  // of a list: a member, a holder, ...
  std::size_t parts = 0;
  if (const auto* world = std::get_if<World>(&record.body)) {
    parts = 8 + world->members.size() + world->holders.size() + world->sitting_out.size() +
            world->flaps.size() + world->starts_counted.size() + world->broken.size();
  } else if (const auto* retire = std::get_if<Retire>(&record.body)) {
    parts = retire->saves.size();
  }
  return kHead + kPart * parts;
}
}  // namespace

void HostedJournal::start(AgentId self, std::uint64_t seed, Effects& effects) {
  self_ = self;
  seed_ = seed;
  hosting_ = job_.journal == JournalKind::kHosted && job_.journal_host == self.node;
  if (hosting_) effects.push_back(ReadJournalFile{});
}

void HostedJournal::on_file_read(const JournalFileRead& file, Effects& effects) {
  if (!hosting_ || open_ || founding_) return;
  if (file.exists) {
    // What is no journal is not served: to go on with less than was acknowledged would be worse.
    if (!file.life) return;
    for (std::size_t i = 0; i < file.records.size(); ++i) {
      if (file.records[i].number.value != i + 1) return;
    }
    life_ = file.life;
    records_ = file.records;
    std::vector<RecordNo> gone;
    for (const NumberedRecord& record : records_) supersede(record, gone);
    empty(gone, effects);
    begin(effects);
    check();
    return;
  }
  // Above every life that left a marker, and above those that an earlier life of this agent founded
  // without leaving one; the lower half is drawn, so that foundings on two hosts differ.
  const std::uint64_t marked =
      (file.newest_marker ? file.newest_marker->journal.value >> 32U : 0) + 1;
  const std::uint64_t generation =
      std::min<std::uint64_t>(std::max(marked, self_.life.value), 0xFFFFFFFFU);
  const std::uint64_t drawn = math::draw(math::Seed{seed_}, math::Stream{0x666f756e64ULL}, 0);
  life_ = JournalLife{(generation << 32U) | (drawn & 0xFFFFFFFFU)};
  found_after_ = file.newest_marker;
  founding_ = true;
  effects.push_back(WriteJournalFile{life_, {}});
}

// The new life begins with what the newest marker says was committed.
void HostedJournal::found(Effects& effects) {
  ELASTIC_ASSERT(life_);
  ELASTIC_ASSERT(records_.empty());
  founding_ = false;
  effects.push_back(Note{NoteKind::kJournalFounded, self_.node, {}, life_.value, 0, 0});
  if (!found_after_) {
    begin(effects);
    return;
  }
  NumberedRecord first{RecordNo{1}, {}};
  first.record.writer = self_;
  if (found_after_->verdict) {
    Verdict verdict;
    verdict.step = found_after_->checkpoint.step;
    first.record.body = verdict;
  } else {
    first.record.body = found_after_->checkpoint;
  }
  writing_ = first;
  effects.push_back(WriteJournalFile{life_, first});
}

void HostedJournal::on_synced(const JournalFileSynced& synced, Effects& effects) {
  if (!hosting_) return;
  if (founding_ && !synced.number) {
    found(effects);
    return;
  }
  if (!writing_ || writing_->number != synced.number) return;
  ELASTIC_ASSERT(writing_->number.value == records_.size() + 1);
  ELASTIC_ASSERT(!writer_ || writer_->append == writing_);
  records_.push_back(std::move(*writing_));
  writing_.reset();
  if (!open_) begin(effects);
  std::vector<RecordNo> gone;
  supersede(records_.back(), gone);
  empty(gone, effects);
  if (writer_) {
    answer(*writer_, JournalAnswer::Outcome::kCreated, now_, effects);
    writer_.reset();
  }
}

// Open from here on, and whoever has asked meanwhile is answered.
void HostedJournal::begin(Effects& effects) {
  ELASTIC_ASSERT(!open_);
  ELASTIC_ASSERT(life_);
  open_ = true;
  std::vector<JournalAsk> early;
  early.swap(early_);
  for (const JournalAsk& ask : early) on_ask(now_, ask, effects);
}

// Which older records mean nothing any more, now that this one is there.
void HostedJournal::supersede(const NumberedRecord& newest, std::vector<RecordNo>& gone) {
  const auto replaces = [&](RecordNo& before) {
    if (before) gone.push_back(before);
    before = newest.number;
  };
  if (std::holds_alternative<Lead>(newest.record.body)) {
    replaces(newest_lead_);
  } else if (std::holds_alternative<World>(newest.record.body)) {
    replaces(newest_world_);
  } else if (std::holds_alternative<Checkpoint>(newest.record.body)) {
    newest_checkpoint_ = newest.number;
  } else if (const auto* retire = std::get_if<Retire>(&newest.record.body)) {
    // Those of this one may still have to be deleted by a successor (JournalView::last_retired).
    for (const RecordNo save : newest_retired_) {
      if (!save || save >= newest_checkpoint_) continue;
      const auto& body = records_[save.value - 1].record.body;
      if (std::holds_alternative<Checkpoint>(body)) gone.push_back(save);
    }
    newest_retired_ = retire->saves;
  }
}

void HostedJournal::empty(const std::vector<RecordNo>& gone, Effects& effects) {
  std::vector<RecordNo> emptied;
  for (const RecordNo number : gone) {
    auto& body = records_[number.value - 1].record.body;
    if (std::holds_alternative<Emptied>(body)) continue;
    ELASTIC_ASSERT(!std::holds_alternative<Verdict>(body));
    ELASTIC_ASSERT(!std::holds_alternative<Retire>(body));
    body = Emptied{};
    emptied.push_back(number);
  }
  if (emptied.empty()) return;
  std::sort(emptied.begin(), emptied.end());
  effects.push_back(EmptyRecords{life_, std::move(emptied)});
}

void HostedJournal::note_contact(Time now, AgentId agent) {
  const auto at = std::lower_bound(
      contacts_.begin(), contacts_.end(), agent.node,
      [](const Contact& contact, NodeId node) { return contact.agent.node < node; });
  if (at != contacts_.end() && at->agent.node == agent.node) {
    *at = {agent, now};
    return;
  }
  if (contacts_.size() >= kMaxContacts) {
    std::erase_if(contacts_, [now](const Contact& c) { return now - c.last > kContactAge; });
    return;  // this one asks again
  }
  contacts_.insert(at, {agent, now});
}

void HostedJournal::on_ask(Time now, const JournalAsk& ask, Effects& effects) {
  if (!hosting_) return;
  now_ = now;
  note_contact(now, ask.from);
  if (!open_) {
    // A newcomer's first question may come before the file is read. Others ask again.
    const bool room = early_.size() < kMaxEarly;
    if (!ask.append && room) early_.push_back(ask);
    return;
  }
  if (ask.holding && ask.holding != life_) {
    answer(ask, JournalAnswer::Outcome::kRefused, now, effects);
    return;
  }
  if (!ask.append) {
    answer(ask, JournalAnswer::Outcome::kRead, now, effects);
    return;
  }
  if (writing_) {
    // One write at a time. The same record again: its outcome is not known yet, and the answer will
    // come to the newest asking. Another one: unknown to it is safe, it reads.
    if (*ask.append == *writing_) writer_ = ask;
    return;
  }
  if (ask.append->number.value != records_.size() + 1) {
    answer(ask, JournalAnswer::Outcome::kTaken, now, effects);
    return;
  }
  writing_ = ask.append;
  writer_ = ask;
  effects.push_back(WriteJournalFile{life_, *writing_});
}

void HostedJournal::answer(const JournalAsk& ask, JournalAnswer::Outcome outcome, Time now,
                           Effects& effects) const {
  JournalAnswer reply;
  reply.request = ask.request;
  reply.outcome = outcome;
  reply.journal = life_;
  if (outcome == JournalAnswer::Outcome::kRead) {
    const std::uint64_t from = ask.from_record.value == 0 ? 1 : ask.from_record.value;
    std::size_t bytes = 0;
    for (std::uint64_t k = from; k <= records_.size(); ++k) {
      bytes += bytes_of(records_[k - 1].record);
      reply.more = bytes > kAnswerBytes && k > from;
      if (reply.more) break;
      reply.records.push_back(records_[k - 1]);
    }
    if (ask.want_contacts) {
      for (const Contact& contact : contacts_) {
        if (now - contact.last <= kContactAge) reply.contacts.push_back(contact.agent);
      }
    }
  }
  effects.push_back(Send{ask.from.node, reply});
}

void HostedJournal::check() const {
  for (std::size_t i = 0; i < records_.size(); i += records_.size() / 4 + 1) {
    ELASTIC_ASSERT(records_[i].number.value == i + 1);
  }
  ELASTIC_ASSERT(!writing_ || writing_->number.value == records_.size() + 1);
  ELASTIC_ASSERT(!open_ || life_);
  ELASTIC_ASSERT(!open_ || !founding_);
  ELASTIC_ASSERT(!open_ || early_.empty());
  ELASTIC_ASSERT(!writer_ || writing_);
  ELASTIC_ASSERT(hosting_ || records_.empty());
  ELASTIC_ASSERT(contacts_.size() <= kMaxContacts);
  for (const RecordNo newest : {newest_lead_, newest_world_, newest_checkpoint_}) {
    ELASTIC_ASSERT(newest.value <= records_.size());
    ELASTIC_ASSERT(!newest ||
                   !std::holds_alternative<Emptied>(records_[newest.value - 1].record.body));
  }
}

std::uint64_t HostedJournal::digest() const {
  Hash hash;
  hash(hosting_, open_, life_, records_.size(), writing_, writer_, founding_, contacts_.size(),
       newest_lead_, newest_world_, newest_checkpoint_, newest_retired_, early_.size());
  for (const Contact& contact : contacts_) hash(contact.agent, contact.last);
  return hash.value();
}

}  // namespace elastic
