#include "tests/interaction/script.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/interaction/world.h"

namespace elastic::interaction {
namespace {

using Words = std::vector<std::string>;
using std::chrono::milliseconds;
constexpr Duration kUntilLimit = std::chrono::minutes(3);

struct Trouble {
  std::string text;
};

std::uint64_t to_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Trouble{"'" + text + "' is no number"};
  }
  return value;
}

// 20ms, 5s, 3m, 2h.
Duration to_duration(const std::string& text) {
  const auto digits = text.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  const auto value = static_cast<std::int64_t>(to_number(text.substr(0, digits)));
  if (unit == "ms") return milliseconds(value);
  if (unit == "s") return std::chrono::seconds(value);
  if (unit == "m") return std::chrono::minutes(value);
  if (unit == "h") return std::chrono::hours(value);
  throw Trouble{"'" + text + "' is no length of time (20ms, 5s, 3m, 2h)"};
}

Words words_of(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  std::string word;
  while (stream >> word) words.push_back(word);
  return words;
}

class Player {
 public:
  void command(const std::string& line);
  std::string output() { return world_ ? world_->take_output() : ""; }
  HandWorld* world() { return world_.get(); }

 private:
  struct Command {
    const char* name;
    void (Player::*run)(const Words&);
  };
  static const std::vector<Command>& commands();

  HandWorld& w() {
    if (!world_) throw Trouble{"the first command must be `job`"};
    return *world_;
  }
  NodeId node(const std::string& text) {
    const NodeId id{to_number(text)};
    const auto all = w().nodes();
    if (std::find(all.begin(), all.end(), id) == all.end()) throw Trouble{"no node " + text};
    return id;
  }
  const std::string& word(const Words& words, std::size_t index) {
    if (index >= words.size()) throw Trouble{"'" + words[0] + "' needs more words"};
    return words[index];
  }
  std::vector<NodeId> nodes_from(const Words& words, std::size_t first) {
    if (words.size() > first && words[first] == "all") return w().nodes();
    std::vector<NodeId> some;
    for (std::size_t i = first; i < words.size(); ++i) some.push_back(node(words[i]));
    return some;
  }
  void each(const Words& words, void (HandWorld::*what)(NodeId)) {
    for (const NodeId one : nodes_from(words, 1)) (w().*what)(one);
  }

  void job(const Words& words);
  void setting(const std::string& key, const std::string& value);
  void rule(const Words& words);
  void run(const Words& words) { w().run(to_duration(word(words, 1))); }
  void until(const Words& words);
  void start(const Words& words) { each(words, &HandWorld::start); }
  void kill(const Words& words) { each(words, &HandWorld::kill_machine); }
  void kill_agent(const Words& words) { each(words, &HandWorld::kill_agent); }
  void freeze(const Words& words) { each(words, &HandWorld::freeze); }
  void thaw(const Words& words) { each(words, &HandWorld::thaw); }
  void lose_file(const Words& words) { each(words, &HandWorld::lose_file); }
  void apply(const Words& words) { each(words, &HandWorld::apply); }
  void entered(const Words& words) { each(words, &HandWorld::tell_entered); }
  void left(const Words& words) { each(words, &HandWorld::tell_left); }
  void prepared(const Words& words) { each(words, &HandWorld::tell_prepared); }
  void status(const Words&) { w().status(); }
  void clear(const Words&) { w().clear_rules(); }
  void steps(const Words& words) { w().steps(to_number(word(words, 1))); }
  void save(const Words& words) { w().save(nodes_from(words, words.size() > 1 ? 2 : 1)); }
  void finish(const Words& words) { w().finish(nodes_from(words, 1)); }
  void manual(const Words& words) {
    for (const NodeId one : nodes_from(words, 1)) w().manual(one, true);
  }
  void automatic(const Words& words) {
    for (const NodeId one : nodes_from(words, 1)) w().manual(one, false);
  }
  void exit(const Words& words);
  void silent(const Words& words) {
    w().say_silent(node(word(words, 1)), static_cast<std::uint32_t>(to_number(word(words, 2))));
  }
  // arrives N BYTES: with each pulse of its workers, of the state that they are filled with.
  void arrives(const Words& words) { w().arrive(node(word(words, 1)), to_number(word(words, 2))); }
  void edge(const Words& words);
  void rot(const Words& words);
  void storage(const Words& words);
  void notice(const Words& words) {
    w().input(node(word(words, 1)), LeaveNotice{to_duration(word(words, 2))});
  }
  void stop_job(const Words& words) { w().input(node(word(words, 1)), StopJob{}); }
  void closed(const Words& words) {
    w().input(node(word(words, 1)), PeerClosed{node(word(words, 2))});
  }
  void held(const Words&) { w().list_held(); }
  void deliver(const Words& words);
  void show(const Words& words) { w().show(word(words, 1), true); }
  void hide(const Words& words) { w().show(word(words, 1), false); }
  void journal(const Words& words);

