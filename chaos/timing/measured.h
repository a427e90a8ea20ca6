// The models whose steps were measured: constants of the fit, and the times that scenarios use.
// measured_table.cc is written by tools/fit-models, from public measurements that are not part of
// this tree.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "chaos/timing/fit.h"
#include "chaos/timing/step_times.h"

namespace elastic::chaos {

// The table covers these worlds, as the measurements do, with 1 to kMeasuredPerNode workers each.
constexpr std::array<std::uint32_t, 8> kMeasuredNodes{1, 2, 3, 4, 6, 8, 12, 16};
constexpr std::uint32_t kMeasuredPerNode = 4;

struct MeasuredModel {
  std::string_view name;    // of the preset
  std::string_view folder;  // of its measurements
  StepFit fit;              // to three quarters of the configurations
  std::vector<std::uint32_t> batches;
  // Nanoseconds; for each of kMeasuredNodes, for each number of workers per node, for each batch.
  std::vector<std::int64_t> ns;
};

// What a preset is called, where its measurements lie, and how large it is.
struct MeasuredName {
  std::string_view name;
  std::string_view folder;
  std::int64_t state_bytes;  // weights and optimizer
};
// Four bytes per parameter and the optimizer's: one momentum for ResNet, DeepSpeech2 and YOLOv3,
// two moments of Adam for BERT and NeuMF. NeuMF: 32 factors, MovieLens-1M (6,040 users and 3,706
// films with 160 numbers each) and about 43,000 parameters above.
constexpr std::array<MeasuredName, 6> kMeasuredNames{{
    {"resnet50-imagenet", "imagenet", 204'456'256},
    {"bert-squad", "bert", 1'313'805'312},
    {"resnet18-cifar10", "cifar10", 89'391'696},
    {"deepspeech2-arctic", "deepspeech2", 694'000'000},
    {"yolov3-voc", "yolov3", 495'592'000},
    {"neumf-movielens", "ncf", 19'229'000},
}};

// In the order of kMeasuredNames.
const std::vector<MeasuredModel>& measured_models();

// The table of one of them; nullptr when there is no such model.
std::shared_ptr<const StepTimes> measured_times(std::string_view name);

// `ns` of a fit.
std::vector<std::int64_t> tabulate(const StepFit& fit, const std::vector<std::uint32_t>& batches);

}  // namespace elastic::chaos
