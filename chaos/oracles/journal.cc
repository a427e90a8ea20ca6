#include "chaos/oracles/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chaos/oracles/narrator.h"
#include "chaos/oracles/truth.h"

namespace elastic::chaos {
namespace {

// Acknowledgements of beats older than this many are not judged.
constexpr std::size_t kRememberedArrivals = 256;

std::string_view body_name(const Record& record) {
  constexpr std::array<std::string_view, 4> kNames{"Lead", "World", "Checkpoint", "Verdict"};
  return kNames[record.body.index()];
}

}  // namespace

JournalOracle::JournalOracle(Bench bench)
    : Oracle(
          {.name = "journal",
           .title = "the journal was broken",
           .promise = "Records are created once, in order, by the newest Lead's writer alone, and "
                      "nothing is announced that was not recorded.",
           .interests = kOnRecord | kOnSent},
          std::move(bench)) {}

void JournalOracle::judge_writer(Time now, const NumberedRecord& numbered) {
  const Record& record = numbered.record;
  if (const auto* lead = std::get_if<Lead>(&record.body)) {
    counted();
    if (lead->leader != record.writer) {
      violated(now, {.agent = record.writer,
                     .expected = "a Lead names its writer",
                     .found = fmt::format("record {} names node {}", numbered.number.value,
                                          lead->leader.node.value)});
    }
    return;
  }
  counted();
  if (!truth().newest_lead() || truth().leader() != record.writer) {
    violated(now, {.agent = record.writer,
                   .expected = "only the writer of the newest Lead writes a record",
                   .found = fmt::format("a {} as record {}, while node {} leads", body_name(record),
                                        numbered.number.value, truth().leader().node.value)});
  }
}

void JournalOracle::judge_world(Time now, const NumberedRecord& numbered, JournalLife life) {
  const auto* world = std::get_if<World>(&numbered.record.body);
  if (world == nullptr) return;
  counted();
  const RoundTruth* newest = truth().newest_round();
  if (newest != nullptr && world->round <= newest->world.round) {
    violated(now, {.agent = numbered.record.writer,
                   .round = world->round,
                   .expected = "rounds only grow: above " + in_words(newest->world.round),
                   .found = in_words(world->round)});
  }
  if (world->round.journal != life) {
    violated(now, {.agent = numbered.record.writer,
                   .round = world->round,
                   .expected = "a round bears the life of the journal that records it",
                   .found = "another life"});
  }
}

void JournalOracle::on_record(Time now, const NumberedRecord& numbered, JournalLife life) {
  if (!numbered.number) return;
  const bool same_life = life == truth().journal_life();
  if (!same_life) {
    counted();
    if (truth().journal_life() && !truth().journal_lost()) {
      violated(now, {.agent = numbered.record.writer,
                     .expected = "a journal is founded anew only when its file was lost",
                     .found = "another life, and no fault took the file"});
    }
    if (life < truth().journal_life()) {
      violated(now, {.agent = numbered.record.writer,
                     .expected = "a journal founded anew is newer than the one before",
                     .found = "a record of an older life"});
    }
    return;
  }
  const auto& records = truth().records();
  const auto old = records.find(numbered.number);
  counted();
  if (old != records.end()) {
    violated(now, {.agent = numbered.record.writer,
                   .expected = fmt::format("record {} is created once", numbered.number.value),
                   .found = old->second == numbered.record ? "it was created again"
                                                           : "it was replaced by another record"});
    return;
  }
  if (!records.empty() && numbered.number.value != records.rbegin()->first.value + 1) {
    violated(now, {.agent = numbered.record.writer,
                   .expected = fmt::format("record {} follows", records.rbegin()->first.value + 1),
                   .found = fmt::format("record {}", numbered.number.value)});
  }
  if (truth().verdict() != nullptr) {
    violated(now, {.agent = numbered.record.writer,
                   .expected = "nothing follows a Verdict",
                   .found = fmt::format("a {} as record {}", body_name(numbered.record),
                                        numbered.number.value)});
  }
  judge_writer(now, numbered);
  judge_world(now, numbered, life);
}

void JournalOracle::on_sent(Time now, NodeId /*from*/, NodeId /*to*/, const Message& message) {
  const auto* order = std::get_if<Order>(&message);
  if (order == nullptr || order->lead.journal != truth().journal_life()) return;
  counted();
  if (order->placement) {
    const RoundTruth* round = truth().round(order->placement->round);
    const bool as_recorded = round != nullptr && round->world.resume == order->placement->resume &&
                             round->world.members.size() == order->placement->group_size;
    if (!as_recorded) {
      violated(now, {.agent = order->from,
                     .round = order->placement->round,
                     .expected = "a place is given in a recorded round, as it was recorded",
                     .found = round == nullptr ? "no such World in the journal"
                                               : "the World in the journal is another"});
    }
  }
  if (order->running && truth().round(order->running) == nullptr) {
    violated(now, {.agent = order->from,
                   .round = order->running,
                   .expected = "an announced round is recorded",
                   .found = "no such World in the journal"});
  }
  if (order->verdict && (truth().verdict() == nullptr || *truth().verdict() != *order->verdict)) {
    violated(now, {.agent = order->from,
                   .expected = "an announced Verdict is recorded",
                   .found = "no such Verdict in the journal"});
  }
}

AcknowledgementOracle::AcknowledgementOracle(Bench bench)
    : Oracle({.name = "acknowledgement",
              .title = "a deposed coordinator renewed a lease",
              .promise = "No coordinator acknowledges a beat that reached it after its Lead was "
                         "superseded, and none goes on answering a life of a node that it knows to "
                         "be over.",
              .interests = kOnRecord | kOnSent | kOnDelivered | kOnNote},
             std::move(bench)) {}

void AcknowledgementOracle::on_record(Time /*now*/, const NumberedRecord& numbered,
                                      JournalLife life) {
  if (!std::holds_alternative<Lead>(numbered.record.body)) return;
  if (newest_) superseded_.emplace(newest_, truth().event());
  newest_ = LeadId{life, numbered.number};
}

void AcknowledgementOracle::on_delivered(Time /*now*/, NodeId from, NodeId to,
                                         const Message& message) {
  const auto* beat = std::get_if<Beat>(&message);
  if (beat == nullptr) return;
  AgentLife& newest = heard_[to][from];
  newest = std::max(newest, beat->from.life);
  Link& link = links_[{to, from}];
  if (link.life > beat->from.life) return;
  if (link.life < beat->from.life) {
    link.life = beat->from.life;
    link.arrivals.clear();
  }
  if (!link.arrivals.empty() && link.arrivals.back().beat >= beat->number) return;
  link.arrivals.push_back({beat->number, truth().event()});
  if (link.arrivals.size() > kRememberedArrivals) link.arrivals.pop_front();
}

void AcknowledgementOracle::on_note(Time /*now*/, AgentId by, const Note& note) {
  if (note.kind == NoteKind::kLeading) heard_.erase(by.node);  // it knew nobody until now
}

void AcknowledgementOracle::judge_addressee(Time now, NodeId from, NodeId to, const Order& order) {
  const auto known = heard_.find(from);
  if (known == heard_.end() || !order.to) return;
  const auto newest = known->second.find(to);
  if (newest == known->second.end() || order.to.life >= newest->second) return;
  violated(now, {.agent = order.from,
                 .expected = fmt::format("it answers life {} of node {}, which it has heard",
                                         newest->second.value, to.value),
                 .found = fmt::format("an order for life {}", order.to.life.value)});
}

void AcknowledgementOracle::on_sent(Time now, NodeId from, NodeId to, const Message& message) {
  const auto* order = std::get_if<Order>(&message);
  if (order == nullptr || !order->beat) return;
  counted();
  judge_addressee(now, from, to, *order);
  const auto superseded = superseded_.find(order->lead);
  if (superseded == superseded_.end()) return;
  const auto link = links_.find({from, to});
  if (link == links_.end()) return;
  const std::deque<Arrival>& arrivals = link->second.arrivals;
  const auto arrival =
      std::lower_bound(arrivals.begin(), arrivals.end(), order->beat,
                       [](const Arrival& a, BeatNo beat) { return a.beat < beat; });
  if (arrival == arrivals.end() || arrival->beat != order->beat) return;
  if (arrival->event > superseded->second) {
    violated(now,
             {.agent = order->from,
              .expected = fmt::format("no acknowledgement under record {}, superseded at event {}",
                                      order->lead.record.value, grouped(superseded->second)),
              .found = fmt::format("beat {} of node {}, which arrived at event {}",
                                   order->beat.value, to.value, grouped(arrival->event))});
  }
}

}  // namespace elastic::chaos
