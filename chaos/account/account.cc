#include "chaos/account/account.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/math/quantiles.h"

namespace elastic::chaos {
namespace {

using sim::NodeEventKind;
using sim::WorkerEventKind;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerHour = 3'600 * kNsPerSecond;
constexpr std::int64_t kMicro = 1'000'000;
// Among so many steps of an epoch a short one is nothing, and the products below stay under 2^127.
constexpr std::uint64_t kManySteps = std::uint64_t{1} << 32;

std::int64_t clamped(math::int128 value) {
  constexpr math::int128 kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, kMax));
}

template <std::size_t N>
void bump(std::array<std::uint64_t, N>& counts, std::size_t index) {
  if (index < N) ++counts[index];
}

}  // namespace

Duration undisturbed_step(const sim::WorldConfig& config, std::uint32_t nodes,
                          std::uint64_t batch) {
  const sim::TrainingModel& t = config.training;
  const std::uint64_t workers = std::uint64_t{nodes} * config.job.workers_per_node;
  if (workers == 0) return Duration::max();
  const auto share = static_cast<std::int64_t>(math::ceil_div(batch, workers));
  const std::int64_t compute = math::mul_sat(t.compute_per_sample.count(), share);
  const std::int64_t bytes = math::mul_div(t.gradient_bytes, 2 * (std::int64_t{nodes} - 1), nodes);
  const std::int64_t reduce =
      config.network.bandwidth_bytes_per_second <= 0
          ? 0
          : math::mul_div(bytes, kNsPerSecond, config.network.bandwidth_bytes_per_second);
  const std::int64_t hops =
      math::mul_sat(2 * (std::int64_t{nodes} - 1), config.network.latency.count());
  return Duration(std::max<std::int64_t>(
      1,
      math::add_sat(math::add_sat(compute, math::add_sat(reduce, hops)), t.step_overhead.count())));
}

namespace {

// The samples of a step in the middle of an epoch.
std::uint64_t batch_with(const sim::WorldConfig& config, std::uint32_t nodes) {
  const std::uint64_t workers = std::uint64_t{nodes} * config.job.workers_per_node;
  const auto ranks = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(workers, 1, std::numeric_limits<std::uint32_t>::max()));
  return policy::global_batch(sim::batch_rule(config.job, config.training), ranks);
}

// Of this many steps of a constant global batch, the last of each epoch being what is left of it.
std::uint64_t samples_of(const sim::TrainingModel& t, std::uint64_t steps) {
  if (t.dataset == 0 || t.global_batch == 0) return math::mul_sat_u64(steps, t.global_batch);
  const std::uint64_t per_epoch = (t.dataset - 1) / t.global_batch + 1;
  const std::uint64_t begun = math::mul_sat_u64(steps % per_epoch, t.global_batch);
  return math::add_sat_u64(math::mul_sat_u64(steps / per_epoch, t.dataset), begun);
}

}  // namespace

Account::Account(const sim::WorldConfig& config) : config_(config), machines_(config.nodes.size()) {
  const std::size_t sizes = std::max<std::size_t>(config.nodes.size(), config.job.max_nodes) + 1;
  step_table_.reserve(sizes);
  for (std::uint32_t nodes = 0; nodes < sizes; ++nodes) {
    step_table_.push_back(step_table_entry(nodes));
  }
  time_with_.resize(sizes);
  plot({});
}

Account::NominalSteps Account::step_table_entry(std::uint32_t nodes) const {
  const std::uint64_t batch = batch_with(config_, nodes);
  const Duration whole = undisturbed_step(config_, nodes, batch);
  const std::uint64_t dataset = config_.training.dataset;
  if (nodes == 0 || dataset == 0) return {whole, 1, whole.count()};
  const std::uint64_t full = dataset / batch;
  const std::uint64_t rest = dataset % batch;
  if (full >= kManySteps) return {whole, 1, whole.count()};
  math::int128 epoch = math::int128{whole.count()} * static_cast<std::int64_t>(full);
  if (rest > 0) epoch += undisturbed_step(config_, nodes, rest).count();
  return {whole, static_cast<std::int64_t>(full + (rest > 0 ? 1 : 0)), epoch};
}

