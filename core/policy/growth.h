// Whether a round that runs is changed for nodes that could make it larger.
//
// The estimate is conservative on purpose, because a wrong "yes" stops everybody, and a wrong "no"
// leaves some machines idle that are asked about again at the next change. With a constant global
// batch, and t the step length measured on W nodes, a round of W' > W nodes is taken to need the
// longer of
//   t (1 + W/W') / 2               half of what perfect scaling would save, and
//   t - b (1/W - 1/W')             Amdahl's law t(n) = a + b/n through t and one step length that
//                                  was measured at another size, if there is one; no gain if b <= 0
// and never less than t W/W'. What that saves is counted over the steps that are left, but for no
// longer than `horizon`: by then the world will have changed again. It must be more than the pause
// that the last change was measured to cost, and a margin.
#pragma once

#include <cstdint>
#include <optional>

#include "core/types.h"

namespace elastic::policy {

// When a node that could join makes a running round change.
enum class Growth : std::uint8_t { kAlways, kNever, kPays };

struct GrowthRules {
  Growth mode = Growth::kAlways;
  Duration interval{};  // kPays: no earlier than this after the round began to run
  Duration horizon{};
  std::uint32_t margin_ppm = 0;  // on top of the measured pause
};

// A measured step length on so many nodes. Zero: not measured.
struct StepLength {
  std::uint32_t nodes = 0;
  Duration length{};
  bool operator==(const StepLength&) const = default;
};

struct GrowthFacts {
  std::uint32_t nodes = 0;  // in the running round
  std::uint32_t after = 0;  // in the larger one
  StepLength here;          // of the running round
  StepLength elsewhere;     // newest of a round of another size
  Duration pause{};         // that the last change has cost; zero: not measured
  std::optional<std::uint64_t> steps_left;
  Duration running_for{};
};

enum class GrowthAnswer : std::uint8_t {
  kGrow,
  kOff,          // growth: never
  kNoRoom,       // the round would not become larger
  kTooSoon,      // interval
  kNotMeasured,  // neither steps nor pauses are known yet
  kDoesNotPay,
};
const char* growth_text(GrowthAnswer answer);

// The step length that a round of `after` nodes is taken to need.
Duration expected_step(const GrowthFacts& facts);
GrowthAnswer grows(const GrowthFacts& facts, const GrowthRules& rules);

}  // namespace elastic::policy
