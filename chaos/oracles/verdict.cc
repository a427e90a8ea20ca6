#include "chaos/oracles/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chaos/oracles/narrator.h"
#include "chaos/oracles/truth.h"

namespace elastic::chaos {

VerdictOracle::VerdictOracle(Bench bench)
    : Oracle(
          {.name = "verdict",
           .title = "the job was called done before it was",
           .promise = "A job is recorded as successful only when its last step is saved (native), "
                      "or every member of its last round has finished (foreign).",
           .interests = kOnRecord},
          std::move(bench)) {}

void VerdictOracle::on_record(Time now, const NumberedRecord& numbered, JournalLife /*life*/) {
  const auto* verdict = std::get_if<Verdict>(&numbered.record.body);
  if (verdict == nullptr || verdict->kind != Verdict::Kind::kSucceeded) return;
  counted();
  const Step last{config().training.total_steps};
  const RoundTruth* round = truth().newest_round();
  const RoundId in = round == nullptr ? RoundId{} : round->world.round;
  if (native()) {
    const Checkpoint* save = truth().newest_checkpoint();
    if (save != nullptr && save->step >= last) return;
    const auto saved = save == nullptr ? std::string("nothing is saved")
                                       : fmt::format("step {} is saved", grouped(save->step.value));
    violated(now, {.agent = numbered.record.writer,
                   .round = in,
                   .expected = fmt::format("step {} is saved", grouped(last.value)),
                   .found = "success is recorded, and " + saved});
    return;
  }
  const bool all =
      round != nullptr && std::all_of(round->world.members.begin(), round->world.members.end(),
                                      [&](const Member& member) {
                                        const Group* group = truth().group(member.agent);
                                        return group != nullptr && group->finished;
                                      });
  if (all) return;
  violated(now, {.agent = numbered.record.writer,
                 .round = in,
                 .expected = "every member of the last round has finished",
                 .found = "success is recorded before that"});
}

}  // namespace elastic::chaos