  JobConfig job_;
  std::uint32_t nodes_ = 3;
  Pace pace_;
  std::unique_ptr<HandWorld> world_;
};

const std::vector<Player::Command>& Player::commands() {
  static const std::vector<Command> all = {
      {"job", &Player::job},
      {"run", &Player::run},
      {"until", &Player::until},
      {"start", &Player::start},
      {"kill", &Player::kill},
      {"kill-agent", &Player::kill_agent},
      {"freeze", &Player::freeze},
      {"thaw", &Player::thaw},
      {"lose-file", &Player::lose_file},
      {"apply", &Player::apply},
      {"entered", &Player::entered},
      {"left", &Player::left},
      {"prepared", &Player::prepared},
      {"status", &Player::status},
      {"steps", &Player::steps},
      {"save", &Player::save},
      {"finish", &Player::finish},
      {"rot", &Player::rot},
      {"storage", &Player::storage},
      {"manual", &Player::manual},
      {"automatic", &Player::automatic},
      {"exit", &Player::exit},
      {"silent", &Player::silent},
      {"arrives", &Player::arrives},
      {"edge", &Player::edge},
      {"notice", &Player::notice},
      {"stop-job", &Player::stop_job},
      {"closed", &Player::closed},
      {"held", &Player::held},
      {"deliver", &Player::deliver},
      {"show", &Player::show},
      {"hide", &Player::hide},
      {"journal", &Player::journal},
      {"drop", &Player::rule},
      {"hold", &Player::rule},
      {"twice", &Player::rule},
      {"clear", &Player::clear},
  };
  return all;
}

void Player::command(const std::string& line) {
  const Words words = words_of(line);
  if (words.empty()) throw Trouble{"an empty command"};
  for (const Command& known : commands()) {
    if (words[0] == known.name) return (this->*known.run)(words);
  }
  throw Trouble{"no command '" + words[0] + "'"};
}

void Player::job(const Words& words) {
  if (world_) throw Trouble{"`job` comes once"};
  job_.min_nodes = 2;
  job_.max_nodes = 4;
  job_.journal = JournalKind::kExternal;
  job_.bounds.start_up = std::chrono::seconds(10);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    setting(words[i].substr(0, equals),
            equals == std::string::npos ? "" : words[i].substr(equals + 1));
  }
  const auto derived = derive_timeouts(job_);
  if (const auto* refusal = std::get_if<Refusal>(&derived)) throw Trouble{refusal->message};
  const Timeouts timeouts = std::get<Timeouts>(derived);
  world_ = std::make_unique<HandWorld>(job_, timeouts, nodes_, pace_);
  const auto ms = [](Duration d) { return std::to_string(d / milliseconds(1)) + "ms"; };
  world_->say("beat " + ms(timeouts.beat) + ", lost after " + ms(timeouts.lost_after) + ", lease " +
              ms(timeouts.lease) + ", orphan bound " + ms(timeouts.orphan));
}

