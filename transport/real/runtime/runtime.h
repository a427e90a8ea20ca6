// The loop of one agent in the real world: what World is in the simulator. Messages, timers, files
// and workers become inputs of core's Node, one at a time; its effects are carried out when the
// step has returned.
//
// An agent that hosts the rendezvous (it listens at the endpoint, and keeps the journal) begins at
// once. Any other one first reaches the endpoint, learns from it which node that is and what the
// job runs with, and refuses to take part if its own settings differ.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/node.h"
#include "transport/real/link/links.h"
#include "transport/real/runtime/journal_file.h"
#include "transport/real/runtime/meeting.h"
#include "transport/real/runtime/recorder.h"
#include "transport/real/runtime/workers.h"

namespace elastic::real {

struct RuntimeOptions {
  JobConfig job;  // the host's `journal_host` is set here; others learn theirs
  Timeouts timeouts;
  LinksOptions links;
  std::uint16_t listen_port = 0;  // the host: that of the endpoint (0: a free one)
  std::string journal_file;       // the host's
  std::uint64_t seed = 0;         // every choice that needs chance follows from it
  std::string record;             // file; empty: none
  // Not the host: gives up when the endpoint was never reached for so long. None: never.
  std::optional<Duration> reach_within;
};

// What an observer hears: for people, logs and tests. It changes nothing.
class RuntimeObserver {
 public:
  virtual ~RuntimeObserver() = default;
  virtual void on_note(const Note& note) = 0;
  virtual void on_placement(const Placement& placement) = 0;
  // Of one of the own workers.
  virtual void on_worker_exit(const WorkerExited& exited) = 0;
  virtual void on_verdict(const Verdict& verdict) = 0;
  // The endpoint could not be reached, or was; something odd.
  virtual void on_line(const std::string& text) = 0;
  // After each step, if why the node waits has changed.
  virtual void on_waiting(WaitReason reason) = 0;
};

// How an agent came to its end.
struct RuntimeEnd {
  std::optional<ExitReason> reason;  // none: it could not begin, see `error`
  bool unreachable = false;          // ... because the endpoint was not reached in time
  std::string error;
  std::optional<Verdict> verdict;
};

class Runtime final : public LinksOwner {
 public:
  // `workers` gives its inputs to feed(), and outlives the runtime.
  Runtime(asio::io_context& loop, RuntimeOptions options, Workers& workers,
          RuntimeObserver& observer);
  ~Runtime() override;

  // Listens; the error in words, or nothing. Separate from start(), so that a host can hold its
  // port before anything else.
  std::optional<std::string> listen();
  std::uint16_t port() const { return links_.port(); }
  // `ended` is called once, after the workers and all that they printed are gone.
  void start(std::function<void(const RuntimeEnd&)> ended);

  void feed(Input input);
  // The provider takes the machine, or somebody asks this node to go.
  void leave(Duration deadline) { feed(LeaveNotice{deadline}); }
  void stop_job() { feed(StopJob{}); }
  // Ends this agent at once, with its workers.
  void abort(const std::string& why);

  Time now() const;
  const Node* node() const { return node_ ? &*node_ : nullptr; }
  const RuntimeOptions& options() const { return options_; }
  const std::optional<Placement>& placement() const { return placement_; }
  Links& links() { return links_; }
  Meeting& meeting() { return meeting_; }
  // What is told of a worker of this node that failed; also to the host and to whoever leads.
  void tell_failure(wire::FailureAnswer answer);
  // What was told of it so far, here or by others.
  const wire::FailureAnswer* failure(const wire::FailureAsk& of) const;
  void ask_failure(const wire::FailureAsk& of);

  // LinksOwner
  std::optional<wire::RecordingHeader> settings() override;
  std::optional<std::string> check_settings(const wire::RecordingHeader& theirs) override;
  void endpoint_reached(AgentId host, bool first) override;
  void endpoint_trouble(const std::string& text, bool final) override;
  void received(NodeId from, Message&& message) override;
  void closed(NodeId peer) override;
  void asked(Connection& connection, wire::Session&& question) override;
  void noticed(const std::string& text) override;

 private:
  void begin();
  void step(const Input& input);
  void carry_out(const Effect& effect);
  void carry_out_files(const Effect& effect);
  void arm(TimerId timer, Duration after);
  void cancel(TimerId timer);
  void take_verdict(const Input& input);
  void command(Connection& connection, const wire::Command& command);
  void keep_failure(const wire::FailureAnswer& answer);
  void end(RuntimeEnd end);
  void flushed(int turns);

  asio::io_context& loop_;
  RuntimeOptions options_;
  Workers& workers_;
  RuntimeObserver& observer_;
  Links links_;
  Meeting meeting_;
  std::unique_ptr<JournalFile> journal_;
  std::unique_ptr<Recorder> recorder_;
  std::optional<Node> node_;
  std::deque<Input> inputs_;
  bool stepping_ = false;
  struct Timer {
    explicit Timer(asio::io_context& loop) : timer(loop) {}
    asio::steady_timer timer;
    std::uint64_t armed = 0;  // so that a wait that was replaced is not taken for the present one
  };
  std::vector<Timer> timers_;
  asio::steady_timer reach_timer_, flush_timer_;
  std::optional<Placement> placement_;  // newest
  std::optional<Verdict> verdict_;
  WaitReason waiting_ = WaitReason::kNone;
  bool waiting_told_ = false;
  std::map<wire::FailureAsk, wire::FailureAnswer> failures_;  // newest 256
  std::function<void(const RuntimeEnd&)> ended_;
  std::optional<RuntimeEnd> end_;
};

}  // namespace elastic::real
