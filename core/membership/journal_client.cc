#include "core/membership/journal_client.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/math/random.h"
#include "core/membership/hash.h"
#include "core/mutants.h"

namespace elastic {

void JournalView::apply(const NumberedRecord& entry) {
  ELASTIC_ASSERT(entry.number.value == last.value + 1);
  last = entry.number;  // also of what was emptied
  const auto& body = entry.record.body;
  if (const auto* as_lead = std::get_if<Lead>(&body)) {
    lead = {life, entry.number};
    leader = as_lead->leader;
  } else if (const auto* as_world = std::get_if<World>(&body)) {
    world = *as_world;
    world_record = entry.number;
  } else if (const auto* as_checkpoint = std::get_if<Checkpoint>(&body)) {
    checkpoint = *as_checkpoint;
    ELASTIC_ASSERT(saves.empty() || saves.front().record < entry.number);  // newest first
    checkpoint_record = entry.number;
    saves.insert(saves.begin(), {entry.number, *as_checkpoint});
  } else if (const auto* retire = std::get_if<Retire>(&body)) {
    last_retired.clear();
    std::erase_if(saves, [&](const CommittedSave& save) {
      const bool gone =
          std::find(retire->saves.begin(), retire->saves.end(), save.record) != retire->saves.end();
      if (gone) last_retired.push_back(save);
      return gone;
    });
  } else if (const auto* as_verdict = std::get_if<Verdict>(&body)) {
    verdict = *as_verdict;
  }
}

bool JournalView::has_save(RecordNo record) const {
  return std::any_of(saves.begin(), saves.end(),
                     [record](const CommittedSave& save) { return save.record == record; });
}

JournalClient::JournalClient(const JobConfig& job, const Timeouts& timeouts)
    : job_(job), timeouts_(timeouts) {}

void JournalClient::start(AgentId self, std::uint64_t seed) {
  self_ = self;
  seed_ = seed;
  // Requests are numbered from a drawn place on: over a hosted journal, an answer may arrive that
  // an earlier life of this node did not live to see.
  const std::uint64_t drawn = math::draw(math::Seed{seed}, math::Stream{0x7265717565737473ULL}, 0);
  requests_ = drawn >> 25U << 24U;  // the lower bits count
}

void JournalClient::hold(JournalLife life) {
  if (life && !view_.life) view_.life = life;
  ELASTIC_ASSERT(!life || life == view_.life);
  holding_ = life;
}

RequestId JournalClient::next_request() { return RequestId{++requests_}; }

void JournalClient::send(const JournalAsk& ask, Effects& effects) const {
  if (job_.journal == JournalKind::kHosted) {
    effects.push_back(Send{job_.journal_host, ask});
  } else {
    effects.push_back(AskJournal{ask});
  }
}

void JournalClient::arm(Effects& effects) {
  effects.push_back(ArmTimer{TimerId::kJournal, timeouts_.journal_retry});
}

void JournalClient::ask_read(Time now, Effects& effects) {
  ELASTIC_ASSERT(flying_ticket_ == 0);  // one read at a time
  ELASTIC_ASSERT(tickets_ > 0);
  flying_ticket_ = tickets_;
  flying_contacts_ = contacts_wanted_;
  flying_first_ = RequestId{requests_ + 1};
  send_read(now, effects);
}

void JournalClient::send_read(Time now, Effects& effects) {
  ELASTIC_ASSERT(flying_ticket_ != 0);
  flying_read_ = next_request();
  read_asked_ = now;
  ELASTIC_ASSERT(flying_first_ <= flying_read_);
  JournalAsk ask;
  ask.from = self_;
  ask.request = flying_read_;
  ask.holding = holding_;
  ask.from_record = RecordNo{view_.last.value + 1};
  ask.want_contacts = flying_contacts_;
  send(ask, effects);
  arm(effects);
}

void JournalClient::ask_append(Time now, Effects& effects) {
  ELASTIC_ASSERT(pending_.has_value());
  ELASTIC_ASSERT(pending_->number.value == view_.last.value + 1);
  append_after_read_ = false;
  flying_append_ = next_request();
  append_asked_ = now;
  JournalAsk ask;
  ask.from = self_;
  ask.request = flying_append_;
  ask.holding = view_.life;  // the number means nothing in another one
  ask.append = pending_;
  send(ask, effects);
  arm(effects);
}

std::uint64_t JournalClient::read(Time now, bool want_contacts, Effects& effects) {
  ++tickets_;
  contacts_wanted_ = contacts_wanted_ || want_contacts;
  if (flying_ticket_ == 0) ask_read(now, effects);
  return tickets_;
}

void JournalClient::append(Time now, decltype(Record::body) body, Effects& effects) {
  ELASTIC_ASSERT(!pending_.has_value());
  ELASTIC_ASSERT(!view_.verdict.has_value());
  Record record;
  record.writer = self_;
  const std::uint64_t index = ++nonces_;
  record.nonce = math::draw(math::Seed{seed_}, math::Stream{0x6a6f75726e616cULL}, index);
  record.body = std::move(body);
  pending_ = NumberedRecord{RecordNo{view_.last.value + 1}, std::move(record)};
  ask_append(now, effects);
}

void JournalClient::abandon() {
  pending_.reset();
  flying_append_ = {};
  append_after_read_ = false;
}

// An answer of another life: taken up if this node's workers hold nothing of the old one, else
// refused.
bool JournalClient::accept_life(const JournalAnswer& answer, JournalEvent& event) {
  if (!answer.journal) return false;
  if (answer.journal == view_.life) return true;
  if (!view_.life) {
    view_.life = answer.journal;
    return true;
  }
  if (holding_) {
    event.refused = true;
    return false;
  }
  if (answer.journal < view_.life) return false;
  view_ = {};
  view_.life = answer.journal;
  event.news = true;
  event.append_lost = pending_.has_value();
  abandon();
  return true;
}

void JournalClient::settle_pending(const Record& read_there, JournalEvent& event) {
  ELASTIC_ASSERT(pending_.has_value());
  ELASTIC_ASSERT(!event.appended.has_value());
  ELASTIC_ASSERT(!event.append_lost);
  // What it held may have been emptied meanwhile; who wrote it, never.
  if (read_there.writer == pending_->record.writer && read_there.nonce == pending_->record.nonce) {
    ELASTIC_ASSERT(read_there == pending_->record ||
                   std::holds_alternative<Emptied>(read_there.body));
    event.appended = pending_->record;
  } else {
    event.append_lost = true;
  }
  abandon();
}

// An answer to an earlier asking was longer on its way than is known: it is left out.
void JournalClient::measure(Time now, RequestId request, Effects& effects) {
  const bool newest = request == flying_read_ || request == flying_append_;
  if (!newest) return;
  const Duration took = now - (request == flying_append_ ? append_asked_ : read_asked_);
  const bool hosted = job_.journal == JournalKind::kHosted;
  const Duration declared =
      job_.bounds.journal + (hosted ? job_.bounds.round_trip : Duration{}) + job_.bounds.pause;
  if (delays_.exceeds(took, declared)) {
    effects.push_back(delays_.note(self_.node, Bound::kJournal, declared));
  }
}

JournalEvent JournalClient::on_answer(Time now, const JournalAnswer& answer, Effects& effects) {
  JournalEvent event;
  const bool is_append = pending_.has_value() && flying_append_ && answer.request == flying_append_;
  const bool is_read = !is_append && flying_ticket_ != 0 && answer.request >= flying_first_ &&
                       answer.request <= flying_read_;
  if (!is_read && !is_append) return event;  // late: the request was given up
  const JournalLife before = view_.life;
  if (answer.outcome == JournalAnswer::Outcome::kRefused || !accept_life(answer, event)) {
    event.refused = event.refused || answer.outcome == JournalAnswer::Outcome::kRefused;
    return event;  // the timer asks again
  }
  last_answer_ = now;
  measure(now, answer.request, effects);
  if (is_append && !pending_) return event;  // of another life: the timer reads that one
  if (is_append) {
    flying_append_ = {};
    if (answer.outcome == JournalAnswer::Outcome::kCreated ||
        (ELASTIC_MUTANT("unknown_is_created") &&
         answer.outcome == JournalAnswer::Outcome::kUnknown)) {
      ELASTIC_ASSERT(pending_->number.value == view_.last.value + 1);
      const NumberedRecord entry = *pending_;
      view_.apply(entry);
      event.news = true;
      settle_pending(entry.record, event);
    } else if (ELASTIC_MUTANT("unknown_is_failure") &&
               answer.outcome == JournalAnswer::Outcome::kUnknown) {
      event.append_lost = true;
      abandon();
    } else {
      append_after_read_ = true;
      if (flying_ticket_ == 0) {
        ++tickets_;
        ask_read(now, effects);
      }
    }
    return event;
  }
  if (answer.outcome != JournalAnswer::Outcome::kRead) return event;
  const bool fresh = before == view_.life || before == JournalLife{};
  for (const NumberedRecord& entry : answer.records) {
    if (entry.number.value <= view_.last.value) continue;  // a created answer overtook this one
    if (entry.number.value != view_.last.value + 1) break;
    view_.apply(entry);
    event.news = true;
    if (pending_ && entry.number == pending_->number) settle_pending(entry.record, event);
  }
  event.contacts = answer.contacts;
  if (answer.more) {
    send_read(now, effects);  // the rest; whoever waits for this read waits on
    return event;
  }
  event.read_done = fresh ? flying_ticket_ : 0;
  if (flying_contacts_) contacts_wanted_ = false;
  const bool again = tickets_ > flying_ticket_ || !fresh;
  flying_ticket_ = 0;
  if (pending_ && append_after_read_) ask_append(now, effects);
  if (again) ask_read(now, effects);
  return event;
}

void JournalClient::on_timer(Time now, Effects& effects) {
  if (pending_ && (flying_append_ || append_after_read_)) {
    append_after_read_ = true;
    flying_append_ = {};
    if (flying_ticket_ != 0) return send_read(now, effects);
    ++tickets_;
    ask_read(now, effects);
  } else if (flying_ticket_ != 0) {
    send_read(now, effects);
  }
}

void JournalClient::check() const {
  ELASTIC_ASSERT(!pending_ || pending_->number.value == view_.last.value + 1);
  ELASTIC_ASSERT(flying_ticket_ <= tickets_);
  ELASTIC_ASSERT(flying_first_ <= flying_read_);
  ELASTIC_ASSERT(view_.lead.record <= view_.last);
  ELASTIC_ASSERT(!view_.last || view_.life);
  ELASTIC_ASSERT(!holding_ || holding_ == view_.life);
  ELASTIC_ASSERT(view_.saves.empty() || view_.saves.front().record <= view_.checkpoint_record);
}

std::uint64_t JournalClient::digest() const {
  Hash hash;
  hash(holding_, view_.life, view_.last, view_.lead, view_.leader, view_.world_record,
       view_.checkpoint_record, view_.verdict.has_value(), requests_, nonces_, tickets_,
       flying_ticket_, flying_first_, flying_read_, contacts_wanted_, flying_contacts_,
       flying_append_, append_after_read_, last_answer_, read_asked_, append_asked_, delays_.worst);
  hash(view_.saves, view_.last_retired);
  if (view_.world) hash(*view_.world);
  if (pending_) hash(*pending_);
  return hash.value();
}

}  // namespace elastic
