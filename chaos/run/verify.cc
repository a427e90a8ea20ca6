#include "chaos/run/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>

#include "chaos/run/child.h"
#include "chaos/run/event_log.h"
#include "chaos/run/interrupt.h"
#include "chaos/run/run.h"

namespace elastic::chaos {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kWindow = 4096;  // events between two running digests

// glibc's allocator: fills memory with a pattern, and hands out other addresses than before.
const std::vector<std::string>& other_allocator() {
  static const std::vector<std::string> environment{
      "MALLOC_PERTURB_=165", "GLIBC_TUNABLES=glibc.malloc.perturb=165:glibc.malloc.tcache_count=0",
      "MALLOC_ARENA_MAX=1"};
  return environment;
}

struct Window {
  std::vector<std::uint64_t> hashes;
  std::map<std::uint64_t, std::vector<std::string>> lines;
};

Window read_window(const std::string& text) {
  const Json json = Json::parse(text);
  Window window;
  json.at("hashes").get_to(window.hashes);
  for (const auto& [event, lines] : json.at("lines").items()) {
    window.lines[std::stoull(event)] = lines.get<std::vector<std::string>>();
  }
  return window;
}

std::string ask_window(const SelfCall& self, std::uint64_t seed, std::uint64_t first,
                       const std::vector<std::string>& environment) {
  ChildOptions child{.arguments = self.arguments, .environment = environment};
  for (const std::string& argument :
       {std::string("--seed"), std::to_string(seed), std::string(kWindowOption),
        fmt::format("{}..{}", first, first + kWindow)}) {
    child.arguments.push_back(argument);
  }
  std::string text;
  const int status = run_self(child, [&](std::string_view line) { text += line; });
  if (status != 0) {
    throw std::runtime_error(fmt::format("the process ended with status {}", status));
  }
  return text;
}

void name_event(Difference& difference, const SelfCall& self, std::uint64_t first) {
  const std::string one = ask_window(self, difference.seed, first, {});
  const std::string two = ask_window(self, difference.seed, first, other_allocator());
  compare_windows(difference, first, one, two);
}

void compare(VerifyResult& result, const Row& first, const Row& second, const SelfCall& self) {
  ++result.compared;
  const std::string what = differing_fields(first, second);
  if (what.empty()) return;
  Difference difference;
  difference.seed = first.seed;
  difference.what = what;
  const std::uint64_t window = differing_window(first, second);
  if (window == 0) {
    difference.note = "the events of the main run agree";
  } else if (result.differences.size() < kMaxSearched && !interrupted()) {
    try {
      name_event(difference, self, window);
    } catch (const std::exception& error) {
      difference.note = error.what();
    }
  }
  result.differences.push_back(std::move(difference));
}

}  // namespace

void compare_windows(Difference& difference, std::uint64_t first, const std::string& one,
                     const std::string& two) {
  const Window left = read_window(one);
  const Window right = read_window(two);
  const std::size_t both = std::min(left.hashes.size(), right.hashes.size());
  for (std::size_t i = 0; i < std::max(left.hashes.size(), right.hashes.size()); ++i) {
    if (i < both && left.hashes[i] == right.hashes[i]) continue;
    difference.event = first + i;
    const auto lines_of = [&](const Window& window) {
      const auto found = window.lines.find(difference.event);
      return found == window.lines.end() ? std::vector<std::string>{} : found->second;
    };
    difference.first = lines_of(left);
    difference.second = lines_of(right);
    return;
  }
  difference.note = "run twice more, the events of this window agreed";
}

std::string differing_fields(const Row& first, const Row& second) {
  const Json one = to_json(first);
  const Json two = to_json(second);
  std::string fields;
  for (const auto& [key, value] : one.items()) {
    if (key == "wall_ms" || two.at(key) == value) continue;
    fields += (fields.empty() ? "" : ", ") + key;
  }
  return fields;
}

std::uint64_t differing_window(const Row& first, const Row& second) {
  const std::size_t both = std::min(first.digests.size(), second.digests.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (first.digests[i] != second.digests[i]) return i * kWindow + 1;
  }
  const bool same = first.trace_hash == second.trace_hash &&
                    first.digests.size() == second.digests.size() && first.events == second.events;
  return same ? 0 : both * kWindow + 1;
}

VerifyResult verify(const std::vector<Row>& rows, SeedRange seeds, const SelfCall& self,
                    const std::function<void(std::uint64_t)>& progress) {
  VerifyResult result;
  ChildOptions child{.arguments = self.arguments, .environment = other_allocator()};
  for (const std::string& argument :
       {std::string("--seeds"), fmt::format("{}..{}", seeds.first, seeds.last),
        std::string("--jobs"), std::to_string(self.jobs), std::string(kRowsOption)}) {
    child.arguments.push_back(argument);
  }
  std::map<std::uint64_t, Row> others;
  const int status = run_self(child, [&](std::string_view line) {
    try {
      Row row = row_from_text(std::string(line));
      const std::uint64_t seed = row.seed;
      others[seed] = std::move(row);
    } catch (const std::exception&) {
      result.complete = false;
      result.trouble = "the second process printed something else than rows";
    }
    if (progress) progress(others.size());
  });
  for (const Row& row : rows) {
    const auto other = others.find(row.seed);
    if (other == others.end()) {
      result.complete = false;
    } else {
      compare(result, row, other->second, self);
    }
  }
  if (interrupted()) result.complete = false;
  if (!result.complete && result.trouble.empty() && !interrupted()) {
    result.trouble = fmt::format("the second process ended with status {}", status);
  }
  return result;
}

std::string event_window(const Scenario& scenario, std::uint64_t seed, std::uint64_t first,
                         std::uint64_t last) {
  Json lines = Json::object();
  std::vector<std::uint64_t> hashes;
  const sim::WorldConfig config = to_world(scenario, seed);
  EventLog log(
      config,
      [&](std::uint64_t event, std::string_view line) {
        if (event >= first && event < last) lines[std::to_string(event)].push_back(line);
      },
      true);
  sim::World world(config, make_plan(scenario, seed));
  world.record_event_hashes(first, last);
  world.watch(log);
  world.run(Time{} + config.horizon);
  hashes = world.event_hashes();
  return Json{{"hashes", hashes}, {"lines", lines}}.dump(-1, ' ', false,
                                                         Json::error_handler_t::replace);
}

}  // namespace elastic::chaos
