// What an agent says while a job runs: "[elastic] ..." lines for people, and --events for programs.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "apps/elastic-run/options.h"
#include "transport/real/logs/console.h"
#include "transport/real/logs/failure_report.h"
#include "transport/real/runtime/foreign_workers.h"
#include "transport/real/runtime/runtime.h"

namespace elastic::launch {

class Reporter final : public real::RuntimeObserver {
 public:
  // `quiet`: one of several agents on this machine that is not the first; it says only what
  // concerns itself alone.
  Reporter(const Options& options, real::Console console, bool quiet);
  ~Reporter() override;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  void attach(real::Runtime& runtime) { runtime_ = &runtime; }

  void say(const std::string& line);
  // A worker of this node is gone, and its output complete.
  void on_remains(const real::WorkerRemains& remains);
  // All programs of a round run.
  void on_started();
  // Every few seconds: why there is no round yet.
  void remind();
  // The last words; says what the exit status is to be.
  int conclude(const real::RuntimeEnd& end);

  void on_note(const Note& note) override;
  void on_placement(const Placement& placement) override;
  void on_worker_exit(const WorkerExited& exited) override;
  void on_verdict(const Verdict& verdict) override;
  void on_line(const std::string& text) override;
  void on_waiting(WaitReason reason) override;

 private:
  void event(const char* kind, const std::string& fields);
  void say_end(const real::RuntimeEnd& end, const std::string& why, int status);
  std::optional<real::FailedWorker> first_failure(const Verdict& verdict) const;
  std::string name_of(NodeId node) const;

  const Options& options_;
  real::Console console_;
  bool quiet_;
  real::Runtime* runtime_ = nullptr;
  std::FILE* events_ = nullptr;
  std::string lost_;  // nodes that were lost since the last round
  Time asked_at_{};   // since when there is no round
  Time reminded_at_{};
  std::optional<Placement> placement_;
  WaitReason waiting_ = WaitReason::kNone;
  std::map<wire::FailureAsk, real::WorkerRemains> remains_;
};

}  // namespace elastic::launch
