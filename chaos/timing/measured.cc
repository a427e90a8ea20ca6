#include "chaos/timing/measured.h"

#include <cmath>
#include <map>

#include "core/assert.h"

namespace elastic::chaos {
namespace {

StepTimes table_of(const MeasuredModel& model) {
  std::vector<StepRow> rows;
  rows.reserve(model.ns.size());
  for (const std::uint32_t nodes : kMeasuredNodes) {
    for (std::uint32_t per_node = 1; per_node <= kMeasuredPerNode; ++per_node) {
      for (const std::uint32_t batch : model.batches) {
        const Duration time(model.ns.at(rows.size()));
        rows.push_back({nodes, nodes * per_node, batch, time});
      }
    }
  }
  ELASTIC_ASSERT(rows.size() == model.ns.size());
  return StepTimes(std::move(rows));
}

}  // namespace

std::shared_ptr<const StepTimes> measured_times(std::string_view name) {
  static const auto tables = [] {
    std::map<std::string_view, std::shared_ptr<const StepTimes>> out;
    for (const MeasuredModel& model : measured_models()) {
      out[model.name] = std::make_shared<const StepTimes>(table_of(model));
    }
    return out;
  }();
  const auto found = tables.find(name);
  return found == tables.end() ? nullptr : found->second;
}

std::vector<std::int64_t> tabulate(const StepFit& fit, const std::vector<std::uint32_t>& batches) {
  std::vector<std::int64_t> out;
  for (const std::uint32_t nodes : kMeasuredNodes) {
    for (std::uint32_t per_node = 1; per_node <= kMeasuredPerNode; ++per_node) {
      for (const std::uint32_t batch : batches) {
        out.push_back(std::llround(step_seconds(fit, nodes, nodes * per_node, batch) * 1e9));
      }
    }
  }
  return out;
}

}  // namespace elastic::chaos
