#include "chaos/oracles/oracle.h"

#include "chaos/oracles/truth.h"

namespace elastic::chaos {

void Oracle::violated(Time at, Finding finding) {
  if (!bench_.speak) return;
  bench_.speak(Violation{.oracle = std::string(traits_.name),
                         .title = std::string(traits_.title),
                         .kind = traits_.kind,
                         .at = at,
                         .event = bench_.truth.event(),
                         .agent = finding.agent,
                         .round = finding.round,
                         .expected = std::move(finding.expected),
                         .found = std::move(finding.found)});
}

}  // namespace elastic::chaos
