#include "chaos/report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/report/chart.h"
#include "chaos/report/figures.h"
#include "chaos/scenario/expectation.h"

namespace elastic::chaos {
namespace {

std::string share(const char* what, Duration part, Duration whole) {
  return fmt::format("{} {}", what, percent_text(share_ppm(part, whole)));
}

std::string spaced(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string time_section(const Summary& summary, const Look& look) {
  const TimeParts& time = summary.time;
  return section(
      "time",
      {share("productive", time.productive, time.whole), share("waiting", time.waiting, time.whole),
       share("reconfiguring", time.reconfiguring, time.whole),
       share("saving", time.saving, time.whole), share("redone", time.redone, time.whole),
       share("below minimum", time.below_minimum, time.whole)},
      look);
}

std::string cost_section(const Summary& summary, const Look& look) {
  std::vector<std::string> items{dollars_text(summary.cost_microdollars)};
  if (summary.steps_committed > 0) {
    items.push_back(dollars_text(summary.cost_per_1000_steps_microdollars) + " per 1,000 steps");
  }
  items.push_back(fmt::format("{} of machine time", span_text(summary.machine_time)));
  return section("cost", items, look, "   ");
}

std::string steps_section(const Summary& summary, const Look& look) {
  std::vector<std::string> items{count_text(summary.steps_committed) + " committed",
                                 count_text(summary.steps_lost) + " lost",
                                 count_text(summary.steps_redone_in_part) + " redone in part"};
  if (summary.steps_redone_in_whole > 0) {
    items.push_back(count_text(summary.steps_redone_in_whole) + " redone in whole");
  }
  items.push_back(plural(summary.checkpoints, "save", "saves"));
  return section("steps", items, look, ", ");
}

std::string rounds_section(const Summary& summary, const Look& look) {
  std::string lost = fmt::format("nodes lost {}", count_text(summary.nodes_lost));
  if (summary.nodes_lost > 0) {
    lost += fmt::format(" ({}, biggest {})", plural(summary.loss_batches, "batch", "batches"),
                        summary.biggest_batch);
  }
  return section(
      "rounds",
      {count_text(summary.rounds), lost, fmt::format("joined {}", count_text(summary.nodes_joined)),
       fmt::format("coordinators {}", count_text(summary.leads))},
      look, "   ");
}

std::string faults_section(const Summary& summary, const Look& look) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < summary.faults.size(); ++i) {
    if (summary.faults[i] == 0) continue;
    items.push_back(fmt::format("{} {}", spaced(sim::name(static_cast<sim::FaultKind>(i))),
                                count_text(summary.faults[i])));
  }
  if (summary.program_failures > 0) {
    items.push_back("program failed " + count_text(summary.program_failures));
  }
  if (summary.workers_killed > 0) {
    items.push_back("workers killed " + count_text(summary.workers_killed));
  }
  return section("faults", items, look, ", ");
}

std::string recovery_section(const Summary& summary, const Look& look) {
  if (summary.recoveries.empty()) return section("recovery", {"nothing to recover from"}, look);
  return section(
      "recovery",
      {"p50 " + span_text(summary.recovery_p50), "p99 " + span_text(summary.recovery_p99),
       "max " + span_text(summary.recovery_max),
       fmt::format("({})", plural(summary.recoveries.size(), "time", "times"))},
      look, "   ");
}

// "12.4s": where the minute was said before.
std::string seconds_text(Time at) {
  const std::int64_t ms = at.time_since_epoch().count() / 1'000'000;
  return fmt::format("{}.{:03}s", ms / 1000 % 60, ms % 1000);
}

// Happenings that follow each other and say the same of several nodes, as one.
struct Told {
  Time at{};
  std::string who;   // up to the first space
  std::string what;  // the rest
  std::size_t nodes = 1;
};

std::vector<Told> told_together(const std::vector<Happening>& story) {
  std::vector<Told> told;
  for (const Happening& one : story) {
    const std::size_t space = std::min(one.text.find(' '), one.text.size());
    Told next{.at = one.at, .who = one.text.substr(0, space), .what = one.text.substr(space)};
    if (!told.empty() && told.back().what == next.what && told.back().who != next.who &&
        one.at - told.back().at < std::chrono::seconds(1)) {
      ++told.back().nodes;
    } else {
      told.push_back(std::move(next));
    }
  }
  return told;
}

std::string story_lines(const RunResult& result, Time until, const Look& look) {
  constexpr std::size_t kShown = 12;
  const std::vector<Told> told = told_together(result.story);
  std::string text;
  const std::size_t from = told.size() > kShown ? told.size() - kShown : 0;
  for (std::size_t i = from; i < told.size(); ++i) {
    const bool near = until - told[i].at < std::chrono::minutes(1);
    std::string line = (near ? seconds_text(told[i].at) : moment_text(told[i].at)) + "  ";
    line += told[i].who + told[i].what;
    if (told[i].nodes > 1) {
      line += fmt::format(" (and {} other{})", told[i].nodes - 1, told[i].nodes > 2 ? "s" : "");
    }
    text += paragraph(i == from ? "before it" : "", line, look);
  }
  return text;
}

std::string whereabouts(const RunResult& result) {
  if (result.crash) {
    return fmt::format("at {}, event {}", moment_text(result.crash_at),
                       count_text(result.crash_event));
  }
  const Violation& violation = *result.violation;
  std::string text =
      fmt::format("at {}, event {}", moment_text(violation.at), count_text(violation.event));
  if (!result.violation_node.empty()) text += ", node " + result.violation_node;
  if (violation.round) text += fmt::format(" ({})", in_words(violation.round));
  return text;
}

}  // namespace

