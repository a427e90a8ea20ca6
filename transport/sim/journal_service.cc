#include "transport/sim/journal_service.h"

#include <algorithm>

#include "core/assert.h"

namespace elastic::sim {
namespace {

constexpr Duration kContactAge = std::chrono::seconds(60);
constexpr std::size_t kMaxContacts = 1024;  // a candidate that knows this many knows enough

}  // namespace

JournalService::JournalService(const JournalModel& model, const Chance& chance, std::size_t nodes)
    : model_(model), chance_(chance), nodes_(nodes), asked_(nodes + 1), contacts_(nodes + 1) {
  const std::uint64_t drawn = chance_.draw(Purpose::kJournalLife, 0, 0) & 0xFFFFFFFFU;
  life_ = JournalLife{(std::uint64_t{1} << 32) | drawn};
}

bool JournalService::concerns(FaultKind kind) {
  return kind >= FaultKind::kJournalSlow && kind <= FaultKind::kJournalLate;
}

bool JournalService::unreachable(NodeId node) const {
  if (!inside_.empty() && !inside_.has(node)) return true;
  return std::any_of(effects_.begin(), effects_.end(), [&](const Effect& effect) {
    return effect.kind == FaultKind::kJournalUnreachable && effect.applies(node);
  });
}

std::pair<std::int64_t, Duration> JournalService::strongest(FaultKind kind, NodeId node) const {
  std::pair<std::int64_t, Duration> found{0, Duration{}};
  for (const Effect& effect : effects_) {
    if (effect.kind == kind && effect.applies(node) && effect.value > found.first)
      found = {effect.value, effect.length};
  }
  return found;
}

void JournalService::ask(Timeline& timeline, JournalAsk ask, std::uint32_t process) {
  const NodeId node = ask.from.node;
  const std::uint64_t index = asked_[node.value]++;
  if (unreachable(node)) return;
  Request request;
  request.service = (ask.append ? model_.append : model_.read) +
                    chance_.up_to(Purpose::kJournalTime, node.value, index, model_.jitter) +
                    Duration(strongest(FaultKind::kJournalSlow, node).first);
  request.ask = std::move(ask);
  request.process = process;
  request.index = index;
  const Duration half = request.service / 2;
  Event event{.kind = EventKind::kAskArrives, .node = static_cast<std::uint32_t>(node.value)};
  event.a = requests_.put(std::move(request));
  timeline.in(half, event);
}

bool JournalService::append(const NumberedRecord& record) {
  if (record.number.value != records_.size() + 1) return false;
  records_.push_back(record);
  return true;
}

JournalAnswer JournalService::perform(const Request& request,
                                      std::optional<NumberedRecord>& landed) {
  JournalAnswer answer;
  answer.request = request.ask.request;
  answer.journal = life_;
  if (request.ask.holding && request.ask.holding != life_) {
    answer.outcome = JournalAnswer::Outcome::kRefused;
    return answer;
  }
  if (request.ask.append) {
    const bool created = append(*request.ask.append);
    answer.outcome = created ? JournalAnswer::Outcome::kCreated : JournalAnswer::Outcome::kTaken;
    if (created) landed = *request.ask.append;
    return answer;
  }
  answer.outcome = JournalAnswer::Outcome::kRead;
  const std::uint64_t from = std::max<std::uint64_t>(request.ask.from_record.value, 1);
  for (std::uint64_t at = from; at <= records_.size(); ++at)
    answer.records.push_back(records_[at - 1]);
  return answer;
}

void JournalService::note_contact(AgentId asker, Time now) {
  contacts_[asker.node.value] = {now, asker};
}

std::vector<AgentId> JournalService::contacts(Time now) const {
  std::vector<std::pair<Time, AgentId>> found;
  for (const auto& contact : contacts_) {
    if (contact.second && now - contact.first <= kContactAge) found.push_back(contact);
  }
  std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) {
    return x.first != y.first ? x.first > y.first : x.second < y.second;
  });
  if (found.size() > kMaxContacts) found.resize(kMaxContacts);
  std::vector<AgentId> agents;
  agents.reserve(found.size());
  for (const auto& contact : found) agents.push_back(contact.second);
  return agents;
}

