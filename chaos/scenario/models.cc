#include "chaos/scenario/models.h"

#include <array>

#include "chaos/timing/measured.h"

namespace elastic::chaos {
namespace {

struct Preset {
  std::string_view name;
  std::int64_t compute_us_per_sample;
  std::int64_t overhead_us;
  std::int64_t gradient_bytes;
  std::int64_t state_bytes;
};

// Step times: simulator/traces/*/scalability.csv of the public repository petuum/adaptdl, branch
// osdi21-artifact (Apache-2.0; Pollux, OSDI 2021), one T4 GPU per replica. For each local batch,
// the median over all placements of step_time - sync_time is the time without communication; the
// slope over the local batches (the median of the slopes of all pairs) is the time per sample, and
// the median remainder the overhead:
//   imagenet     local_bsz 20: 146.9 ms, 57: 322.9 ms, 115: 574.7 ms, 200: 975.3 ms
//   bert         local_bsz 4: 407.3 ms, 8: 652.8 ms, 12: 880.4 ms
//   cifar10      local_bsz 32: 42.1 ms, 182: 141.9 ms, 1024: 726.8 ms
//   deepspeech2  local_bsz 10: 621.9 ms, 28: 834.3 ms, 80: 2586.1 ms
//   yolov3       local_bsz 4: 263.0 ms, 6: 441.0 ms, 8: 310.5 ms (a slope through three points)
// bloom_176b is not from there: 105 s per step of 2,048 samples on 384 A100 GPUs and 2.3 TB per
// save (the public diary of the BLOOM training run), so 105 s * 384 / 2048 per sample on one of
// them. Gradients are four bytes per parameter (BLOOM: two), states also hold the optimiser's.
constexpr std::array<Preset, 6> kPresets{{
    {"resnet50", 4'503, 64'017, 102'228'128, 204'456'256},
    {"bert", 59'117, 170'861, 437'935'104, 1'313'805'312},
    {"resnet18", 693, 17'184, 44'695'848, 89'391'696},
    {"deepspeech2", 23'255, 325'513, 347'000'000, 694'000'000},
    {"yolov3", 11'874, 215'555, 247'796'000, 495'592'000},
    {"bloom_176b", 19'687'500, 0, 352'494'542'848, 2'300'000'000'000},
}};

}  // namespace

std::optional<Model> find_model(std::string_view preset) {
  for (const Preset& one : kPresets) {
    if (one.name != preset) continue;
    return Model{.preset = std::string(one.name),
                 .compute_per_sample = std::chrono::microseconds(one.compute_us_per_sample),
                 .step_overhead = std::chrono::microseconds(one.overhead_us),
                 .gradient_bytes = one.gradient_bytes,
                 .state_bytes = one.state_bytes,
                 .table = {},
                 .times = nullptr};
  }
  for (const MeasuredName& one : kMeasuredNames) {
    if (one.name != preset) continue;
    Model model;
    model.preset = one.name;
    model.state_bytes = one.state_bytes;
    model.times = measured_times(one.name);
    return model;
  }
  return std::nullopt;
}

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const Preset& one : kPresets) names.push_back(one.name);
  for (const MeasuredName& one : kMeasuredNames) names.push_back(one.name);
  return names;
}

}  // namespace elastic::chaos