Duration Account::nominal_step(std::uint32_t nodes) const {
  return step_table_[std::min<std::size_t>(nodes, step_table_.size() - 1)].whole_batch;
}

std::uint32_t Account::usable(std::uint32_t up) const {
  const std::uint32_t unit = std::max(1U, config_.job.node_unit);
  const std::uint32_t nodes = std::min(up, config_.job.max_nodes) / unit * unit;
  return nodes < config_.job.min_nodes ? 0 : nodes;
}

// ---- Time
// ----------------------------------------------------------------------------------------

Account::Part Account::part_now() const {
  if (last_step_done_) return Part::kSaving;
  if (in_work_ && !member_still()) return Part::kStep;
  if (up_ < config_.job.min_nodes) return Part::kBelow;
  return asked_ ? Part::kReconfiguring : Part::kWaiting;
}

// How the time from the last callback to `now` divides. `step` belongs to the step in work.
Account::Stretch Account::stretch(Time now) const {
  Stretch result;
  if (finished_ || now <= last_) return result;
  Duration length = now - last_;
  result.parts.whole = length;
  // The copy of a save comes first, whatever else goes on.
  const Duration copying = std::clamp(saving_until_ - last_, Duration::zero(), length);
  if (training_ && copying > Duration::zero()) {
    result.parts.saving += copying;
    length -= copying;
  }
  switch (part_now()) {
    case Part::kStep:
      result.step = length;
      break;
    case Part::kSaving:
      result.parts.saving += length;
      break;
    case Part::kBelow:
      result.parts.below_minimum += length;
      break;
    case Part::kReconfiguring:
      result.parts.reconfiguring += length;
      break;
    case Part::kWaiting:
      result.parts.waiting += length;
      break;
  }
  return result;
}

void Account::advance(Time now) {
  if (finished_ || now <= last_) return;
  const Stretch more = stretch(now);
  time_with_[usable(up_)] += more.parts.whole;
  parts_ += more.parts;
  if (in_work_) in_work_->spent += more.step;
  last_ = now;
}

TimeParts Account::parts(Time now) const {
  const Stretch more = stretch(now);
  TimeParts parts = parts_;
  parts += more.parts;
  parts.redone += more.step;
  if (in_work_) parts.redone += in_work_->spent;
  if (broken_) parts.redone += broken_->spent;
  return parts;
}

bool Account::is_member(NodeId node, AgentLife life) const {
  const auto world = worlds_.find(trains_);
  if (world == worlds_.end()) return false;
  const std::size_t at = index_of(world->second, node);
  return at < world->second.members.size() && world->second.members[at].agent.life == life;
}

bool Account::member_still() const { return still_members_ > 0; }

// A step in work is kept (its time is productive and belongs to the step) or not.
void Account::settle(const InWork& work, bool kept) {
  if (kept) {
    ELASTIC_ASSERT(work.step == kept_.size() + 1);
    parts_.productive += work.spent;
    kept_.push_back(work.spent);
    return;
  }
  // What a lost step took beyond its own length was spent in finding out that it was lost.
  const Duration redone = std::min(work.spent, work.nominal);
  parts_.redone += redone;
  parts_.waiting += work.spent - redone;
  ++summary_.steps_redone_in_part;
}

void Account::break_training(Time now, bool announced) {
  if (!training_) return;
  training_ = false;
  if (in_work_) {
    broken_ = in_work_;
    in_work_.reset();
  }
  if (!last_step_done_ && !stopped_at_) {
    stopped_at_ = now;
    below_at_stop_ = parts_.below_minimum;
    stop_announced_ = announced;
  }
  plot(now);
}