Ink ink_of(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::kHolds:
      return Ink::kGood;
    case VerdictClass::kMissed:
    case VerdictClass::kInterrupted:
      return Ink::kWarn;
    default:
      return Ink::kBad;
  }
}

std::string verdict_words(const RunResult& result) {
  switch (result.verdict) {
    case VerdictClass::kHolds:
      return "holds";
    case VerdictClass::kMissed: {
      const auto missed = std::count_if(result.expected.begin(), result.expected.end(),
                                        [](const Judged& judged) { return !judged.ok; });
      if (missed != 1) return fmt::format("missed: {} expectations", missed);
      const auto first = std::find_if(result.expected.begin(), result.expected.end(),
                                      [](const Judged& judged) { return !judged.ok; });
      return fmt::format("missed: {}", first->wanted);
    }
    case VerdictClass::kSafety:
      return fmt::format("SAFETY: {}", result.violation ? result.violation->title : "");
    case VerdictClass::kLiveness:
      return fmt::format("LIVENESS: {}", result.violation ? result.violation->title : "");
    case VerdictClass::kCrash:
      return "CRASH: an assertion of elastic failed";
    case VerdictClass::kInterrupted:
      return "interrupted";
  }
  return "";
}

std::string headline(const RunResult& result, const Look& look) {
  const std::string words = verdict_words(result);
  const std::string left = fmt::format("{}  seed {}   ", result.scenario, result.seed);
  const Duration simulated = result.outcome.at.time_since_epoch();
  const std::string right = fmt::format("{} simulated in {}.{:02} s", span_text(simulated),
                                        result.wall_ms / 1000, result.wall_ms % 1000 / 10);
  std::string text = inked(left, Ink::kBold, look) + inked(words, ink_of(result.verdict), look);
  const std::size_t taken = columns(left) + columns(words);
  if (result.crash) return text + "\n";
  if (taken + 2 + columns(right) > look.width) {
    return text + "\n" + right_aligned(right, look.width) + "\n";
  }
  return text + std::string(look.width - taken - columns(right), ' ') + right + "\n";
}

std::string figures_section(const RunResult& result, const Look& look) {
  const Summary& summary = result.summary;
  std::string text = time_section(summary, look);
  text += section("goodput",
                  {figure_text(Metric::kGoodput, summary.goodput_ppm) +
                   "  of what the same nodes could do undisturbed"},
                  look);
  text += cost_section(summary, look);
  text += steps_section(summary, look);
  text += rounds_section(summary, look);
  text += faults_section(summary, look);
  text += recovery_section(summary, look);
  const std::string picture = chart({.zones = result.zones,
                                     .sizes = summary.sizes,
                                     .marks = result.marks,
                                     .began = summary.began,
                                     .ended = summary.ended},
                                    look);
  if (!picture.empty()) text += "\n" + picture;
  return text;
}

