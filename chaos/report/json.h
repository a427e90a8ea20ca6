// The reports as JSON, for programs: keys are stable, numbers are integers, and units end the names
// (`_ns`, `_ppm`, `_microdollars`). Hashes are text (hexadecimal), because 64 bits do not survive
// in every JSON reader.
#pragma once

#include <string>

#include "chaos/report/batch_report.h"
#include "chaos/report/report.h"
#include "chaos/run/batch.h"
#include "chaos/run/result.h"
#include "chaos/run/verify.h"

namespace elastic::chaos {

// One JSON object each, indented, with a newline at the end.
std::string seed_json(const RunResult& result, const Commands& commands,
                      const VerifyResult* verified = nullptr);
std::string batch_json(const BatchResult& batch, const CommandsFor& commands,
                       const VerifyResult* verified = nullptr);

}  // namespace elastic::chaos