// The append is answered "unknown": it happened or not, or (late) it happens some time later.
void JournalService::unsure(Timeline& timeline, std::uint32_t slot, bool late, Duration within,
                            std::optional<NumberedRecord>& landed) {
  Request& request = requests_.at(slot);
  const std::uint64_t node = request.ask.from.node.value;
  if (late) {
    Event event{.kind = EventKind::kLateAppend, .node = static_cast<std::uint32_t>(node)};
    Request copy = request;
    event.a = requests_.put(std::move(copy));
    const Duration after =
        chance_.up_to(Purpose::kJournalLanding, node, requests_.at(slot).index, within);
    timeline.in(after, event);
  } else if ((chance_.draw(Purpose::kJournalHappened, node, request.index) & 1) != 0) {
    if (append(*request.ask.append)) landed = *request.ask.append;
  }
  JournalAnswer& answer = requests_.at(slot).answer;
  answer = JournalAnswer{};
  answer.request = requests_.at(slot).ask.request;
  answer.outcome = JournalAnswer::Outcome::kUnknown;
  answer.journal = life_;
}

std::optional<NumberedRecord> JournalService::execute(Timeline& timeline, const Event& event) {
  const auto slot = static_cast<std::uint32_t>(event.a);
  std::optional<NumberedRecord> landed;
  const NodeId node = requests_.at(slot).ask.from.node;
  if (event.kind == EventKind::kLateAppend) {
    const NumberedRecord record = *requests_.at(slot).ask.append;
    requests_.drop(slot);
    if (append(record)) landed = record;
    return landed;
  }
  if (unreachable(node)) {
    requests_.drop(slot);
    return landed;
  }
  note_contact(requests_.at(slot).ask.from, timeline.now);
  const auto happens = [&](Purpose purpose, std::int64_t ppm) {
    if (ppm <= 0 || !requests_.at(slot).ask.append) return false;
    const std::uint64_t drawn = chance_.draw(purpose, node.value, requests_.at(slot).index);
    return math::chance_ppm(drawn, static_cast<std::uint64_t>(ppm));
  };
  const auto late = strongest(FaultKind::kJournalLate, node);
  const auto unknown = strongest(FaultKind::kJournalUnknown, node);
  if (happens(Purpose::kJournalLate, late.first)) {
    unsure(timeline, slot, true, late.second, landed);
  } else if (happens(Purpose::kJournalUnknown, unknown.first)) {
    unsure(timeline, slot, false, Duration{}, landed);
  } else {
    Request& request = requests_.at(slot);
    request.answer = perform(request, landed);
    if (request.ask.want_contacts) request.answer.contacts = contacts(timeline.now);
  }
  const Duration service = requests_.at(slot).service;
  Event back{.kind = EventKind::kAskAnswered, .node = static_cast<std::uint32_t>(node.value)};
  back.a = slot;
  timeline.in(service - service / 2, back);
  return landed;
}

std::optional<JournalService::Answered> JournalService::answered(const Event& event) {
  Request request = requests_.take(static_cast<std::uint32_t>(event.a));
  const NodeId node = request.ask.from.node;
  if (unreachable(node)) return std::nullopt;
  return Answered{node, request.process, std::move(request.answer)};
}

void JournalService::begin(std::uint64_t number, const Fault& fault) {
  ELASTIC_ASSERT(concerns(fault.kind));
  effects_.push_back(
      {number, fault.kind, NodeSet(fault.targets, nodes_), fault.value, fault.length});
}

void JournalService::end(std::uint64_t number) {
  std::erase_if(effects_, [&](const Effect& effect) { return effect.number == number; });
}

void JournalService::end_all() { effects_.clear(); }

void JournalService::cut_off_all_but(const std::vector<NodeId>& inside) {
  inside_ = NodeSet(inside, nodes_);
}

}  // namespace elastic::sim
