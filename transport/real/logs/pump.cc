#include "transport/real/logs/pump.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <csignal>
#include <utility>

namespace elastic::real {
namespace {

constexpr std::chrono::milliseconds kTick{250};
constexpr std::chrono::milliseconds kWindUpTick{5};
constexpr std::chrono::seconds kHangBound{1};

Time now() { return Time(std::chrono::steady_clock::now().time_since_epoch()); }

}  // namespace

bool Pump::Worker::ended() const {
  return std::all_of(streams.begin(), streams.end(), [](const auto& s) { return s->ended(); });
}

bool Pump::Worker::finished() const {
  return std::all_of(streams.begin(), streams.end(), [](const auto& s) { return s->finished(); });
}

Pump::Pump(Duration drain_bound, std::function<void(WorkerStart)> drained)
    : drain_bound_(drain_bound),
      drained_(std::move(drained)),
      context_(std::make_shared<boost::asio::io_context>(1)),
      work_(boost::asio::make_work_guard(*context_)),
      ticks_(*context_) {}

void Pump::start() {
  if (thread_.joinable()) return;
  // Signals are for the thread of the loop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([self = shared_from_this()] {
    self->context_->run();
    const std::lock_guard lock(self->mutex_);
    self->ended_ = true;
    self->ended_changed_.notify_all();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pump::run(std::function<void()> work) {
  start();
  boost::asio::post(*context_, std::move(work));
}

void Pump::add(WorkerStart id, Console console, std::vector<StreamSetup> streams) {
  std::vector<std::shared_ptr<Stream>> made;
  for (StreamSetup& setup : streams) {
    made.push_back(std::make_shared<Stream>(context_, console, std::move(setup)));
  }
  run([this, id, made = std::move(made)] {
    workers_[id].streams = made;
    for (const auto& stream : made) stream->start([this, id] { on_end(id); });
    if (!std::exchange(ticking_, true)) tick();
  });
}

void Pump::exited(WorkerStart id) {
  run([this, id] {
    Worker& worker = workers_[id];
    if (worker.ended()) {
      tell_drained(id, worker);
      return;
    }
    worker.bound = std::make_unique<boost::asio::steady_timer>(*context_, drain_bound_);
    worker.bound->async_wait([this, id](const boost::system::error_code& error) {
      const auto found = workers_.find(id);
      if (!error && found != workers_.end()) tell_drained(id, found->second);
    });
  });
}

void Pump::on_end(WorkerStart id) {
  const auto found = workers_.find(id);
  if (found != workers_.end() && found->second.bound && found->second.ended()) {
    tell_drained(id, found->second);
  }
}

void Pump::tell_drained(WorkerStart id, Worker& worker) {
  if (!std::exchange(worker.drained, true)) drained_(id);
}

void Pump::superseded(WorkerStart id) {
  run([this, id] {
    const auto found = workers_.find(id);
    if (found == workers_.end() || !found->second.drained) return;
    for (const auto& stream : found->second.streams) stream->abandon();
  });
}

// Lets go of what is finished, and gives streams their look at the clock.
void Pump::tick() {
  std::erase_if(workers_, [](const auto& entry) {
    return entry.second.drained && entry.second.ended() && entry.second.finished();
  });
  ticking_ = !workers_.empty();
  if (!ticking_) return;
  for (const auto& [id, worker] : workers_) {
    for (const auto& stream : worker.streams) stream->tick();
  }
  ticks_.expires_after(kTick);
  ticks_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

// Until the console has taken everything, or the time is over.
void Pump::wind_up(Time until) {
  const bool all = std::all_of(workers_.begin(), workers_.end(),
                               [](const auto& entry) { return entry.second.finished(); });
  if (!all && now() < until) {
    ticks_.expires_after(kWindUpTick);
    ticks_.async_wait([this, until](const boost::system::error_code&) { wind_up(until); });
    return;
  }
  for (const auto& [id, worker] : workers_) {
    for (const auto& stream : worker.streams) stream->give_up();
  }
  workers_.clear();
  work_.reset();
  context_->stop();
}

bool Pump::stop(Duration bound) {
  if (!thread_.joinable()) return true;
  run([this, bound] {
    ticks_.cancel();
    for (const auto& [id, worker] : workers_) {
      for (const auto& stream : worker.streams) stream->abandon();
    }
    wind_up(now() + bound);
  });
  std::unique_lock lock(mutex_);
  const bool left = ended_changed_.wait_for(lock, bound + kHangBound, [this] { return ended_; });
  lock.unlock();
  if (left) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return left;
}

}  // namespace elastic::real
