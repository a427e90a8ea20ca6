#include "chaos/shrink/minimise.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "core/math/digest.h"

namespace elastic::chaos {
namespace {

using sim::Fault;
using sim::FaultKind;
using sim::Plan;

// The identity of a suspect, for remembering what was tried: every field in a row.
std::vector<std::int64_t> key_of(const Suspect& suspect) {
  std::vector<std::int64_t> key{suspect.horizon.count()};
  for (const Fault& fault : suspect.plan) {
    key.push_back(fault.at.time_since_epoch().count());
    key.push_back(static_cast<std::int64_t>(fault.kind));
    key.push_back(fault.length.count());
    key.push_back(fault.value);
    for (const auto* nodes : {&fault.targets, &fault.others}) {
      key.push_back(static_cast<std::int64_t>(nodes->size()));
      for (const NodeId node : *nodes) key.push_back(static_cast<std::int64_t>(node.value));
    }
  }
  return key;
}

class Minimiser {
 public:
  Minimiser(const Trial& trial, const MinimiseLimits& limits,
            const std::function<void(const MinimiseProgress&)>& progress)
      : trial_(trial), limits_(limits), progress_(progress) {}

  Minimised run(const Suspect& suspect) {
    phase_ = "the whole";
    if (!accept(suspect)) return result(false);
    bool again = true;
    while (again && !spent()) {
      const Suspect before = best_;
      cut_after_failure();
      remove_faults();
      shrink_lists();
      shrink_values();
      close_gaps();
      again = !(best_ == before);
    }
    return result(true);
  }

 private:
  [[nodiscard]] bool spent() const { return trials_ >= limits_.max_trials; }

  [[nodiscard]] Minimised result(bool failed) const {
    return {.failed = failed,
            .smallest = best_,
            .at = best_at_,
            .trials = trials_,
            .complete = failed && !spent()};
  }

  // Tries `suspect`; keeps it as the best when it fails in the way looked for.
  bool accept(const Suspect& suspect) {
    if (spent() || !tried_.emplace(key_of(suspect), true).second) return false;
    ++trials_;
    const std::optional<Time> at = trial_(suspect);
    if (at.has_value()) {
      best_ = suspect;
      best_at_ = *at;
    }
    if (progress_) {
      progress_({.trials = trials_,
                 .faults = best_.plan.size(),
                 .horizon = best_.horizon,
                 .phase = phase_});
    }
    return at.has_value();
  }

  // What comes after the failure had no part in it; so the run may end there, on a whole second.
  void cut_after_failure() {
    phase_ = "horizon";
    Suspect cut = best_;
    std::erase_if(cut.plan, [this](const Fault& fault) { return fault.at > best_at_; });
    if (best_at_ < Time{} + best_.horizon) {
      const auto second = std::chrono::ceil<std::chrono::seconds>(best_at_.time_since_epoch());
      cut.horizon = std::min<Duration>(best_.horizon, second + std::chrono::seconds(1));
    }
    if (cut == best_ || accept(cut)) return;
    cut.horizon = best_.horizon;  // perhaps it shows only at the end
    if (!(cut == best_)) accept(cut);
  }

  // ddmin: chunks of the plan are left out, in ever finer cuts.
  void remove_faults() {
    phase_ = "faults";
    ddmin(best_.plan.size(), [](Suspect& next, std::size_t from, std::size_t to) {
      const auto first = next.plan.begin();
      next.plan.erase(first + static_cast<std::ptrdiff_t>(from),
                      first + static_cast<std::ptrdiff_t>(to));
      return next.plan.size();
    });
  }

  // Leaves out chunks [from, to) of a list of `size` elements by `erase(suspect, from, to)`, which
  // returns the new size, as long as that fails; ends when no single element can go.
  template <class Erase>
  void ddmin(std::size_t size, const Erase& erase) {
    std::size_t chunk = size;
    while (chunk > 0 && size > 0 && !spent()) {
      bool removed = false;
      // From the end: late faults matter least, and removing them keeps what came before as it was.
      for (std::size_t to = size; to > 0 && !spent();) {
        const std::size_t from = to > chunk ? to - chunk : 0;
        Suspect next = best_;
        const std::size_t smaller = erase(next, from, to);
        if (accept(next)) {
          size = smaller;
          removed = true;
        }
        to = from;
      }
      if (chunk == 1 && !removed) break;
      if (!removed || chunk > size) chunk = chunk == 1 ? 1 : chunk / 2;
      if (chunk > size) chunk = size;
    }
  }

