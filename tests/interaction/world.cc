#include "tests/interaction/world.h"

#include <algorithm>
#include <cstdio>

#include "core/membership/hash.h"

namespace elastic::interaction {

bool Rule::matches(const std::vector<std::string>& kinds, NodeId sender, NodeId receiver) const {
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return false;
  if (sender == receiver && !(from && to)) return false;  // a node always reaches itself
  const auto fits = [](const std::optional<NodeId>& wanted, NodeId node) {
    return !wanted || *wanted == node;
  };
  if (fits(from, sender) && fits(to, receiver)) return true;
  return both_ways && fits(from, receiver) && fits(to, sender);
}

HandWorld::HandWorld(const JobConfig& job, const Timeouts& timeouts, std::uint32_t nodes, Pace pace)
    : job_(job), timeouts_(timeouts), pace_(pace) {
  for (std::uint32_t i = 1; i <= nodes; ++i) slots_[NodeId{i}];
}

std::string HandWorld::take_output() { return std::exchange(output_, {}); }

void HandWorld::say(const std::string& text) {
  output_ += text + "\n";
  if (!watched_.empty() && text.find(watched_) != std::string::npos) seen_ = true;
}

void HandWorld::line(NodeId node, const std::string& text) {
  const auto ms = now_.time_since_epoch() / std::chrono::milliseconds(1);
  char head[32];
  std::snprintf(head, sizeof head, "%4lld.%03lld  ", static_cast<long long>(ms / 1000),
                static_cast<long long>(ms % 1000));
  say(head + (node ? Names::node(node) : std::string("journal")) + " " + text);
}

void HandWorld::at(Duration after, std::function<void()> what) {
  events_[{now_ + std::max(after, Duration(0)), ++sequence_}] = std::move(what);
}

void HandWorld::at_agent(NodeId node, Duration after, Input input_later) {
  const std::uint64_t life = slot(node).life;
  at(after, [this, node, life, input_later] {
    if (slot(node).life == life) input(node, input_later);
  });
}

bool HandWorld::run_next(Time limit) {
  if (events_.empty() || events_.begin()->first.first > limit) return false;
  const auto event = events_.extract(events_.begin());
  now_ = event.key().first;
  event.mapped()();
  return true;
}

void HandWorld::run(Duration length) {
  const Time end = now_ + length;
  while (run_next(end)) {
  }
  now_ = end;
}

bool HandWorld::until(const std::string& text, Duration limit) {
  watched_ = text;
  seen_ = false;
  const Time end = now_ + limit;
  while (!seen_ && run_next(end)) {
  }
  watched_.clear();
  return seen_;
}

std::vector<NodeId> HandWorld::nodes() const {
  std::vector<NodeId> all;
  for (const auto& [node, unused] : slots_) all.push_back(node);
  return all;
}

void HandWorld::start(NodeId node) {
  Slot& s = slot(node);
  ++s.life;
  s.node.emplace(job_, timeouts_);
  s.frozen = false;
  s.waiting.clear();
  s.timers.clear();
  s.tapes.emplace_back();
  Start begin;
  begin.self = {node, AgentLife{s.life}};
  begin.seed = node.value * 1000 + s.life;
  for (const auto& [other, unused] : slots_) {
    if (other != node) begin.contacts.push_back(other);
  }
  line(node, s.life == 1 ? "starts" : "starts again");
  input(node, begin);
}

void HandWorld::kill_machine(NodeId node) {
  Slot& s = slot(node);
  line(node, "is gone");
  s.node.reset();
  s.frozen = false;
  ++s.workers.generation;
  const bool manual = s.workers.manual;
  const std::uint64_t generation = s.workers.generation;
  s.workers = {};
  s.workers.manual = manual;
  s.workers.generation = generation;
}

void HandWorld::kill_agent(NodeId node) {
  Slot& s = slot(node);
  line(node, "agent is killed");
  s.node.reset();
  s.frozen = false;
  if (s.workers.tree) {
    tree_step(node, AgentGone{});
  } else {
    ++s.workers.generation;
    s.workers.ranks.clear();  // native workers die with their agent
    s.workers.held.reset();
    s.workers.round = {};
    s.workers.entered = false;
  }
}

void HandWorld::freeze(NodeId node) {
  line(node, "agent freezes");
  slot(node).frozen = true;
}

void HandWorld::thaw(NodeId node) {
  line(node, "agent goes on");
  Slot& s = slot(node);
  s.frozen = false;
  for (const Input& waited : std::exchange(s.waiting, {})) input(node, waited);
}

void HandWorld::lose_file(NodeId node) {
  line(node, "journal file is lost");
  slot(node).file.reset();
}

void HandWorld::input(NodeId node, Input given) {
  Slot& s = slot(node);
  if (!s.node) return;
  if (s.frozen) {
    s.waiting.push_back(std::move(given));
    return;
  }
  Effects effects;
  const std::uint64_t life = s.life;
  s.node->step(now_, given, effects);
  s.node->check();
  s.tapes.back().push_back({now_, given, full_text(effects), s.node->digest()});
  for (const Effect& effect : effects) {
    carry_out(node, effect);
    if (!s.node || s.life != life) return;
  }
}

void HandWorld::carry_out(NodeId node, const Effect& effect) {
  const std::string text = names_.effect(effect);
  if (!text.empty()) line(node, text);
  Slot& s = slot(node);
  if (const auto* as_send = std::get_if<Send>(&effect)) {
    send(node, *as_send);
  } else if (const auto* arm = std::get_if<ArmTimer>(&effect)) {
    const std::uint64_t token = ++sequence_;
    s.timers[arm->timer] = token;
    const TimerId timer = arm->timer;
    const std::uint64_t life = s.life;
    at(arm->after, [this, node, life, timer, token] {
      Slot& then = slot(node);
      if (then.life != life || !then.node) return;
      const auto armed = then.timers.find(timer);
      if (armed == then.timers.end() || armed->second != token) return;
      then.timers.erase(armed);
      input(node, TimerFired{timer});
    });
  } else if (const auto* cancel = std::get_if<CancelTimer>(&effect)) {
    s.timers.erase(cancel->timer);
  } else if (const auto* ask = std::get_if<AskJournal>(&effect)) {
    ask_journal(node, ask->ask);
  } else if (std::holds_alternative<ReadJournalFile>(effect)) {
    read_file(node);
  } else if (const auto* write = std::get_if<WriteJournalFile>(&effect)) {
    write_file(node, *write);
  } else if (const auto* emptied = std::get_if<EmptyRecords>(&effect)) {
    for (const RecordNo number : emptied->records) {
      if (s.file && number.value <= s.file->records.size()) {
        s.file->records[number.value - 1].record.body = Emptied{};
      }
    }
  } else if (std::holds_alternative<ReadMarker>(effect)) {
    answer_save(node, MarkerRead{marker_});
  } else if (const auto* put = std::get_if<PutMarker>(&effect)) {
    if (storage_hangs_.contains(node)) {
      storage_markers_.emplace_back(AgentId{node, AgentLife{s.life}}, put->marker);
    } else {
      put_marker(node, put->marker);
    }
  } else if (std::holds_alternative<Exit>(effect)) {
    s.node.reset();
  } else {
    carry_out_workers(node, effect);
  }
}

void HandWorld::send(NodeId from, const Send& given) {
  const std::vector<std::string> kinds = kinds_of(given.message);
  bool shown = shown_["messages"];
  for (const std::string& kind : kinds) shown = shown || shown_[kind];
  if (shown) line(from, "-> " + Names::node(given.to) + ": " + names_.message(given.message));
  int copies = 1;
  for (const Rule& rule : rules_) {
    if (!rule.matches(kinds, from, given.to)) continue;
    if (rule.action == Rule::Action::kDrop) return;
    if (rule.action == Rule::Action::kTwice) copies = 2;
    if (rule.action == Rule::Action::kHold) {
      held_.push_back({from, given.to, given.message});
      line(from, "-> " + Names::node(given.to) + " held as (" + std::to_string(held_.size()) +
                     "): " + names_.message(given.message));
      return;
    }
  }
  for (int i = 0; i < copies; ++i) {
    at(pace_.message,
       [this, from, to = given.to, message = given.message] { arrive(from, to, message); });
  }
}

void HandWorld::arrive(NodeId from, NodeId to, const Message& message) {
  if (slots_.contains(to)) input(to, Received{from, message});
}

void HandWorld::list_held() {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    say("(" + std::to_string(i + 1) + ") " + Names::node(held_[i].from) + " -> " +
        Names::node(held_[i].to) + ": " + names_.message(held_[i].message));
  }
}

