#include "chaos/scenario/schema.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "chaos/scenario/fault_schema.h"
#include "chaos/scenario/language.h"
#include "chaos/scenario/schema_texts.h"

namespace elastic::chaos {
namespace {

std::string words() {
  std::string text =
      "A scenario of elastic-sim: a training job, machines that come and go, and what is expected. "
      "The comment at the head of a file is its question. `elastic-sim validate FILE` knows all "
      "rules; this schema knows all but these:";
  for (const BeyondSchema& rule : rules_beyond_the_schema()) {
    text += fmt::format("\n- {}: {}", rule.name, rule.words);
  }
  return text;
}

constexpr std::size_t kWidth = 100;

// As JSON; what fits on a line goes on one.
void print(const Json& value, std::size_t indent, std::size_t before, std::string& out) {
  const std::string line = value.dump();
  if (!value.is_structured() || value.empty() || indent + before + line.size() < kWidth) {
    out += line;
    return;
  }
  const std::string margin(indent + 2, ' ');
  out += value.is_object() ? "{" : "[";
  for (auto at = value.begin(); at != value.end(); ++at) {
    out += (at == value.begin() ? "\n" : ",\n") + margin;
    const std::string key = value.is_object() ? Json(at.key()).dump() + ": " : std::string();
    out += key;
    print(*at, indent + 2, key.size(), out);
  }
  out += "\n" + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

const std::vector<BeyondSchema>& rules_beyond_the_schema() {
  static const std::vector<BeyondSchema> rules{
      {"upper bounds of quantities",
       "a quantity with a unit is not too large (times within the horizon, shares up to 100%)",
       "is too large$|is too large; at most [^ ]*[^0-9 ][^ ]*$|is too long; at most "
       "|is out of range; (write|a clock|at most)"},
      {"exactness", "a quantity is a whole number of its smallest unit", "is finer than "},
      {"spelling of numbers", "a count is written in digits alone, and not as +5, 0x10 or 1e3",
       R"(^"[-+0-9.eExXoa-fA-F]+" is (not a whole number|negative)$)"},
      {"order", "what is least is not more than what is most, in nodes, at_start, spans and ranges",
       "^min [0-9]+ is more than max|^at_start [0-9]+ is more than nodes|before it begins"},
      {"names", "machines, zones, workers and traces exist; a journal's host is a machine",
       "^there is no (machine|zone|worker) |cannot be read|is a directory|is not a regular file"
       "|no machine is ever alive"},
      {"repetition", "nothing is named twice: machines in a line, kinds in a swarm, keys",
       "is written twice"},
      {"sums", "enough machines for job.nodes.min, and not too many of machines, faults and hours",
       "machines at most, fewer than|[0-9] machines; at most |^about [0-9]+ (random )?faults"
       "|epochs times dataset|machine hours"},
      {"bounds of the job",
       "what is simulated stays within job.bounds, and time-outs and budgets can be kept",
       "raise the bound$|^detection target|^orphan_bound|^no multiple of node_unit|^last_call "
       "|^flaps\\.longest|^a back-off begins|^min_healthy|^growth pays needs|^no_progress needs"
       "|is longer than a year$|must be longer than zero$"},
      {"batch", "a batch that follows the world divides by its reference world",
       "^a reference batch|^the reference (batch|world) is"},
      {"tables of step times",
       "a measured preset or a table covers every size of the job, with its workers on each node "
       "and "
       "their batch",
       " covers ([0-9]+ to|batches) | says nothing of nodes with "},
      {"empty steps", "a step takes some time", "a step that takes no time"},
      {"markets and presence", "a zone with a market has no at_start (unless there is a trace)",
       "has at_start and a market"},
      {"faults and jobs", "journal_lost is for a hosted journal, storage_rot for native workers",
       "^journal_lost needs|^storage_rot needs"},
  };
  return rules;
}

std::string scenario_schema() {
  Json root = Json::object();
  root["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  root["title"] = "Scenario of elastic-sim";
  root["description"] = words();
  Scenario defaults;
  defaults.job.min_nodes = 0;  // out of bounds: no default
  defaults.job.max_nodes = 0;
  Section file(root);
  job_keys(file, defaults);
  cluster_keys(file, defaults);
  availability_keys(file, defaults);
  network_keys(file, defaults);
  journal_keys(file, defaults);
  Json definitions = quantity_definitions();
  file.describe("faults",
                "What happens: one fault per line, at a time or again and again, as in {at: 2h, "
                "kind: crash, node: a3, for: 5min} or {kind: kill_worker, every: 45min}.",
                faults_schema(definitions));
  expect_keys(file, defaults);
  file.finish();
  root["$defs"] = std::move(definitions);
  std::string text;
  print(root, 0, 0, text);
  return text + "\n";
}

}  // namespace elastic::chaos