void Account::begin_step(Time now, const sim::WorkerEvent& event) {
  const std::uint64_t step = event.state.step.value + 1;
  if (in_work_ && in_work_->round == event.round && in_work_->step == step) return;
  if (in_work_) {  // the step before was finished by all, and nobody said so
    settle(*in_work_, in_work_->step == kept_.size() + 1 && step == in_work_->step + 1);
    in_work_.reset();
  }
  if (broken_) {
    settle(*broken_, false);
    broken_.reset();
  }
  const auto world = worlds_.find(event.round);
  const auto nodes =
      static_cast<std::uint32_t>(world == worlds_.end() ? 0 : world->second.members.size());
  in_work_ =
      InWork{event.round, step, {}, event.length > Duration{} ? event.length : nominal_step(nodes)};
  const bool resumes = !training_ || trains_ != event.round;
  training_ = true;
  asked_ = asked_ && trains_ == event.round;
  trains_ = event.round;
  if (stopped_at_) {
    const Duration length = now - *stopped_at_ - (parts_.below_minimum - below_at_stop_);
    (stop_announced_ ? summary_.resizes : summary_.recoveries).push_back(length);
    stopped_at_.reset();
  }
  if (resumes) {
    count_still();
    plot(now);
  }
}

void Account::commit(const sim::WorkerEvent& event) {
  const std::uint64_t step = event.state.step.value;
  if (step == kept_.size() + 1) {
    InWork work{event.round, step, {}, {}};
    if (in_work_ && in_work_->step == step) {
      work = *in_work_;
      in_work_.reset();
    } else if (broken_ &&
               broken_->step == step) {  // it broke, and its last member finished it all the same
      work = *broken_;
      broken_.reset();
    }
    settle(work, true);
  }
  if (step >= config_.training.total_steps && config_.training.total_steps > 0) {
    last_step_done_ = true;
  }
}

void Account::fall_to(std::uint64_t step) {
  while (kept_.size() > step) {
    parts_.productive -= kept_.back();
    parts_.redone += kept_.back();
    kept_.pop_back();
    ++summary_.steps_lost;
    ++summary_.steps_redone_in_whole;
  }
  if (step < config_.training.total_steps) last_step_done_ = false;
}

// What a round resumes from tells what became of the steps before.
void Account::resume_at(std::uint64_t step) {
  if (broken_) {
    const bool kept = broken_->step == kept_.size() + 1 && step >= broken_->step;
    settle(*broken_, kept);
    broken_.reset();
  }
  // Finished by somebody who survived, without our having seen it whole.
  while (kept_.size() < step) kept_.push_back({});
  fall_to(step);
}

// ---- Callbacks
// -----------------------------------------------------------------------------------

void Account::on_note(Time now, AgentId /*by*/, const Note& note) {
  if (finished_) return;
  if (note.kind != NoteKind::kAskLeave) return;
  advance(now);
  if (summary_.rounds == 0) return;  // the first round: waiting for programs and for the last call
  asked_ = true;
  change_announced_ = note.b != 0;
}

void Account::on_record(Time now, const NumberedRecord& numbered, JournalLife /*life*/) {
  if (finished_ || !numbered.number) return;
  advance(now);
  if (std::holds_alternative<Lead>(numbered.record.body)) ++summary_.leads;
  if (std::holds_alternative<Checkpoint>(numbered.record.body)) ++summary_.checkpoints;
  if (const auto* world = std::get_if<World>(&numbered.record.body)) on_world(*world);
  if (const auto* verdict = std::get_if<Verdict>(&numbered.record.body)) {
    summary_.finished = verdict->kind == Verdict::Kind::kSucceeded;
    finish(now);
  }
}

void Account::on_world(const World& world) {
  ++summary_.rounds;
  bump(summary_.rounds_by_cause, static_cast<std::size_t>(world.cause));
  worlds_[world.round] = world;
  // Only the newest two are asked for: the one that trains and the one that is to.
  while (worlds_.size() > 8 && worlds_.begin()->first < trains_) worlds_.erase(worlds_.begin());
  asked_ = true;
  if (config_.job.workers == WorkerKind::kNative) resume_at(world.resume.state.step.value);
}

