// A worker keeps its promises whatever comes in, in whatever order.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/worker/lineage.h"
#include "core/worker/worker.h"
#include "tests/support/property.h"

namespace elastic {
namespace {

using std::chrono::milliseconds;

constexpr JournalLife kLife{1};

template <class T>
T below(T bound) {
  return *rc::gen::inRange<T>(0, bound);
}

// A worker, the rounds that it may hear of, and what its runtime owes it.
struct Bench {
  Bench() {
    rules.data.samples = 40;
    rules.data.max_steps = 6;
    rules.batch.reference_batch = 7;
    rules.save_every = milliseconds(30);
    timeouts.orphan = milliseconds(200);
    worker.emplace(rules, timeouts);
    WorkerEffects effects;
    worker->start(now, 0, effects);
    take(effects);
  }

  void give(const WorkerInput& input) {
    const std::optional<StatePoint> held = worker->held();
    const RoundId left_for = worker->left_for();
    const Worker copy = *worker;
    WorkerEffects effects;
    worker->step(now, input, effects);
    worker->check();
    Worker again = copy;
    WorkerEffects same;
    again.step(now, input, same);
    RC_ASSERT(again.digest() == worker->digest());
    RC_ASSERT(same.size() == effects.size());
    judge_state(held, input);
    for (const WorkerEffect& effect : effects) judge(effect, left_for);
    take(effects);
  }

  // Nothing but applying, swapping in, entering, or starting from scratch changes what it holds.
  void judge_state(const std::optional<StatePoint>& held, const WorkerInput& input) const {
    if (worker->held() == held) return;
    const bool scratch = std::holds_alternative<TakePlace>(input);
    const bool applied = std::holds_alternative<StepApplied>(input);
    const bool swapped = std::holds_alternative<SwappedIn>(input);
    const bool connected = std::holds_alternative<Connected>(input);
    RC_ASSERT(scratch || applied || swapped || connected);
    if (applied && held && worker->held()->step != held->step) {
      RC_ASSERT(worker->held()->step.value == held->step.value + 1);
    }
  }

  void judge(const WorkerEffect& effect, RoundId left_for) {
    if (const auto* start = std::get_if<StartStep>(&effect)) {
      RC_ASSERT(start->round >= left_for);
      RC_ASSERT(start->round >= worker->left_for());
      RC_ASSERT(start->step.value == worker->held()->step.value + 1);
    } else if (const auto* reduce = std::get_if<ReduceStep>(&effect)) {
      RC_ASSERT(reduce->round >= left_for);
      reducing = {reduce->round, reduce->step};
    } else if (const auto* apply = std::get_if<ApplyStep>(&effect)) {
      // Only what was reduced whole: in the round that it is in, or kept from the one it left.
      RC_ASSERT(whole.has_value());
      RC_ASSERT(whole->first == apply->round && whole->second == apply->step);
      if (worker->phase() == Worker::Phase::kApplying) {
        RC_ASSERT(apply->round >= left_for);
        RC_ASSERT(now - lease_from < timeouts.orphan);
      }
    } else if (const auto* says = std::get_if<TellAgent>(&effect)) {
      if (const auto* entered = std::get_if<SaysEntered>(&says->says)) {
        RC_ASSERT(entered->round >= left_for);
        RC_ASSERT(entered->held.step == worker->placement().resume.state.step);
        RC_ASSERT(entered->held.lineage == worker->placement().resume.state.lineage);
      }
      if (const auto* left = std::get_if<SaysLeft>(&says->says))
        RC_ASSERT(left->held == worker->held());
    }
  }

  void take(const WorkerEffects& effects) {
    for (const WorkerEffect& effect : effects) {
      if (std::holds_alternative<EndWorker>(effect)) ended = true;
      owed.push_back(effect);
    }
    if (owed.size() > 40) owed.erase(owed.begin(), owed.begin() + 20);
  }

  RoundId some_round() {
    const std::uint64_t near = std::max<std::uint64_t>(worker->placed().number, 1);
    return {kLife, std::max<std::uint64_t>(1, near - 1 + below<std::uint64_t>(4))};
  }

  Placement some_place() {
    Placement place;
    place.round = {kLife, worker->placed().number + 1 + below<std::uint64_t>(2)};
    place.world_size = place.group_size = 1 + below<std::uint32_t>(4);
    place.previous = {NodeId{2}, AgentLife{1}};
    place.next = {NodeId{place.world_size > 2 ? 3U : 2U}, AgentLife{1}};
    const auto& held = worker->held();
    switch (below(5)) {
      case 0:
        break;  // from scratch
      case 1:
        place.resume.source = ResumePoint::Source::kCheckpoint;
        place.resume.checkpoint = RecordNo{5};
        place.resume.state = {{kLife, 1}, Step{4}, Lineage{44}};
        break;
      case 2:  // one step ahead of it: a survivor had that step whole
        if (held && whole) {
          place.resume.source = ResumePoint::Source::kHolders;
          place.resume.state = {held->entered, whole->second,
                                next_lineage(held->lineage, whole->second, held->entered)};
          break;
        }
        [[fallthrough]];
      case 3:
        place.resume.source = ResumePoint::Source::kHolders;
        place.resume.state = {{kLife, 1}, Step{3}, Lineage{33}};
        break;
      default:
        if (!held) break;
        place.resume.source = ResumePoint::Source::kHolders;
        place.resume.state = *held;
    }
    return place;
  }

