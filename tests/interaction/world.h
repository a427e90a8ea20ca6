// A few nodes in a world that a script moves by hand: messages, timers, workers, two kinds of
// journal. Whatever the script leaves alone happens by itself, quickly and without a fault.
//
// Everything is deterministic: events fire in the order (time, sequence), and each node's inputs
// are kept, so that replay() can give them to a fresh Node and compare the effects.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/node.h"
#include "core/agent/supervisor.h"
#include "tests/interaction/describe.h"

namespace elastic::interaction {

// How long things take that nobody holds back.
struct Pace {
  Duration message{std::chrono::milliseconds(1)};
  Duration journal{std::chrono::milliseconds(1)};  // each way, external; a sync, hosted
  Duration prepare{std::chrono::seconds(1)};
  Duration enter{std::chrono::milliseconds(100)};
  Duration leave{std::chrono::milliseconds(20)};
  Duration exit{std::chrono::milliseconds(50)};    // after SIGTERM
  Duration kill{std::chrono::milliseconds(5)};     // after SIGKILL
  Duration storage{std::chrono::milliseconds(5)};  // a manifest, a reading back
};

// What happens to messages of one kind on their way. An empty node stands for any.
struct Rule {
  enum class Action : std::uint8_t { kDrop, kHold, kTwice };
  Action action = Action::kDrop;
  std::string kind = "any";
  std::optional<NodeId> from, to;
  bool both_ways = false;
  bool matches(const std::vector<std::string>& kinds, NodeId sender, NodeId receiver) const;
};

// The workers of one node: native ones step together and hold a state, foreign ones are a tree
// under a Supervisor.
struct Workers {
  std::set<std::uint32_t> ranks;  // local ranks that are alive
  std::uint64_t generation = 0;   // events scheduled for an earlier one are void
  bool manual = false;            // entering, leaving and preparing are told by the script
  RoundId round;                  // given by EnterRound; zero: outside
  ResumePoint resume;
  bool entered = false;
  bool terminated = false;  // foreign: SIGTERM was sent
  std::optional<StatePoint> held;
  RoundId leaving_for;
  bool leaving_planned = false;
  Time orphan_at = kEndOfTime;  // native workers end themselves
  std::optional<Supervisor> tree;
  std::uint64_t tree_timer = 0;
};

class HandWorld {
 public:
  HandWorld(const JobConfig& job, const Timeouts& timeouts, std::uint32_t nodes, Pace pace);

  // The output so far; clears it.
  std::string take_output();
  void say(const std::string& line);

  // Time. `until` stops right after the first line that contains `text`; false: not within `limit`.
  void run(Duration length);
  bool until(const std::string& text, Duration limit);
  Time now() const { return now_; }

  // Machines and agents.
  void start(NodeId node);
  void kill_machine(NodeId node);
  void kill_agent(NodeId node);
  void freeze(NodeId node);
  void thaw(NodeId node);
  void lose_file(NodeId node);
  void input(NodeId node, Input input);
  std::vector<NodeId> nodes() const;

  // Messages.
  void add_rule(const Rule& rule) { rules_.push_back(rule); }
  void clear_rules() { rules_.clear(); }
  void list_held();
  bool deliver_held(std::size_t number);  // from 1
  void forget_held(std::size_t number);
  std::size_t held() const { return held_.size(); }
  // Words among "beats", "acks", "messages", "journal", "canvass".
  void show(const std::string& what, bool on) { shown_[what] = on; }

  // Workers.
  void manual(NodeId node, bool on) { slot(node).workers.manual = on; }
  void steps(std::uint64_t count);            // every member of the newest running round
  void apply(NodeId node);                    // one member alone
  void save(const std::vector<NodeId>& but);  // all members of the newest round, but for these
  void finish(const std::vector<NodeId>& who);
  void rot(RecordNo record) { rotten_.insert(record); }  // that save is no longer what it was
  void storage_hangs(NodeId node) { storage_hangs_.insert(node); }
  void storage_goes_on(NodeId node);
  void exit_worker(NodeId node, std::uint32_t local_rank, ExitStatus status);
  void tell_entered(NodeId node);
  void tell_left(NodeId node);
  void tell_prepared(NodeId node);
  void fail_edge(NodeId node, NodeId peer) {
    input(node, EdgeFailed{slot(node).workers.round, peer});
  }
  // From now on each pulse of the workers tells of so many further bytes of their state.
  void arrive(NodeId node, std::uint64_t bytes) { slot(node).arriving = bytes; }
  void say_silent(NodeId node, std::uint32_t local_rank) { slot(node).silent_rank = local_rank; }

