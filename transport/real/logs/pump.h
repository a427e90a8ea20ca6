// The thread that reads what workers write.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/real/logs/stream.h"

namespace elastic::real {

// One start of one worker, in the life of an agent.
using WorkerStart = Id<struct WorkerStartTag>;

// Owns the streams of all workers and runs them on one thread, which starts with the first worker.
// All calls are made by one other thread and return at once, except stop().
class Pump : public std::enable_shared_from_this<Pump> {
 public:
  // `drained` is called on the pump's thread, once per worker after exited(), until stop().
  Pump(Duration drain_bound, std::function<void(WorkerStart)> drained);
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;
  ~Pump() = default;

  void add(WorkerStart worker, Console console, std::vector<StreamSetup> streams);
  void exited(WorkerStart worker);
  // Another worker has its place: a pipe that is still open after the drain bound is given up.
  void superseded(WorkerStart worker);
  // Does something that may block.
  void run(std::function<void()> work);
  // See WorkerLogs::stop(). False: the thread hangs, and was left behind.
  bool stop(Duration bound);

 private:
  struct Worker {
    std::vector<std::shared_ptr<Stream>> streams;
    std::unique_ptr<boost::asio::steady_timer> bound;  // set by exited()
    bool drained = false;                              // was told
    bool ended() const;
    bool finished() const;
  };

  void start();
  void on_end(WorkerStart worker);
  void tell_drained(WorkerStart id, Worker& worker);
  void tick();
  void wind_up(Time until);

  const Duration drain_bound_;
  std::function<void(WorkerStart)> drained_;
  std::shared_ptr<boost::asio::io_context> context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer ticks_;
  bool ticking_ = false;
  std::map<WorkerStart, Worker> workers_;  // of the pump's thread

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable ended_changed_;
  bool ended_ = false;
};

}  // namespace elastic::real
