// Agents in one process on loopback: real sockets, timers and files; workers that only say what the
// agent wants to hear.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/real/runtime/runtime.h"

namespace elastic::real::test {

// A folder that is gone at the end of the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "elastic-real-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Foreign workers that start at once, run until told to stop, and end when asked.
class FakeWorkers : public Workers {
 public:
  FakeWorkers(asio::io_context& loop, std::uint32_t count) : loop_(loop), count_(count) {}
  void attach(Runtime& runtime) { runtime_ = &runtime; }

  void kill_leftovers() override { say(LeftoversKilled{}); }
  void prepare() override {}
  void enter(const Placement& placement) override {
    round_ = placement.round;
    alive_ = count_;
    if (!on_enter) return say(WorkersEntered{placement.round, {}});
    on_enter(placement);
  }
  void leave(const LeaveRound&) override {}
  void stop(bool /*kill*/) override { exit_all({0, 15}); }
  void kill_worker(std::uint32_t rank) override { exit(rank, {0, 9}); }
  void renew(const RenewLease&) override { ++renewals; }
  void poll() override {}
  void finish(std::function<void()> done) override { asio::post(loop_, std::move(done)); }

  void exit(std::uint32_t rank, ExitStatus status) {
    if (alive_ == 0) return;
    --alive_;
    say(WorkerExited{round_, rank, status, alive_ == 0, {}});
  }
  void exit_all(ExitStatus status) {
    for (std::uint32_t rank = count_; rank-- > 0 && alive_ > 0;) exit(rank, status);
  }
  void say(Input input) {
    asio::post(loop_,
               [this, input = std::move(input)]() mutable { runtime_->feed(std::move(input)); });
  }
  [[nodiscard]] RoundId round() const { return round_; }
  [[nodiscard]] std::uint32_t alive() const { return alive_; }

  std::function<void(const Placement&)> on_enter;  // instead of entering at once
  std::uint64_t renewals = 0;

 private:
  asio::io_context& loop_;
  std::uint32_t count_;
  Runtime* runtime_ = nullptr;
  RoundId round_;
  std::uint32_t alive_ = 0;
};

class QuietObserver : public RuntimeObserver {
 public:
  void on_note(const Note& note) override { notes.push_back(note); }
  void on_placement(const Placement&) override {}
  void on_worker_exit(const WorkerExited&) override {}
  void on_verdict(const Verdict&) override {}
  void on_line(const std::string& text) override { lines.push_back(text); }
  void on_waiting(WaitReason) override {}
  std::vector<Note> notes;
  std::vector<std::string> lines;
};

// One agent: its workers, its runtime, and how it ended.
struct TestAgent {
  TestAgent(asio::io_context& loop, RuntimeOptions options, std::uint32_t workers = 1)
      : work(loop, workers),
        runtime(std::make_unique<Runtime>(loop, std::move(options), work, observer)) {
    work.attach(*runtime);
  }
  void start() {
    runtime->start([this](const RuntimeEnd& how) { end = how; });
  }
  // As kill -9: no word to anybody.
  void kill() {
    dead = true;
    runtime.reset();
  }
  [[nodiscard]] bool running() const {
    return !dead && runtime->node() != nullptr &&
           runtime->node()->agent().state() == AgentState::kRunning;
  }

  FakeWorkers work;
  QuietObserver observer;
  std::unique_ptr<Runtime> runtime;
  std::optional<RuntimeEnd> end;
  bool dead = false;
};

class Agents : public testing::Test {
 protected:
  Agents() {
    job_.workers = WorkerKind::kForeign;
    job_.min_nodes = 2;
    job_.max_nodes = 64;
    job_.last_call = std::chrono::milliseconds(100);
    job_.last_call_cap = std::chrono::seconds(60);
    job_.stop_grace = std::chrono::milliseconds(500);
    job_.detection_target = std::chrono::seconds(2);
    job_.bounds.journal = std::chrono::milliseconds(200);
    job_.bounds.pause = std::chrono::milliseconds(300);
  }
  ~Agents() override { agents_.clear(); }

  RuntimeOptions options(std::uint64_t node, std::uint64_t life = 1);
  // A host at a free port, or one more node. Started.
  TestAgent& host();
  TestAgent& join(std::uint64_t node, std::uint64_t life = 1);
  // Runs the loop until `happened`; false: not within half a minute (nothing is that slow).
  bool until(const std::function<bool()>& happened);
  void run_for(Duration time);
  [[nodiscard]] std::size_t running() const;
  // The newest round that all who run are in, if it is one.
  bool all_in_one_round(std::size_t nodes) const;

  asio::io_context loop_;
  Folder folder_;
  JobConfig job_;
  std::string id_ = "job";
  std::string token_;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<TestAgent>> agents_;
};

}  // namespace elastic::real::test
