// What was trained: which samples, and what came of them.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "chaos/oracles/oracle.h"
#include "core/data/cursor.h"
#include "core/worker/worker.h"
#include "transport/sim/replica.h"

namespace elastic::chaos {

// Along every lineage the batches adjoin: from sample 0 of epoch 0 on, no sample of an epoch's
// order is left out, taken twice, or padded. So each counts exactly once, since the order is a
// permutation.
class SamplesOracle final : public Oracle {
 public:
  explicit SamplesOracle(Bench bench);
  void on_worker(Time now, const sim::WorkerEvent& event) override;

 private:
  TrainingRules rules_;
  // The sample that follows, of every state ever trained. By lineage; looked up, never walked.
  std::unordered_map<std::uint64_t, data::Cursor> next_;
  // All members of a round apply the same step: what the last one was found to do need not be
  // looked up again.
  struct Seen {
    Lineage before, after;
    data::Batch batch;
    data::Cursor cursor;
    bool operator==(const Seen&) const = default;
  };
  std::optional<Seen> seen_;
};

// The weights are those that a single undisturbed worker has after the same steps: each step is
// replayed from the state before it, and where the global batch is constant the result is compared
// with a run in which nothing ever happens.
class WeightsOracle final : public Oracle {
 public:
  explicit WeightsOracle(Bench bench);
  void on_worker(Time now, const sim::WorkerEvent& event) override;

 private:
  std::uint64_t undisturbed_digest(Step step);
  void judge(Time now, const sim::WorkerEvent& event, std::uint64_t expected, const char* what);

  // A state as a single worker would have it that trained alone.
  struct Trained {
    sim::Weights weights;
    data::Cursor next;
    policy::Ramp ramp;
    policy::AdaScale noise;
  };
  Trained trained_from(const Trained& before, const sim::WorkerEvent& event) const;

  TrainingRules rules_;
  std::unordered_map<std::uint64_t, Trained> trained_;  // by lineage; looked up, never walked
  // As in SamplesOracle. The same digests are expected of all who do the same.
  struct Seen {
    RoundId round;
    StatePoint state;
    Lineage before;
    data::Batch batch;
    data::Cursor cursor;
    bool operator==(const Seen&) const = default;
  };
  struct Expected {
    std::uint64_t trained = 0;
    std::uint64_t undisturbed = 0;  // constant batch
  };
  std::optional<Seen> seen_;
  Expected expected_;
  sim::Undisturbed undisturbed_;
  std::vector<std::uint64_t> digests_;  // of the undisturbed run, by step
};

}  // namespace elastic::chaos
