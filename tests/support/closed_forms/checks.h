// The comparisons with closed forms, each with its cases and with what it must keep to. The short
// form runs among the tests, the long one in the program elastic_closed_forms.
#pragma once

#include <string>
#include <vector>

#include "tests/support/closed_forms/machines.h"
#include "tests/support/closed_forms/rigid.h"

namespace elastic::closed_forms {

enum class Form : std::uint8_t { kShort, kLong };

struct Way {
  Form form = Form::kShort;
  unsigned processes = 1;
  Tell tell;
};

// `wrong`: each disagreement in a sentence; empty where all is as theory says.

// Goodput within 2 % of Daly's closed form over rates, saves, restarts and intervals.
struct DalyCheck {
  std::vector<RigidPoint> points;
  std::vector<std::string> wrong;
};
DalyCheck check_daly(const Way& way);

// A sweep over the interval: its vertex within 5 % of Daly's interval, and goodput at Daly's
// interval within 0.2 % of the best point. The long form has at least 10,000 failures a point.
struct IntervalSweep {
  double daly = 0;                // Daly's interval, seconds
  double exact = 0;               // the best of his closed form
  std::vector<RigidPoint> sweep;  // at intervals that do not depend on it
  RigidPoint at_daly;
  double vertex = 0;
  double vertex_of_formula = 0;
  double below_best = 0;  // goodput at Daly's interval below the best point, as a share of it
};
struct IntervalCheck {
  std::vector<IntervalSweep> sweeps;
  std::vector<std::string> wrong;
};
IntervalCheck check_intervals(const Way& way);

// Time with too few machines, against birth and death processes.
struct AvailabilityCheck {
  std::vector<AvailabilityCase> cases;
  std::vector<Agreement> found;
  std::vector<std::string> wrong;
};
AvailabilityCheck check_availability(const Way& way);

// The wait for the first nodes, against order statistics: its mean, and its whole distribution.
struct WaitCheck {
  std::vector<WaitCase> cases;
  std::vector<Wait> found;
  std::vector<std::string> wrong;
};
WaitCheck check_waits(const Way& way);

}  // namespace elastic::closed_forms
