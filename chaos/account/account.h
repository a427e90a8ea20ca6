// Keeps the books of one run: time, steps, money, sizes. Exact, in integers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "chaos/account/summary.h"
#include "core/math/integer.h"
#include "core/types.h"
#include "transport/sim/config.h"
#include "transport/sim/observer.h"

namespace elastic::chaos {

// What one step of `batch` samples takes on so many nodes where nothing is slow: compute of the
// worker with the largest share, then the reduction. A ring all-reduce over n nodes takes 2 (n - 1)
// hops and passes 2 (n - 1) / n of the gradient's bytes through each node. No nodes: never.
Duration undisturbed_step(const sim::WorldConfig& config, std::uint32_t nodes, std::uint64_t batch);

// Every nanosecond from the start to the end belongs to exactly one part of TimeParts. The first
// line that fits wins:
//  saving: the last step is committed and the Verdict is not recorded; or training stands still for
//    the copy of a save.
//  (step): a step is in work: begun, and none of its members has died, left, stopped or stands
//    still. Productive when the step is kept, else redone up to its nominal length and waiting
//    beyond.
//  below minimum: fewer than min_nodes machines are up.
//  reconfiguring: a change of round was asked for or a World recorded, and no step begun since;
//    going below the minimum calls the change off.
//  waiting: everything else: detection of a loss, start of programs, the first last call.
// A committed step that falls takes its time from productive to redone.
//
// Invariant: parts().sum() plus the time of steps not settled yet == time since the start.
class Account final : public sim::Observer {
 public:
  explicit Account(const sim::WorldConfig& config);

  // The run is over at true time `now`. To be called once; later callbacks are ignored.
  void finish(Time now);
  bool finished() const { return finished_; }
  // Valid after finish().
  const Summary& summary() const { return summary_; }
  // Steps in work and unsettled count as `redone` until it is known that they are kept.
  TimeParts parts(Time now) const;
  // How long a step of a whole batch takes with `nodes` nodes, undisturbed; zero nodes: never.
  Duration nominal_step(std::uint32_t nodes) const;

  void on_note(Time now, AgentId by, const Note& note) override;
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
  void on_worker(Time now, const sim::WorkerEvent& event) override;
  void on_node(Time now, const sim::NodeEvent& event) override;
  void on_fault(Time now, const sim::Fault& fault) override;
  void on_sent(Time now, NodeId from, NodeId to, const Message& message) override;

 private:
  enum class Part : std::uint8_t { kStep, kSaving, kBelow, kReconfiguring, kWaiting };
  struct Machine {
    bool up = false;
    std::vector<std::uint32_t> frozen_ranks{};
    bool machine_still = false;
    Time up_since{};
  };
  // The time of one step, while it is not known whether it is kept.
  struct InWork {
    RoundId round{};
    std::uint64_t step = 0;
    Duration spent{};
    Duration nominal{};  // undisturbed, with the machines as slow as they are
  };

  // Undisturbed steps of one size. The last of an epoch is shorter when its batch is.
  struct NominalSteps {
    Duration whole_batch{};
    std::int64_t per_epoch = 1;
    math::int128 epoch_ns = 1;
  };

  struct Stretch {
    TimeParts parts;
    Duration step{};
  };

  NominalSteps step_table_entry(std::uint32_t nodes) const;
  Part part_now() const;
  Stretch stretch(Time now) const;
  void advance(Time now);
  void settle(const InWork& work, bool kept);
  void break_training(Time now, bool announced);
  void begin_step(Time now, const sim::WorkerEvent& event);
  void commit(const sim::WorkerEvent& event);
  void fall_to(std::uint64_t step);
  void on_world(const World& world);
  void on_machine(Time now, NodeId node, bool up);
  void resume_at(std::uint64_t step);
  bool is_member(NodeId node, AgentLife life) const;
  bool member_still() const;
  void freeze(std::size_t index, std::uint32_t rank, bool frozen);
  void count_still();
  std::uint32_t usable(std::uint32_t up) const;
  void plot(Time now);
  void close_money(Time now);

  sim::WorldConfig config_;
  std::vector<NominalSteps> step_table_;  // by nodes
  std::vector<Machine> machines_;         // by NodeId - 1
  std::uint32_t up_ = 0;

  Time began_{};
  Time last_{};
  TimeParts parts_;
  std::vector<Duration> kept_;  // time of each committed step; index: step - 1
  std::optional<InWork> in_work_;
  std::optional<InWork> broken_;  // of the last round, until the next World says what is kept
  Time saving_until_{};
  bool asked_ = false;
  bool last_step_done_ = false;

  std::uint32_t still_members_ = 0;
  std::map<RoundId, World> worlds_;
  RoundId trains_;         // the round of the newest step begun
  bool training_ = false;  // between the first step of a round and its end
  bool change_announced_ = false;

  std::optional<Time> stopped_at_;
  Duration below_at_stop_{};
  bool stop_announced_ = false;

  math::int128 cost_ = 0;            // microdollar * ns / hour
  std::vector<Duration> time_with_;  // by usable nodes
  Time last_batch_{};
  std::uint64_t batch_ = 0;

  bool finished_ = false;
  Summary summary_;
};

}  // namespace elastic::chaos