void Account::on_worker(Time now, const sim::WorkerEvent& event) {
  if (finished_) return;
  advance(now);
  const std::size_t index = static_cast<std::size_t>(event.node.value) - 1;
  const bool member = index < machines_.size() && is_member(event.node, event.life);
  switch (event.kind) {
    case WorkerEventKind::kStepBegun:
      begin_step(now, event);
      break;
    case WorkerEventKind::kCommitted:
      commit(event);
      break;
    case WorkerEventKind::kStall:
      saving_until_ = now + event.length;
      break;
    case WorkerEventKind::kEntered:
      // Foreign programs take up what they saved themselves.
      if (config_.job.workers == WorkerKind::kForeign && trains_ != event.round && !in_work_) {
        resume_at(event.state.step.value);
      }
      break;
    case WorkerEventKind::kExited:
      if (!event.by_agent && !event.status.ok()) {
        ++(event.status.signal != 0 ? summary_.workers_killed : summary_.program_failures);
      }
      freeze(index, event.local_rank, false);
      if (member) break_training(now, event.by_agent && change_announced_ && asked_);
      break;
    case WorkerEventKind::kLeft:
      if (member && event.round > trains_) break_training(now, change_announced_);
      break;
    case WorkerEventKind::kStopped:
    case WorkerEventKind::kGone:
      if (member) break_training(now, change_announced_ && asked_);
      break;
    case WorkerEventKind::kFrozen:
    case WorkerEventKind::kThawed:
      freeze(index, event.local_rank, event.kind == WorkerEventKind::kFrozen);
      break;
    case WorkerEventKind::kStarted:
      if (index < machines_.size()) machines_[index].frozen_ranks.clear();
      count_still();
      break;
    default:
      break;
  }
}

void Account::freeze(std::size_t index, std::uint32_t rank, bool frozen) {
  if (index >= machines_.size()) return;
  std::vector<std::uint32_t>& ranks = machines_[index].frozen_ranks;
  std::erase(ranks, rank);
  if (frozen) ranks.push_back(rank);
  count_still();
}

// Members of the training round that stand still.
void Account::count_still() {
  still_members_ = 0;
  const auto world = worlds_.find(trains_);
  if (world == worlds_.end()) return;
  for (const Member& member : world->second.members) {
    const std::size_t index = static_cast<std::size_t>(member.agent.node.value) - 1;
    if (index >= machines_.size()) continue;
    const Machine& machine = machines_[index];
    if (!machine.frozen_ranks.empty() || machine.machine_still) ++still_members_;
  }
}

void Account::on_node(Time now, const sim::NodeEvent& event) {
  if (finished_) return;
  advance(now);
  const std::size_t index = static_cast<std::size_t>(event.node.value) - 1;
  if (index >= machines_.size()) return;
  switch (event.kind) {
    case NodeEventKind::kMachineUp:
    case NodeEventKind::kMachineDown:
      on_machine(now, event.node, event.kind == NodeEventKind::kMachineUp);
      break;
    case NodeEventKind::kFrozen:
    case NodeEventKind::kThawed:
      if (!event.whole_machine) break;
      machines_[index].machine_still = event.kind == NodeEventKind::kFrozen;
      count_still();
      break;
    default:
      break;
  }
}

void Account::on_machine(Time now, NodeId node, bool up) {
  Machine& machine = machines_[static_cast<std::size_t>(node.value) - 1];
  if (machine.up == up) return;
  machine.up = up;
  machine.frozen_ranks.clear();
  machine.machine_still = false;
  const std::int64_t price =
      config_.nodes[static_cast<std::size_t>(node.value) - 1].price_microdollars_per_hour;
  if (up) {
    ++up_;
    machine.up_since = now;
    if (now > began_) ++summary_.nodes_joined;
  } else {
    --up_;
    summary_.machine_time += now - machine.up_since;
    cost_ += math::int128{price} * (now - machine.up_since).count();
    ++summary_.nodes_lost;
    if (batch_ == 0 || now != last_batch_) {
      ++summary_.loss_batches;
      batch_ = 0;
    }
    last_batch_ = now;
    summary_.biggest_batch = std::max(summary_.biggest_batch, ++batch_);
    const auto world = worlds_.find(trains_);
    const bool member =
        world != worlds_.end() && index_of(world->second, node) < world->second.members.size();
    if (member) break_training(now, false);
    if (up_ < config_.job.min_nodes) asked_ = false;
  }
  count_still();
  plot(now);
}

