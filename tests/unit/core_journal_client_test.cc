// The client's side of a journal that is slow: repeated requests and late answers.
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "core/membership/journal_client.h"

namespace elastic::test {
namespace {

constexpr JournalLife kLife{7};

struct Client {
  Client() {
    job.journal = JournalKind::kExternal;
    const auto derived = derive_timeouts(job);
    timeouts = std::get<Timeouts>(derived);
    client.emplace(job, timeouts);
    client->start(AgentId{NodeId{1}, AgentLife{1}}, 11);
  }
  // What was asked since the last call.
  std::vector<JournalAsk> asked() {
    std::vector<JournalAsk> asks;
    for (const Effect& effect : effects) {
      if (const auto* ask = std::get_if<AskJournal>(&effect)) asks.push_back(ask->ask);
    }
    effects.clear();
    return asks;
  }
  JournalEvent answer(const JournalAsk& ask, JournalAnswer::Outcome outcome) {
    JournalAnswer reply;
    reply.request = ask.request;
    reply.journal = kLife;
    reply.outcome = outcome;
    return client->on_answer(now, reply, effects);
  }

  JobConfig job;
  Timeouts timeouts;
  std::optional<JournalClient> client;
  Effects effects;
  Time now{};
};

TEST(JournalClient, takes_the_answer_of_a_read_that_it_has_repeated) {
  Client at;
  const std::uint64_t ticket = at.client->read(at.now, false, at.effects);
  const std::vector<JournalAsk> first = at.asked();
  ASSERT_EQ(first.size(), 1U);
  at.client->on_timer(at.now, at.effects);
  ASSERT_EQ(at.asked().size(), 1U) << "an unanswered read is asked again";
  const JournalEvent event = at.answer(first[0], JournalAnswer::Outcome::kRead);
  EXPECT_EQ(event.read_done, ticket);
  at.client->check();
}

TEST(JournalClient, an_answer_of_no_journal_says_nothing) {
  Client at;
  const std::uint64_t ticket = at.client->read(at.now, false, at.effects);
  const JournalAsk ask = at.asked().at(0);
  JournalAnswer reply;
  reply.request = ask.request;
  reply.outcome = JournalAnswer::Outcome::kRead;
  const JournalEvent nothing = at.client->on_answer(at.now, reply, at.effects);
  EXPECT_EQ(nothing.read_done, 0U);
  EXPECT_FALSE(nothing.news);
  at.client->check();
  EXPECT_EQ(at.answer(ask, JournalAnswer::Outcome::kRead).read_done, ticket);
}

TEST(JournalClient, requests_of_two_lives_of_a_node_have_different_numbers) {
  Client one;
  Client other;
  other.client.emplace(other.job, other.timeouts);
  other.client->start(AgentId{NodeId{1}, AgentLife{2}}, 12);
  one.client->read(one.now, false, one.effects);
  other.client->read(other.now, false, other.effects);
  EXPECT_NE(one.asked().at(0).request, other.asked().at(0).request);
}

TEST(JournalClient, a_repeated_read_covers_no_more_than_its_first_asking) {
  Client at;
  const std::uint64_t early = at.client->read(at.now, false, at.effects);
  const std::vector<JournalAsk> first = at.asked();
  const std::uint64_t late = at.client->read(at.now, false, at.effects);
  at.client->on_timer(at.now, at.effects);
  const std::vector<JournalAsk> again = at.asked();
  const JournalEvent event = at.answer(first.at(0), JournalAnswer::Outcome::kRead);
  EXPECT_EQ(event.read_done, early);
  const std::vector<JournalAsk> next = at.asked();
  ASSERT_EQ(next.size(), 1U) << "the later ticket gets a read of its own";
  EXPECT_EQ(at.answer(again.at(0), JournalAnswer::Outcome::kRead).read_done, 0U)
      << "the flight that it was asked for is over";
  EXPECT_EQ(at.answer(next[0], JournalAnswer::Outcome::kRead).read_done, late);
}

TEST(JournalClient, settles_an_append_while_every_read_outlasts_the_time_out) {
  Client at;
  at.client->append(at.now, Lead{AgentId{NodeId{1}, AgentLife{1}}}, at.effects);
  const std::vector<JournalAsk> append = at.asked();
  ASSERT_TRUE(append.at(0).append.has_value());
  EXPECT_FALSE(at.answer(append[0], JournalAnswer::Outcome::kUnknown).appended);
  const std::vector<JournalAsk> reads = at.asked();
  for (int i = 0; i < 3; ++i) at.client->on_timer(at.now, at.effects);
  EXPECT_EQ(at.asked().size(), 3U);
  JournalAnswer reply;
  reply.request = reads.at(0).request;
  reply.journal = kLife;
  reply.outcome = JournalAnswer::Outcome::kRead;
  reply.records.push_back(*append[0].append);
  const JournalEvent event = at.client->on_answer(at.now, reply, at.effects);
  EXPECT_TRUE(event.appended.has_value());
  EXPECT_FALSE(at.client->appending());
  at.client->check();
}

}  // namespace
}  // namespace elastic::test