  // External journal.
  enum class Outcome : std::uint8_t { kNow, kLater, kNever };
  void journal_up(std::optional<NodeId> node, bool up);
  void unknown_next(NodeId node, Outcome outcome) { unknown_[node] = outcome; }
  void hold_answers(std::optional<NodeId> node) {
    answers_held_of_ = node;
    holding_answers_ = true;
  }
  void release_answers();
  void land_late();

  void status();
  // Asserts nothing itself: a line per difference, none if every node repeats itself.
  std::vector<std::string> replay() const;

 private:
  struct Taped {
    Time now{};
    Input input;
    std::string effects;
    std::uint64_t digest = 0;
  };
  struct File {
    JournalLife life;
    std::vector<NumberedRecord> records;
  };
  struct Slot {
    std::uint64_t life = 0;
    std::optional<Node> node;
    bool frozen = false;
    std::vector<Input> waiting;
    std::map<TimerId, std::uint64_t> timers;
    Workers workers;
    std::optional<File> file;
    std::vector<std::vector<Taped>> tapes;
    std::optional<std::uint32_t> silent_rank;
    std::uint64_t arriving = 0, arrived = 0;
  };
  struct Held {
    NodeId from, to;
    Message message;
  };
  struct Later {
    NodeId node;
    NumberedRecord record;
  };

  Slot& slot(NodeId node) { return slots_.at(node); }
  void at(Duration after, std::function<void()> what);
  // Runs it when the same life of the agent runs still.
  void at_agent(NodeId node, Duration after, Input input);
  bool run_next(Time limit);
  void line(NodeId node, const std::string& text);
  void carry_out(NodeId node, const Effect& effect);
  void send(NodeId from, const Send& send);
  void arrive(NodeId from, NodeId to, const Message& message);
  std::string full_text(const Effects& effects) const;

  // workers.cc
  void carry_out_workers(NodeId node, const Effect& effect);
  void prepare(NodeId node);
  void enter(NodeId node, const Placement& placement);
  void try_entering(NodeId node, std::uint64_t generation);
  void leave(NodeId node, const LeaveRound& order);
  void planned_step(RoundId for_round);
  void leave_later(NodeId node);
  void stop(NodeId node, bool kill);
  void end_workers(NodeId node, Duration after, std::int32_t signal);
  void signal_tree(NodeId node, TreeSignal signal);
  void renew(NodeId node, const RenewLease& lease);
  void kill_leftovers(NodeId node);
  void poll(NodeId node);
  void answer_save(NodeId node, Input input_later);
  void put_marker(NodeId node, const CommitMarker& marker);
  void tree_step(NodeId node, const SupervisorInput& input);
  void advance(NodeId node);
  bool somebody_holds(const StatePoint& state) const;
  void check_exclusive();
  const World* newest_world() const;

  // journal.cc
  void ask_journal(NodeId node, const JournalAsk& ask);
  void answer_journal(NodeId node, const JournalAnswer& answer);
  JournalAnswer carry_out_ask(const JournalAsk& ask);
  void create(const NumberedRecord& record);
  void read_file(NodeId node);
  void write_file(NodeId node, const WriteJournalFile& write);
  void note_record(const NumberedRecord& record);

  JobConfig job_;
  Timeouts timeouts_;
  Pace pace_;
  Time now_{};
  std::uint64_t sequence_ = 0;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> events_;
  std::map<NodeId, Slot> slots_;
  std::vector<Rule> rules_;
  std::vector<Held> held_;
  std::map<std::string, bool> shown_;
  Names names_;
  std::string output_;
  std::string watched_;
  bool seen_ = false;

  std::vector<NumberedRecord> records_;  // external
  std::map<NodeId, bool> journal_down_;
  bool journal_all_down_ = false;
  std::map<NodeId, Outcome> unknown_;
  std::vector<Later> late_;
  bool holding_answers_ = false;
  std::optional<NodeId> answers_held_of_;
  std::vector<std::pair<NodeId, JournalAnswer>> held_answers_;
  std::vector<World> worlds_;  // recorded, in order, of all journals
  std::optional<CommitMarker> marker_;
  std::set<RecordNo> rotten_;
  std::set<NodeId> storage_hangs_;
  std::vector<std::pair<NodeId, Input>> storage_answers_;
  std::vector<std::pair<AgentId, CommitMarker>> storage_markers_;
};

}  // namespace elastic::interaction
