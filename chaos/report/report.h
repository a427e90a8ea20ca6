// The report of one seed, as people read it. Pure: a result in, text out.
#pragma once

#include <string>

#include "chaos/report/look.h"
#include "chaos/run/result.h"

namespace elastic::chaos {

// The commands that make the run again, and make its failure smaller.
struct Commands {
  std::string repeat;
  std::string shrink;
};

// All of it: headline, then either figures or what broke and how to see it again. Ends with a
// newline.
std::string seed_report(const RunResult& result, const Commands& commands, const Look& look);

// The parts. A headline is one line: "spot_churn  seed 1   holds".
std::string headline(const RunResult& result, const Look& look);
std::string figures_section(const RunResult& result, const Look& look);
std::string expectations_section(const std::vector<Judged>& expected, const Look& look);
std::string oracles_section(const std::vector<OracleTally>& oracles, bool silent, const Look& look);
std::string liveness_section(const LivenessResult& liveness, const Look& look);
std::string failure_section(const RunResult& result, const Commands& commands, const Look& look);

// "SAFETY: a committed step fell": what follows the seed in the headline.
std::string verdict_words(const RunResult& result);
Ink ink_of(VerdictClass verdict);

}  // namespace elastic::chaos