bool HandWorld::deliver_held(std::size_t number) {
  if (number == 0 || number > held_.size()) return false;
  const Held chosen = held_[number - 1];
  line(chosen.to, "receives (" + std::to_string(number) + ") from " + Names::node(chosen.from));
  arrive(chosen.from, chosen.to, chosen.message);
  return true;
}

void HandWorld::status() {
  for (auto& [node, s] : slots_) {
    std::string text = Names::node(node) + " ";
    if (!s.node) {
      text += s.life == 0 ? "not started" : "gone";
      if (s.workers.tree && !s.workers.ranks.empty()) text += "; its tree is left";
      say(text);
      continue;
    }
    const Agent& agent = s.node->agent();
    text += state_name(agent.state());
    if (agent.placed()) text += " " + names_.round(agent.placed());
    if (s.workers.held) text += ", holds step " + std::to_string(s.workers.held->step.value);
    if (agent.state() != AgentState::kRunning) {
      text += std::string(", waits for ") + wait_name(agent.waiting());
    }
    if (s.node->leading()) text += ", leads";
    if (s.frozen) text += ", frozen";
    say(text);
  }
}

std::string HandWorld::full_text(const Effects& effects) const {
  Names names;
  std::string text;
  for (const Effect& effect : effects) {
    text += std::to_string(effect.index()) + ":" + names.effect(effect);
    if (const auto* as_send = std::get_if<Send>(&effect)) {
      Hash hash;
      hash(as_send->to, as_send->message);
      text += std::to_string(hash.value());
    }
    if (const auto* arm = std::get_if<ArmTimer>(&effect)) {
      text +=
          std::to_string(static_cast<int>(arm->timer)) + "+" + std::to_string(arm->after.count());
    }
    text += ";";
  }
  return text;
}

std::vector<std::string> HandWorld::replay() const {
  std::vector<std::string> differences;
  for (const auto& [node, s] : slots_) {
    for (const auto& tape : s.tapes) {
      Node fresh(job_, timeouts_);
      for (std::size_t i = 0; i < tape.size(); ++i) {
        Effects effects;
        fresh.step(tape[i].now, tape[i].input, effects);
        if (full_text(effects) == tape[i].effects && fresh.digest() == tape[i].digest) continue;
        differences.push_back(Names::node(node) + ", input " + std::to_string(i) +
                              ": a replay has other effects or another digest");
        break;
      }
    }
  }
  return differences;
}

}  // namespace elastic::interaction