void Account::on_fault(Time /*now*/, const sim::Fault& fault) {
  if (!finished_) bump(summary_.faults, static_cast<std::size_t>(fault.kind));
}

void Account::on_sent(Time /*now*/, NodeId /*from*/, NodeId /*to*/, const Message& /*message*/) {
  if (!finished_) ++summary_.messages;
}

// ---- Charts, money, the end
// ----------------------------------------------------------------------

void Account::plot(Time now) {
  const std::size_t zones = std::max<std::size_t>(config_.zones.size(), 1);
  SizePoint point{now, std::vector<std::uint32_t>(zones), std::vector<std::uint32_t>(zones)};
  const auto zone_of = [&](std::size_t index) {
    return std::min<std::size_t>(config_.nodes[index].zone, zones - 1);
  };
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    if (machines_[i].up) ++point.up[zone_of(i)];
  }
  const auto world = worlds_.find(trains_);
  if (training_ && world != worlds_.end()) {
    for (const Member& member : world->second.members) {
      const std::size_t index = static_cast<std::size_t>(member.agent.node.value) - 1;
      if (index < machines_.size()) ++point.training[zone_of(index)];
    }
  }
  std::vector<SizePoint>& sizes = summary_.sizes;
  if (!sizes.empty() && sizes.back().at == now) {
    sizes.back() = std::move(point);
  } else if (sizes.empty() || sizes.back().up != point.up ||
             sizes.back().training != point.training) {
    sizes.push_back(std::move(point));
  }
}

void Account::close_money(Time now) {
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    if (!machines_[i].up) continue;
    summary_.machine_time += now - machines_[i].up_since;
    cost_ += math::int128{config_.nodes[i].price_microdollars_per_hour} *
             (now - machines_[i].up_since).count();
  }
  summary_.cost_microdollars = clamped((cost_ + kNsPerHour / 2) / kNsPerHour);
  const auto steps = static_cast<std::int64_t>(kept_.size());
  if (steps > 0) {
    summary_.cost_per_1000_steps_microdollars =
        clamped((cost_ * 1000 / kNsPerHour + steps / 2) / steps);
  }
}

void Account::finish(Time now) {
  if (finished_) return;
  advance(now);
  if (in_work_) settle(*std::exchange(in_work_, std::nullopt), false);
  if (broken_) settle(*std::exchange(broken_, std::nullopt), false);
  close_money(now);
  finished_ = true;
  ELASTIC_ASSERT(parts_.whole == now - began_ || now < began_);
  ELASTIC_ASSERT(parts_.sum() == parts_.whole);
  summary_.time = parts_;
  summary_.began = began_;
  summary_.ended = last_;
  summary_.steps_committed = kept_.size();
  summary_.samples_productive = samples_of(config_.training, kept_.size());
  math::int128 capacity = 0;
  for (std::size_t nodes = 1; nodes < time_with_.size(); ++nodes) {
    if (time_with_[nodes] == Duration::zero()) continue;
    const NominalSteps& steps = step_table_[nodes];
    capacity += math::int128{time_with_[nodes].count()} * kMicro * steps.per_epoch / steps.epoch_ns;
  }
  summary_.capacity_microsteps = clamped(capacity);
  if (capacity > 0) {
    summary_.goodput_ppm =
        clamped(math::int128{static_cast<std::int64_t>(kept_.size())} * kMicro * kMicro / capacity);
  }
  std::vector<std::int64_t> lengths;
  for (const Duration recovery : summary_.recoveries) lengths.push_back(recovery.count());
  summary_.recovery_p50 = Duration(math::quantile(lengths, 500'000));
  summary_.recovery_p99 = Duration(math::quantile(lengths, 990'000));
  summary_.recovery_max = Duration(math::quantile(std::move(lengths), 1'000'000));
}

}  // namespace elastic::chaos
