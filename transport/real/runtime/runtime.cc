#include "transport/real/runtime/runtime.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "core/assert.h"
#include "transport/real/runtime/settings.h"
#include "transport/real/runtime/status.h"

namespace elastic::real {
namespace {

constexpr std::size_t kFailures = 256;
constexpr Duration kLongestTimer = std::chrono::hours(24 * 365);
constexpr Duration kFlushTurn = std::chrono::milliseconds(5);
constexpr int kFlushTurns = 60;

const std::optional<Verdict>* verdict_in(const Input& input) {
  const auto* received = std::get_if<Received>(&input);
  const auto* order = received == nullptr ? nullptr : std::get_if<Order>(&received->message);
  return order == nullptr ? nullptr : &order->verdict;
}

}  // namespace

Runtime::Runtime(asio::io_context& loop, RuntimeOptions options, Workers& workers,
                 RuntimeObserver& observer)
    : loop_(loop),
      options_(std::move(options)),
      workers_(workers),
      observer_(observer),
      links_(loop, options_.links, *this),
      meeting_(loop, links_, options_.links.self,
               options_.links.endpoint ? std::set<std::uint16_t>{options_.links.endpoint->port}
                                       : std::set<std::uint16_t>{options_.listen_port},
               options_.links.publish),
      reach_timer_(loop),
      flush_timer_(loop) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(TimerId::kCount); ++i) {
    timers_.emplace_back(loop);
  }
}

Runtime::~Runtime() { links_.stop(); }

