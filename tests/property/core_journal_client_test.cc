// The journal rule against a model journal that answers anything, late, twice, never, or "unknown".
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/membership/journal_client.h"
#include "tests/support/property.h"

namespace elastic {
namespace {

constexpr JournalLife kLife{1ULL << 32U};
constexpr AgentId kSelf{NodeId{1}, AgentLife{1}};
constexpr AgentId kOther{NodeId{2}, AgentLife{1}};

// Creates record k once, and keeps what was asked of it: each asking may be carried out later, more
// than once, or never.
struct ModelJournal {
  std::vector<NumberedRecord> records;
  std::vector<JournalAsk> asked;
  std::vector<JournalAnswer> answered;

  void take(const Effects& effects) {
    for (const Effect& effect : effects) {
      if (const auto* ask = std::get_if<AskJournal>(&effect)) asked.push_back(ask->ask);
    }
  }
  bool create(const NumberedRecord& record) {
    if (record.number.value != records.size() + 1) return false;
    records.push_back(record);
    return true;
  }
  JournalAnswer carry_out(const JournalAsk& ask) {
    JournalAnswer answer;
    answer.request = ask.request;
    answer.journal = kLife;
    if (ask.append) {
      answer.outcome =
          create(*ask.append) ? JournalAnswer::Outcome::kCreated : JournalAnswer::Outcome::kTaken;
    } else {
      answer.outcome = JournalAnswer::Outcome::kRead;
      for (std::uint64_t k = std::max<std::uint64_t>(ask.from_record.value, 1); k <= records.size();
           ++k) {
        answer.records.push_back(records[k - 1]);
      }
    }
    return answer;
  }
};

struct Writer {
  Writer() : client(job(), timeouts()) { client.start(kSelf, 7); }
  static JobConfig job() {
    JobConfig some;
    some.journal = JournalKind::kExternal;
    return some;
  }
  static Timeouts timeouts() { return std::get<Timeouts>(derive_timeouts(job())); }

  void note(const JournalEvent& event) {
    if (event.appended) {
      RC_ASSERT(pending.has_value());
      RC_ASSERT(event.appended->body == pending->body);
      appended.push_back(*event.appended);
      pending.reset();
    }
    if (event.append_lost) {
      RC_ASSERT(pending.has_value());
      lost.push_back(*pending);
      pending.reset();
    }
  }

  JournalClient client;
  std::optional<Record> pending;
  std::vector<Record> appended, lost;
};

void one_event(ModelJournal& journal, Writer& writer, std::uint64_t index) {
  Effects effects;
  const Time now{std::chrono::milliseconds(index)};
  const auto some_ask = [&] {
    return journal.asked[*rc::gen::inRange<std::size_t>(0, journal.asked.size())];
  };
  switch (*rc::gen::inRange(0, 9)) {
    case 0:
      if (!writer.client.appending() && writer.client.view().life) {
        Checkpoint body;
        body.step = Step{index};
        writer.pending = Record{kSelf, 0, body};
        writer.client.append(now, body, effects);
      }
      break;
    case 1:
      writer.client.read(now, false, effects);
      break;
    case 2:
      writer.client.on_timer(now, effects);
      break;
    case 3:  // somebody else writes
      journal.create({RecordNo{journal.records.size() + 1}, {kOther, index, Lead{kOther}}});
      break;
    case 4:  // carried out without an answer, perhaps again
      if (!journal.asked.empty()) journal.carry_out(some_ask());
      break;
    case 5: {  // "unknown", whatever happened or is still to happen
      if (journal.asked.empty()) break;
      const JournalAsk ask = some_ask();
      if (!ask.append) break;
      RC_TAG("an unknown outcome");
      if (*rc::gen::arbitrary<bool>()) journal.carry_out(ask);
      writer.note(writer.client.on_answer(
          now, {ask.request, JournalAnswer::Outcome::kUnknown, kLife, {}, {}}, effects));
      break;
    }
    case 6:  // an old answer again
      if (journal.answered.empty()) break;
      writer.note(writer.client.on_answer(
          now, journal.answered[*rc::gen::inRange<std::size_t>(0, journal.answered.size())],
          effects));
      break;
    default: {
      if (journal.asked.empty()) break;
      const JournalAnswer answer = journal.carry_out(some_ask());
      journal.answered.push_back(answer);
      writer.note(writer.client.on_answer(now, answer, effects));
    }
  }
  writer.client.check();
  journal.take(effects);
}

// What the client believes is in the journal, and nothing of its own is overlooked.
void judge(const ModelJournal& journal, const Writer& writer) {
  const auto in_journal = [&](const Record& record) {
    return std::any_of(journal.records.begin(), journal.records.end(),
                       [&](const NumberedRecord& entry) { return entry.record == record; });
  };
  for (const Record& record : writer.appended) RC_ASSERT(in_journal(record));
  const JournalView& view = writer.client.view();
  RC_ASSERT(view.last.value <= journal.records.size());
  std::set<std::uint64_t> own;
  for (const NumberedRecord& entry : journal.records) {
    if (entry.record.writer != kSelf) continue;
    RC_ASSERT(own.insert(entry.record.nonce).second);  // no record has two numbers
    const bool reported = std::find(writer.appended.begin(), writer.appended.end(), entry.record) !=
                          writer.appended.end();
    if (entry.number <= view.last) RC_ASSERT(reported);
    for (const Record& lost : writer.lost) RC_ASSERT(lost.body != entry.record.body);
  }
  JournalView fold;
  fold.life = view.life;
  for (std::uint64_t k = 0; k < view.last.value; ++k) fold.apply(journal.records[k]);
  RC_ASSERT(fold.lead == view.lead);
  RC_ASSERT(fold.checkpoint == view.checkpoint);
}

TEST(JournalClientProperty, believes_what_is_in_the_journal_and_loses_nothing_of_it) {
  test::check(
      "the client never believes an append that is not in the journal, nor loses one that is",
      {"appended", "lost", "an unknown outcome"},
      [] {
        ModelJournal journal;
        Writer writer;
        const int events = *rc::gen::inRange(0, 120);
        for (int i = 0; i < events; ++i) {
          one_event(journal, writer, static_cast<std::uint64_t>(i) + 1);
          judge(journal, writer);
        }
        RC_CLASSIFY(!writer.appended.empty(), "appended");
        RC_CLASSIFY(!writer.lost.empty(), "lost");
      },
      {.max_success = 2000});
}

TEST(JournalClientProperty, settles_every_append_once_the_journal_answers) {
  test::check("an append is settled once the journal answers again", {"was pending"},
              [] {
                ModelJournal journal;
                Writer writer;
                const int events = *rc::gen::inRange(0, 80);
                for (int i = 0; i < events; ++i) {
                  one_event(journal, writer, static_cast<std::uint64_t>(i) + 1);
                }
                RC_CLASSIFY(writer.client.appending(), "was pending");
                for (int i = 0; i < 8 && writer.client.appending(); ++i) {
                  Effects effects;
                  writer.client.on_timer(Time{std::chrono::hours(1)}, effects);
                  const std::size_t before = journal.asked.size();
                  journal.take(effects);
                  for (std::size_t k = before; k < journal.asked.size(); ++k) {
                    Effects more;
                    writer.note(writer.client.on_answer(Time{std::chrono::hours(1)},
                                                        journal.carry_out(journal.asked[k]), more));
                    journal.take(more);
                  }
                }
                RC_ASSERT(!writer.client.appending());
                judge(journal, writer);
              },
              {.max_success = 1000});
}

}  // namespace
}  // namespace elastic