std::string expectations_section(const std::vector<Judged>& expected, const Look& look) {
  std::size_t wanted = 24;
  std::size_t found = 8;
  for (const Judged& judged : expected) {
    wanted = std::max(wanted, columns(judged.wanted));
    found = std::max(found, columns(judged.found));
  }
  std::string text;
  for (const Judged& judged : expected) {
    const std::string mark =
        judged.ok ? inked("ok", Ink::kGood, look) : inked("MISSED", Ink::kBad, look);
    text += section(
        text.empty() ? "expected" : "",
        {padded(judged.wanted, wanted) + " " + padded(judged.found, found) + " " + mark}, look);
  }
  return text;
}

std::string oracles_section(const std::vector<OracleTally>& oracles, bool silent,
                            const Look& look) {
  std::uint64_t checks = 0;
  std::vector<std::string> items;
  std::vector<std::string> idle;
  for (const OracleTally& oracle : oracles) {
    checks += oracle.checks;
    if (oracle.checks == 0) {
      idle.push_back(oracle.name);
    } else {
      items.push_back(fmt::format("{} {}", oracle.name, short_count_text(oracle.checks)));
    }
  }
  std::string text = section("oracles",
                             {fmt::format("{} {} in {} checks", oracles.size(),
                                          silent ? "silent" : "watched", count_text(checks))},
                             look);
  if (!look.all_oracles) {
    text += section("", items, look, ", ");
    if (!idle.empty()) {
      idle.front() = "nothing to check for: " + idle.front();
      text += section("", idle, look, ", ");
    }
    return text;
  }
  for (const OracleTally& oracle : oracles) {
    text +=
        section("", {padded(oracle.name, 40) + right_aligned(count_text(oracle.checks), 16)}, look);
    text += paragraph("", oracle.promise, look);
  }
  return text;
}

std::string liveness_section(const LivenessResult& liveness, const Look& look) {
  const std::string cut =
      fmt::format("when all but {} are cut off at {}, the job",
                  plural(liveness.core.size(), "node", "nodes"), moment_text(liveness.moment));
  std::string text;
  switch (liveness.kind) {
    case LivenessResult::Kind::kHeld:
      text = fmt::format("{} goes on after {} (bound {})", cut, span_text(liveness.took),
                         span_text(liveness.bound));
      break;
    case LivenessResult::Kind::kJobOver:
      text = fmt::format("not shown: the job was over before {}", moment_text(liveness.moment));
      break;
    case LivenessResult::Kind::kVoided:
      text = fmt::format("{} does not go on, and need not: it assumes that {}, but {}", cut,
                         liveness.assumption, liveness.proof);
      break;
    case LivenessResult::Kind::kViolation:
      text = fmt::format("{} does not go on within {}", cut, span_text(liveness.bound));
      break;
  }
  return paragraph("liveness", text, look);
}

std::string failure_section(const RunResult& result, const Commands& commands, const Look& look) {
  std::string text = "  " + whereabouts(result) + "\n";
  Time until = result.crash_at;
  if (result.in_liveness_phase && result.liveness) text += liveness_section(*result.liveness, look);
  if (result.crash) {
    text += paragraph("expected", result.crash->what, look);
    if (!result.crash->where.empty()) text += paragraph("in", result.crash->where, look);
  } else {
    until = result.violation->at;
    text += paragraph("oracle", result.violation->oracle, look);
    text += paragraph("expected", result.violation->expected, look);
    text += paragraph("found", result.violation->found, look);
  }
  text += "\n" + story_lines(result, until, look) + "\n";
  // Commands stay whole, however long: they are there to be copied.
  text += padded("  repeat", kLabelColumns) + commands.repeat + "\n";
  text += padded("  shrink", kLabelColumns) + commands.shrink + "\n";
  return text;
}

std::string seed_report(const RunResult& result, const Commands& commands, const Look& look) {
  std::string text = headline(result, look) + "\n";
  const bool failed = result.crash || result.violation;
  if (failed) text += failure_section(result, commands, look);
  if (result.crash) return text;
  if (failed) {
    return text + "\n" + oracles_section(result.oracles, false, look);
  }
  if (result.verdict == VerdictClass::kInterrupted) {
    text +=
        paragraph("so far",
                  fmt::format("up to {}, event {}; nothing is judged",
                              moment_text(result.outcome.at), count_text(result.outcome.events)),
                  look);
  } else if (!result.summary.finished) {
    text += paragraph("the end", std::string(end_words(result.outcome)), look);
  }
  text += figures_section(result, look) + "\n";
  text += expectations_section(result.expected, look);
  if (result.liveness) text += liveness_section(*result.liveness, look);
  text += oracles_section(result.oracles, true, look);
  return text;
}

}  // namespace elastic::chaos
