// Options as the job that core/ runs.
#pragma once

#include "apps/elastic-run/options.h"
#include "core/membership/config.h"

namespace elastic::launch {

// What the machine, its disk and its network are taken to do outside faults. What --rdzv-conf does
// not say follows from the detection target: round trip 20 ms or a twentieth of it, journal and
// pause 100 ms or a fifth of it, whichever is less. These fit every target (their sum is below half
// of it), so that `--detection-target 300ms` alone is enough; what a short target asks of disk and
// machine is then measured, and said when it does not hold (NoteKind::kBoundExceeded).
DeclaredBounds declared_bounds(const Options& options);

// Foreign workers, a hosted journal. `journal_host` must be the same on all nodes; it may be empty
// only if nobody derives time-outs of the result.
JobConfig job_config(const Options& options, NodeId journal_host);

}  // namespace elastic::launch
