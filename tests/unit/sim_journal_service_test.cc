#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/sim/journal_service.h"

namespace elastic::sim {
namespace {

using namespace std::chrono_literals;
using Outcome = JournalAnswer::Outcome;

class JournalServiceTest : public testing::Test {
 protected:
  JournalService service{JournalModel{}, Chance(11), 4};
  Timeline timeline;
  std::vector<std::uint64_t> landed;
  std::vector<JournalAnswer> answers;
  std::uint64_t requests = 0;

  JournalAsk read(std::uint64_t node, std::uint64_t from = 1) {
    JournalAsk ask;
    ask.from = AgentId{NodeId{node}, AgentLife{1}};
    ask.request = RequestId{++requests};
    ask.from_record = RecordNo{from};
    return ask;
  }
  JournalAsk append(std::uint64_t node, std::uint64_t number) {
    JournalAsk ask = read(node);
    NumberedRecord record;
    record.number = RecordNo{number};
    record.record.writer = ask.from;
    record.record.nonce = ask.request.value;
    ask.append = record;
    return ask;
  }
  void ask(JournalAsk request) { service.ask(timeline, std::move(request), 1); }
  void run_until(Time until) {
    while (!timeline.queue.empty() && timeline.queue.next_time() <= until) {
      const EventQueue::Due due = timeline.queue.pop();
      timeline.now = due.at;
      if (due.event.kind == EventKind::kAskAnswered) {
        if (auto answered = service.answered(due.event)) answers.push_back(answered->answer);
      } else if (const auto record = service.execute(timeline, due.event)) {
        landed.push_back(record->number.value);
      }
    }
    timeline.now = until;
  }
  void run() { run_until(timeline.now + 1h); }
  void begin(FaultKind kind, std::int64_t value, Duration length,
             std::vector<NodeId> targets = {}) {
    Fault fault;
    fault.kind = kind;
    fault.value = value;
    fault.length = length;
    fault.targets = std::move(targets);
    service.begin(1, fault);
  }
};

TEST_F(JournalServiceTest,
       of_two_appends_at_one_number_one_is_created_and_the_other_finds_it_taken) {
  ask(append(1, 1));
  ask(append(2, 1));
  run();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_NE(answers[0].outcome, answers[1].outcome);
  EXPECT_EQ(landed, std::vector<std::uint64_t>{1});
}

TEST_F(JournalServiceTest, a_read_gives_all_records_from_a_number_on) {
  for (std::uint64_t number = 1; number <= 3; ++number) {
    ask(append(1, number));
    run();
  }
  answers.clear();
  ask(read(2, 2));
  run();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].outcome, Outcome::kRead);
  ASSERT_EQ(answers[0].records.size(), 2U);
  EXPECT_EQ(answers[0].records[0].number, RecordNo{2});
  EXPECT_EQ(answers[0].journal, service.life());
}

TEST_F(JournalServiceTest, who_holds_another_life_is_refused) {
  JournalAsk stranger = append(1, 1);
  stranger.holding = JournalLife{99};
  ask(stranger);
  run();
  EXPECT_EQ(answers.at(0).outcome, Outcome::kRefused);
  EXPECT_TRUE(service.records().empty());
}

TEST_F(JournalServiceTest, an_unreachable_journal_neither_executes_nor_answers) {
  begin(FaultKind::kJournalUnreachable, 0, 1h, {NodeId{1}});
  ask(append(1, 1));
  ask(read(2));
  run();
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_TRUE(service.records().empty());
}

TEST_F(JournalServiceTest, an_answer_can_be_lost_after_the_append_happened) {
  ask(append(1, 1));
  run_until(Time(3ms));  // executed half way through its service time
  EXPECT_EQ(landed.size(), 1U);
  begin(FaultKind::kJournalUnreachable, 0, 1h);
  run();
  EXPECT_TRUE(answers.empty());
}

TEST_F(JournalServiceTest, half_of_the_appends_of_unknown_outcome_happened) {
  begin(FaultKind::kJournalUnknown, 1'000'000, 1h);
  for (int i = 0; i < 400; ++i) {
    ask(append(1, service.records().size() + 1));
    run();
  }
  for (const JournalAnswer& answer : answers) EXPECT_EQ(answer.outcome, Outcome::kUnknown);
  EXPECT_NEAR(static_cast<double>(service.records().size()), 200, 50);
}

TEST_F(JournalServiceTest, a_late_append_lands_later_if_its_number_is_still_free) {
  begin(FaultKind::kJournalLate, 1'000'000, 10s, {NodeId{1}});
  ask(append(1, 1));
  run_until(Time(20ms));
  EXPECT_EQ(answers.at(0).outcome, Outcome::kUnknown);
  EXPECT_TRUE(service.records().empty());
  run();
  EXPECT_EQ(service.records().size(), 1U);
}

TEST_F(JournalServiceTest, a_late_append_whose_number_was_taken_never_lands) {
  begin(FaultKind::kJournalLate, 1'000'000, 10s, {NodeId{1}});
  ask(append(1, 1));
  run_until(Time(20ms));
  ask(append(2, 1));
  run();
  ASSERT_EQ(service.records().size(), 1U);
  EXPECT_EQ(service.records()[0].record.writer.node, NodeId{2});
}

TEST_F(JournalServiceTest, contacts_are_who_asked_within_a_minute_newest_first) {
  ask(read(1));
  run_until(Time(50s));
  ask(read(2));
  run_until(Time(70s));
  JournalAsk curious = read(3);
  curious.want_contacts = true;
  ask(curious);
  run_until(Time(71s));
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_TRUE(answers[0].contacts.empty());
  ASSERT_EQ(answers[2].contacts.size(), 2U);
  EXPECT_EQ(answers[2].contacts[0].node, NodeId{3});
  EXPECT_EQ(answers[2].contacts[1].node, NodeId{2});
}

}  // namespace
}  // namespace elastic::sim
