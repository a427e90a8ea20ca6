#include "chaos/oracles/training.h"

#include <fmt/format.h>

#include <utility>

#include "chaos/oracles/narrator.h"
#include "transport/sim/native.h"

namespace elastic::chaos {

using sim::WorkerEventKind;

namespace {

std::string in_words(const data::Cursor& cursor) {
  return fmt::format("sample {} of epoch {}", grouped(cursor.consumed), cursor.epoch.value);
}

}  // namespace

// ---- samples
// -------------------------------------------------------------------------------------

SamplesOracle::SamplesOracle(Bench bench)
    : Oracle({.name = "samples",
              .title = "a sample was left out or counted twice",
              .promise = "Along the lineage of every state, each sample of an epoch counts exactly "
                         "once, in the order of the epoch.",
              .interests = kOnWorker},
             std::move(bench)),
      rules_(sim::rules_of(config())) {
  next_[Lineage{}] = data::Cursor{};
}

void SamplesOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  if (!native() || event.kind != WorkerEventKind::kApplied) return;
  const auto before = next_.find(event.before);
  if (before == next_.end()) return;  // `lineage` and `weights` speak of states that nobody trained
  counted();
  const data::Cursor from{event.batch.epoch, event.batch.first.value};
  if (from != before->second || event.batch.size == 0) {
    violated(now, {.agent = {event.node, event.life},
                   .round = event.round,
                   .expected = fmt::format("step {} begins at {}", grouped(event.state.step.value),
                                           in_words(before->second)),
                   .found = fmt::format("it takes {} samples from {} on", grouped(event.batch.size),
                                        in_words(from))});
    return;
  }
  const data::Cursor next = data::advance(rules_.data, from, event.batch);
  if (event.cursor != next) {
    violated(now, {.agent = {event.node, event.life},
                   .round = event.round,
                   .expected = fmt::format("{} follows step {}", in_words(next),
                                           grouped(event.state.step.value)),
                   .found = "its cursor says " + in_words(event.cursor)});
  }
  next_[event.state.lineage] = next;
}

// ---- weights
// -------------------------------------------------------------------------------------

WeightsOracle::WeightsOracle(Bench bench)
    : Oracle({.name = "weights",
              .title = "a state is not that of an undisturbed run",
              .promise = "Whatever happened, the weights after each step are bit for bit those of "
                         "an undisturbed run.",
              .interests = kOnWorker},
             std::move(bench)),
      rules_(sim::rules_of(config())),
      undisturbed_(rules_.data, rules_.global_batch) {
  trained_[Lineage{}] = sim::initial_weights(rules_.data.seed);
  digests_.push_back(undisturbed_.digest());
}

std::uint64_t WeightsOracle::undisturbed_digest(Step step) {
  while (digests_.size() <= step.value && !undisturbed_.finished()) {
    undisturbed_.advance();
    digests_.push_back(undisturbed_.digest());
  }
  return step.value < digests_.size() ? digests_[step.value] : 0;
}

void WeightsOracle::judge(Time now, const sim::WorkerEvent& event, std::uint64_t expected,
                          const char* what) {
  counted();
  if (event.digest == expected) return;
  violated(now, {.agent = {event.node, event.life},
                 .round = event.round,
                 .expected = fmt::format("weights {:016x} at step {}, {}", expected,
                                         grouped(event.state.step.value), what),
                 .found = fmt::format("weights {:016x}", event.digest)});
}

void WeightsOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  if (!native()) return;
  if (event.kind == WorkerEventKind::kFilled || event.kind == WorkerEventKind::kLoaded) {
    const auto known = trained_.find(event.state.lineage);
    if (known != trained_.end())
      judge(now, event, sim::digest_of(known->second), "as whoever trained it had them");
    return;
  }
  if (event.kind != WorkerEventKind::kApplied) return;
  const auto before = trained_.find(event.before);
  if (before == trained_.end()) {
    violated(now, {.agent = {event.node, event.life},
                   .round = event.round,
                   .expected = "a step is applied to a state that somebody trained",
                   .found = fmt::format("step {} is applied to lineage {:016x}",
                                        grouped(event.state.step.value), event.before.value)});
    return;
  }
  sim::Weights weights = before->second;
  const data::Share whole{event.batch.first, event.batch.size};
  sim::apply(weights, sim::gradient(weights, rules_.data.seed, event.batch.epoch, whole), 1);
  judge(now, event, sim::digest_of(weights), "trained from the state before");
  trained_[event.state.lineage] = weights;
  judge(now, event, undisturbed_digest(event.state.step), "as in an undisturbed run");
}

}  // namespace elastic::chaos
