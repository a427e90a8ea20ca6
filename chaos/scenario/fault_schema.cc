#include "chaos/scenario/fault_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "chaos/scenario/faults.h"
#include "chaos/scenario/language.h"
#include "chaos/scenario/scenario.h"
#include "chaos/scenario/schema_texts.h"

namespace elastic::chaos {
namespace {

using sim::FaultKind;

Json refer(const std::string& name) { return Json{{"$ref", "#/$defs/" + name}}; }

Json with_words(std::string_view words, const Json& schema) {
  Json out = Json::object();
  out["description"] = words;
  out.update(schema);
  return out;
}

Json any_of(const std::vector<Json>& schemas) { return Json{{"anyOf", schemas}}; }
Json requires_keys(const std::vector<std::string>& keys) { return Json{{"required", keys}}; }

// One length, or a range to draw from.
std::string length_pattern(bool range) {
  if (!range) return positive(duration_pattern());
  // What stands before the dots is not zero.
  return fmt::format("(?=(?:(?!\\.\\.).)*[1-9]){0}(?:\\.\\.{0})?", duration_pattern());
}

Json value_schema(ValueUnit unit) {
  const ValueBounds bounds = value_bounds(unit);
  switch (unit) {
    case ValueUnit::kNone:
      break;
    case ValueUnit::kWorker:
      return with_words("The local rank of the worker; default 0.",
                        count_schema({bounds.low, bounds.high}));
    case ValueUnit::kSave:
      return with_words("Counted back from the newest, which is 0, the default.",
                        count_schema({bounds.low, bounds.high}));
    case ValueUnit::kExitCode:
      return with_words("The exit code; default 1.", count_schema({bounds.low, bounds.high}));
    case ValueUnit::kCompute:
      return with_words("Of the normal time, as in 250%.", quantity_schema("share", true));
    case ValueUnit::kShare:
      return with_words("Of all, as in 5%.", quantity_schema("share", true));
    case ValueUnit::kDelay:
      return with_words("So much longer, as in 20ms.", quantity_schema("duration", true));
    case ValueUnit::kSignedShare:
      return with_words("So much faster, as in 50ppm, or slower: -50ppm.",
                        text_schema("-?" + share_pattern()));
    case ValueUnit::kSignedDuration:
      return with_words("So far ahead, as in 30s, or back: -30s.",
                        text_schema("-?" + duration_pattern()));
  }
  return Json::object();
}

Json list_of(const Json& items) {
  Json out = Json::object();
  out["type"] = "array";
  out["items"] = items;
  out["minItems"] = 1;
  out["uniqueItems"] = true;
  return out;
}

// Keys that lines of several kinds have.
void define_common(Json& defs) {
  defs["at"] = with_words("When it happens, from the start of the run.", refer("duration"));
  defs["every"] =
      with_words("Again and again: the mean time between two.", refer("positive_duration"));
  Json chance = choice_schema({"random", "regular"});
  chance["default"] = "random";
  defs["chance"] = with_words("Whether every is a mean, or exact.", chance);
  defs["from"] = with_words("Not before this.", refer("duration"));
  defs["until"] = with_words("Not after this; default: the horizon.", refer("duration"));
  const std::string zone = zone_pattern();
  defs["selector"] = with_words(
      "A machine (a3), a zone (zone a), or coordinator: whoever coordinates when it happens.",
      text_schema(fmt::format("(?:node )?(?:coordinator|zone {}|{})", zone, machine_pattern())));
  defs["node"] = with_words("Whom it hits; without: drawn for each occurrence.", refer("selector"));
  defs["nodes"] = with_words("Whom it hits, together.", list_of(refer("selector")));
  defs["zone"] = with_words("All machines of this zone, together.", text_schema(zone));
  const Json side = any_of({refer("selector"), list_of(refer("selector"))});
  Json cut = Json::object();
  cut["type"] = "array";
  cut["items"] = side;
  cut["minItems"] = 1;
  cut["maxItems"] = 2;
  defs["cut"] = with_words(
      "Two sides, as in [zone a, [b0, b1]], or one against everybody else; without: drawn.", cut);
  defs["length"] = with_words("How long it lasts, as in 90s.", text_schema(length_pattern(false)));
  defs["length_or_range"] = with_words("How long it lasts: 90s, or drawn from a range: 10s..2min.",
                                       text_schema(length_pattern(true)));
}

// Who is hit by a line of this kind: keys, and what goes together.
void add_targets(const KindInfo& kind, bool timed, Json& line) {
  if (kind.reach == Reach::kNobody) return;
  if (kind.reach == Reach::kCut) {
    line["properties"]["cut"] = refer("cut");
    if (timed) line["required"].push_back("cut");
    return;
  }
  std::vector<Json> pairs;
  const std::vector<std::string> keys{"node", "nodes", "zone"};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    line["properties"][keys[i]] = refer(keys[i]);
    pairs.push_back(requires_keys({keys[i], keys[(i + 1) % keys.size()]}));
  }
  line["not"] = any_of(pairs);
  if (timed && kind.reach == Reach::kNodes) {
    line["anyOf"] = {requires_keys({"node"}), requires_keys({"nodes"}), requires_keys({"zone"})};
  }
}

// A line of one kind and form.
Json line_schema(const KindInfo& kind, FaultForm form) {
  const bool timed = form == FaultForm::kTimed;
  Json line = Json::object();
  line["properties"] = {{"kind", true}};
  line["required"] = {timed ? "at" : "every"};
  const std::vector<const char*> times =
      timed ? std::vector<const char*>{"at"}
            : std::vector<const char*>{"every", "chance", "from", "until"};
  for (const char* key : times) line["properties"][key] = refer(key);
  add_targets(kind, timed, line);
  if (kind.length != Need::kNo) {
    const std::string key(kind.length_key);
    line["properties"][key] = refer(timed ? "length" : "length_or_range");
    if (timed && kind.length == Need::kRequired) line["required"].push_back(key);
  }
  if (kind.kind == FaultKind::kReclaim) {
    line["properties"]["notice"] = with_words("Announced so long before.", refer("duration"));
  }
  if (kind.unit != ValueUnit::kNone) {
    const std::string key(value_key(kind.unit));
    const bool optional = !timed || kind.unit == ValueUnit::kWorker ||
                          kind.unit == ValueUnit::kExitCode || kind.unit == ValueUnit::kSave;
    line["properties"][key] = value_schema(kind.unit);
    if (!optional) line["required"].push_back(key);
  }
  line["additionalProperties"] = false;
  return line;
}

Json swarm_schema() {
  // A swarm adds machines by itself, and leaves saves as they are.
  std::vector<std::string_view> kinds = kind_names();
  const auto never = [](std::string_view kind) {
    return kind == "swarm" || kind == sim::name(FaultKind::kAdd) ||
           kind == sim::name(FaultKind::kStorageRot);
  };
  kinds.erase(std::remove_if(kinds.begin(), kinds.end(), never), kinds.end());
  Json line = Json::object();
  line["description"] = "Faults of any kind on anyone, at random.";
  line["properties"] = {
      {"kind", true},
      {"mean_between", with_words("The mean time between two.", refer("positive_duration"))},
      {"from", refer("from")},
      {"until", refer("until")},
      {"kinds", with_words("What is drawn from; default: all.", list_of(choice_schema(kinds)))}};
  line["required"] = {"mean_between"};
  line["additionalProperties"] = false;
  return line;
}

}  // namespace