Time Runtime::now() const {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

std::optional<std::string> Runtime::listen() { return links_.listen(options_.listen_port); }

void Runtime::start(std::function<void(const RuntimeEnd&)> ended) {
  ELASTIC_ASSERT(links_.port() != 0);
  ended_ = std::move(ended);
  if (!options_.links.endpoint) {
    ELASTIC_ASSERT(options_.job.journal_host == options_.links.self.node);
    begin();
    return;
  }
  if (options_.reach_within) {
    reach_timer_.expires_after(*options_.reach_within);
    reach_timer_.async_wait([this](boost::system::error_code failed) {
      if (failed || node_) return;
      end({.reason = {},
           .unreachable = true,
           .error = "the endpoint was not reached in time",
           .verdict = {}});
    });
  }
  links_.start();
}

// What the job runs with is known: the node begins.
void Runtime::begin() {
  ELASTIC_ASSERT(!node_);
  reach_timer_.cancel();
  node_.emplace(options_.job, options_.timeouts);
  if (!options_.record.empty()) {
    auto made = Recorder::create(options_.record, *settings());
    if (auto* recorder = std::get_if<std::unique_ptr<Recorder>>(&made)) {
      recorder_ = std::move(*recorder);
    } else {
      observer_.on_line(std::get<std::string>(made));
    }
  }
  Start start;
  start.self = options_.links.self;
  start.seed = options_.seed;
  feed(std::move(start));
}

// ---- Inputs

void Runtime::feed(Input input) {
  if (end_) return;
  inputs_.push_back(std::move(input));
  if (stepping_) return;
  stepping_ = true;
  while (!inputs_.empty() && !end_) {
    const Input next = std::move(inputs_.front());
    inputs_.pop_front();
    step(next);
  }
  stepping_ = false;
}

void Runtime::step(const Input& input) {
  if (!node_) return;  // orders of an operator before the job is known: see abort()
  take_verdict(input);
  Effects effects;
  const Time at = now();
  node_->step(at, input, effects);
  node_->check();
  if (recorder_) {
    if (const auto problem = recorder_->step(at, input, effects)) observer_.on_line(*problem);
  }
  if (const auto* exited = std::get_if<WorkerExited>(&input)) observer_.on_worker_exit(*exited);
  for (const Effect& effect : effects) carry_out(effect);
  if (node_->exited()) return;
  const WaitReason waiting = node_->agent().waiting();
  if (waiting != waiting_ || !waiting_told_) {
    waiting_ = waiting;
    waiting_told_ = true;
    observer_.on_waiting(waiting);
  }
}

void Runtime::take_verdict(const Input& input) {
  if (verdict_) return;
  const std::optional<Verdict>* told = verdict_in(input);
  if (told != nullptr && *told) {
    verdict_ = **told;
  } else if (node_->journal().view().verdict) {
    verdict_ = node_->journal().view().verdict;
  }
  if (verdict_) observer_.on_verdict(*verdict_);
}

void Runtime::received(NodeId from, Message&& message) { feed(Received{from, std::move(message)}); }

void Runtime::closed(NodeId peer) { feed(PeerClosed{peer}); }

// ---- Effects

void Runtime::carry_out(const Effect& effect) {
  if (const auto* message = std::get_if<Send>(&effect)) {
    if (message->to == options_.links.self.node) {
      feed(Received{message->to, message->message});
    } else {
      links_.send(message->to, message->message);
    }
  } else if (const auto* timer = std::get_if<ArmTimer>(&effect)) {
    arm(timer->timer, timer->after);
  } else if (const auto* cancelled = std::get_if<CancelTimer>(&effect)) {
    cancel(cancelled->timer);
  } else if (const auto* note = std::get_if<Note>(&effect)) {
    observer_.on_note(*note);
  } else if (const auto* renewal = std::get_if<RenewLease>(&effect)) {
    workers_.renew(*renewal);
  } else if (std::holds_alternative<PollWorkers>(effect)) {
    workers_.poll();
  } else if (const auto* entering = std::get_if<EnterRound>(&effect)) {
    placement_ = entering->placement;
    observer_.on_placement(entering->placement);
    workers_.enter(entering->placement);
  } else if (const auto* leaving = std::get_if<LeaveRound>(&effect)) {
    workers_.leave(*leaving);
  } else if (std::holds_alternative<PrepareWorkers>(effect)) {
    workers_.prepare();
  } else if (const auto* stop = std::get_if<StopWorkers>(&effect)) {
    workers_.stop(stop->kill);
  } else if (const auto* kill = std::get_if<KillWorker>(&effect)) {
    workers_.kill_worker(kill->local_rank);
  } else if (std::holds_alternative<KillLeftovers>(effect)) {
    workers_.kill_leftovers();
  } else if (const auto* exit = std::get_if<Exit>(&effect)) {
    end({.reason = exit->reason, .unreachable = false, .error = {}, .verdict = {}});
  } else {
    carry_out_files(effect);
  }
}

void Runtime::carry_out_files(const Effect& effect) {
  if (std::holds_alternative<ReadJournalFile>(effect)) {
    journal_ = std::make_unique<JournalFile>(
        loop_, options_.journal_file, [this](Input input) { feed(std::move(input)); },
        [this](const std::string& text) { observer_.on_line(text); });
    journal_->read();
  } else if (const auto* write = std::get_if<WriteJournalFile>(&effect)) {
    ELASTIC_ASSERT(journal_ != nullptr);
    journal_->write(*write);
  } else if (const auto* emptied = std::get_if<EmptyRecords>(&effect)) {
    ELASTIC_ASSERT(journal_ != nullptr);
    journal_->empty(*emptied);
  } else if (std::holds_alternative<ReadMarker>(effect)) {
    // Programs that are not native save where Elastic does not look: there is no marker.
    feed(MarkerRead{});
  }
  // The rest concerns saves of native workers and journals outside, of which a job without them
  // gives none: AskJournal, PutMarker, TellCheckpoint, WriteManifest, VerifySave, DeleteSaves,
  // SweepSaves.
}

void Runtime::arm(TimerId id, Duration after) {
  Timer& timer = timers_[static_cast<std::size_t>(id)];
  const std::uint64_t armed = ++timer.armed;
  timer.timer.expires_after(std::clamp(after, Duration{}, kLongestTimer));
  timer.timer.async_wait([this, id, armed](boost::system::error_code failed) {
    if (failed || timers_[static_cast<std::size_t>(id)].armed != armed) return;
    feed(TimerFired{id});
  });
}

void Runtime::cancel(TimerId id) {
  Timer& timer = timers_[static_cast<std::size_t>(id)];
  ++timer.armed;
  timer.timer.cancel();
}

// ---- The endpoint, and questions

std::optional<wire::RecordingHeader> Runtime::settings() {
  if (!node_) return std::nullopt;
  return wire::RecordingHeader{
      .job = options_.job, .timeouts = options_.timeouts, .agent = options_.links.self};
}

std::optional<std::string> Runtime::check_settings(const wire::RecordingHeader& theirs) {
  if (auto text = difference(options_.job, options_.timeouts, theirs.job, theirs.timeouts))
    return text;
  if (!node_) options_.job.journal_host = theirs.job.journal_host;
  return std::nullopt;
}

void Runtime::endpoint_reached(AgentId host, bool first) {
  if (first && !node_) return begin();
  observer_.on_line(fmt::format("the connection to {} is back", links_.name_of(host.node)));
}

void Runtime::endpoint_trouble(const std::string& text, bool final) {
  // A job that runs goes on without its endpoint: core knows for how long.
  if (final && !node_)
    return end({.reason = {}, .unreachable = false, .error = text, .verdict = {}});
  observer_.on_line(text);
}

void Runtime::noticed(const std::string& text) { observer_.on_line(text); }

void Runtime::asked(Connection& connection, wire::Session&& question) {
  if (const auto* round = std::get_if<wire::RoundAsk>(&question)) {
    meeting_.asked(connection, *round);
  } else if (const auto* meet = std::get_if<wire::RoundAnswer>(&question)) {
    meeting_.answered(*meet);
  } else if (std::holds_alternative<wire::StatusAsk>(question)) {
    (void)connection.send(wire::StatusAnswer{status_json(*this)});
  } else if (const auto* ask = std::get_if<wire::FailureAsk>(&question)) {
    if (const auto* known = failure(*ask)) (void)connection.send(*known);
  } else if (const auto* told = std::get_if<wire::FailureAnswer>(&question)) {
    keep_failure(*told);
  } else if (const auto* order = std::get_if<wire::Command>(&question)) {
    command(connection, *order);
  }
}

void Runtime::command(Connection& connection, const wire::Command& order) {
  if (order.kind == wire::Command::Kind::kStop) {
    // Only who leads can end a job; the others pass it on.
    feed(StopJob{});
    for (const NodeId node : links_.connected()) {
      if (connection.role() == wire::Role::kClient) (void)links_.ask(node, order);
    }
    (void)connection.send(wire::CommandDone{true, "the job is asked to stop"});
    return;
  }
  const std::string name = links_.name_of(options_.links.self.node);
  const std::string id = fmt::format("{:x}", options_.links.self.node.value);
  if (order.node.empty() || order.node == name || order.node == id) {
    leave(order.deadline);
    (void)connection.send(wire::CommandDone{true, fmt::format("{} leaves", name)});
    return;
  }
  for (const NodeId node : links_.connected()) {
    if (links_.name_of(node) != order.node && fmt::format("{:x}", node.value) != order.node)
      continue;
    (void)links_.ask(node, wire::Command{order.kind, order.deadline, {}});
    (void)connection.send(wire::CommandDone{true, fmt::format("{} is asked to leave", order.node)});
    return;
  }
  (void)connection.send(
      wire::CommandDone{false, fmt::format("no node {} is connected to {}", order.node, name)});
}

// ---- What failed workers printed last

void Runtime::keep_failure(const wire::FailureAnswer& answer) {
  if (failures_.size() >= kFailures && failures_.count(answer.of) == 0) {
    failures_.erase(failures_.begin());
  }
  failures_[answer.of] = answer;
}

void Runtime::tell_failure(wire::FailureAnswer answer) {
  keep_failure(answer);
  std::set<NodeId> tell;
  if (links_.host()) tell.insert(links_.host().node);
  if (node_ && node_->agent().leader()) tell.insert(node_->agent().leader().node);
  tell.erase(options_.links.self.node);
  for (const NodeId node : tell) (void)links_.ask(node, answer);
}

const wire::FailureAnswer* Runtime::failure(const wire::FailureAsk& of) const {
  const auto at = failures_.find(of);
  return at == failures_.end() ? nullptr : &at->second;
}

void Runtime::ask_failure(const wire::FailureAsk& of) {
  for (const NodeId node : {of.agent.node, links_.host().node}) {
    if (node && node != options_.links.self.node) (void)links_.ask(node, of);
  }
}

// ---- The end

void Runtime::abort(const std::string& why) {
  end({.reason = {}, .unreachable = false, .error = why, .verdict = {}});
}

void Runtime::end(RuntimeEnd end) {
  if (end_) return;
  end.verdict = verdict_;
  if (!end.verdict && node_) end.verdict = node_->journal().view().verdict;
  end_ = std::move(end);
  for (Timer& timer : timers_) {
    ++timer.armed;
    timer.timer.cancel();
  }
  reach_timer_.cancel();
  meeting_.forget();
  if (recorder_) recorder_->flush();
  workers_.finish([this] { flushed(0); });
}

// The last beat goes out before the program ends, if that does not take long.
void Runtime::flushed(int turns) {
  if (!links_.idle() && turns < kFlushTurns) {
    flush_timer_.expires_after(kFlushTurn);
    flush_timer_.async_wait([this, turns](boost::system::error_code failed) {
      if (!failed) flushed(turns + 1);
    });
    return;
  }
  links_.stop();
  // Not from within a step or a handler of something that this may destroy.
  asio::post(loop_, [this] {
    if (ended_) std::exchange(ended_, nullptr)(*end_);
  });
}

}  // namespace elastic::real
