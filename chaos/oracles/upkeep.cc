#include "chaos/oracles/upkeep.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/account/account.h"
#include "chaos/oracles/narrator.h"
#include "chaos/oracles/truth.h"

namespace elastic::chaos {
namespace {

constexpr Duration kLookEvery{std::chrono::seconds(5)};
constexpr Duration kAccountEvery{std::chrono::minutes(1)};

}  // namespace

// ---- accounted
// -----------------------------------------------------------------------------------

AccountedOracle::AccountedOracle(Bench bench)
    : Oracle({.name = "accounted",
              .title = "an agent is nowhere",
              .promise = "An agent is in a round, names the reason why it is not, or ends within a "
                         "bound; after the Verdict it ends.",
              .kind = ViolationKind::kLiveness,
              .interests = kOnEvent},
             std::move(bench)),
      nameless_since_(config().nodes.size(), kEndOfTime) {}

// Stopping workers takes the grace; to learn of the Verdict takes a coordinator (the host of the
// journal stays for the last one), that is an election with back-off; then a lease, for those not
// heard.
Duration AccountedOracle::bound() const {
  return with_drift(job().stop_grace) + (timeouts().election_max + timeouts().canvass) * 8 +
         with_drift(timeouts().lease) + with_drift(timeouts().orphan) + job().bounds.journal * 4 +
         std::chrono::seconds(10);
}

void AccountedOracle::judge(Time now, NodeId node) {
  Time& since = nameless_since_[node.value - 1];
  const std::optional<WorldView::Told> told = view().told_by(node);
  if (!told) {
    since = kEndOfTime;
    return;
  }
  const Time calm = truth().calm_since(now, told->self);
  const Time undisturbed = truth().undisturbed_since(now, told->self);
  counted();
  // Who cannot hear of the Verdict any more, because coordinator and host have gone, gives up the
  // journal.
  if (truth().verdict() != nullptr && undisturbed != kEndOfTime &&
      now - std::max(truth().verdict_at(), undisturbed) > bound() + job().journal_lost_after) {
    violated(now, {.agent = told->self,
                   .expected = "the agent ends within " + in_words(bound()) + " of the Verdict",
                   .found = "it runs " + in_words(now - truth().verdict_at()) + " after it"});
  }
  const bool named = told->in_round || told->wait != WaitReason::kNone;
  if (named || calm == kEndOfTime) {
    since = kEndOfTime;
    return;
  }
  if (since == kEndOfTime) since = now;
  if (now - since <= bound()) return;
  violated(now, {.agent = told->self,
                 .expected = "a round, or a reason to wait",
                 .found = "neither for " + in_words(now - since)});
}

void AccountedOracle::on_event(Time now) {
  if (now < look_at_) return;
  look_at_ = now + kLookEvery;
  for (std::uint64_t node = 1; node <= nameless_since_.size(); ++node) judge(now, NodeId{node});
}

// ---- messages
// ------------------------------------------------------------------------------------

MessagesOracle::MessagesOracle(Bench bench)
    : Oracle(
          {.name = "messages",
           .title = "a change cost too many messages",
           .promise = "The messages of a change of membership grow with the number of nodes, not "
                      "with its square.",
           .interests = kOnNote | kOnRecord | kOnSent},
          std::move(bench)),
      last_beat_(config().nodes.size(), Time{}) {}

void MessagesOracle::on_note(Time now, AgentId /*by*/, const Note& note) {
  const bool changes = note.kind == NoteKind::kAskLeave || note.kind == NoteKind::kNodeLost;
  if (changes && !asked_at_) asked_at_ = now;
}

void MessagesOracle::on_sent(Time now, NodeId from, NodeId /*to*/, const Message& message) {
  if (const auto* beat = std::get_if<Beat>(&message)) {
    const std::size_t index = static_cast<std::size_t>(from.value) - 1;
    if (index >= last_beat_.size()) return;
    const bool periodic = now - last_beat_[index] >= timeouts().beat / 2;
    last_beat_[index] = now;
    static_cast<void>(beat);
    if (!periodic && asked_at_) ++extra_;
    return;
  }
  if (const auto* canvass = std::get_if<Canvass>(&message)) {
    candidacies_.insert({canvass->from, canvass->attempt});
    if (!asked_at_) asked_at_ = now;
    ++extra_;
    return;
  }
  const auto* order = std::get_if<Order>(&message);
  const bool announces = order != nullptr && !order->beat;
  if ((announces || std::holds_alternative<Hearing>(message)) && asked_at_) ++extra_;
}

void MessagesOracle::on_record(Time now, const NumberedRecord& numbered, JournalLife /*life*/) {
  if (!std::holds_alternative<World>(numbered.record.body)) return;
  const std::uint64_t machines = std::max<std::uint64_t>(truth().machines_up(), 1);
  const auto seconds =
      asked_at_ ? static_cast<std::uint64_t>((now - *asked_at_) / std::chrono::seconds(1)) : 0;
  const std::uint64_t allowed = machines * (kPerNode * (1 + seconds) + 2 * candidacies_.size());
  if (asked_at_) {
    counted();
    changes_.push_back({static_cast<std::uint32_t>(machines), extra_});
    if (extra_ > allowed) {
      violated(now, {.agent = numbered.record.writer,
                     .expected = fmt::format("at most {} messages for a change among {} machines",
                                             grouped(allowed), machines),
                     .found = grouped(extra_)});
    }
  }
  extra_ = 0;
  candidacies_.clear();
  asked_at_.reset();
}

// ---- invariants
// ----------------------------------------------------------------------------------

InvariantsOracle::InvariantsOracle(Bench bench)
    : Oracle({.name = "invariants",
              .title = "a machine broke its invariants",
              .promise = "Every machine keeps its own invariants after every step.",
              .interests = kOnEvent},
             std::move(bench)) {}

void InvariantsOracle::on_event(Time /*now*/) { counted(); }

// ---- account
// -------------------------------------------------------------------------------------

AccountOracle::AccountOracle(Bench bench, const Account* account)
    : Oracle({.name = "account",
              .title = "the account of time does not add up",
              .promise = "The parts of the job's time sum to the whole, to the nanosecond.",
              .interests = account == nullptr ? 0U : static_cast<unsigned>(kOnEvent)},
             std::move(bench)),
      account_(account) {}

void AccountOracle::judge(Time now) {
  const TimeParts parts = account_->parts(now);
  counted();
  const bool none_negative =
      std::min({parts.productive, parts.redone, parts.waiting, parts.reconfiguring, parts.saving,
                parts.below_minimum}) >= Duration::zero();
  if (parts.sum() == parts.whole && none_negative) return;
  violated(now, {.agent = {},
                 .expected = fmt::format("parts that sum to {} ns", parts.whole.count()),
                 .found = fmt::format("{} ns", parts.sum().count())});
}

void AccountOracle::on_event(Time now) {
  if (now < look_at_) return;
  look_at_ = now + kAccountEvery;
  judge(now);
}

void AccountOracle::finish(Time now) {
  if (account_ != nullptr) judge(now);
}

}  // namespace elastic::chaos