  // What the runtime answers to something that it was asked, in time or late.
  std::optional<WorkerInput> answer() {
    if (owed.empty()) return std::nullopt;
    const std::size_t at =
        owed.size() - 1 - below<std::size_t>(std::min<std::size_t>(owed.size(), 4));
    const WorkerEffect effect = owed[at];
    owed.erase(owed.begin() + static_cast<std::ptrdiff_t>(at));
    const bool good = below(5) != 0;
    if (const auto* connect = std::get_if<Connect>(&effect))
      return Connected{connect->placement.round};
    if (const auto* part = std::get_if<FetchPart>(&effect)) {
      if (good) return PartFetched{part->round, part->part};
      return FetchFailed{part->round, part->side};
    }
    if (const auto* load = std::get_if<LoadSave>(&effect)) return SaveLoaded{load->round, good};
    if (const auto* swap = std::get_if<SwapIn>(&effect)) {
      Progress progress;
      progress.cursor = {{}, swap->state.step.value * 7 % 40};
      return SwappedIn{swap->round, good, progress};
    }
    if (const auto* start = std::get_if<StartStep>(&effect))
      return StepComputed{start->round, start->step};
    if (const auto* reduce = std::get_if<ReduceStep>(&effect)) {
      whole = {reduce->round, reduce->step};
      return StepReduced{reduce->round, reduce->step, reduce->flags | (good ? 0U : kStopAfter),
                         std::nullopt};
    }
    if (const auto* apply = std::get_if<ApplyStep>(&effect))
      return StepApplied{apply->round, apply->step};
    if (const auto* copy = std::get_if<CopyState>(&effect))
      return CopyMade{copy->round, copy->step};
    if (const auto* store = std::get_if<StoreShare>(&effect)) return ShareStored{store->save};
    return std::nullopt;
  }

  void random_input() {
    const auto side = below(2) == 0 ? Side::kPrevious : Side::kNext;
    const std::uint64_t step = worker->held() ? worker->held()->step.value : 0;
    switch (below(20)) {
      case 0:
        if (worker->phase() == Worker::Phase::kOutside || below(8) == 0)
          give(TakePlace{some_place(), 0});
        return;
      case 1:
        if (below(3) == 0) give(LeaveRound{some_round(), below(2) == 0});
        return;
      case 2:
        give(PeerSays{side, Hello{some_round(), below(3) != 0}});
        return;
      case 3:
        if (below(4) == 0) give(PeerSays{side, Broken{some_round()}});
        return;
      case 4:
        if (below(6) == 0) give(EdgeClosed{some_round(), side});
        return;
      case 5: {
        // Out of the blue: of a step or round that it may never have asked for.
        const Step any{step + below<std::uint64_t>(3)};
        if (below(2) == 0) {
          give(StepComputed{some_round(), any});
        } else {
          give(CopyMade{some_round(), any});
        }
        return;
      }
      case 6:
        if (below(3) != 0) return;
        lease_from = std::max(lease_from, now - milliseconds(below(20)));
        give(RenewLease{lease_from, {}});
        return;
      case 7:
        now += milliseconds(below(40));
        give(WorkerTimerFired{WorkerTimer::kOrphan});
        return;
      default:
        now += milliseconds(below(8));
        if (const auto input = answer()) give(*input);
        return;
    }
  }