void Player::setting(const std::string& key, const std::string& value) {
  const auto number = [&] { return static_cast<std::uint32_t>(to_number(value)); };
  const auto length = [&] { return to_duration(value); };
  const std::vector<std::pair<const char*, std::function<void()>>> known = {
      {"nodes", [&] { nodes_ = number(); }},
      {"min", [&] { job_.min_nodes = number(); }},
      {"max", [&] { job_.max_nodes = number(); }},
      {"unit", [&] { job_.node_unit = number(); }},
      {"workers", [&] { job_.workers_per_node = number(); }},
      {"native", [&] { job_.workers = WorkerKind::kNative; }},
      {"foreign", [&] { job_.workers = WorkerKind::kForeign; }},
      {"external", [&] { job_.journal = JournalKind::kExternal; }},
      {"hosted", [&] { job_.journal = JournalKind::kHosted, job_.journal_host = {number()}; }},
      {"detection", [&] { job_.detection_target = length(); }},
      {"orphan", [&] { job_.orphan_bound = length(); }},
      {"journal-lost", [&] { job_.journal_lost_after = length(); }},
      {"last-call", [&] { job_.last_call = length(); }},
      {"last-call-cap", [&] { job_.last_call_cap = length(); }},
      {"join-timeout", [&] { job_.join_timeout = length(); }},
      {"no-growth", [&] { job_.growth = Growth::kNever; }},
      {"growth-pays", [&] { job_.growth = Growth::kPays; }},
      {"growth-interval", [&] { job_.growth_pays.interval = length(); }},
      {"total-steps", [&] { job_.growth_pays.total_steps = number(); }},
      {"churn", [&] { job_.max_churn = number(); }},
      {"back-off", [&] { job_.restart_back_off.base = length(); }},
      {"churn-back-off", [&] { job_.churn_back_off.base = length(); }},
      {"back-off-cap", [&] { job_.restart_back_off.cap = job_.churn_back_off.cap = length(); }},
      {"budget-reset", [&] { job_.budget_reset = length(); }},
      {"no-progress", [&] { job_.no_progress.failures = number(); }},
      {"min-healthy", [&] { job_.health.min_healthy = number(); }},
      {"healthy-grace", [&] { job_.health.grace = length(); }},
      {"flaps", [&] { job_.flaps.tolerated = number(); }},
      {"flap-window", [&] { job_.flaps.window = length(); }},
      {"flap-longest", [&] { job_.flaps.longest = length(); }},
      {"cool-down", [&] { job_.cool_down = length(); }},
      {"resize-deadline", [&] { job_.resize_deadline = length(); }},
      {"exit-code-policy", [&] { job_.restart_policy = RestartPolicy::kExitCode; }},
      {"restarts", [&] { job_.max_restarts = number(); }},
      {"grace", [&] { job_.stop_grace = length(); }},
      {"keep-saves", [&] { job_.keep_saves = number(); }},
      {"start-up", [&] { job_.bounds.start_up = length(); }},
      {"stall", [&] { job_.bounds.transfer_stall = length(); }},
      {"step_bound", [&] { job_.bounds.step = length(); }},
      {"prepare", [&] { pace_.prepare = length(); }},
      {"enter", [&] { pace_.enter = length(); }},
      {"leave", [&] { pace_.leave = length(); }},
      {"term", [&] { pace_.exit = length(); }},
  };
  for (const auto& [name, set] : known) {
    if (key == name) return set();
  }
  throw Trouble{"no setting '" + key + "'"};
}

// drop|hold|twice KIND A->B, A<->B; * for any node.
void Player::rule(const Words& words) {
  Rule made;
  made.action = words[0] == "drop"   ? Rule::Action::kDrop
                : words[0] == "hold" ? Rule::Action::kHold
                                     : Rule::Action::kTwice;
  made.kind = word(words, 1);
  const std::string& path = word(words, 2);
  const auto arrow = path.find("->");
  if (arrow == std::string::npos) throw Trouble{"'" + path + "' is no path (1->2, *->3, 1<->2)"};
  made.both_ways = arrow > 0 && path[arrow - 1] == '<';
  const std::string from = path.substr(0, made.both_ways ? arrow - 1 : arrow);
  const std::string to = path.substr(arrow + 2);
  if (from != "*") made.from = node(from);
  if (to != "*") made.to = node(to);
  w().add_rule(made);
}

