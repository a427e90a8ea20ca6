#include "tests/property/scenario_generator.h"

#include <rapidcheck.h>

#include <algorithm>
#include <string>

namespace elastic::test {
namespace {

using namespace chaos;
using rc::gen::inRange;

Duration some_duration() {
  const auto unit =
      *rc::gen::element<std::int64_t>(1, 1'000, 1'000'000, 1'000'000'000, 60'000'000'000);
  return Duration(*inRange<std::int64_t>(1, 1'000) * unit);
}

template <class Enum>
Enum one_of(Enum a, Enum b) {
  return *rc::gen::arbitrary<bool>() ? a : b;
}

Zone some_zone(char name) {
  Zone zone;
  zone.name = std::string(1, name);
  zone.nodes = *inRange<std::uint32_t>(1, 12);
  zone.price_microdollars_per_hour = *inRange<std::int64_t>(0, 9'999'999);
  zone.market = *rc::gen::element<std::string>("", "aws_p3_2021", "gcp_a100_2021", "gce_2019",
                                               "llm_cluster_2024");
  if (zone.market.empty() && *rc::gen::arbitrary<bool>()) {
    zone.at_start = *inRange<std::uint32_t>(0, zone.nodes + 1);
  }
  return zone;
}

FaultEntry some_fault(const Scenario& scenario) {
  FaultEntry entry;
  entry.form = *rc::gen::element(FaultForm::kTimed, FaultForm::kRandom, FaultForm::kSwarm);
  if (entry.form == FaultForm::kSwarm) {
    entry.every = std::chrono::minutes(*inRange(2, 60));
    if (*rc::gen::arbitrary<bool>()) entry.kinds = {sim::FaultKind::kLoss, sim::FaultKind::kCrash};
    return entry;
  }
  entry.kind = static_cast<sim::FaultKind>(*inRange<int>(0, static_cast<int>(sim::kFaultKinds)));
  if (entry.kind == sim::FaultKind::kStorageRot && scenario.job.workers != WorkerKind::kNative) {
    entry.kind = sim::FaultKind::kStorageFull;
  }
  const KindInfo& kind = info(entry.kind);
  if (entry.form == FaultForm::kTimed) {
    entry.at = std::min(some_duration(), scenario.horizon);
  } else {
    entry.every = std::chrono::minutes(*inRange(5, 90));
    entry.regular = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) entry.until = scenario.horizon / 2;
  }
  const bool whom = kind.reach == Reach::kNodes || kind.reach == Reach::kCut;
  if (whom) {
    entry.targets = {*rc::gen::element<std::string>("a0", "zone a", "coordinator")};
    if (kind.reach == Reach::kCut && *rc::gen::arbitrary<bool>()) entry.others = {"zone b"};
  }
  if (kind.length != Need::kNo) {
    const Duration low = some_duration();
    entry.length = LengthRange{low, low};
  }
  const std::int64_t ms = kind.unit == ValueUnit::kWorker ? 0 : kind.value.high;
  if (kind.unit != ValueUnit::kNone) entry.value = ms;
  return entry;
}

}  // namespace

Scenario some_scenario() {
  Scenario scenario;
  scenario.name = "generated";
  scenario.sentence = *rc::gen::element<std::string>("", "Why it exists.");
  scenario.zones = {some_zone('a'), some_zone('b')};
  JobConfig& job = scenario.job;
  job.min_nodes = 1;
  job.max_nodes = scenario.zones[0].nodes + scenario.zones[1].nodes;
  job.workers_per_node = *inRange<std::uint32_t>(1, 8);
  job.workers = one_of(WorkerKind::kNative, WorkerKind::kForeign);
  job.journal = JournalKind::kHosted;
  job.growth = one_of(Growth::kAlways, Growth::kNever);
  if (job.workers == WorkerKind::kNative && *rc::gen::arbitrary<bool>()) {
    job.growth = Growth::kPays;
    job.no_progress.failures = *inRange<std::uint32_t>(0, 9);
  }
  job.growth_pays = {some_duration(), some_duration(), *inRange<std::uint32_t>(0, 100) * 10'000,
                     std::nullopt};
  job.restart_back_off.base = std::min(some_duration(), job.restart_back_off.cap);
  job.churn_back_off = {some_duration(), std::chrono::hours(100)};
  if (*rc::gen::arbitrary<bool>()) job.max_churn = *inRange<std::uint32_t>(0, 99);
  job.health.min_healthy = *inRange<std::uint32_t>(0, job.max_nodes + 1);
  job.health.grace = some_duration();
  job.flaps.tolerated = *inRange<std::uint32_t>(0, 9);
  job.restart_policy = one_of(RestartPolicy::kAnyFailure, RestartPolicy::kExitCode);
  job.max_restarts = *inRange<std::uint32_t>(0, 99);
  job.keep_saves = *inRange<std::uint32_t>(0, 99);
  job.cool_down = some_duration();
  job.budget_reset = some_duration();
  job.journal_lost_after = some_duration();
  scenario.training.collective_timeout = some_duration();
  if (*rc::gen::arbitrary<bool>()) job.join_timeout = some_duration();
  const Duration compute = *rc::gen::arbitrary<bool>() ? some_duration() : Duration{};
  scenario.model = {"",
                    compute,
                    some_duration(),
                    *inRange<std::int64_t>(1, 1'000'000'000),
                    *inRange<std::int64_t>(1, 1'000'000'000),
                    {},
                    nullptr};
  scenario.steps = *inRange<std::uint64_t>(1, 1'000'000);
  scenario.checkpoint.interval =
      *rc::gen::element(SaveInterval::kFixed, SaveInterval::kAuto, SaveInterval::kNever);
  if (scenario.checkpoint.interval == SaveInterval::kFixed) {
    scenario.checkpoint.every = some_duration();
  }
  scenario.notice = some_duration();
  scenario.horizon = std::chrono::hours(*inRange(1, 20));
  scenario.network.loss_ppm = *inRange<std::int64_t>(0, 1'000'000);
  scenario.network.bandwidth_bytes_per_second = *inRange<std::int64_t>(1, 10'000'000'000);
  const int faults = *inRange(0, 6);
  for (int i = 0; i < faults; ++i) scenario.faults.push_back(some_fault(scenario));
  scenario.expect = {{Metric::kGoodput, Comparison::kAtLeast, *inRange<std::int64_t>(0, 1'000'000)},
                     {Metric::kCost, Comparison::kLess, *inRange<std::int64_t>(0, 1'000'000'000)}};
  return scenario;
}

}  // namespace elastic::test