  TrainingRules rules;
  Timeouts timeouts;
  Time now{milliseconds(1000)};
  Time lease_from{milliseconds(1000)};
  std::optional<Worker> worker;
  std::vector<WorkerEffect> owed;
  std::pair<RoundId, Step> reducing;
  std::optional<std::pair<RoundId, Step>> whole;  // newest reduction that was told whole
  bool ended = false;
};

TEST(WorkerProperty, contributes_to_nothing_below_the_round_it_left_for_and_tears_no_state) {
  test::check(
      "a worker contributes to nothing below the round it left for, applies only what is whole, "
      "enters only with the resume state, and applies nothing past its orphan bound",
      {"entered", "filled", "loaded", "caught up", "left while applying", "planned stop",
       "orphaned", "finished", "saved"},
      [] {
        Bench bench;
        bool entered = false, filled = false, loaded = false, caught_up = false;
        bool while_applying = false, stopped = false, finished = false, saved = false;
        const int inputs = *rc::gen::inRange(40, 600);
        for (int i = 0; i < inputs; ++i) {
          const Worker::Phase before = bench.worker->phase();
          const RoundId left_for = bench.worker->left_for();
          bench.random_input();
          const Worker::Phase phase = bench.worker->phase();
          const auto source = bench.worker->placement().resume.source;
          const bool out = before == Worker::Phase::kSwapping && phase != before;
          entered = entered || phase == Worker::Phase::kComputing;
          filled = filled || (out && source == ResumePoint::Source::kHolders);
          loaded = loaded || (out && source == ResumePoint::Source::kCheckpoint);
          caught_up = caught_up || before == Worker::Phase::kCatchingUp;
          stopped = stopped || phase == Worker::Phase::kStopped;
          finished = finished || phase == Worker::Phase::kFinished;
          saved = saved || phase == Worker::Phase::kCopying;
          while_applying = while_applying || (before == Worker::Phase::kApplying &&
                                              bench.worker->left_for() > left_for);
        }
        RC_CLASSIFY(entered, "entered");
        RC_CLASSIFY(filled, "filled");
        RC_CLASSIFY(loaded, "loaded");
        RC_CLASSIFY(caught_up, "caught up");
        RC_CLASSIFY(while_applying, "left while applying");
        RC_CLASSIFY(stopped, "planned stop");
        RC_CLASSIFY(bench.ended, "orphaned");
        RC_CLASSIFY(finished, "finished");
        RC_CLASSIFY(saved, "saved");
      },
      {.max_success = 400});
}

// ---- A run of one worker to the end, disturbed by rounds: each sample once

TEST(WorkerProperty, takes_each_sample_once_whatever_rounds_it_goes_through) {
  test::check(
      "along the steps that a worker applies, batches adjoin from sample 0 to the end, whatever "
      "rounds it goes through and whatever is cancelled",
      {"several rounds", "a cancelled step", "a whole epoch"}, [] {
        TrainingRules rules;
        rules.data.samples = *rc::gen::inRange<std::uint64_t>(1, 60);
        rules.data.epochs = 1 + below<std::uint64_t>(3);
        rules.batch.reference_batch = 1 + below<std::uint64_t>(20);
        Timeouts timeouts;
        timeouts.orphan = std::chrono::hours(1);
        Worker worker(rules, timeouts);
        WorkerEffects effects;
        Time now{milliseconds(1)};
        worker.start(now, 0, effects);
        data::Cursor next;
        std::uint64_t round = 0;
        int cancelled = 0;
        std::vector<WorkerInput> inputs;
        const auto enter = [&] {
          Placement place;
          place.round = {kLife, ++round};
          place.world_size = place.group_size = 1;
          if (worker.held()) {
            place.resume.source = ResumePoint::Source::kHolders;
            place.resume.state = *worker.held();
          }
          inputs.push_back(TakePlace{place, 0});
          inputs.push_back(Connected{place.round});
        };
        enter();
        for (int guard = 0; guard < 3000 && worker.phase() != Worker::Phase::kFinished; ++guard) {
          if (inputs.empty()) {
            enter();  // it has left
            continue;
          }
          const WorkerInput input = inputs.front();
          inputs.erase(inputs.begin());
          effects.clear();
          now += milliseconds(1);
          if (std::holds_alternative<StepComputed>(input) && below(6) == 5) {
            ++cancelled;
            ++round;
            worker.step(now, LeaveRound{{kLife, round}, false}, effects);
            inputs.clear();
            continue;
          }
          const auto before = worker.held();
          const data::Batch batch = worker.batch();
          worker.step(now, input, effects);
          worker.check();
          if (std::holds_alternative<StepApplied>(input) && worker.held() != before) {
            RC_ASSERT((data::Cursor{batch.epoch, batch.first.value}) == next);
            next = data::advance(rules.data, next, batch);
            RC_ASSERT(worker.progress().cursor == next);
          }
          for (const WorkerEffect& effect : effects) {
            if (const auto* start = std::get_if<StartStep>(&effect))
              inputs.push_back(StepComputed{start->round, start->step});
            if (const auto* reduce = std::get_if<ReduceStep>(&effect))
              inputs.push_back(
                  StepReduced{reduce->round, reduce->step, reduce->flags, std::nullopt});
            if (const auto* apply = std::get_if<ApplyStep>(&effect))
              inputs.push_back(StepApplied{apply->round, apply->step});
            if (const auto* store = std::get_if<StoreShare>(&effect))
              inputs.push_back(ShareStored{store->save});
          }
        }
        RC_ASSERT(worker.phase() == Worker::Phase::kFinished);
        RC_ASSERT(data::finished(rules.data, next, worker.held()->step));
        RC_CLASSIFY(round > 2, "several rounds");
        RC_CLASSIFY(cancelled > 0, "a cancelled step");
        RC_CLASSIFY(rules.data.samples > rules.batch.reference_batch, "a whole epoch");
      });
}

}  // namespace
}  // namespace elastic
