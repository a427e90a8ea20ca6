#include "tests/support/closed_forms/runs.h"

#include <fmt/format.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "chaos/compare/policy.h"
#include "chaos/run/pool.h"
#include "chaos/run/run.h"
#include "core/assert.h"

namespace elastic::closed_forms {
namespace {

using nlohmann::json;

// Keeps who coordinated when a machine failed, and when training began.
class Watcher final : public sim::Observer {
 public:
  void on_record(Time /*now*/, const NumberedRecord& record, JournalLife /*life*/) override {
    if (const auto* lead = std::get_if<Lead>(&record.record.body)) leader_ = lead->leader.node;
  }
  void on_node(Time /*now*/, const sim::NodeEvent& event) override {
    if (event.kind == sim::NodeEventKind::kMachineDown) hit.push_back(event.node == leader_);
  }
  void on_worker(Time now, const sim::WorkerEvent& event) override {
    if (event.kind == sim::WorkerEventKind::kStepBegun && !first_step) first_step = now - Time{};
  }
  std::vector<bool> hit;  // by loss: the machine of the coordinator
  std::optional<Duration> first_step;

 private:
  NodeId leader_{};
};

std::string trouble_of(const chaos::RunResult& result) {
  if (result.verdict == chaos::VerdictClass::kHolds) return "";
  std::string what(name(result.verdict));
  if (result.violation) what += ": " + result.violation->title;
  if (result.crash) what += ": " + result.crash->what;
  return fmt::format("seed {}: {}", result.seed, what);
}

Figures figures_of(const chaos::RunResult& result, const Watcher& watcher) {
  const chaos::Summary& summary = result.summary;
  Figures figures;
  figures.trouble = trouble_of(result);
  figures.finished = summary.finished;
  figures.whole = in_seconds(summary.time.whole);
  figures.below_minimum = in_seconds(summary.time.below_minimum);
  figures.goodput = static_cast<double>(summary.goodput_ppm) / 1e6;
  if (watcher.first_step) figures.first_step = in_seconds(*watcher.first_step);
  figures.steps = summary.steps_committed;
  figures.lost = summary.nodes_lost;
  figures.events = result.outcome.events;
  if (summary.recoveries.size() != watcher.hit.size()) return figures;
  for (std::size_t i = 0; i < watcher.hit.size(); ++i) {
    figures.recoveries.push_back({in_seconds(summary.recoveries[i]), watcher.hit[i]});
  }
  return figures;
}

std::string to_text(const Figures& figures) {
  json recoveries = json::array();
  for (const Recovery& one : figures.recoveries) {
    recoveries.push_back({one.seconds, one.coordinator});
  }
  const json first = figures.first_step ? json(*figures.first_step) : json();
  return json{{"trouble", figures.trouble}, {"finished", figures.finished},
              {"whole", figures.whole},     {"below", figures.below_minimum},
              {"goodput", figures.goodput}, {"first", first},
              {"steps", figures.steps},     {"lost", figures.lost},
              {"events", figures.events},   {"recoveries", recoveries}}
      .dump();
}

Figures from_text(const std::string& text) {
  const json object = json::parse(text);
  Figures figures;
  figures.trouble = object.at("trouble");
  figures.finished = object.at("finished");
  figures.whole = object.at("whole");
  figures.below_minimum = object.at("below");
  figures.goodput = object.at("goodput");
  if (!object.at("first").is_null()) figures.first_step = object.at("first").get<double>();
  figures.steps = object.at("steps");
  figures.lost = object.at("lost");
  figures.events = object.at("events");
  for (const json& one : object.at("recoveries")) {
    figures.recoveries.push_back({one.at(0), one.at(1)});
  }
  return figures;
}

Figures from_result(const chaos::PoolResult& result) {
  if (!result.payload.empty()) {
    try {
      return from_text(result.payload);
    } catch (const std::exception&) {
      // half a line: the process died while it wrote
    }
  }
  Figures figures;
  figures.trouble =
      fmt::format("run {}: its process ended with status {}", result.item, result.status);
  return figures;
}

}  // namespace

std::vector<std::optional<Figures>> run_items(std::size_t count,
                                              const std::function<Item(std::size_t)>& item,
                                              unsigned processes, const Tell& tell) {
  std::vector<std::optional<Figures>> all(count);
  std::size_t ready = 0;
  const chaos::PoolWork work = [&](std::size_t index, const chaos::PoolEmit& emit) {
    const Item one = item(index);
    Watcher watcher;
    chaos::RunOptions options;
    options.liveness = false;
    if (one.plan) options.plan = &*one.plan;
    options.attach = [&](sim::World& world) { world.watch(watcher); };
    options.on_crash = [&](const chaos::RunResult& result) {
      emit(to_text(figures_of(result, watcher)), true);
      _Exit(chaos::kCrashStatus);
    };
    emit(to_text(figures_of(chaos::run_seed(one.scenario, one.seed, options), watcher)), false);
  };
  const auto done = [&](const chaos::PoolResult& result) {
    all[result.item] = from_result(result);
    ++ready;
    return true;
  };
  const auto tick = [&] {
    if (tell) tell(ready, count);
  };
  static_cast<void>(
      chaos::run_pool({.items = count, .jobs = std::max(1U, processes)}, work, done, tick));
  return all;
}

namespace {

chaos::Source source_from(const std::string& yaml) {
  auto source = chaos::parse_source(yaml, "closed form");
  if (!source) throw std::invalid_argument(source.error().text());
  return *std::move(source);
}

chaos::Scenario checked(tl::expected<chaos::Scenario, chaos::Errors> scenario) {
  if (!scenario) throw std::invalid_argument(scenario.error().text());
  return *std::move(scenario);
}

}  // namespace

chaos::Scenario scenario_from(const std::string& yaml) {
  return checked(chaos::check_source(source_from(yaml)));
}

chaos::Scenario rigid_scenario_from(const std::string& yaml) {
  const chaos::Source source = source_from(yaml);
  return checked(chaos::under_policy(source, scenario_from(yaml), chaos::Policy::kRigid));
}

std::string text_of(Duration length) { return fmt::format("{}ns", length.count()); }

}  // namespace elastic::closed_forms