// until [within D] TEXT...
void Player::until(const Words& words) {
  std::size_t first = 1;
  Duration limit = kUntilLimit;
  if (word(words, 1) == "within") {
    limit = to_duration(word(words, 2));
    first = 3;
  }
  std::string text = word(words, first);
  for (std::size_t i = first + 1; i < words.size(); ++i) text += " " + words[i];
  if (!w().until(text, limit)) throw Trouble{"'" + text + "' did not come"};
}

// exit N [code=C|signal=S] [rank=R]
void Player::exit(const Words& words) {
  ExitStatus status{1, 0};
  std::uint32_t rank = 0;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const auto value = static_cast<std::uint32_t>(to_number(words[i].substr(equals + 1)));
    const std::string key = words[i].substr(0, equals);
    if (key == "code") status = {static_cast<std::int32_t>(value), 0};
    if (key == "signal") status = {0, static_cast<std::int32_t>(value)};
    if (key == "rank") rank = value;
  }
  w().exit_worker(node(word(words, 1)), rank, status);
}

// edge A B: workers of A cannot reach B in the round that A is in.
void Player::edge(const Words& words) {
  const NodeId a = node(word(words, 1));
  w().fail_edge(a, node(word(words, 2)));
}

// rot K: the save of record K is broken from now on.
void Player::rot(const Words& words) { w().rot(RecordNo{to_number(word(words, 1))}); }

// storage hangs|goes-on N: what N asks of it about saves is answered only when it goes on.
void Player::storage(const Words& words) {
  const NodeId who = node(word(words, 2));
  if (word(words, 1) == "hangs") return w().storage_hangs(who);
  if (word(words, 1) == "goes-on") return w().storage_goes_on(who);
  throw Trouble{"storage cannot '" + words[1] + "'"};
}

// deliver N... | all
void Player::deliver(const Words& words) {
  std::vector<std::size_t> numbers;
  if (word(words, 1) == "all") {
    for (std::size_t i = 1; i <= w().held(); ++i) numbers.push_back(i);
  } else {
    for (std::size_t i = 1; i < words.size(); ++i) numbers.push_back(to_number(words[i]));
  }
  for (const std::size_t number : numbers) {
    if (!w().deliver_held(number)) throw Trouble{"nothing is held as " + std::to_string(number)};
  }
}

// journal down|up [N]; unknown N lands|later|never; hold [N]; release; land
void Player::journal(const Words& words) {
  const std::string& what = word(words, 1);
  std::optional<NodeId> whom;
  if (words.size() > 2) whom = node(words[2]);
  if (what == "down" || what == "up") return w().journal_up(whom, what == "up");
  if (what == "hold") return w().hold_answers(whom);
  if (what == "release") return w().release_answers();
  if (what == "land") return w().land_late();
  if (what == "unknown") {
    const std::string& how = word(words, 3);
    const auto outcome = how == "lands"   ? HandWorld::Outcome::kNow
                         : how == "later" ? HandWorld::Outcome::kLater
                                          : HandWorld::Outcome::kNever;
    return w().unknown_next(*whom, outcome);
  }
  throw Trouble{"the journal cannot '" + what + "'"};
}

}  // namespace

Played play(const std::string& script) {
  Played played;
  Player player;
  std::istringstream lines(script);
  std::string line;
  bool in_output = false;
  int number = 0;
  while (std::getline(lines, line)) {
    ++number;
    if (line.empty()) in_output = false;
    if (line.rfind("> ", 0) != 0) {
      if (!in_output) played.text += line + "\n";
      continue;
    }
    in_output = true;
    played.text += line + "\n";
    try {
      player.command(line.substr(2));
    } catch (const Trouble& trouble) {
      played.trouble += "line " + std::to_string(number) + ": " + trouble.text + "\n";
    }
    played.text += player.output();
  }
  if (HandWorld* world = player.world()) {
    for (const std::string& difference : world->replay()) played.trouble += difference + "\n";
  }
  if (played.text.find("SAFETY") != std::string::npos) played.trouble += "see SAFETY above\n";
  return played;
}

}  // namespace elastic::interaction