  // Fewer nodes in each fault. A fault that hits machines keeps at least one; an empty list of
  // partners or journal clients would mean "everybody", which is not less.
  void shrink_lists() {
    phase_ = "targets";
    for (std::size_t index = 0; index < best_.plan.size() && !spent(); ++index) {
      shrink_list(index, &Fault::targets);
      shrink_list(index, &Fault::others);
    }
  }

  void shrink_list(std::size_t index, std::vector<NodeId> Fault::*list) {
    ddmin((best_.plan[index].*list).size(),
          [index, list](Suspect& next, std::size_t from, std::size_t to) {
            std::vector<NodeId>& nodes = next.plan[index].*list;
            if (to - from == nodes.size()) {
              nodes.resize(1);  // never empty; tried already where one is left
            } else {
              nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(from),
                          nodes.begin() + static_cast<std::ptrdiff_t>(to));
            }
            return nodes.size();
          });
  }

  void shrink_values() {
    phase_ = "values";
    for (std::size_t index = 0; index < best_.plan.size() && !spent(); ++index) {
      halve([index](Suspect& s) -> std::int64_t { return s.plan[index].length.count(); },
            [index](Suspect& s, std::int64_t v) { s.plan[index].length = Duration(v); },
            needs_length(best_.plan[index].kind), kShortestLength);
      halve([index](Suspect& s) -> std::int64_t { return s.plan[index].value; },
            [index](Suspect& s, std::int64_t v) { s.plan[index].value = v; }, false, 1);
      round_time(index);
    }
  }

  // A crash of length 0 never boots and a notice of 0 is none: there, zero is not the smallest.
  static bool needs_length(FaultKind kind) {
    return kind == FaultKind::kCrash || kind == FaultKind::kNotice || kind == FaultKind::kLeave;
  }

  // Zero if that fails, else halves as long as that fails, else a rounder number.
  template <class Get, class Set>
  void halve(const Get& get, const Set& set, bool keep_positive, std::int64_t floor) {
    Suspect next = best_;
    if (get(next) == 0) return;
    if (!keep_positive) {
      set(next, 0);
      if (accept(next)) return;
    }
    while (!spent()) {
      next = best_;
      const std::int64_t half = get(next) / 2;
      if (half < floor && -half < floor) break;
      set(next, half);
      if (!accept(next)) break;
    }
    for (const std::int64_t unit : {60'000'000'000LL, 1'000'000'000LL, 1'000'000LL, 1'000LL}) {
      next = best_;
      const std::int64_t rounded = get(next) / unit * unit;
      if (rounded == 0) continue;
      if (rounded == get(next)) break;
      set(next, rounded);
      if (accept(next)) break;
    }
  }

  // The fault a little earlier, on a whole minute or second, when the order of faults stays.
  void round_time(std::size_t index) {
    for (const std::int64_t unit : {60'000'000'000LL, 1'000'000'000LL, 1'000'000LL}) {
      Suspect next = best_;
      const std::int64_t at = next.plan[index].at.time_since_epoch().count();
      const Time rounded{Duration(at / unit * unit)};
      if (rounded == next.plan[index].at) return;
      if (index > 0 && rounded < next.plan[index - 1].at) continue;
      next.plan[index].at = rounded;
      if (accept(next)) return;
    }
  }

  // Everything from one fault on earlier, by half of the time since the fault before it (or since
  // the start), as long as that fails: the run gets shorter, and what belongs together stands
  // together.
  void close_gaps() {
    constexpr std::size_t kMostFaults = 32;  // each costs some ten runs
    phase_ = "gaps";
    if (best_.plan.size() > kMostFaults) return;
    for (std::size_t index = 0; index < best_.plan.size(); ++index) {
      while (!spent()) {
        Suspect next = best_;
        const Time before = index == 0 ? Time{} : next.plan[index - 1].at;
        const Duration less =
            std::chrono::floor<std::chrono::seconds>((next.plan[index].at - before) / 2);
        if (less == Duration::zero()) break;
        for (std::size_t i = index; i < next.plan.size(); ++i) next.plan[i].at -= less;
        if (!accept(next)) break;
      }
    }
  }

  static constexpr std::int64_t kShortestLength = 1'000'000;  // ns: less is no help to a reader

  const Trial& trial_;
  const MinimiseLimits& limits_;
  const std::function<void(const MinimiseProgress&)>& progress_;
  std::map<std::vector<std::int64_t>, bool> tried_;
  Suspect best_;
  Time best_at_{};
  std::uint32_t trials_ = 0;
  const char* phase_ = "";
};

}  // namespace

Minimised minimise(const Suspect& suspect, const Trial& trial, const MinimiseLimits& limits,
                   const std::function<void(const MinimiseProgress&)>& progress) {
  return Minimiser(trial, limits, progress).run(suspect);
}

}  // namespace elastic::chaos
