// What the simulated world is made of: machines, network, journal, training job. A scenario file
// and a seed become one WorldConfig and one Plan (chaos/); the world executes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/membership/config.h"
#include "core/policy/batch.h"
#include "core/types.h"

namespace elastic::sim {

// One machine that may exist during the run. NodeId is its index in the list plus one.
struct NodeSpec {
  std::string name;        // "a3": zone name and number in the zone, from 0
  std::uint32_t zone = 0;  // index into WorldConfig::zones
  std::int64_t price_microdollars_per_hour = 0;
  bool present_at_start = true;  // otherwise a kAdd of the plan brings it
};

struct NetworkModel {
  Duration latency{std::chrono::microseconds(120)};  // one way, median
  Duration jitter{std::chrono::microseconds(60)};    // uniform, added
  std::int64_t loss_ppm = 0;
  std::int64_t duplicate_ppm = 0;
  std::int64_t reorder_ppm = 0;
  std::int64_t bandwidth_bytes_per_second = 3'125'000'000;  // per node, for fills and all-reduce
};

struct JournalModel {
  Duration append{std::chrono::milliseconds(4)};  // service time of an append, median
  Duration read{std::chrono::milliseconds(1)};    // and of a read
  Duration jitter{std::chrono::milliseconds(1)};
};

// How the all-reduce of a step is simulated (native workers).
enum class Collectives : std::uint8_t {
  kAuto,      // messages up to 16 ranks, modelled above
  kMessages,  // every chunk of the ring is a message
  kModelled,  // one completion for all
};

// Compute + all-reduce: step_ns(W) = compute_ns * ceil(global_batch / W) / samples + reduce. All
// integer.
struct TrainingModel {
  std::uint64_t total_steps = 1000;
  std::uint64_t dataset = 0;          // samples of an epoch; 0: as many as all steps take
  std::uint64_t global_batch = 8192;  // samples per step
  // kConstant: global_batch in every world. Else it is the reference batch, that of
  // `reference_world` ranks (0: as many as there may be), and the batch follows the world.
  policy::BatchMode batch_mode = policy::BatchMode::kConstant;
  std::uint32_t reference_world = 0;
  std::uint32_t ramp_steps = 100;
  Collectives collectives = Collectives::kAuto;
  Duration compute_per_sample{};              // on one worker
  Duration step_overhead{};                   // per step, whatever the size
  std::int64_t gradient_bytes = 100'000'000;  // reduced per step: 2 (W-1)/W of it through each node
  std::int64_t state_bytes = 300'000'000;     // copied to a joiner, saved to a checkpoint
  Duration start_up{std::chrono::seconds(20)};  // program start to "prepared", median
  Duration start_up_jitter{std::chrono::seconds(5)};
  Duration reconfigure{std::chrono::milliseconds(150)};  // communicators of a new round
  Duration stop_time{std::chrono::seconds(1)};           // foreign: SIGTERM to exit, median
  Duration checkpoint_every{
      std::chrono::minutes(10)};  // zero: never (the last step is always saved)
  std::int64_t storage_bytes_per_second = 1'000'000'000;  // aggregate, saves and loads
  Duration copy_stall{std::chrono::milliseconds(200)};    // training stands still for the copy
  // Foreign: a collective that stands still this long ends the program with an error.
  Duration collective_timeout{std::chrono::minutes(10)};
};

// How many samples a step takes, by the number of ranks.
policy::BatchRule batch_rule(const JobConfig& job, const TrainingModel& model);

struct WorldConfig {
  std::uint64_t seed = 1;
  JobConfig job;
  std::vector<std::string> zones;
  std::vector<NodeSpec> nodes;
  NetworkModel network;
  JournalModel journal;
  TrainingModel training;
  Duration horizon{std::chrono::hours(24)};      // the run ends here when the job has not
  Duration agent_boot{std::chrono::seconds(1)};  // machine up (or agent killed) to agent running
  bool list_contacts = false;    // the operator lists all nodes to each agent (Start::contacts)
  bool check_invariants = true;  // Node::check() after every step
};

}  // namespace elastic::sim