Json faults_schema(Json& definitions) {
  define_common(definitions);
  Json fault = Json::object();
  fault["type"] = "object";
  fault["required"] = {"kind"};
  fault["properties"]["kind"] = with_words("What happens.", choice_schema(kind_names()));
  for (const std::string_view name : kind_names()) {
    const std::string definition = fmt::format("fault_{}", name);
    const std::optional<FaultKind> kind = find_kind(name);
    if (!kind) {
      definitions[definition] = swarm_schema();
    } else if (name == sim::name(*kind)) {
      Json lines = Json::object();
      lines["description"] = info(*kind).words;
      lines["if"] = requires_keys({"every"});
      lines["then"] = line_schema(info(*kind), FaultForm::kRandom);
      lines["else"] = line_schema(info(*kind), FaultForm::kTimed);
      definitions[definition] = std::move(lines);
    }
    const std::string meant = kind ? fmt::format("fault_{}", sim::name(*kind)) : definition;
    Json rule = Json::object();
    rule["if"] = requires_keys({"kind"});
    rule["if"]["properties"]["kind"]["const"] = name;
    rule["then"] = refer(meant);
    fault["allOf"].push_back(std::move(rule));
  }
  definitions["fault"] = std::move(fault);
  Json list = Json::object();
  list["type"] = {"array", "null"};
  list["items"] = refer("fault");
  list["maxItems"] = kMaxFaultEntries;
  return list;
}

}  // namespace elastic::chaos
