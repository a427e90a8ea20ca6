#include "chaos/oracles/training.h"

#include <fmt/format.h>

#include <utility>

#include "chaos/oracles/narrator.h"
#include "chaos/oracles/truth.h"
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
  next_[Lineage{}.value] = data::Cursor{};
}

void SamplesOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  if (!native() || event.kind != WorkerEventKind::kApplied) return;
  const Seen what{event.before, event.state.lineage, event.batch, event.cursor};
  if (seen_ == what) return counted();
  const auto before = next_.find(event.before.value);
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
  next_[event.state.lineage.value] = next;
  if (event.cursor == next) seen_ = what;
}

// ---- weights
// -------------------------------------------------------------------------------------

WeightsOracle::WeightsOracle(Bench bench)
    : Oracle({.name = "weights",
              .title = "a state is not that of an undisturbed run",
              .promise = "Whatever happened, the weights after each step follow exactly from the "
                         "step before, and with a constant batch they are bit for bit those of an "
                         "undisturbed run.",
              .interests = kOnWorker},
             std::move(bench)),
      rules_(sim::rules_of(config())),
      undisturbed_(rules_.data, rules_.batch.reference_batch) {
  trained_[Lineage{}.value] = Trained{sim::initial_weights(rules_.data.seed), {}, {}, {}};
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

// The whole batch by one worker, with the learning rate that the rule wants for the world of the
// round.
WeightsOracle::Trained WeightsOracle::trained_from(const Trained& before,
                                                   const sim::WorkerEvent& event) const {
  Trained after = before;
  const RoundTruth* round = truth().round(event.round);
  const std::uint32_t world = round == nullptr ? 1 : world_size(round->world);
  const std::uint64_t size = policy::global_batch(rules_.batch, world);
  const auto seen = data::samples_seen(rules_.data, before.next);
  const auto samples = seen > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(seen);
  const bool adaptive = rules_.batch.mode == policy::BatchMode::kAdaScale;
  const policy::Factor wanted = adaptive ? before.noise.gain(size, rules_.batch.reference_batch)
                                         : policy::scale_factor(rules_.batch, size);
  after.ramp = policy::retarget(before.ramp, samples, wanted, {rules_.ramp_steps, size});
  const data::Share whole{event.batch.first, event.batch.size};
  const sim::Lanes sum = sim::gradient(before.weights, rules_.data.seed, event.batch.epoch, whole);
  sim::apply(after.weights, sum, policy::ramp_at(after.ramp, samples).q32);
  if (adaptive) after.noise.add(sim::gradient_stats(sum), size, rules_.batch.reference_batch);
  // A batch from elsewhere is for `samples` to judge.
  const data::Cursor from{event.batch.epoch, event.batch.first.value};
  after.next = from == before.next ? data::advance(rules_.data, from, event.batch) : event.cursor;
  return after;
}

void WeightsOracle::on_worker(Time now, const sim::WorkerEvent& event) {
  if (!native()) return;
  if (event.kind == WorkerEventKind::kFilled || event.kind == WorkerEventKind::kLoaded) {
    const auto known = trained_.find(event.state.lineage.value);
    if (known != trained_.end())
      judge(now, event, sim::digest_of(known->second.weights), "as whoever trained it had them");
    return;
  }
  if (event.kind != WorkerEventKind::kApplied) return;
  const Seen what{event.round, event.state, event.before, event.batch, event.cursor};
  const bool constant = rules_.batch.mode == policy::BatchMode::kConstant;
  if (seen_ != what) {
    const auto before = trained_.find(event.before.value);
    if (before == trained_.end()) {
      violated(now, {.agent = {event.node, event.life},
                     .round = event.round,
                     .expected = "a step is applied to a state that somebody trained",
                     .found = fmt::format("step {} is applied to lineage {:016x}",
                                          grouped(event.state.step.value), event.before.value)});
      return;
    }
    const Trained after = trained_from(before->second, event);
    expected_.trained = sim::digest_of(after.weights);
    expected_.undisturbed = constant ? undisturbed_digest(event.state.step) : 0;
    trained_[event.state.lineage.value] = after;
    seen_ = what;
  }
  judge(now, event, expected_.trained, "trained from the state before");
  if (constant) judge(now, event, expected_.undisturbed, "as in an undisturbed run");
}

}  // namespace elastic::chaos
